//! Takes secrets out of everything that is written, shown or sent.
//!
//! Invariant: names of keys, hosts, and the words around a secret stay readable, JSON stays JSON,
//! and a text without secrets comes back unchanged. The forms of secrets are data, in `shapes`.

mod blocks;
mod escape;
mod keys;
mod lexicon;
mod mark;
mod pairs;
mod pattern;
mod phrase;
mod quotes;
mod redactor;
mod secret_values;
mod shapes;
mod stream;
mod tokens;
mod value;

pub use redactor::Redactor;
pub use secret_values::Scrambler;
pub use stream::RedactStream;

#[cfg(test)]
mod tests {
    use super::mark::REDACTED;
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn redact(text: &str) -> String {
        Redactor::default().redact_str(text).into_owned()
    }

    #[test]
    fn the_name_of_a_json_value_counts() {
        let value = json!({"Authorization": "Token x", "authorization": "abcdef", "b": "Token x"});
        let want = json!({"Authorization": "Token [REDACTED]", "authorization": "[REDACTED]", "b": "Token x"});
        assert_eq!(Redactor::default().redact_json(&value), want);
        let value = json!({"password": "hunter2 with space", "b": "hunter2 with space"});
        let want = json!({"password": "[REDACTED]", "b": "hunter2 with space"});
        assert_eq!(Redactor::default().redact_json(&value), want);
    }

    #[test]
    fn a_quoted_value_of_any_number_of_lines_goes() {
        let value = "hunter2 with space\n".repeat(4000);
        let text = format!("password=\"{value}\"\nb");
        assert!(redact(&text) == "password=\"[REDACTED]\"\nb");
        let mut stream = Redactor::default().stream();
        let mut out: String = text.split_inclusive('\n').map(|line| stream.push(line)).collect();
        out.push_str(&stream.finish());
        assert_eq!(out, "password=\"[REDACTED]\"\nb");
    }

    #[test]
    fn every_name_of_a_secret_is_known_in_every_form() {
        let names = "password passwd DB_PASSWORD api_key apiKey api-key client_secret clientSecret secretKey \
            access_token refresh_token authToken AWS_SECRET_ACCESS_KEY private_key encryptionKey secret token pwd \
            passphrase GITHUB_TOKEN STRIPE_SECRET id_token SessionToken jwtSecret connectionString storage_key \
            webhookSecret consumer_secret X-Api-Key apikey db_pass DB_PASS MYSQL_PWD PGPASSWORD SECRET_KEY_BASE \
            credential APP_KEY ENCRYPTION_KEY csrf_token SMTP_PASS license_key OPENAI_KEY STRIPE_KEY \
            GITHUB_KEY openaiKey stripe-key ACME_KEY REDISCLI_AUTH";
        let secret = "FslKBbsDLutJrOPGfgZHFv";
        for name in names.split_whitespace() {
            for form in [
                "N=V",
                "N: V",
                "\"N\": \"V\"",
                "'N': 'V'",
                "export N=\"V\"",
                "?a=1&N=V&b=2",
                "N = \"V\"",
                "{\"a\":1,\"N\":\"V\",\"b\":2}",
                "  N: \"V\"\n  port: 1",
                "--N=V",
                "--N V",
                "N := \"V\"",
                "<N>V</N>",
                "\\\"N\\\":\\\"V\\\"",
                "- name: N\n  value: V",
                "{\"key\":\"N\",\"value\":\"V\"}",
            ] {
                let text = form.replace('V', secret).replace('N', name);
                let want = form
                    .replace('V', REDACTED)
                    .replace('N', name)
                    .replace(&REDACTED.replace('N', name), REDACTED);
                assert_eq!(redact(&text), want);
            }
        }
    }

    #[test]
    fn values_of_known_secrets_go_in_every_form() {
        let redactor = Redactor::new(["p\"ss w/rd!", "short", "plainvalue"]);
        assert_eq!(redactor.redact_str("x plainvalue y short"), "x [REDACTED] y short");
        assert_eq!(redactor.redact_str("a%3Dp%22ss%20w%2Frd%21"), "a%3D[REDACTED]");
        assert_eq!(redactor.redact_str("{\"k\":\"p\\\"ss w/rd!\"}"), "{\"k\":\"[REDACTED]\"}");
    }

    #[test]
    fn a_value_of_any_length_takes_no_other_value_along() {
        let long: String = (0..60_000).map(|n| format!("{n}é")).collect();
        let redactor = Redactor::new([long.as_str(), "plainvalue"]);
        let redacted = redactor.redact_str(&format!("{long}, plainvalue")).into_owned();
        assert!(redacted == "[REDACTED], [REDACTED]", "{} bytes are left", redacted.len());
    }

