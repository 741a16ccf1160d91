//! Manifests as trees of parts: which of them are the start's, and how two trees merge.

use std::collections::BTreeSet;

use super::manifests::Merged;

/// Who decides about a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The product: it may change.
    Free,
    /// The start's comes back. A new one stays.
    Kept,
    /// The start's comes back. A new one goes.
    Fixed,
}

/// A part of a manifest.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Its text, with what follows up to the next part. Of a block, the line that opens it.
    pub(super) text: String,
    /// Its subject. Parts with the same key are compared; blank ones have none.
    pub(super) key: String,
    /// The text that has to be as at the start, unless both are free.
    pub(super) value: String,
    pub(super) fate: Fate,
    pub(super) inner: Option<Inner>,
}

/// The content of a block, and the line that ends it.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub(super) parts: Vec<Part>,
    pub(super) end: String,
}

impl Part {
    /// A part whose whole text has to be as at the start.
    pub(super) fn new(text: &str, key: impl Into<String>, fate: Fate) -> Self {
        let value = squeezed(text);
        Self { text: text.to_owned(), key: key.into(), value, fate, inner: None }
    }

    /// A part of which only a value has to be as at the start.
    pub(super) fn with_value(text: &str, key: String, value: String, fate: Fate) -> Self {
        Self { text: text.to_owned(), key, value, fate, inner: None }
    }

    /// A blank line or a comment.
    pub(super) fn blank(text: &str) -> Self {
        Self::new(text, "", Fate::Free)
    }

    /// A block.
    pub(super) fn block(head: &str, key: impl Into<String>, parts: Vec<Self>, end: &str) -> Self {
        let inner = Some(Inner { parts, end: end.to_owned() });
        Self { inner, ..Self::new(head, key, Fate::Free) }
    }

    /// A block that stays or goes as a whole.
    pub(super) fn as_one(&self, fate: Fate) -> Self {
        let mut text = String::new();
        self.write(&mut text);
        Self::new(&text, self.key.clone(), fate)
    }

    fn write(&self, text: &mut String) {
        text.push_str(&self.text);
        if let Some(inner) = &self.inner {
            inner.parts.iter().for_each(|part| part.write(text));
            text.push_str(&inner.end);
        }
    }

    fn protected_keys<'p>(&'p self, keys: &mut BTreeSet<&'p str>) {
        match &self.inner {
            Some(inner) => inner.parts.iter().for_each(|part| part.protected_keys(keys)),
            None if self.fate != Fate::Free => {
                keys.insert(&self.key);
            }
            None => {}
        }
    }

    fn holds_protected(&self) -> bool {
        match &self.inner {
            Some(inner) => inner.parts.iter().any(Self::holds_protected),
            None => self.fate != Fate::Free,
        }
    }

    fn is_white(&self) -> bool {
        self.inner.is_none() && self.text.trim().is_empty()
    }

    /// Whether this part may stand where the start has another one.
    fn may_replace(&self, old: &Self) -> bool {
        self.key == old.key
            && match (&self.inner, &old.inner) {
                (Some(_), Some(_)) => true,
                (None, None) => {
                    (self.fate == Fate::Free && old.fate == Fate::Free) || self.value == old.value
                }
                (Some(_), None) | (None, Some(_)) => false,
            }
    }
}

/// Text without white space and without lines that are comments.
pub(super) fn squeezed(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with(['#']) && !line.starts_with("//"));
    lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
}

/// Puts back the start's parts.
pub(super) fn merged(old: &[Part], new: Vec<Part>) -> Merged {
    let mut known = BTreeSet::new();
    old.iter().for_each(|part| part.protected_keys(&mut known));
    let mut merge = Merge { known, changed: false };
    let parts = merge.level(old, new);
    if !merge.changed {
        return Merged::Same;
    }
    let mut text = String::new();
    parts.iter().for_each(|part| part.write(&mut text));
    Merged::Text(text)
}

struct Merge<'o> {
    /// Keys of the start's protected parts, wherever they are.
    known: BTreeSet<&'o str>,
    changed: bool,
}

impl Merge<'_> {
    fn level(&mut self, old: &[Part], new: Vec<Part>) -> Vec<Part> {
        let mut taken = vec![false; old.len()];
        let mut matches = Vec::new();
        for part in &new {
            let free = |at: &usize| !taken[*at] && !part.key.is_empty();
            let at = (0..old.len()).filter(free).find(|at| part.may_replace(&old[*at]));
            if let Some(at) = at {
                taken[at] = true;
            }
            matches.push(at);
        }
        // Each with its place among the start's parts.
        let mut result: Vec<(Part, Option<usize>)> = Vec::new();
        let mut rest = new.into_iter().zip(matches).peekable();
        while let Some((mut part, at)) = rest.next() {
            if let Some(inner) = part.inner.take() {
                let before = at.and_then(|at| old[at].inner.as_ref());
                let before = before.map_or(&[][..], |inner| &inner.parts);
                let parts = self.level(before, inner.parts);
                part.inner = Some(Inner { parts, ..inner });
            } else if at.is_none() && self.goes(&part) {
                self.changed = true;
                let instead = (0..old.len()).find(|at| !taken[*at] && old[*at].key == part.key);
                if let Some(at) = instead {
                    taken[at] = true;
                    result.push((old[at].clone(), Some(at)));
                } else if rest.peek().is_none_or(|(next, _)| next.is_white()) {
                    result.pop_if(|(last, _)| last.is_white());
                }
                continue;
            }
            result.push((part, at));
        }
        for (at, part) in old.iter().enumerate().filter(|(at, _)| !taken[*at]) {
            if part.holds_protected() {
                self.changed = true;
                insert(&mut result, part.clone(), at);
            }
        }
        result.into_iter().map(|(part, _)| part).collect()
    }

    /// Whether a part that is not as at the start has to go.
    fn goes(&self, part: &Part) -> bool {
        part.fate == Fate::Fixed || self.known.contains(part.key.as_str())
    }
}

/// Inserts a part of the start after the ones that stood before it.
fn insert(result: &mut Vec<(Part, Option<usize>)>, mut part: Part, at: usize) {
    let before = |(_, place): &(Part, Option<usize>)| place.is_some_and(|place| place < at);
    let position = result.iter().rposition(before).map_or(0, |position| position + 1);
    if let Some((last, _)) = position.checked_sub(1).and_then(|last| result.get_mut(last))
        && part.text.ends_with('\n')
        && last.inner.is_none()
        && !last.text.ends_with('\n')
    {
        last.text.push('\n');
    }
    if position < result.len() && !part.text.ends_with(['\n', '>']) && part.inner.is_none() {
        part.text.push('\n');
    }
    result.insert(position, (part, Some(at)));
}
