//! Programs that code of awk starts, and files that it reads.

use std::sync::LazyLock;

use regex::Regex;

/// The commands of `system("sh gate")`.
pub(super) fn commands(code: &str) -> Vec<String> {
    static SYSTEM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\bsystem\(\s*"([^"\n]+)""#).expect("valid"));
    SYSTEM.captures_iter(code).map(|found| found[1].to_owned()).collect()
}

/// Does it read what a command prints: `"sh app.sh" | getline`?
pub(super) fn captures(code: &str) -> bool {
    static GETLINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\|&?\s*getline\b").expect("valid"));
    GETLINE.is_match(code)
}

/// The files of `getline line < "want"`.
pub(super) fn files(code: &str) -> Vec<String> {
    static READS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\bgetline\b[^;}<]*<\s*"([^"\n]+)""#).expect("valid"));
    READS.captures_iter(code).map(|found| found[1].to_owned()).collect()
}

/// Is it a program with fields, which takes nothing from the shell?
pub(super) fn has_fields(word: &str) -> bool {
    static FIELD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$(?:\d|NF\b)").expect("valid"));
    word.contains('{') && FIELD.is_match(word) && !word.contains("$(") && !word.contains('`')
}
