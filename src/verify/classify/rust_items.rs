//! Tests inside Rust sources: items for tests only, such as `#[cfg(test)] mod tests`.
//!
//! Not in this file: tests in files of their own.

use std::ops::Range;

use proc_macro2::TokenStream;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item};

/// An item for tests only.
struct TestItem {
    /// Its name, with the modules around it.
    name: String,
    /// Its place, with its attributes.
    span: Range<usize>,
}

/// The current text with the start's test items in place of its own; nothing if they are the same,
/// or if one of the texts is no Rust, which no check can turn green.
pub(super) fn put_back(start: &str, now: &str) -> Option<String> {
    if !start.contains("test") && !now.contains("test") {
        return None;
    }
    let (old, new) = (test_items(start)?, test_items(now)?);
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let mut appended = String::new();
    for item in &old {
        let body = &start[item.span.clone()];
        match new.iter().find(|it| it.name == item.name) {
            Some(it) if now[it.span.clone()] != *body => edits.push((it.span.clone(), body)),
            Some(_) => {}
            None if item.name.contains("::") => {}
            None => appended.push_str(&format!("\n{body}\n")),
        }
    }
    let is_new = |it: &&TestItem| !old.iter().any(|item| item.name == it.name);
    edits.extend(new.iter().filter(is_new).map(|it| (it.span.clone(), "")));
    if edits.is_empty() && appended.is_empty() {
        return None;
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut text = now.to_owned();
    for (span, body) in edits.into_iter().rev() {
        text.replace_range(span, body);
    }
    Some(text + &appended)
}

/// Whether a text holds tests.
pub(super) fn holds_tests(code: &str) -> bool {
    code.contains("test") && test_items(code).is_some_and(|items| !items.is_empty())
}

/// The places of its test items.
pub(super) fn spans(code: &str) -> Vec<Range<usize>> {
    test_items(code).unwrap_or_default().into_iter().map(|item| item.span).collect()
}

fn test_items(code: &str) -> Option<Vec<TestItem>> {
    let file = syn::parse_file(code).ok()?;
    let mut found = Vec::new();
    let mut open: Vec<(String, Vec<Item>)> = vec![(String::new(), file.items)];
    while let Some((above, items)) = open.pop() {
        for item in items {
            let Some((attributes, name)) = head(&item) else { continue };
            let name = format!("{above}{name}");
            if attributes.iter().any(is_for_tests) {
                let span = item.span().byte_range();
                // Attributes begin the item, whatever kind it is.
                let from = attributes.first().map_or(span.start, |it| it.span().byte_range().start);
                found.push(TestItem { name, span: from.min(span.start)..span.end });
            } else if let Item::Mod(module) = item
                && let Some((_, items)) = module.content
            {
                open.push((format!("{name}::"), items));
            }
        }
    }
    found.sort_by_key(|item| item.span.start);
    Some(found)
}

/// The attributes and the name of an item.
fn head(item: &Item) -> Option<(&[Attribute], String)> {
    Some(match item {
        Item::Mod(it) => (&it.attrs, format!("mod {}", it.ident)),
        Item::Fn(it) => (&it.attrs, format!("fn {}", it.sig.ident)),
        Item::Const(it) => (&it.attrs, format!("const {}", it.ident)),
        Item::Static(it) => (&it.attrs, format!("static {}", it.ident)),
        Item::Struct(it) => (&it.attrs, format!("struct {}", it.ident)),
        Item::Enum(it) => (&it.attrs, format!("enum {}", it.ident)),
        Item::Trait(it) => (&it.attrs, format!("trait {}", it.ident)),
        Item::Macro(it) => {
            let name = it.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            (&it.attrs, format!("macro {name} {}", squeezed(&it.mac.tokens)))
        }
        Item::Impl(it) => {
            let tokens = quote::ToTokens::to_token_stream(&it.self_ty);
            (&it.attrs, format!("impl {}", squeezed(&tokens)))
        }
        Item::Use(it) => {
            (&it.attrs, format!("use {}", squeezed(&quote::ToTokens::to_token_stream(&it.tree))))
        }
        _ => return None,
    })
}

fn squeezed(tokens: &TokenStream) -> String {
    tokens.to_string().chars().filter(|c| !c.is_whitespace()).take(60).collect()
}

/// `#[test]`, `#[tokio::test]`, `#[rstest]`, `#[cfg(test)]`, `#[cfg(all(test, unix))]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Some(last) = attribute.path().segments.last() else { return false };
    let name = last.ident.to_string();
    if name != "cfg" {
        return matches!(name.as_str(), "test" | "rstest" | "test_case" | "quickcheck" | "bench");
    }
    let Ok(list) = attribute.meta.require_list() else { return false };
    let text: String = list.tokens.to_string().chars().filter(|c| !c.is_whitespace()).collect();
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "test") && !text.contains("not(test)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "pub fn sq(n: u32) -> u32 {\n    0\n}\n\n#[cfg(test)]\nmod tests {\n    \
                         use super::*;\n    #[test]\n    fn squares() {\n        \
                         assert_eq!(sq(3), 9);\n    }\n}\n";

    #[test]
    fn the_tests_of_the_start_come_back_and_the_work_stays() {
        let now = START.replace("    0\n", "    n + 6\n").replace("sq(3), 9", "sq(3), sq(3)");
        let back = put_back(START, &now).expect("the tests changed");
        assert_eq!(back, START.replace("    0\n", "    n + 6\n"));
        assert_eq!(put_back(START, &START.replace("    0\n", "    n * n\n")), None);
    }

    #[test]
    fn removed_tests_come_back_and_new_ones_go() {
        let removed = "pub fn sq(n: u32) -> u32 {\n    n + 6\n}\n";
        let back = put_back(START, removed).expect("the tests are gone");
        assert!(back.contains("n + 6") && back.contains("assert_eq!(sq(3), 9)"), "{back}");
        let new = format!("{START}\n#[test]\nfn more() {{}}\n#[cfg(test)]\nmod other;\n");
        let back = put_back(START, &new).expect("a new test");
        assert!(!back.contains("more") && !back.contains("other"), "{back}");
        assert_eq!(put_back("fn a() {}", "fn b() {}"), None);
        assert!(holds_tests(START) && !holds_tests(removed));
    }

    #[test]
    fn items_inside_modules_and_other_attributes() {
        let old = "mod a {\n    #[tokio::test]\n    async fn t() { assert!(x()); }\n    fn x() {}\n}\n\
                   #[cfg(not(test))]\nfn y() {}\n";
        let now = old.replace("assert!(x());", "");
        assert_eq!(put_back(old, &now).as_deref(), Some(old));
        assert_eq!(put_back(old, &old.replace("fn y() {}", "fn y() -> u8 { 1 }")), None);
    }
}
