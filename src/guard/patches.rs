//! The patches of `apply_patch`, which some models get instead of `edit` and `create`: the files
//! that one adds, changes, moves, and deletes, and the remaining text of a file.
//!
//! Invariant: such a patch is understood as a whole or not at all; for one in any other form, only
//! the names of its files are reported. Whether a file may be changed is decided elsewhere.

/// How a patch begins, and how it ends.
pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The side of a diff on which there is no file, as git writes it and as the CLI does.
const NOWHERE: [&str; 3] = ["/dev/null", "a/dev/null", "b/dev/null"];

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patched {
    /// As written.
    pub(super) path: String,
    pub(super) change: PatchChange,
}

/// What a patch does to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatchChange {
    /// This is its content.
    Add(String),
    Delete,
    Update {
        /// Where it goes.
        moved: Option<String>,
        hunks: Vec<Hunk>,
    },
}

/// Lines that stand there, and lines that come in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    old: Vec<String>,
    new: Vec<String>,
}

/// Reads a patch; `None` where any line of it is not understood.
pub(super) fn read(text: &str) -> Option<Vec<Patched>> {
    let lines: Vec<&str> = text.trim().split('\n').collect();
    let [first, body @ .., last] = lines.as_slice() else { return None };
    if first.trim() != BEGIN || last.trim() != END {
        return None;
    }
    let mut files: Vec<Patched> = Vec::new();
    for line in body {
        match header(line) {
            Some(("Add File", path)) => {
                files.push(Patched::new(path, PatchChange::Add(String::new())))
            }
            Some(("Delete File", path)) => files.push(Patched::new(path, PatchChange::Delete)),
            Some(("Update File", path)) => {
                let change = PatchChange::Update { moved: None, hunks: Vec::new() };
                files.push(Patched::new(path, change));
            }
            Some(("Move to", path)) => match &mut files.last_mut()?.change {
                PatchChange::Update { moved: moved @ None, hunks } if hunks.is_empty() => {
                    *moved = Some(path.to_owned());
                }
                PatchChange::Update { .. } | PatchChange::Add(_) | PatchChange::Delete => {
                    return None;
                }
            },
            Some(_) => return None,
            None => files.last_mut()?.change.line(line)?,
        }
    }
    (!files.is_empty()).then_some(files)
}

/// The name and the value of a line such as `*** Add File: src/a.rs`.
fn header(line: &str) -> Option<(&str, &str)> {
    // What is added may look like anything.
    let marked =
        line.trim_start().strip_prefix("*** ").filter(|_| !line.starts_with(['+', '-']))?;
    let marked = marked.trim_end();
    (marked != "End of File").then(|| match marked.split_once(": ") {
        Some((name, path)) => (name, path),
        None => (marked, ""),
    })
}

impl Patched {
    fn new(path: &str, change: PatchChange) -> Self {
        Self { path: path.to_owned(), change }
    }
}

impl PatchChange {
    /// Takes a line that is no header.
    fn line(&mut self, line: &str) -> Option<()> {
        match self {
            Self::Delete => line.trim().is_empty().then_some(()),
            Self::Add(content) => {
                content.push_str(line.strip_prefix('+')?);
                content.push('\n');
                Some(())
            }
            Self::Update { hunks, .. } => {
                if line.starts_with("@@") {
                    hunks.push(Hunk::default());
                    return Some(());
                }
                if line.trim_end() == "*** End of File" {
                    return Some(());
                }
                if hunks.is_empty() {
                    hunks.push(Hunk::default());
                }
                let hunk = hunks.last_mut()?;
                let mut characters = line.chars();
                let sign = characters.next().unwrap_or(' ');
                let text = characters.as_str();
                if matches!(sign, ' ' | '-') {
                    hunk.old.push(text.to_owned());
                }
                if matches!(sign, ' ' | '+') {
                    hunk.new.push(text.to_owned());
                }
                matches!(sign, ' ' | '+' | '-').then_some(())
            }
        }
    }
}

/// What a patch of any form names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// Files as written, with the `a/` and `b/` of git; each once.
    pub(super) files: Vec<String>,
    /// Whether one of them is deleted.
    pub(super) deletes: bool,
}

/// The files in the headers of a unified diff, of git's extended one, and of a patch without
/// its frame. Lines inside a hunk name nothing, whatever they look like.
pub(super) fn named(text: &str) -> Named {
    let mut named = Named::default();
    let (mut old, mut new) = (0_usize, 0_usize);
    for line in text.lines() {
        if old > 0 || new > 0 {
            match line.as_bytes().first() {
                Some(b'-') => old = old.saturating_sub(1),
                Some(b'+') => new = new.saturating_sub(1),
                Some(b'\\') => {}
                _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            }
            // A count may lie: what begins a file does so anywhere.
            if !line.starts_with("diff --git ") {
                continue;
            }
            (old, new) = (0, 0);
        }
        if let Some(counts) = line.strip_prefix("@@ -").and_then(counts) {
            (old, new) = counts;
            continue;
        }
        named.deletes |= line.starts_with("deleted file mode");
        if let Some((what, path)) = header(line).filter(|(_, path)| !path.is_empty()) {
            named.deletes |= what == "Delete File";
            named.file(path);
        }
        for before in
            ["--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ", "Index: "]
        {
            if let Some(path) = line.strip_prefix(before) {
                named.deletes |= before == "+++ " && NOWHERE.contains(&path.trim_end());
                named.file(path.split('\t').next().unwrap_or(path));
            }
        }
        if let Some((from, to)) =
            line.strip_prefix("diff --git ").and_then(|both| both.split_once(" b/"))
        {
            named.file(from);
            named.file(&format!("b/{to}"));
        }
    }
    named
}

