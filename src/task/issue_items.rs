//! The task list of an issue.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::markdown::options;

/// An item of a task list that somebody wrote elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueItem {
    /// Its first paragraph as written, in one line.
    pub text: String,
    /// Is its box ticked?
    pub done: bool,
}

/// The items with a box at the top level: not nested, quoted, or in code.
pub fn issue_items(text: &str) -> Vec<IssueItem> {
    let (mut items, mut open) = (Vec::new(), None::<(bool, usize, usize)>);
    let (mut lists, mut quotes) = (0_u32, 0_u32);
    for (event, at) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::TaskListMarker(done) if lists == 1 && quotes == 0 => {
                open = Some((done, at.end, at.end));
                continue;
            }
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes = quotes.saturating_sub(1),
            Event::End(TagEnd::List(_)) => lists = lists.saturating_sub(1),
            _ => {}
        }
        let ends = matches!(
            event,
            Event::Start(Tag::List(_) | Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::HtmlBlock)
                | Event::End(TagEnd::Paragraph | TagEnd::Item)
        );
        if let Event::Start(Tag::List(_)) = event {
            lists += 1;
        }
        match open {
            Some((done, from, to)) if ends => {
                let words: Vec<&str> = text[from..to].split_whitespace().collect();
                if !words.is_empty() {
                    items.push(IssueItem { text: words.join(" "), done });
                }
                open = None;
            }
            Some((_, _, ref mut to)) => *to = (*to).max(at.end),
            None => {}
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_those_of_the_top_level() {
        let text = "Intro\n- [ ] one `x`\n  goes **on**\n  - [ ] nested\n- [x] two\n\n> - [ ] quoted\n\n\
                    ```\n- [ ] code\n```\n1. [ ] three\n\n   more\n- no box\n- [ ]\n";
        let items = issue_items(text);
        let told: Vec<(&str, bool)> = items.iter().map(|it| (it.text.as_str(), it.done)).collect();
        assert_eq!(told, [("one `x` goes **on**", false), ("two", true), ("three", false)]);
        assert_eq!(issue_items("- [ ] a\r\n- [ ] b\r\n").len(), 2);
    }
}