    #[test]
    fn json_stays_json_with_its_keys() {
        let value = json!({"password": "abc", "token": "t0ken-value-1", "n": [1, {"api_key": "k3y-value"}], "max_tokens": 4096, "text": "Bearer abcdefgh12345678ijkl"});
        let want = json!({"password": "[REDACTED]", "token": "[REDACTED]", "n": [1, {"api_key": "[REDACTED]"}], "max_tokens": 4096, "text": "Bearer [REDACTED]"});
        assert_eq!(Redactor::default().redact_json(&value), want);
        let text = value.to_string();
        let redacted: Value = serde_json::from_str(&redact(&text)).expect("still JSON");
        assert_eq!(redacted["max_tokens"], 4096);
        assert_eq!(redacted["token"], "[REDACTED]");
    }

    #[test]
    fn it_is_stable() {
        let once =
            redact("TOKEN=ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH password: \"TxA71ZMbpEBpSo65\"");
        assert_eq!(redact(&once), once);
    }

    proptest! {
        #[test]
        fn any_text_is_survived_and_streamed_alike(text in "\\PC{0,200}", cuts in proptest::collection::vec(0_usize..200, 0..6)) {
            let whole = redact(&text);
            let mut stream = Redactor::default().stream();
            let mut out = String::new();
            let mut at = 0;
            let mut cuts = cuts;
            cuts.sort_unstable();
            for cut in cuts {
                let cut = text.floor_char_boundary(cut).max(at);
                out.push_str(&stream.push(&text[at..cut]));
                at = cut;
            }
            out.push_str(&stream.push(&text[at..]));
            out.push_str(&stream.finish());
            prop_assert_eq!(out, whole);
        }

        #[test]
        fn json_text_with_secrets_still_parses(key in "[a-z_\"\\\\]{1,8}", secret in "[A-Za-z0-9/+=\"\\\\ ]{0,40}") {
            let value = json!({"password": secret, key: secret, "auth_token": secret});
            let text = value.to_string();
            prop_assert!(serde_json::from_str::<Value>(&redact(&text)).is_ok(), "{} -> {}", text, redact(&text));
        }

        #[test]
        fn json_around_any_text_still_parses(parts in proptest::collection::vec(0..PARTS.len(), 0..12), depth in 1_usize..4) {
            let text: String = parts.iter().map(|part| PARTS[*part]).collect();
            let mut json = text.clone();
            for _ in 0..depth {
                json = json!({"m": json, "password": text, "n": [text]}).to_string();
            }
            let out = redact(&json);
            prop_assert!(serde_json::from_str::<Value>(&out).is_ok(), "{} -> {}", json, out);
        }

        #[test]
        fn lines_are_streamed_as_the_whole_is_redacted(parts in proptest::collection::vec(0..LINES.len(), 0..16), size in 1_usize..40) {
            let text: String = parts.iter().map(|part| LINES[*part]).collect();
            let mut stream = Redactor::default().stream();
            let mut out: String = text
                .chars()
                .collect::<Vec<_>>()
                .chunks(size)
                .map(|piece| stream.push(piece.iter().collect::<String>()))
                .collect();
            out.push_str(&stream.finish());
            prop_assert_eq!(out, redact(&text), "{}", text);
        }
    }

    /// What secrets and the text around them are made of.
    const PARTS: &[&str] = &[
        "password='",
        "token: ",
        "PASSWORD=",
        "\"",
        "'",
        "`",
        "\\",
        "\\\"",
        "abc123def4",
        " ",
        "\n",
        "%22",
        "\n  ",
        "secret: |\n",
        "it's",
        "{\"api_key\":\"",
        "\"}",
        "password=\"\"\"",
        "password='\\''",
        "'\\''",
        "“",
        "”",
        "two words",
        "kind: Secret\n",
        "data:\n  a: YWRtaW4=\n",
        "- name: DB_PASS\n",
        "  value: hunter2abc\n",
        "word",
        ",",
        "login me\n",
        "password hunter2abc",
        "12:-----BEGIN RSA PRIVATE KEY-----\n",
        "13:MIIEpAIBAAKCAQEA7bq4fWk0dN3x\n",
        "-----END RSA PRIVATE KEY-----\n",
    ];

    /// Lines whose secrets are in other lines than their names.
    const LINES: &[&str] = &[
        "password='abc1234'\n",
        "token: a\n",
        "password=\"hunter2 with\n",
        "more words\"\n",
        "b=\"c\"\n",
        "secret='''\n",
        "secret: |\n",
        "  hunter2abc\n",
        "it's a word\n",
        "apiVersion: v1\n",
        "kind: Secret\n",
        "---\nkind: List\n---\n",
        "data:\n",
        "  a: YWRtaW4=\n",
        "---\n",
        "- name: DB_PASS\n",
        "  value: hunter2abc\n",
        "login me\n",
        "password hunter2abc\n",
        "12:-----BEGIN RSA PRIVATE KEY-----\n13:MIIEpAIBAAKCAQEA7bq4fWk0dN3x\n14:-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nMIIE\n-----END EC PRIVATE KEY-----\n",
    ];
}
