//! Places in a text that do not overlap.

use std::ops::Range;

/// Puts things in the order of their places, without those that begin inside an earlier one.
pub(super) fn keep_outer<T>(things: &mut Vec<T>, place: impl Fn(&T) -> &Range<usize>) {
    things.sort_by_key(|it| place(it).start);
    let mut behind = 0;
    things.retain(|it| {
        let is_outer = place(it).start >= behind;
        behind = behind.max(place(it).end);
        is_outer
    });
}
