//! `id:` and `after:` items: the name of a criterion, and the criteria that come before it.
//!
//! Invariant: after [`resolve`], every name stands for another criterion, and no criterion comes
//! before itself, whichever way round. Anything else is an error at the item.

use std::collections::HashMap;
use std::ops::Range;

use super::diagnostics::{Diagnostics, quote};
use super::item::behind;
use super::segment::Segment;
use crate::model::Criterion;

/// The hint for an invalid `id:`.
pub(super) const ID_EXAMPLE: &str =
    "for example: - id: retry (letters, digits, `.`, `_`, and `-`, at most 64)";

/// The hint for an invalid `after:`.
pub(super) const AFTER_EXAMPLE: &str = "for example: - after: retry, parser";

/// The longest id, in characters.
const LONGEST: usize = 64;

/// An `id:` or `after:` item; errors are messages.
pub(super) enum OrderItem {
    /// The bytes of its line in the file, and the id.
    Id(Range<usize>, Result<String, String>),
    /// The ids, or the first one that is none.
    After(Result<Vec<Place>, Place>),
}

/// The bytes of an id in the file, and the id or a message about it.
type Place = (Range<usize>, String);

/// A criterion that another one names.
pub(super) struct Predecessor {
    /// The index of the one that comes after.
    pub(super) number: usize,
    /// The bytes of the name in the file.
    pub(super) span: Range<usize>,
    /// The name.
    pub(super) id: String,
}

/// Reads an item's first block of text. Returns `None` if it is no such item.
pub(super) fn read(segments: &[Segment<'_>]) -> Option<OrderItem> {
    let first = segments.first()?;
    let one_line = segments[1..].iter().all(|segment| segment.text.is_empty());
    if let Some(rest) = behind(first.text, "id") {
        let id = rest.trim().trim_matches('`').trim();
        let id = match (one_line, id) {
            (false, _) => Err("an id must fit on one line".to_owned()),
            (true, "") => Err("`id:` has no name".to_owned()),
            (true, id) if is_id(id) => Ok(id.to_owned()),
            (true, id) => Err(format!("{} is no id", quote(id))),
        };
        return Some(OrderItem::Id(first.span(), id));
    }
    let rest = behind(first.text, "after")?;
    if !one_line {
        let message = "the ids must fit on one line".to_owned();
        return Some(OrderItem::After(Err((first.span(), message))));
    }
    let list = rest.trim();
    let list = list.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(list);
    let start = first.start + (list.as_ptr() as usize - first.text.as_ptr() as usize);
    let mut found = Vec::new();
    let mut at = start;
    for part in list.split(',') {
        let id = part.trim().trim_matches(['`', '"', '\'']).trim();
        let from = at + (id.as_ptr() as usize - part.as_ptr() as usize);
        at += part.len() + 1;
        let span = from..from + id.len();
        if id.is_empty() {
            let message = "`after:` has an empty name".to_owned();
            return Some(OrderItem::After(Err((first.span(), message))));
        }
        if !is_id(id) {
            let message = format!("{} is no id of a criterion", quote(id));
            return Some(OrderItem::After(Err((span, message))));
        }
        found.push((span, id.to_owned()));
    }
    Some(OrderItem::After(Ok(found)))
}

fn is_id(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._-".contains(c);
    text.chars().count() <= LONGEST
        && text.starts_with(char::is_alphanumeric)
        && text.chars().all(is_part)
}

/// Finds the criteria that `after:` names.
pub(super) fn resolve(
    criteria: &mut [Criterion],
    named: &[Predecessor],
    diagnostics: &mut Diagnostics<'_>,
) {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, criterion) in criteria.iter().enumerate() {
        let Some(id) = &criterion.id else { continue };
        if let Some(first) = places.get(id) {
            let line = criteria[*first].line;
            diagnostics.error(
                criterion.mark - 1..criterion.mark + 2,
                format!("the id {} is taken by the criterion on line {line}", quote(id)),
                "give each criterion an id of its own",
            );
        } else {
            places.insert(id.clone(), number);
        }
    }
    let mut edges: Vec<(usize, usize, Range<usize>)> = Vec::new();
    for Predecessor { number, span, id } in named {
        match places.get(id) {
            None => {
                let mut known: Vec<&str> = places.keys().map(String::as_str).collect();
                known.sort_unstable();
                let hint = match known.as_slice() {
                    [] => "write `- id: …` below the criterion that comes first".to_owned(),
                    known => format!("the ids of this task: {}", known.join(", ")),
                };
                let message = format!("no criterion has the id {}", quote(id));
                diagnostics.error(span.clone(), message, hint);
            }
            Some(before) if before == number => diagnostics.error(
                span.clone(),
                "this criterion comes after itself",
                "name another criterion, or remove the item",
            ),
            Some(before) => edges.push((*before, *number, span.clone())),
        }
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); criteria.len()];
    for (before, number, span) in edges {
        if let Some(way) = way(&after, before, number) {
            let name = |at: &usize| criteria[*at].id.clone().unwrap_or_default();
            let names: Vec<String> = way.iter().map(name).collect();
            let message = format!("Circular dependency: {}", names.join(" → "));
            diagnostics.error(span, message, "remove one of these `after:`");
        } else if !after[number].contains(&before) {
            after[number].push(before);
        }
    }
    for (number, before) in after.into_iter().enumerate() {
        let keys = before.into_iter().map(|at| criteria[at].key.clone()).collect();
        criteria[number].after = keys;
    }
}

