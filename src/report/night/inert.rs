//! Makes foreign text inert in Markdown and HTML.

use crate::report::format::{harmless, one_line};

/// Breaks up workflow commands (`::`, `##[`).
fn quiet(text: &str) -> String {
    text.replace("::", ":\u{200b}:").replace("##[", "##\u{200b}[")
}

/// One line as a code span of Markdown: nothing in one is a link, a mention, or a keyword.
pub(super) fn span(text: &str) -> String {
    let line = quiet(&one_line(text));
    let ticks = "`".repeat(longest(&line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    if line.is_empty() { "–".to_owned() } else { format!("{ticks}{space}{line}{space}{ticks}") }
}

/// Lines as a code block of Markdown, of which only the last ones are kept.
pub(super) fn block(text: &str, most: usize) -> String {
    let text = quiet(&harmless(text));
    let from = text.char_indices().rev().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    let cut = if from > 0 { "…" } else { "" };
    let fence = "`".repeat(longest(&text).max(2) + 1);
    format!("{fence}text\n{cut}{}\n{fence}\n", text[from..].trim_end())
}

/// The most backticks in a row.
fn longest(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// Text inside of an HTML element or a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_of_others_is_live() {
        assert_eq!(span("Closes #1 @you ![](x)\n- [ ] y"), "`Closes #1 @you ![](x) - [ ] y`");
        assert_eq!(span("a ``` b"), "````a ``` b````");
        assert_eq!(span("`a`"), "`` `a` ``");
        assert_eq!(span("\u{1b}[31mred ::error::x"), "`␛[31mred :\u{200b}:error:\u{200b}:x`");
        assert_eq!(block("one\n````\ntwo\n", 1000), "`````text\none\n````\ntwo\n`````\n");
        assert_eq!(block("0123456789", 4), "```text\n…6789\n```\n");
        assert_eq!(escaped("<a href='x'>&\"\u{7}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;␇");
    }
}
