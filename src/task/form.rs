//! The content of a TASK.md without its Markdown form: bullets, numbering, white space, escapes.
//!
//! Invariant: equal content means the same criteria in the same order; the front matter, code, and
//! HTML count byte for byte. A formatter of Markdown changes the form alone.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::diagnostics::Diagnostics;
use super::front_matter;
use super::lines::Lines;
use super::markdown::options;

/// A part of the content.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// Text, with white space collapsed.
    Text(String),
    /// The end of a paragraph that another one follows.
    Break,
    /// Anything else, as the parser shows it.
    Other(String),
}

/// Do two files differ in nothing but their form and in ticks?
pub fn same_content(before: &str, after: &str) -> bool {
    // A formatter keeps the line ends of a file, or is set up to change them on purpose.
    before.contains('\r') == after.contains('\r')
        && (after.ends_with('\n') || !before.ends_with('\n'))
        && content(before) == content(after)
}

fn content(source: &str) -> (String, Vec<Part>) {
    let lines = Lines::of(source);
    let body = front_matter::split(&lines, &mut Diagnostics::on(&lines)).body;
    let (front, body) = lines.source().split_at(body);
    let mut parts = Vec::new();
    let mut code = None;
    for event in Parser::new_ext(body, options()) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => code = Some(format!("{kind:?}\n")),
            Event::End(TagEnd::CodeBlock) => {
                let block = code.take().unwrap_or_default();
                push(&mut parts, Part::Other(block.replace("\r\n", "\n")));
            }
            Event::Text(text) if let Some(block) = &mut code => block.push_str(&text),
            Event::Text(text) => add_text(&mut parts, &text),
            Event::SoftBreak => add_text(&mut parts, " "),
            // Blank lines between items make paragraphs of their texts.
            Event::Start(Tag::Paragraph) => {}
            Event::End(TagEnd::Paragraph) => push(&mut parts, Part::Break),
            Event::Start(Tag::List(first)) => {
                push(&mut parts, Part::Other(format!("list {}", first.is_some())));
            }
            Event::TaskListMarker(_) => push(&mut parts, Part::Other("box".into())),
            other => push(&mut parts, Part::Other(format!("{other:?}"))),
        }
    }
    for part in &mut parts {
        if let Part::Text(text) = part {
            *text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    (front.lines().collect::<Vec<_>>().join("\n"), parts)
}

/// Adds a part. Only a paragraph that text follows needs its end.
fn push(parts: &mut Vec<Part>, part: Part) {
    if matches!(part, Part::Other(_)) && parts.last() == Some(&Part::Break) {
        parts.pop();
    }
    parts.push(part);
}

fn add_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(text),
        Some(Part::Break | Part::Other(_)) | None => parts.push(Part::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "---\nverify: make\n---\n# T\n\nSome text\nin two lines.\n* [ ] a_b *c*\n\
                          \x20 * verify: `one`\n* [x] d\n\n1. e\n1. f\n\n```sh\n* x\n```\n";

    #[test]
    fn the_form_of_markdown_is_no_content() {
        for after in [
            BEFORE.replace("* ", "- ").replace("- x", "* x"),
            BEFORE.replace("\n* [x]", "\n\n* [x]"),
            BEFORE.replace("a_b *c*", "a\\_b _c_"),
            BEFORE.replace("1. f", "2. f"),
            BEFORE.replace("[x]", "[ ]"),
            BEFORE.replace("text\nin", "text in"),
            BEFORE.replace("# T\n\n", "T\n===\n"),
        ] {
            assert!(same_content(BEFORE, &after), "{after}");
        }
    }

    #[test]
    fn words_order_code_and_front_matter_are_content() {
        for after in [
            BEFORE.replace('\n', "\r\n"),
            BEFORE.trim_end().to_owned(),
            BEFORE.replace("make", "true"),
            BEFORE.replace("a_b", "a b"),
            BEFORE.replace("`one`", "`on e`"),
            BEFORE.replace("* x", "- x"),
            BEFORE.replace("# T", "## T"),
            BEFORE.replace("  * verify", "* verify"),
            BEFORE.replace("* [x] d", "* d"),
            BEFORE.replace("Some text\nin", "Some text\n\nin"),
            BEFORE.replace("1. e\n1. f", "1. f\n1. e"),
            format!("{BEFORE}\n* [ ] more\n"),
        ] {
            assert!(!same_content(BEFORE, &after), "{after}");
        }
    }
}
