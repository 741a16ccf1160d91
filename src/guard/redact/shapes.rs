//! Secrets that are known by their own shape, wherever they stand.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REDACTED;

/// Tokens of which all goes. No boundary is asked for behind them: what follows
/// is part of the token or stops it by itself.
const TOKENS: &[&str] = &[
    r"gh[pousr]_[A-Za-z0-9]{16,255}",
    r"github_pat_[A-Za-z0-9_]{20,255}",
    r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}",
    r"sk-(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16,}",
    r"sk-[A-Za-z0-9]{20,}",
    r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"xox[abposre](?:\.xox[bp])?-[A-Za-z0-9-]{10,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
    r"AIza[0-9A-Za-z_-]{30,}",
    r"ya29\.[0-9A-Za-z_-]{20,}",
    r"GOCSPX-[0-9A-Za-z_-]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_=.-]{16,}",
    r"GR1348941[A-Za-z0-9_-]{20,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"do[opr]_v1_[a-f0-9]{60,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"pypi-[A-Za-z0-9_-]{50,}",
    r"ATATT3[A-Za-z0-9_=-]{50,}",
    r"ATCTT3[A-Za-z0-9_=-]{50,}",
    r"dapi[a-f0-9]{32}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}",
    r"lin_api_[A-Za-z0-9]{30,}",
    r"ntn_[A-Za-z0-9]{30,}",
    r"gl(?:c|sa)_[A-Za-z0-9+/_=]{30,}",
    r"HRKU-[A-Za-z0-9_-]{30,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
    r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"gsk_[A-Za-z0-9]{30,}",
    r"xai-[A-Za-z0-9]{30,}",
    r"pplx-[A-Za-z0-9]{30,}",
    r"r8_[A-Za-z0-9]{30,}",
    r"csk-[A-Za-z0-9]{30,}",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}",
    r"sbp_[a-f0-9]{40}",
    r"sb_secret_[A-Za-z0-9_-]{20,}",
    r"NRAK-[A-Z0-9]{20,}",
    r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    r"PMAK-[a-f0-9-]{50,}",
    r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}",
    r"rubygems_[a-f0-9]{40,}",
    r"cio[A-Za-z0-9]{32}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{16,}",
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{60,}",
    r"figd_[A-Za-z0-9_-]{30,}",
    r"pul-[a-f0-9]{40}",
    r"ops_eyJ[A-Za-z0-9+/=]{50,}",
    r"CLOJARS_[a-z0-9]{50,}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    r"SK[0-9a-f]{32}",
    r"key-[0-9a-f]{32}",
    r"AC[0-9a-f]{32}",
    r"EAAC[A-Za-z0-9]{50,}",
    r"FlyV1 fm[12]r?_[A-Za-z0-9+/=,_-]{30,}",
    r"fo1_[A-Za-z0-9_-]{40,}",
    r"fm[12][ar]?_[A-Za-z0-9+/=]{100,}",
    r"[0-9a-f]{32}-us[0-9]{1,2}",
    r"secret_[A-Za-z0-9]{40,}",
    r"NR(?:JS|II|IQ)-[A-Za-z0-9_-]{19,}",
    r"EAAA[A-Za-z0-9_-]{56,}",
    r"EAA[MC][A-Za-z0-9]{50,}",
    r"[0-9]{15,16}\|[A-Za-z0-9_-]{27}",
    r"dt0[a-z]0[0-9]\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    r"EZ[AT]K[A-Za-z0-9]{54}",
    r"duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}",
    r"fio-u-[A-Za-z0-9_=-]{60,}",
    r"p8e-[A-Za-z0-9]{32}",
    r"LTAI[A-Za-z0-9]{16,}",
    r"shippo_(?:live|test)_[a-f0-9]{40}",
    r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
    r"pnu_[a-z0-9]{36}",
    r"rdme_[a-z0-9]{60,}",
    r"tfp_[A-Za-z0-9_.=-]{50,}",
    r"tk-us-[A-Za-z0-9_-]{48}",
    r"s-s4t2(?:ud|af)-[a-f0-9]{64}",
    r"pat\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}",
    r"sha256~[A-Za-z0-9_-]{43}",
    r"ico-[A-Za-z0-9]{32}",
    r"dnkey-[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}",
    r"AKCp[A-Za-z0-9]{60,}",
    r"cmVmdGtuOj[A-Za-z0-9]{40,}",
    r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}",
    r"YC[A-Za-z0-9_-]{38}",
    r"t1\.[A-Za-z0-9_-]{10,}={0,2}\.[A-Za-z0-9_-]{80,}={0,2}",
    r"sk_[A-Za-z0-9]{24,}",
    r"FLW(?:SECK|PUBK)_TEST-[A-Za-z0-9]{12,}(?:-X)?",
    r"ABSK[A-Za-z0-9+/]{100,}={0,2}",
    r"bedrock-api-key-[A-Za-z0-9+/=_-]{40,}",
    r"[A-Za-z0-9][A-Za-z0-9_~.]{2}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
    r"access-(?:sandbox|development|production)-[0-9a-f-]{36}",
    r"sm_(?:pat|sat|aat)_[A-Za-z0-9]{16}",
    r"API-[A-Z0-9]{26}",
    r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
    r"CFPAT-[A-Za-z0-9_-]{40,}",
    r"bkua_[a-z0-9]{40}",
    r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}",
    r"oy2[a-z0-9]{43}",
    r"nfp_[A-Za-z0-9]{36,}",
    r"vc[pickra]_[A-Za-z0-9]{40,}",
    r"tvly-[A-Za-z0-9-]{28,}",
    r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
    r"fw_[A-Za-z0-9]{22,}",
    r"BBDC-[A-Za-z0-9+/@_-]{40,}",
    r"sl\.(?:u\.)?[A-Za-z0-9_=-]{100,}",
    r"(?:live|test)_(?:pub_)?[a-f0-9]{31,35}",
    // What the Copilot CLI gets in exchange for a login.
    r"tid=[0-9a-f]{32};[A-Za-z0-9=;:._-]*",
    r"ey[JK][A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}",
];

