//! A script's own report: `PASS`, `all tests passed`, `0 failures`.

use std::sync::LazyLock;

use regex::Regex;

/// Is a text or a pattern only a script's word on whether all is well? A lower-case `ok` may be a
/// program's answer.
pub(super) fn is_claim(text: &str) -> bool {
    static FILLING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)^(?:all|every|tests?|checks?|result|build|done|no|0|zero|is|are|the|a|z|ok|not|errors?|status)$",
        )
        .expect("valid")
    });
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(?:OK|GREEN|SUCCESS|SUCCESSFUL|SUCCEEDED|VERIFIED|(?i:pass|passes|passed|passing|fail|fails|failed|failure|failures))$",
        )
        .expect("valid")
    });
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let says = |word: &&str| SAYS.is_match(word);
    let none = ["no errors", "0 errors", "all ok", "zero errors"];
    (words.iter().any(says) || none.contains(&text.to_lowercase().trim()))
        && words.iter().all(|word| says(word) || FILLING.is_match(word))
}
