//! Tokens of known services, found by their beginnings.
//!
//! Invariant: the whole token is removed, whatever comes after it: the following text is part of
//! the token or ends it. One pass looks for all beginnings; a pattern is compiled when its
//! beginning is first found, so that a runner that never sees a secret has none of them.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::escape;
use super::mark::REDACTED;
use super::pattern::LazyPattern;

/// The beginning of a token, and the pattern of its rest.
const TOKENS: &[(&[&str], &str)] = &[
    (&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"[A-Za-z0-9]{16,255}"),
    (&["github_pat_"], r"[A-Za-z0-9_]{20,255}"),
    (&["AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA"], r"[A-Z0-9]{16}"),
    (
        &["sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-", "sk-lf-"],
        r"[A-Za-z0-9_-]{16,}",
    ),
    (&["sk-"], r"[A-Za-z0-9]{20,}"),
    (
        &[
            "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "pk_live_",
            "pk_test_", "pk_prod_",
        ],
        r"[A-Za-z0-9]{10,}",
    ),
    (&["whsec_"], r"[A-Za-z0-9+/=]{20,}"),
    (
        &["xoxa", "xoxb", "xoxc", "xoxp", "xoxo", "xoxs", "xoxr", "xoxe"],
        r"(?:\.xox[bp])?-[A-Za-z0-9-]{10,}",
    ),
    (&["xoxd-"], r"[A-Za-z0-9%+/_-]{10,}={0,2}"),
    (&["xapp-"], r"[0-9]-[A-Za-z0-9-]{10,}"),
    (&["AIza"], r"[0-9A-Za-z_-]{30,}"),
    (&["ya29."], r"[0-9A-Za-z_-]{20,}"),
    (&["GOCSPX-"], r"[0-9A-Za-z_-]{20,}"),
    (&["npm_"], r"[A-Za-z0-9]{30,}"),
    (
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
            "gloas-", "glsoat-", "glffct-",
        ],
        r"[A-Za-z0-9_=.-]{16,}",
    ),
    (&["GR1348941"], r"[A-Za-z0-9_-]{20,}"),
    (&["hf_", "api_org_"], r"[A-Za-z0-9]{30,}"),
    (&["doo_v1_", "dop_v1_", "dor_v1_"], r"[a-f0-9]{60,}"),
    (&["SG."], r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    (&["shpat_", "shpca_", "shppa_", "shpss_"], r"[a-fA-F0-9]{32}"),
    (&["pypi-"], r"[A-Za-z0-9_-]{50,}"),
    (&["ATATT3"], r"[A-Za-z0-9_=-]{50,}"),
    (&["ATCTT3"], r"[A-Za-z0-9_=-]{50,}"),
    (&["dapi"], r"[a-f0-9]{32}"),
    (&["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"[A-Za-z0-9._-]{30,}"),
    (&["lin_api_"], r"[A-Za-z0-9]{30,}"),
    (&["ptk-"], r"[a-f0-9]{32}"),
    (&["ntn_"], r"[A-Za-z0-9]{30,}"),
    (&["glc_", "glsa_"], r"[A-Za-z0-9+/_=]{30,}"),
    (&["HRKU-"], r"[A-Za-z0-9_-]{30,}"),
    (&["hvs.", "hvb.", "hvr."], r"[A-Za-z0-9_-]{20,}"),
    (&["AGE-SECRET-KEY-1"], r"[A-Z0-9]{50,}"),
    (&["M", "N", "O"], r"[A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    (&["gsk_"], r"[A-Za-z0-9]{30,}"),
    (&["xai-"], r"[A-Za-z0-9]{30,}"),
    (&["pplx-"], r"[A-Za-z0-9]{30,}"),
    (&["r8_"], r"[A-Za-z0-9]{30,}"),
    (&["csk-"], r"[A-Za-z0-9]{30,}"),
    (&["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], r"[A-Za-z0-9_.-]{30,}"),
    (&["sbp_"], r"[a-f0-9]{40}"),
    (&["sb_secret_"], r"[A-Za-z0-9_-]{20,}"),
    (&["NRAK-"], r"[A-Z0-9]{20,}"),
    (&["sntrys_", "sntryu_"], r"[A-Za-z0-9+/=_-]{30,}"),
    (&["PMAK-"], r"[a-f0-9-]{50,}"),
    (&["sq0atp-", "sq0csp-"], r"[A-Za-z0-9_-]{20,}"),
    (&["rubygems_"], r"[a-f0-9]{40,}"),
    (&["cio"], r"[A-Za-z0-9]{32}"),
    (&["tskey-"], r"[a-z]+-[A-Za-z0-9-]{16,}"),
    (&["pat"], r"[A-Za-z0-9]{14}\.[a-f0-9]{60,}"),
    (&["figd_"], r"[A-Za-z0-9_-]{30,}"),
    (&["pul-"], r"[a-f0-9]{40}"),
    (&["ops_eyJ"], r"[A-Za-z0-9+/=]{50,}"),
    (&["CLOJARS_"], r"[a-z0-9]{50,}"),
    (&["dckr_pat_", "dckr_oat_"], r"[A-Za-z0-9_-]{20,}"),
    (&["SK"], r"[0-9a-f]{32}"),
    (&["key-", "pubkey-"], r"[0-9a-f]{32}"),
    (&["AC"], r"[0-9a-f]{32}"),
    (&["FlyV1 fm1", "FlyV1 fm2"], r"r?_[A-Za-z0-9+/=,_-]{30,}"),
    (&["fo1_"], r"[A-Za-z0-9_-]{40,}"),
    (&["fm1", "fm2"], r"[ar]?_[A-Za-z0-9+/=]{100,}"),
    (&["secret_"], r"[A-Za-z0-9]{40,}"),
    (&["NRJS-", "NRII-", "NRIQ-"], r"[A-Za-z0-9_-]{19,}"),
    (&["EAAA"], r"[A-Za-z0-9_-]{56,}"),
    (&["EAAB", "EAAC", "EAAD", "EAAG", "EAAI", "EAAM"], r"[A-Za-z0-9]{30,}"),
    (&["dt0"], r"[a-z]0[0-9]\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    (&["EZAK", "EZTK"], r"[A-Za-z0-9]{54}"),
    (&["duffel_test_", "duffel_live_"], r"[A-Za-z0-9_=-]{40,}"),
    (&["fio-u-"], r"[A-Za-z0-9_=-]{60,}"),
    (&["p8e-"], r"[A-Za-z0-9]{32}"),
    (&["LTAI"], r"[A-Za-z0-9]{16,}"),
    (&["shippo_live_", "shippo_test_"], r"[a-f0-9]{40}"),
    (&["xkeysib-"], r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    (&["pnu_"], r"[a-z0-9]{36}"),
    (&["rdme_"], r"[a-z0-9]{60,}"),
    (&["tfp_"], r"[A-Za-z0-9_.=-]{50,}"),
    (&["tk-us-"], r"[A-Za-z0-9_-]{48}"),
    (&["s-s4t2ud-", "s-s4t2af-"], r"[a-f0-9]{64}"),
    (&["pat."], r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    (&["v1.0-"], r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    (&["sha256~"], r"[A-Za-z0-9_-]{43}"),
    (&["ico-"], r"[A-Za-z0-9]{32}"),
    (&["dnkey-"], r"[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}"),
    (&["AKCp"], r"[A-Za-z0-9]{60,}"),
    (&["cmVmdGtuOj"], r"[A-Za-z0-9]{40,}"),
    (&["sgp_"], r"(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    (&["YC"], r"[A-Za-z0-9_-]{38}"),
    (&["t1."], r"[A-Za-z0-9_-]{10,}={0,2}\.[A-Za-z0-9_-]{80,}={0,2}"),
    (&["sk_"], r"[A-Za-z0-9]{24,}"),
    (&["FLWSECK_TEST-", "FLWPUBK_TEST-"], r"[A-Za-z0-9]{12,}(?:-X)?"),
    (&["ABSK"], r"[A-Za-z0-9+/]{100,}={0,2}"),
    (&["bedrock-api-key-"], r"[A-Za-z0-9+/=_-]{40,}"),
    (&["access-sandbox-", "access-development-", "access-production-"], r"[0-9a-f-]{36}"),
    (&["sm_pat_", "sm_sat_", "sm_aat_"], r"[A-Za-z0-9]{16}"),
    (&["API-"], r"[A-Z0-9]{26}"),
    (&["CFPAT-"], r"[A-Za-z0-9_-]{40,}"),
    (&["bkua_"], r"[a-z0-9]{40}"),
    (&["CCIPAT_"], r"[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    (&["oy2"], r"[a-z0-9]{43}"),
    (&["nfp_"], r"[A-Za-z0-9]{36,}"),
    (&["vcp_", "vci_", "vcc_", "vck_", "vcr_", "vca_"], r"[A-Za-z0-9]{40,}"),
    (&["tvly-"], r"[A-Za-z0-9-]{28,}"),
    (&["lsv2_pt_", "lsv2_sk_"], r"[a-f0-9]{32}_[a-f0-9]{10}"),
    (&["fw_"], r"[A-Za-z0-9]{22,}"),
    (&["BBDC-"], r"[A-Za-z0-9+/@_-]{40,}"),
    (&["sl."], r"(?:u\.)?[A-Za-z0-9_=-]{100,}"),
    (&["live_", "test_"], r"(?:pub_)?[a-f0-9]{31,35}"),
    (&["tid="], r"[0-9a-f]{32};[A-Za-z0-9=;:._-]*"),
    (&["sqp_", "squ_", "sqa_"], r"[a-f0-9]{40}"),
    (&["nvapi-"], r"[A-Za-z0-9_-]{40,}"),
    (&["ATBB"], r"[A-Za-z0-9]{24,}"),
    (&["s."], r"[A-Za-z0-9]{24}"),
    // Keys and signed tokens in JSON, and those once more in base64.
    (&["eyJrIjoi"], r"[A-Za-z0-9+/]{24,}={0,2}"),
    (&["ZXlK"], r"[A-Za-z0-9+/_-]{60,}={0,2}"),
    (&["eyJ", "eyK"], r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"),
];

/// Tokens that are known by something inside: that, and all of it.
const INNER: &[(&str, &str)] = &[
    (":AA", r"(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}"),
    ("-us", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    ("|", r"[0-9]{15,16}\|[A-Za-z0-9_-]{27}"),
    ("Q~", r"[A-Za-z0-9][A-Za-z0-9_~.]{2}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
];

struct Tokens {
    beginnings: AhoCorasick,
    /// For each beginning the place of its pattern.
    of: Vec<usize>,
    rests: Vec<LazyPattern>,
    inner: Vec<(&'static str, LazyPattern)>,
}

static FINDER: LazyLock<Option<Tokens>> = LazyLock::new(|| {
    let begins = TOKENS
        .iter()
        .enumerate()
        .flat_map(|(at, (begins, _))| begins.iter().map(move |begin| (at, begin)));
    let (of, begins): (Vec<usize>, Vec<&&str>) = begins.unzip();
    Some(Tokens {
        beginnings: AhoCorasick::new(begins).ok()?,
        of,
        rests: TOKENS.iter().map(|(_, rest)| LazyPattern::new(format!("^(?:{rest})"))).collect(),
        inner: INNER
            .iter()
            .map(|(hint, all)| {
                (
                    *hint,
                    LazyPattern::new(format!(
                        r"(?P<p>(?-u:\b)|\x1b\[[0-9;]{{0,12}}m|\\[nrt]|%[0-9A-Fa-f]{{2}})(?:{all})"
                    )),
                )
            })
            .collect(),
    })
});

/// The text without tokens of known services; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    // If a table itself were broken, nothing may pass.
    apply(text).unwrap_or_else(|| Some(REDACTED.to_owned()))
}

/// As [`redact`]; `None` outside if a table is broken.
fn apply(text: &str) -> Option<Option<String>> {
    let finder = FINDER.as_ref()?;
    let mut out = finder.begun(text)?;
    for (hint, pattern) in &finder.inner {
        let now = out.as_deref().unwrap_or(text);
        if now.contains(hint)
            && let Cow::Owned(changed) =
                pattern.get()?.replace_all(now, format!("${{p}}{REDACTED}").as_str())
        {
            out = Some(changed);
        }
    }
    Some(out)
}

impl Tokens {
    /// Without the tokens that are known by what they begin with; `None` outside if the table
    /// is broken.
    fn begun(&self, text: &str) -> Option<Option<String>> {
        let found = self.beginnings.find_overlapping_iter(text);
        let mut found: Vec<(usize, usize, usize)> = found
            .filter(|found| is_start(text.as_bytes(), found.start()))
            .map(|found| (found.start(), self.of[found.pattern().as_usize()], found.end()))
            .collect();
        // The leftmost one counts, and of several there the first one of the table.
        found.sort_unstable();
        let mut out = String::new();
        let mut done = 0;
        for (start, token, rest) in found {
            if start < done {
                continue;
            }
            let Some(mut end) = self.end(text, token, start, rest)? else { continue };
            // Another one may follow without a gap.
            while let Some(next) = self.joined(text, end)? {
                end = next;
            }
            out.push_str(&text[done..start]);
            out.push_str(REDACTED);
            done = end;
        }
        Some((done > 0).then(|| out + &text[done..]))
    }

    /// Where a token ends whose beginning was found; none if it goes on as no token does.
    fn end(&self, text: &str, token: usize, start: usize, rest: usize) -> Option<Option<usize>> {
        let end = self.rests[token].get()?.find(&text[rest..]).map(|found| rest + found.end());
        let ordinary = ORDINARY.contains(&&text[start..rest]);
        let jumble = |end: usize| is_jumble(&text[..start], &text[rest..end], &text[end..]);
        Some(end.filter(|end| !ordinary || jumble(*end)))
    }

    /// Where a token ends that begins at the end of the one before, or within its last
    /// letters: those of `ghp_` may belong to both.
    fn joined(&self, text: &str, end: usize) -> Option<Option<usize>> {
        let from = text.floor_char_boundary(end.saturating_sub(LONGEST));
        let to = text.floor_char_boundary(end + LONGEST);
        let mut joined = None;
        for found in self.beginnings.find_overlapping_iter(&text[from..to]) {
            let (start, rest) = (from + found.start(), from + found.end());
            if start <= end && rest > end && rest - start > WEAK {
                let token = self.of[found.pattern().as_usize()];
                joined = joined.max(self.end(text, token, start, rest)?);
            }
        }
        Some(joined)
    }
}

/// Longest beginning of a token, in bytes.
const LONGEST: usize = 24;

/// A beginning of so few bytes says little.
const WEAK: usize = 2;

/// Beginnings that code has, too, or any base64.
const ORDINARY: &[&str] = &["s.", "EAAB", "EAAC", "EAAD", "EAAG", "EAAI", "EAAM"];

/// Whether what follows an ordinary beginning has capitals, small letters and digits, and
/// stands alone: it is not a method that is called, and not part of a longer base64.
fn is_jumble(before: &str, token: &str, after: &str) -> bool {
    let two = |is: fn(&u8) -> bool| token.bytes().filter(is).count() >= 2;
    let goes_on = |c: char| matches!(c, '(' | '_' | '+' | '/') || c.is_ascii_alphanumeric();
    two(u8::is_ascii_digit)
        && two(u8::is_ascii_uppercase)
        && two(u8::is_ascii_lowercase)
        && !before.ends_with(['+', '/'])
        && !after.starts_with(goes_on)
}

/// Whether a token may begin here: no word goes before it, but a colour or an escape may.
fn is_start(text: &[u8], at: usize) -> bool {
    let Some(last) = text[..at].last() else { return true };
    !last.is_ascii_alphanumeric() && *last != b'_' || escape::ends_at(text, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::{Strategy as _, ValueTree as _};

    #[test]
    fn a_token_of_every_shape_goes_whole_and_its_neighbours_stay() {
        let begun = TOKENS
            .iter()
            .flat_map(|(begins, rest)| begins.iter().map(move |begin| (*begin, *rest)));
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for (begin, rest) in begun.chain(INNER.iter().map(|(_, all)| ("", *all))) {
            let shape = proptest::string::string_regex(rest).expect("a pattern");
            for _ in 0..8 {
                let token =
                    format!("{begin}{}", shape.new_tree(&mut runner).expect("a token").current());
                for (text, want) in [
                    (format!("using {token} now"), "using [REDACTED] now"),
                    (format!("\"{token}\",\nnext"), "\"[REDACTED]\",\nnext"),
                    (format!("\u{1b}[1;31m{token}\u{1b}[0m"), "\u{1b}[1;31m[REDACTED]\u{1b}[0m"),
                    (format!("a\\n{token}"), "a\\n[REDACTED]"),
                ] {
                    assert_eq!(redact(&text).as_deref(), Some(want), "{begin}{rest}: {text}");
                }
            }
        }
    }

    #[test]
    fn tokens_without_a_gap_and_behind_escapes_go_whole() {
        let tail = "dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH";
        for (text, want) in [
            (format!("ghp_{tail}ghp_{tail}"), "[REDACTED]"),
            (format!("ghp_{tail}ghs_{tail}npm_{tail} x"), "[REDACTED] x"),
            (format!("AKIAUWXIL34XSH7D6IU4ghp_{tail}"), "[REDACTED]"),
            (format!("a%20ghp_{tail}"), "a%20[REDACTED]"),
            (format!("token%3Dghp_{tail}"), "token%3D[REDACTED]"),
            (format!("%2520ghp_{tail}%2520"), "%2520[REDACTED]%2520"),
            (format!("x=%22ghp_{tail}%22"), "x=%22[REDACTED]%22"),
            (format!("\\u0026ghp_{tail}"), "\\u0026[REDACTED]"),
            (format!("\\u001b[31mghp_{tail}\\u001b[0m"), "\\u001b[31m[REDACTED]\\u001b[0m"),
        ] {
            assert_eq!(redact(&text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn within_a_word_nothing_begins() {
        let tail = "A".repeat(36);
        for text in [
            format!("xghp_{tail}"),
            format!("\u{1b}[31nghp_{tail}"),
            format!("task-list sk-learn {tail}"),
        ] {
            assert_eq!(redact(&text), None, "{text}");
        }
    }
}