/// Shapes of which the group `s` goes and the rest stays.
const PARTS: &[&str] = &[
    // Credentials in a URL, up to the last `@` of the host part.
    r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:(?P<s>[^\s/"'<>\\]+)@"#,
    r#"[A-Za-z][A-Za-z0-9+.-]*://(?P<s>[A-Za-z0-9_-]{20,})@"#,
    r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{16,})",
    r"discord(?:app)?\.com/api/webhooks/(?P<s>[0-9]+/[A-Za-z0-9_-]{20,})",
    r"\.webhook\.office\.com/(?P<s>[A-Za-z0-9@/_-]{30,})",
    r"[?&;]sig=(?P<s>[A-Za-z0-9%+/=_-]{16,})",
    r#"(?i)\b(?:proxy-)?authorization\\*["']?\s{0,4}[:=]\s{0,4}\\*["']?(?:(?:basic|bearer|token|digest|apikey|negotiate)[ \t]+)?(?P<s>[A-Za-z0-9][^\s"',;\\]{7,})"#,
    r"(?i)\bbearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{16,})",
    r"\b[Bb]asic[ \t]+(?P<s>[A-Za-z0-9+/]{12,}={0,2})",
    r#"\bcurl\b[^\n|;]*?[ \t](?:-u|--user)[ =]?["']?[^\s:"']+:(?P<s>[^\s"']+)"#,
    r#"\bdocker[ \t]+login\b[^\n|;]*?[ \t]-p[ =]?(?P<s>[^\s'"]{6,})"#,
    r#"\bmysql(?:dump|admin)?\b[^\n|;]*?[ \t]-p(?P<s>[^\s'"]{6,})"#,
    r"\blogin[ \t\n]+\S{1,80}[ \t\n]+password[ \t]+(?P<s>\S{4,})",
    r#"\bsshpass[ \t]+-p[ \t]*["']?(?P<s>[^\s"']+)"#,
    r#"\\*"auth\\*"[ \t]*:[ \t]*\\*"(?P<s>[A-Za-z0-9+/=]{8,})"#,
    r#"(?i)\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|SharedSecret)=(?P<s>[^;\s"']{8,})"#,
];

/// The marks of a private key; its name stands between them and five more dashes.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// The body of a private key whose end is not there: headers and lines of base64.
const PEM_OPEN: &str = r#"^(?:(?:\\[rnt]|\s)*(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n"\\]*|[A-Za-z0-9+/=]{16,}))*(?:(?:\\[rn]|\s)+[A-Za-z0-9+/=]+$)?"#;

/// The end of a private key whose beginning is not there.
const PEM_END: &str =
    r#"(?:[A-Za-z0-9+/=]{16,}(?:\\[rn]|\s)+)+-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"#;

struct Shapes {
    tokens: Regex,
    parts: Vec<Regex>,
    pem_open: Regex,
    pem_end: Regex,
}

static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    // A token may also follow a colour or an escaped line break.
    let tokens = format!(r"(?P<p>(?-u:\b)|\x1b\[[0-9;]{{0,12}}m|\\[nrt])(?:{})", TOKENS.join("|"));
    Some(Shapes {
        tokens: Regex::new(&tokens).ok()?,
        parts: PARTS.iter().map(|part| Regex::new(part).ok()).collect::<Option<_>>()?,
        pem_open: Regex::new(PEM_OPEN).ok()?,
        pem_end: Regex::new(PEM_END).ok()?,
    })
});

