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
    fn ordinary_words_survive() {
        for text in [
            "a task-list that is risk-free",
            "the bearer of good news",
            "Bearer authentication is used",
            "Basic authentication failed",
            "token: string;",
            "password: String,",
            "fn login(password: &str, token: Token)",
            "max_tokens=4096, tokens: 12",
            "foo(password=password, token=token)",
            "SECRET_KEY = os.environ[\"SECRET_KEY\"]",
            "api_key: ${{ secrets.API_KEY }}",
            "TOKEN=$(gh auth token)",
            "if token == expected_token {",
            "\"password\": \"Enter your password\"",
            "secret: true",
            "sk-learn is a library",
            "http://localhost:8080/@scope/pkg",
            "git@github.com:org/repo.git",
            "mailto:someone@example.org",
            "keyboard: qwerty",
            "monkey=banana123",
            "ssh://git@host.example:22/repo",
            "let password = read_password()?;",
            "const token = await getToken();",
            "- token: see docs/auth2.md for more",
            "assert_eq!(token, \"abc\")",
            "pub token: Option<String>,",
            "password_hash: argon2",
            "token: CancellationToken,",
            "my_private_key: EphemeralPrivateKey,",
            "#ty::#ident #pat => #display",
            "login(password=password)",
            "connect(user, password=passphrase, timeout=3)",
            "<password>string</password>",
            "name: token\nvalue: string",
            "Cookie: theme=dark; lang=en",
            "tests: 12 passed; compass=north, bypass=false",
            "docker login -u me --password-stdin",
            "mysql -u root -p db",
            "duplicate key value violates unique constraint \"primary_key\"",
            "cache_key=user:42:profile",
            "\"tokens\": 1532, \"total_tokens\": 99",
            "Token: \"#cccccc\"",
            "SYSTEM_CA_CERTS = \"/etc/ssl/certs/ca-certificates.crt\"",
            "private_key: \"_RSAPrivateKey\"",
            "ClientTrafficSecret => \"CLIENT_TRAFFIC_SECRET\"",
            "use simdutf8::compat::from_utf8 as compat_from_utf8;",
            "pub const DEVCONF_STABLE_SECRET: _bindgen_ty_3 = _bindgen_ty_3::DEVCONF_STABLE_SECRET;",
            "pub pat: nl80211_pattern_support,",
            "let pat = \"foobar\\nbaz\";",
            "authorization = base64.decodebytes(authorization[1])",
            "ConnectionTrafficSecrets::Aes128Gcm { key, iv }",
            "Culture=neutral, PublicKeyToken=b77a5c561934e089",
            "SORT_KEY=created_at2024 PRIMARY_KEY=a1b2c3d4e5f6a7b8 CACHE_KEY=v1-0123456789abcdef",
            "GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568",
            "ISSUE_KEY=PROJ-1234",
            "PWD=/home/dev/project1 OLDPWD=/tmp/build2",
            "PASSWORD=$DB_PASSWORD TOKEN=$token2 SECRET=$1 KEY=%KEY%",
            "password = *password; token: *const Token",
            "TOKEN=<your token>",
            "printf \"password=%s token=%-5s\"",
            "\"password\": \"must be at least eight characters\"",
            "\"password\": \"Mot de passe\"",
            "Password: incorrect",
            "s.getConfigurationProperties() s.parseUtf8StringFromBuf99()",
            "let design = assign(signal=12345678901234567890)",
            "the user's password and the team's token",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn secrets_of_every_form_go_and_their_names_stay() {
        for (text, want) in [
            ("password=hunter2abc", "password=[REDACTED]"),
            ("export DB_PASSWORD='s3cr3t pass'", "export DB_PASSWORD='[REDACTED]'"),
            ("{\\\"token\\\":\\\"abc123def456\\\"}", "{\\\"token\\\":\\\"[REDACTED]\\\"}"),
            ("\"auth\": \"dXNlcjpwYXNz\"", "\"auth\": \"[REDACTED]\""),
            (
                "https://x.blob.core.windows.net/c?sv=2020&sig=ab%2Bcd1234567890abcdef%3D&se=1",
                "https://x.blob.core.windows.net/c?sv=2020&sig=[REDACTED]&se=1",
            ),
            (
                "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnop12345678",
                "https://hooks.slack.com/services/[REDACTED]",
            ),
            ("https://user:p@ssw0rd@host.example/x", "https://user:[REDACTED]@host.example/x"),
            ("curl -u admin:s3cretpw https://x", "curl -u admin:[REDACTED] https://x"),
            ("Authorization: token 0123456789abcdef0123", "Authorization: token [REDACTED]"),
            ("password=correcthorse", "password=[REDACTED]"),
            ("\"password\": \"correcthorse\"", "\"password\": \"[REDACTED]\""),
            ("Server=db;Password=Zx9kk2QQ!;Database=x", "Server=db;Password=[REDACTED];Database=x"),
            (
                "machine h.example login me password Zx9kk2QQ",
                "machine h.example login me password [REDACTED]",
            ),
            ("mysql -u root -pk0WD8T5wWZi db", "mysql -u root -p[REDACTED] db"),
            ("docker login -u me -p txRrIpOZgJvy reg", "docker login -u me -p [REDACTED] reg"),
            (
                "Set-Cookie: sid=s%3Adbd57da8cafe1f61; other=ymAxKQ4R8DOBxygo; Path=/",
                "Set-Cookie: sid=[REDACTED]; other=[REDACTED]; Path=/",
            ),
            ("client-secret => 'Zx81kkQ2pw'", "client-secret => '[REDACTED]'"),
            ("{\"password\":\"it's1secretX9\"}", "{\"password\":\"[REDACTED]\"}"),
            ("{\"password\":\"a\\\"b1c2d3XyZ\",\"b\":1}", "{\"password\":\"[REDACTED]\",\"b\":1}"),
            ("password='abc\"def1XyZ'", "password='[REDACTED]'"),
            ("{\"api_key\":\"a`b12345678\"}", "{\"api_key\":\"[REDACTED]\"}"),
            ("{\"a\":\"x password='ab\\\"c1XyZ' y\"}", "{\"a\":\"x password='[REDACTED]' y\"}"),
            (
                "{\"a\":\"{\\\"token\\\":\\\"a\\\\\\\"b1c2d3\\\"}\",\"b\":1}",
                "{\"a\":\"{\\\"token\\\":\\\"[REDACTED]\\\"}\",\"b\":1}",
            ),
            ("PASSWORD=it's1secretX9\nA=b", "PASSWORD=[REDACTED]\nA=b"),
            ("export DB_PASS=ab(c1{d\"e", "export DB_PASS=[REDACTED]"),
            ("?password=%40secret1234&a=1", "?password=[REDACTED]&a=1"),
            ("?token=%2Babcdef123456", "?token=[REDACTED]"),
            ("?u=x%3Ftoken%3Dabcdef123456%26a%3D1", "?u=x%3Ftoken%3D[REDACTED]%26a%3D1"),
            ("%7B%22token%22%3A%22abcdef123456%22%7D", "%7B%22token%22%3A%22[REDACTED]%22%7D"),
            ("\\u0026token=abcdef123456\\u0026a=1", "\\u0026token=[REDACTED]\\u0026a=1"),
            ("PASSWORD=$ecret1234", "PASSWORD=[REDACTED]"),
            ("PASSWORD=*s3cr3t123", "PASSWORD=[REDACTED]"),
            ("PASSWORD={s3cr3t123", "PASSWORD=[REDACTED]"),
            ("PASSWORD=<s3cr3t123", "PASSWORD=[REDACTED]"),
            ("password: correcthorsebatterystaple", "password: [REDACTED]"),
            ("\"password\":\"correct horse battery staple\"", "\"password\":\"[REDACTED]\""),
            ("{'auth': 'dXNlcjpwYXNz'}", "{'auth': '[REDACTED]'}"),
            (
                "https://b.example/k?X-Amz-Expires=60&X-Amz-Signature=fe5f80f77d5fa3beca03&x=1",
                "https://b.example/k?X-Amz-Expires=60&X-Amz-Signature=[REDACTED]&x=1",
            ),
            ("?X-Goog-Signature=247a2aa45f169edf4d18", "?X-Goog-Signature=[REDACTED]"),
            (
                "?Expires=1&Signature=nitfHRC~ziwO2Hw-wYDh&b=1",
                "?Expires=1&Signature=[REDACTED]&b=1",
            ),
            ("_gitlab_session=0123456789abcdef01234567", "_gitlab_session=[REDACTED]"),
            (
                "https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx/getMe",
                "https://api.telegram.org/[REDACTED]/getMe",
            ),
            ("password: |\n  hunter2abc\na: 1", "password: |\n  [REDACTED]\na: 1"),
        ] {
            assert_eq!(redact(text), want);
        }
    }

    #[test]
    fn quoted_secrets_with_spaces_and_short_ones_go() {
        for (text, want) in [
            ("password=\"hunter2 with space\"", "password=\"[REDACTED]\""),
            ("{\"password\": \"hunter2 with space\"}", "{\"password\": \"[REDACTED]\"}"),
            ("'db_pass': 'Pr0d p@ss'", "'db_pass': '[REDACTED]'"),
            ("{\\\"secret\\\":\\\"hunter2 with space\\\"}", "{\\\"secret\\\":\\\"[REDACTED]\\\"}"),
            ("mysql --password='correct horse' db", "mysql --password='[REDACTED]' db"),
            ("mysql --password=\"abc\" db", "mysql --password=\"[REDACTED]\" db"),
            ("mysql --token='ab1' db", "mysql --token='[REDACTED]' db"),
            ("{\"password\":\"abc\",\"a\":1}", "{\"password\":\"[REDACTED]\",\"a\":1}"),
            ("password = 'ab1'", "password = '[REDACTED]'"),
            ("DB_PASSWORD=\"abc\"", "DB_PASSWORD=\"[REDACTED]\""),
            ("password=\"  hunter2 x\"", "password=\"[REDACTED]\""),
            ("sh -c 'password='\\''  hunter2 x'\\'''", "sh -c 'password='\\''[REDACTED]'\\'''"),
            (
                "{\"c\":\"sh -c 'password='\\\\''hunter2 x'\\\\'''\"}",
                "{\"c\":\"sh -c 'password='\\\\''[REDACTED]'\\\\'''\"}",
            ),
            (
                "sh -c 'password='\"'\"'hunter2 x'\"'\"''",
                "sh -c 'password='\"'\"'[REDACTED]'\"'\"''",
            ),
            ("it's password='\thunter2'", "it's password='[REDACTED]'"),
            ("{\"a\":1,\"password\":\"  open sesame\"}", "{\"a\":1,\"password\":\"[REDACTED]\"}"),
            (
                "\"{\\\"password\\\":\\\" hunter2\\\"}\"",
                "\"{\\\"password\\\":\\\"[REDACTED]\\\"}\"",
            ),
        ] {
            assert_eq!(redact(text), want);
        }
        let value = json!({"Authorization": "Token x", "authorization": "abcdef", "b": "Token x"});
        let want = json!({"Authorization": "Token [REDACTED]", "authorization": "[REDACTED]", "b": "Token x"});
        assert_eq!(Redactor::default().redact_json(&value), want);
        let value = json!({"password": "hunter2 with space", "b": "hunter2 with space"});
        let want = json!({"password": "[REDACTED]", "b": "hunter2 with space"});
        assert_eq!(Redactor::default().redact_json(&value), want);
    }

    #[test]
    fn quoted_messages_labels_and_code_behind_a_secret_name_stay() {
        for text in [
            "\"password\": \"Must have 8 characters and 1 digit\"",
            "\"password\": \"Enter the password for user1\"",
            "\"password\": \"SHA256 of what was typed\"",
            "\"secret\": \"base64 text\"",
            "\"password\": \"Wort\"",
            "password: 'text'",
            "input(\"Password: \")",
            "input('Password: ')",
            "echo \"password: \" + p1 + \"x\"",
            "f(\"password=\", \"abc\")",
            "read -rp \"Password: \" pw1 \"x\"",
            "--password=\"$PASSWORD\" --token=\"<token>\"",
            "--password=\"the password\"",
            "tokens=\"abc\"",
            "printf \"password=\" hunter2 \"x\"",
            "secret=\"API_TOKEN DB_PASSWORD\"",
            "secrets: 'GITHUB_TOKEN, NPM_TOKEN'",
            "password: 'required|min:8'",
            "'password' => 'nullable|string|between:8,64|confirmed'",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn several_words_without_quotes_go_in_a_properties_file() {
        for (text, want) in [
            ("a=b\ndb.password=hunter2 two\nc=d", "a=b\ndb.password=[REDACTED]\nc=d"),
            ("password=correct horse \n", "password=[REDACTED] \n"),
            ("  passphrase=blue river stone", "  passphrase=[REDACTED]"),
            ("password=hunter2abc user=me", "password=[REDACTED] user=me"),
            ("PASSWORD=hunter2abc npm test", "PASSWORD=[REDACTED] npm test"),
        ] {
            assert_eq!(redact(text), want);
        }
        for text in ["password=not set", "password=is required here", "x password=correct horse"] {
            assert_eq!(redact(text), text);
        }
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
    fn a_bearer_token_of_any_length_goes_behind_its_header() {
        for (text, want) in [
            ("Authorization: Bearer abc", "Authorization: Bearer [REDACTED]"),
            ("-H \"authorization: bearer s3cr3t\" x", "-H \"authorization: bearer [REDACTED]\" x"),
            ("{\"Authorization\":\"Bearer ab\"}", "{\"Authorization\":\"Bearer [REDACTED]\"}"),
            (
                "headers['Authorization'] = 'Bearer abc'",
                "headers['Authorization'] = 'Bearer [REDACTED]'",
            ),
            ("Bearer abc123", "Bearer [REDACTED]"),
            ("sent bearer a1b2-c3 twice", "sent bearer [REDACTED] twice"),
        ] {
            assert_eq!(redact(text), want);
        }
        for text in [
            "Authorization: Bearer <token>",
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer ${TOKEN}",
            "Authorization: Bearer YOUR_TOKEN",
            "Authorization: Bearer TOKEN",
            "'Authorization: Bearer ' + token",
            "Bearer tokens are short",
            "the bearer of 3 rings",
            "Bearer 2.0 is no name",
        ] {
            assert_eq!(redact(text), text);
        }
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
    fn a_number_behind_a_secret_name_leaves_json_behind() {
        let text = redact("{\"password\": 12345678, \"a\": 1}");
        assert_eq!(text, "{\"password\": \"[REDACTED]\", \"a\": 1}");
    }

    #[test]
    fn a_private_key_without_its_end_goes_too() {
        let text = "see\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq4fWk0dN3x\nq4fWk0dN3xMIIEpAIBAAKCAQEA7b";
        assert_eq!(redact(text), "see\n[REDACTED]");
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
