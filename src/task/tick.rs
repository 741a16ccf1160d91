//! The one-byte tick: the only change that the runner and the agent make to a TASK.md.
//!
//! Invariant: the result differs from the input in at most the byte between the brackets.

use super::{error::TaskError, lookup::find};
use crate::model::{CriterionKey, Task};

/// The state to set a checkbox to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// `[x]`
    Done,
    /// `[ ]`
    Open,
}

/// Sets the checkbox whose byte between the brackets is at `mark`. A checkbox already in that state
/// is not changed, including `[X]`.
///
/// # Errors
/// [`TaskError::NoBox`] if that place has no checkbox, because the file is not the one
/// that was parsed.
pub fn tick(bytes: &[u8], mark: usize, to: Tick) -> Result<Vec<u8>, TaskError> {
    let around = mark.checked_sub(1).and_then(|start| bytes.get(start..)?.get(..3));
    let checked = match around {
        Some([b'[', b'x' | b'X', b']']) => true,
        // Markdown reads any one-byte blank as an open checkbox.
        Some([b'[', b' ' | b'\t' | 0x0b | 0x0c, b']']) => false,
        _ => return Err(TaskError::NoBox { offset: mark }),
    };
    let mut ticked = bytes.to_vec();
    match (to, checked) {
        (Tick::Done, false) => ticked[mark] = b'x',
        (Tick::Open, true) => ticked[mark] = b' ',
        (Tick::Done, true) | (Tick::Open, false) => {}
    }
    Ok(ticked)
}

/// Returns the text of `before`, byte for byte, with at most one tick added: that of
/// `keep_tick`, if the criterion exists.
pub fn restore(before: &Task, keep_tick: Option<&CriterionKey>) -> Vec<u8> {
    let mut bytes = before.source.clone().into_bytes();
    if let Some(criterion) = keep_tick.and_then(|key| find(before, key)).filter(|it| !it.checked) {
        bytes[criterion.mark] = b'x';
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::parse;

    #[test]
    fn one_byte_changes_and_back() {
        let source = b"- [ ] \xc3\xa4\r\n- [x] b";
        assert_eq!(tick(source, 3, Tick::Done).expect("a box"), b"- [x] \xc3\xa4\r\n- [x] b");
        assert_eq!(tick(source, 13, Tick::Open).expect("a box"), b"- [ ] \xc3\xa4\r\n- [ ] b");
    }

    #[test]
    fn a_checkbox_already_in_that_state_is_left_alone() {
        assert_eq!(tick(b"- [X] a", 3, Tick::Done).expect("a box"), b"- [X] a");
        assert_eq!(tick(b"- [\t] a", 3, Tick::Open).expect("a box"), b"- [\t] a");
    }

    #[test]
    fn every_other_place_is_refused() {
        let source = b"- [ ] a [y]";
        for mark in (0..source.len() + 3).filter(|mark| *mark != 3) {
            let refused = tick(source, mark, Tick::Done);
            assert!(matches!(refused, Err(TaskError::NoBox { offset }) if offset == mark));
        }
        assert!(tick(b"", 0, Tick::Done).is_err());
        assert!(tick(b"[x]", usize::MAX, Tick::Done).is_err());
    }

    #[test]
    fn restore_ticks_only_the_focus() {
        let before = parse("t", "\u{feff}- [ ] a\r\n- [ ] a\r\n- [X] b".as_bytes());
        let second = CriterionKey { text: "a".into(), occurrence: 1 };
        assert_eq!(
            restore(&before, Some(&second)),
            "\u{feff}- [ ] a\r\n- [x] a\r\n- [X] b".as_bytes()
        );
        assert_eq!(restore(&before, None), before.source.as_bytes());
        let ticked = CriterionKey { text: "b".into(), occurrence: 0 };
        assert_eq!(restore(&before, Some(&ticked)), before.source.as_bytes());
        let unknown = CriterionKey { text: "c".into(), occurrence: 0 };
        assert_eq!(restore(&before, Some(&unknown)), before.source.as_bytes());
    }
}
