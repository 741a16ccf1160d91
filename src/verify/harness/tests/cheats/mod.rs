//! Cheats on the harness: the edits undo each of them.

use super::tree::{Change, Planted, ask, changed};

struct Cheat<'a> {
    what: &'a str,
    check: &'a str,
    start: &'a [(&'a str, &'a str)],
    change: Change<'a>,
    /// Paths with what they hold after the edits; nothing for a file that is gone.
    after: Change<'a>,
}

/// One file that is made to be as it was.
macro_rules! undone {
    ($what:literal, $check:literal, $path:literal, $old:expr, $new:expr) => {
        Cheat {
            what: $what,
            check: $check,
            start: &[($path, $old)],
            change: &[($path, $new)],
            after: &[($path, Some($old))],
        }
    };
}

/// One new file that is taken away; the first is there at the start.
macro_rules! absent {
    ($what:literal, $check:literal, $old:literal = $text:expr, $path:literal = $new:expr) => {
        Cheat {
            what: $what,
            check: $check,
            start: &[($old, $text)],
            change: &[($path, Some($new))],
            after: &[($old, Some($text)), ($path, None)],
        }
    };
}

fn verify(cases: &[Cheat<'_>]) {
    let mut wrong = Vec::new();
    for case in cases {
        let start = Planted::of(case.start);
        let now = changed(&start, case.change);
        let result = ask(case.check, &start, &now);
        if result.changed.is_empty() {
            wrong.push(format!("{}: no change was seen", case.what));
        }
        let after = now.after(&result.edits);
        for (path, content) in case.after {
            let text = after.text(path);
            if text.as_deref() != *content {
                wrong.push(format!("{}: {path} is {text:?}", case.what));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

mod builds;
mod data;
mod entries;
mod files;
mod judges;
mod loaded;
mod packages;
mod rust;
mod shadows;