/// How many lines a hunk has on both sides: `1,3 +1,4 @@`.
fn counts(header: &str) -> Option<(usize, usize)> {
    let (old, rest) = header.split_once(" +")?;
    let new = rest.split([' ', '@']).next()?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

impl Named {
    fn file(&mut self, path: &str) {
        let path = path.trim().trim_matches('"').to_owned();
        let nothing = path.is_empty() || NOWHERE.contains(&path.as_str());
        if !nothing && !self.files.contains(&path) {
            self.files.push(path);
        }
    }
}

/// What hunks leave of a text; `None` where lines stand nowhere in it or more than once.
pub(super) fn apply(before: &str, hunks: &[Hunk]) -> Option<String> {
    let mut lines: Vec<&str> = before.split('\n').collect();
    for hunk in hunks {
        let new = hunk.new.iter().map(String::as_str);
        if hunk.old.is_empty() {
            // What stands nowhere is added at the end.
            let end = lines.len() - usize::from(lines.last() == Some(&""));
            lines.splice(end..end, new);
            continue;
        }
        let fits = |at: &usize| lines[*at..].iter().zip(&hunk.old).all(|(line, old)| line == old);
        let last = (lines.len() + 1).checked_sub(hunk.old.len())?;
        let mut places = (0..last).filter(fits);
        let (at, None) = (places.next()?, places.next()) else { return None };
        lines.splice(at..at + hunk.old.len(), new);
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(body: &str) -> Option<Vec<Patched>> {
        read(&format!("*** Begin Patch\n{body}\n*** End Patch\n"))
    }

    #[test]
    fn a_patch_tells_its_files() {
        let files = patch(
            "*** Add File: a\n+x\n+*** Delete File: y\n*** Update File: b\n*** Move to: c\n@@ fn f\n z\n-1\n+2\n\n*** End of File\n*** Delete File: d",
        );
        let files = files.expect("is understood");
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "d"]);
        assert_eq!(files[0].change, PatchChange::Add("x\n*** Delete File: y\n".to_owned()));
        let PatchChange::Update { moved, hunks } = &files[1].change else { panic!("an update") };
        assert_eq!(moved.as_deref(), Some("c"));
        assert_eq!(apply("0\nz\n1\n\n3\n", hunks).as_deref(), Some("0\nz\n2\n\n3\n"));
        assert_eq!(files[2].change, PatchChange::Delete);
    }

    #[test]
    fn a_patch_of_any_form_names_its_files() {
        for (text, files, deletes) in [
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", &["a/x", "b/x"][..], false),
            ("+++ .env\t2026-01-01\n", &[".env"], false),
            ("@@ -1,2 +1,2 @@\n--- a\n-x\n+++ b\n+y\n+++ b/z", &["b/z"], false),
            ("@@ -1,9 +1,9 @@\n-x\ndiff --git a/x b/y\n", &["a/x", "b/y"], false),
            ("rename from x\nrename to y\n", &["x", "y"], false),
            ("*** Update File: x\n*** Move to: y\n", &["x", "y"], false),
            ("*** Delete File: x\n", &["x"], true),
            ("--- a/x\n+++ /dev/null\n", &["a/x"], true),
            ("--- a/dev/null\n+++ b/w/x\n", &["b/w/x"], false),
            ("--- a/w/x\n+++ b/dev/null\n", &["a/w/x"], true),
            ("*** three stars of a text\n-- two\n", &[], false),
        ] {
            let want =
                Named { files: files.iter().map(|&file| file.to_owned()).collect(), deletes };
            assert_eq!(named(text), want, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_no_patch() {
        for body in ["", "x", "*** Add File: a\nx", "*** Rename File: a", "*** Move to: a", "+x"] {
            assert_eq!(patch(body), None, "{body}");
        }
        assert_eq!(read("*** Add File: a\n+x"), None);
        assert_eq!(read("cat\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"), None);
    }

    #[test]
    fn lines_that_stand_twice_or_nowhere_are_not_guessed() {
        let hunks = |body: &str| match patch(&format!("*** Update File: a\n{body}")) {
            Some(files) => match files.into_iter().next().expect("a file").change {
                PatchChange::Update { hunks, .. } => hunks,
                other => panic!("{other:?}"),
            },
            None => panic!("no patch"),
        };
        assert_eq!(apply("a\na\n", &hunks("@@\n-a\n+b")), None);
        assert_eq!(apply("b\n", &hunks("@@\n-a\n+b")), None);
        assert_eq!(apply("", &hunks("@@\n-a\n-b\n-c\n+b")), None);
        assert_eq!(apply("a\n", &hunks("@@\n+b")).as_deref(), Some("a\nb\n"));
    }
}
