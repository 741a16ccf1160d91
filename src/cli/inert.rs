//! Foreign text as the text of a criterion.

use crate::model::one_line;
use crate::task::parse;

/// A description as the text of a criterion: as it is, if TASK.md takes it for nothing else.
pub(super) fn inert(description: &str) -> String {
    let line = one_line(description);
    let escaped = |is: &dyn Fn(usize, char) -> bool| -> String {
        let parts =
            line.char_indices().map(|(at, c)| match is(at, c) && c.is_ascii_punctuation() {
                true => format!("\\{c}"),
                false => c.to_string(),
            });
        parts.collect()
    };
    let some = escaped(&|at, c| at == 0 || "`*_[]<>\\:&~|#".contains(c));
    let is_inert = |line: &String| {
        let alone = parse("t", format!("- [ ] {line}\n").as_bytes());
        let only = alone.criteria.first().filter(|_| alone.criteria.len() == 1);
        alone.diagnostics.is_empty()
            && only.is_some_and(|only| only.key.text == *line && only.verify.is_empty())
    };
    let found = [line.clone(), some].into_iter().find(is_inert);
    found.unwrap_or_else(|| escaped(&|_, _| true))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_description_stays_as_it_is_if_it_can() {
        for text in ["The `retry()` of **Client** waits", "[a link](b)", "1. first"] {
            assert_eq!(inert(text), text);
        }
        assert_eq!(inert("a\n  b"), "a b");
        assert_eq!(inert("x - verify: `false`"), r"x - verify\: \`false\`");
    }

    proptest! {
        #[test]
        fn no_description_becomes_anything_but_one_criterion(
            text in "[-*+ #>`~|<!&\\[\\]()xv:\\\\\na-c\u{2610}_]{0,24}( - verify: `x`)?",
        ) {
            prop_assume!(!text.trim().is_empty());
            let text = inert(&text);
            let read = parse("t", format!("- [ ] {text}\n  - id: a\n").as_bytes());
            prop_assert_eq!(read.diagnostics, []);
            prop_assert_eq!(read.criteria.len(), 1);
            prop_assert_eq!(&read.criteria[0].key.text, &text);
            prop_assert!(read.criteria[0].verify.is_empty());
        }
    }
}
