//! Conditions that say what something contains: `'a' in list`, `text.includes('a')`.

use std::sync::LazyLock;

use regex::Regex;

use super::patterns::regex;

/// The condition with another text, which turns it around: from true to false if it `holds`.
pub(super) fn other_text(ending: &str, condition: &str, holds: bool) -> Option<String> {
    let inner = condition.trim();
    let is_negated = NOT.is_match(inner);
    let several = ["&&", "||", " and ", " or ", "?", "==", " for "];
    let without = inner.replace("include?", "include");
    if is_negated == holds || several.iter().any(|word| without.contains(word)) {
        return None;
    }
    let mut all = CALL.captures_iter(condition).chain(IN.captures_iter(condition));
    let found = all.next()?;
    if all.next().is_some() {
        return None;
    }
    let text = found.get(1)?;
    // Elsewhere, `'a'` is a single character.
    let is_text = text.as_str().starts_with('"')
        || matches!(
            ending,
            "py" | "rb" | "php" | "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx"
        );
    let end = text.end() - 1;
    is_text.then(|| format!("{}~{}", &condition[..end], &condition[end..]))
}

static NOT: LazyLock<Regex> = LazyLock::new(|| regex(r"^\(*(?:!|not\b)|\bnot in\b"));

/// `x.includes('a')`, `strings.Contains(x, "a")`.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:str_)?(?:contains?(?:key|value)?|includes?|has|has_key|starts_?with|ends_?with|has_?prefix|has_?suffix|__contains__)\??",
        r#"\([^"'\n]*?("(?:[^"\\\n]|\\.)+"|'(?:[^'\\\n]|\\.)+')\s*\)"#,
    ))
});

/// `'a' in list`
static IN: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"("(?:[^"\\\n]|\\.)+"|'(?:[^'\\\n]|\\.)+')[ \t]+in\b"#));