/// The text without secrets of known shapes; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    // If the table itself were broken, nothing may pass.
    let Some(shapes) = SHAPES.as_ref() else { return Some(REDACTED.to_owned()) };
    let mut out = Cow::Borrowed(text);
    if let Some(changed) = private_keys(text, &shapes.pem_open) {
        out = Cow::Owned(changed);
    }
    if out.contains(END)
        && let Cow::Owned(changed) = shapes.pem_end.replace_all(&out, REDACTED)
    {
        out = Cow::Owned(changed);
    }
    if let Cow::Owned(changed) =
        shapes.tokens.replace_all(&out, format!("${{p}}{REDACTED}").as_str())
    {
        out = Cow::Owned(changed);
    }
    for regex in &shapes.parts {
        let changed = match regex.replace_all(&out, |found: &Captures<'_>| part(found)) {
            Cow::Owned(changed) => changed,
            Cow::Borrowed(_) => continue,
        };
        out = Cow::Owned(changed);
    }
    match out {
        Cow::Owned(changed) if changed != text => Some(changed),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    }
}

/// The length of `NAME PRIVATE KEY-----` at the start of a text.
fn key_name(text: &str) -> Option<usize> {
    let end = text.find("-----").filter(|end| *end <= 64)?;
    let name = &text[..end];
    let name = name.strip_suffix(" BLOCK").unwrap_or(name);
    let plain =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    (plain && name.ends_with("PRIVATE KEY")).then_some(end + 5)
}

/// The text without private keys, found by their marks in one pass.
fn private_keys(text: &str, open: &Regex) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(BEGIN) {
        let begin = at + found;
        let after = begin + BEGIN.len();
        let Some(name) = key_name(&text[after..]) else {
            at = after;
            continue;
        };
        let body = after + name;
        // The next mark is this key's end, or the key has none.
        let next = text[body..].find("-----").map(|next| body + next);
        let closed = next
            .filter(|next| text[*next..].starts_with(END) && !text[body..*next].contains('"'))
            .and_then(|next| {
                let name = key_name(&text[next + END.len()..])?;
                Some(next + END.len() + name)
            });
        let until = next.unwrap_or(text.len());
        let end = closed
            .unwrap_or_else(|| body + open.find(&text[body..until]).map_or(0, |open| open.end()));
        out.push_str(&text[done..begin]);
        out.push_str(REDACTED);
        done = end;
        at = end;
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

fn part(found: &Captures<'_>) -> String {
    let (Some(whole), Some(secret)) = (found.get(0), found.name("s")) else {
        return REDACTED.to_owned();
    };
    let keep = secret.as_str().starts_with(REDACTED)
        || secret.as_str().starts_with(['$', '{', '<', '*'])
        || whole.as_str().len() == secret.as_str().len();
    let lower = whole.as_str().to_ascii_lowercase();
    let scheme = lower.starts_with("bearer") || lower.starts_with("basic");
    if keep || scheme && !random(secret.as_str()) {
        return whole.as_str().to_owned();
    }
    let start = secret.start() - whole.start();
    let end = secret.end() - whole.start();
    format!("{}{REDACTED}{}", &whole.as_str()[..start], &whole.as_str()[end..])
}

/// Whether text is no word: it has a digit, or capitals inside.
fn random(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        || text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
            && text.bytes().any(|byte| byte.is_ascii_lowercase())
        || text.ends_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::{Strategy as _, ValueTree as _};

    #[test]
    fn the_tables_compile() {
        for pattern in PARTS.iter().chain(TOKENS).chain([&PEM_OPEN, &PEM_END]) {
            assert!(Regex::new(pattern).is_ok(), "{pattern}: {:?}", Regex::new(pattern));
        }
        assert!(SHAPES.is_some());
    }

    #[test]
    fn a_token_of_every_shape_goes_whole_and_its_neighbours_stay() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for pattern in TOKENS {
            let shape = proptest::string::string_regex(pattern).expect("a pattern");
            for _ in 0..8 {
                let token = shape.new_tree(&mut runner).expect("a token").current();
                for (text, want) in [
                    (format!("using {token} now"), "using [REDACTED] now"),
                    (format!("\"{token}\",\nnext"), "\"[REDACTED]\",\nnext"),
                    (format!("\u{1b}[31m{token}\u{1b}[0m"), "\u{1b}[31m[REDACTED]\u{1b}[0m"),
                ] {
                    assert_eq!(redact(&text).as_deref(), Some(want), "{pattern}: {text}");
                }
            }
        }
    }
}