/// The circle that `after: from` below `to` would close: from `to` by those before `from`.
fn way(after: &[Vec<usize>], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        if at == to {
            let mut way = vec![to];
            let mut at = to;
            while at != from {
                at = came_from[&at];
                way.push(at);
            }
            way.push(to);
            return Some(way);
        }
        for before in &after[at] {
            if *before != from && !came_from.contains_key(before) {
                came_from.insert(*before, at);
                waiting.push(*before);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::model::Task;
    use crate::task::parse;

    fn read(text: &str) -> Task {
        parse("t", text.as_bytes())
    }

    fn told(text: &str) -> Vec<String> {
        let task = read(text);
        let place =
            |it: &crate::model::Diagnostic| format!("{}:{}: {}", it.line, it.column, it.message);
        task.diagnostics.iter().map(place).collect()
    }

    #[test]
    fn criteria_come_after_those_they_name() {
        let task = read(
            "- [ ] c\n  - after: a-1, `b`\n- [ ] a\n  - id: a-1\n- [x] b\n  - ID: `b`\n  - after: [a-1]\n",
        );
        assert_eq!(task.diagnostics, []);
        let after: Vec<Vec<&str>> = task
            .criteria
            .iter()
            .map(|it| it.after.iter().map(|key| key.text.as_str()).collect())
            .collect();
        assert_eq!(after, [vec!["a", "b"], vec![], vec!["a"]]);
    }

    #[test]
    fn what_cannot_be_meant_is_an_error_at_its_place() {
        for (text, expected) in [
            ("- [ ] a\n  - after: b\n", "2:12: no criterion has the id `b`"),
            (
                "- [ ] a\n  - id: a\n  - after: x,  a\n- [ ] x\n  - id: x\n",
                "3:16: this criterion comes after itself",
            ),
            ("- [ ] a\n  - id: a b\n", "2:5: `a b` is no id"),
            ("- [ ] a\n  - id:\n", "2:5: `id:` has no name"),
            ("- [ ] a\n  - id: a\n  - id: b\n", "3:5: this criterion already has an id"),
            ("- [ ] a\n  - after: a,,b\n", "2:5: `after:` has an empty name"),
            (
                "- [ ] a\n  - after: the server runs\n",
                "2:12: `the server runs` is no id of a criterion",
            ),
            (
                "- [ ] a\n  - id: a\n- [ ] b\n  - id: a\n",
                "3:3: the id `a` is taken by the criterion on line 1",
            ),
        ] {
            assert_eq!(told(text), [expected], "{text}");
        }
        let circle = "- [ ] a\n  - id: a\n  - after: c\n- [ ] b\n  - id: b\n  - after: a\n- [ ] c\n  - id: c\n  - after: b\n";
        assert_eq!(told(circle), ["9:12: Circular dependency: c → a → b → c"]);
    }

    #[test]
    fn outside_of_a_criterion_they_are_text() {
        assert_eq!(told("- id: a\n- after: the work\n\n# A\n- [ ] a\n"), Vec::<String>::new());
    }
}
