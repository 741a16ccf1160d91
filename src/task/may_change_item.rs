//! `may_change:` items: globs of tests and configuration that the work on a criterion may change.

use std::ops::Range;

use globset::Glob;

use super::{item::behind, segment::Segment};

/// The keyword that begins the item.
const KEYWORD: &str = "may_change";

/// The hint for every invalid item.
pub(super) const EXAMPLE: &str = "for example: - may_change: [\"tests/api/**\"]";

/// A `may_change:` item.
pub(super) struct MayChangeItem {
    /// The bytes of its first line in the file.
    pub(super) span: Range<usize>,
    /// The globs, or an error message.
    pub(super) globs: Result<Vec<String>, String>,
}

/// One glob or a list of them.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// Reads an item's first block of text. Returns `None` if it is not such an item.
pub(super) fn read(segments: &[Segment<'_>]) -> Option<MayChangeItem> {
    let first = segments.first()?;
    let rest = behind(first.text, KEYWORD)?.trim().trim_matches('`');
    let one_line = segments[1..].iter().all(|segment| segment.text.is_empty());
    let globs = if one_line { globs(rest) } else { Err("the globs must fit on one line".into()) };
    Some(MayChangeItem { span: first.span(), globs })
}

fn globs(text: &str) -> Result<Vec<String>, String> {
    let read = serde_saphyr::from_str::<OneOrMany>(text);
    let globs = match read.map_err(|_| "`may_change:` takes a glob or a list of globs")? {
        OneOrMany::One(glob) => vec![glob],
        OneOrMany::Many(globs) => globs,
    };
    for glob in &globs {
        if glob.trim().is_empty() {
            return Err("`may_change:` has an empty glob".to_owned());
        }
        if glob.starts_with('/') || glob.split('/').any(|part| part == "..") {
            return Err(format!("the glob `{glob}` can never match"));
        }
        Glob::new(glob).map_err(|error| format!("invalid glob `{glob}`: {}", error.kind()))?;
    }
    Ok(globs)
}

#[cfg(test)]
mod tests {
    use crate::task::parse;

    fn read(line: &str) -> (Vec<String>, Vec<String>) {
        let mut task = parse("t", format!("- [ ] a\n  - {line}\n").as_bytes());
        let told = task.diagnostics.iter().map(|it| it.message.clone()).collect();
        (task.criteria.remove(0).may_change, told)
    }

    #[test]
    fn a_glob_or_a_list() {
        for line in [
            "may_change: [\"tests/**\", b.sh]",
            "may_change: ['tests/**', b.sh]",
            "may_change: [tests/**, b.sh]",
            "MAY_CHANGE:   [ tests/**,b.sh ]",
        ] {
            assert_eq!(read(line), (vec!["tests/**".into(), "b.sh".into()], vec![]), "{line}");
        }
        assert_eq!(read("may_change: tests/a_b.py"), (vec!["tests/a_b.py".into()], vec![]));
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        for (line, told) in [
            ("may_change:", "takes a glob"),
            ("may_change: [a", "takes a glob"),
            ("may_change: {a: b}", "takes a glob"),
            ("may_change: [\"\"]", "empty glob"),
            ("may_change: /etc", "can never match"),
            ("may_change: ../x", "can never match"),
            ("may_change: \"a[\"", "invalid glob"),
        ] {
            let (globs, errors) = read(line);
            assert!(globs.is_empty(), "{line}");
            assert!(errors.iter().any(|it| it.contains(told)), "{line}: {errors:?}");
        }
    }
}
