//! Which listings of tracked files may name secrets: the index tells. Names only;
//! whether a listing is read is decided where its words are used.

use std::path::{Path, PathBuf};

use crate::guard::judge::{Judge, ReadKind};
use crate::guard::programs::readers::aims_at_secrets;
use crate::guard::secrets;
use crate::guard::shell::{Env, ShellOutput, ShellValue};

impl Judge<'_> {
    /// What git prints when it lists tracked files. A listing that may name a secret is
    /// noted: its files may be counted, not read.
    pub(super) fn tracked(&mut self, env: &Env, operands: &[ShellValue]) -> ShellOutput {
        let stream = self.root_of(env, operands);
        let ShellOutput::Listing(root) = &stream else { return stream };
        if !operands.is_empty() && operands.iter().all(names_no_secret) {
            return stream;
        }
        let pattern = |word: &ShellValue| word.text().is_none_or(|text| text.contains(MAGIC));
        let workspace = self.policy.workspace.clone();
        let below = if operands.iter().any(pattern) { workspace.as_path() } else { root };
        let holds = match self.index() {
            Some(paths) => paths.iter().any(|path| path.starts_with(below) && secrets::path(path)),
            // Without an index that can be read, whatever is there may be tracked.
            None => self.read(below, ReadKind::Tree).is_err(),
        };
        if holds {
            self.unsifted.insert(root.clone());
        }
        stream
    }
}

impl Judge<'_> {
    /// All tracked files, if their names can be read.
    pub(in crate::guard::programs) fn index(&self) -> Option<&[PathBuf]> {
        self.tracked.get_or_init(|| self.read_index()).as_deref()
    }

    fn read_index(&self) -> Option<Vec<PathBuf>> {
        let git = self.policy.workspace.join(".git");
        // A worktree has its own index elsewhere, and says where.
        let pointer = self.files.read(&git).ok().and_then(|text| String::from_utf8(text).ok());
        let folder = match pointer.as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
            Some(elsewhere) => self.policy.workspace.join(elsewhere.trim()),
            None => git,
        };
        let names = names(&self.files.read(&folder.join("index")).ok()?)?;
        Some(names.iter().map(|name| self.policy.workspace.join(name)).collect())
    }
}

/// What makes more than a plain name of a pathspec.
const MAGIC: [char; 5] = ['*', '?', '[', ':', '\\'];

/// Whether a pathspec is a pattern such as `*.rs` that fits no secret.
fn names_no_secret(word: &ShellValue) -> bool {
    word.text().is_some_and(|text| {
        let last = Path::new(text).file_name().map(|name| name.to_string_lossy().into_owned());
        let (plain, ending) = match last.as_deref().and_then(|last| last.rsplit_once("*.")) {
            Some((before, ending)) => (before.is_empty(), ending),
            None => return false,
        };
        plain
            && !ending.is_empty()
            && ending.chars().all(char::is_alphanumeric)
            && !text.contains([':', '\\'])
            && !secrets::file_name(&format!("x.{ending}"))
            && !aims_at_secrets(&format!("*.{ending}"))
    })
}

/// The names in an index of git's versions 2 and 3; `None` for any other.
fn names(index: &[u8]) -> Option<Vec<String>> {
    const FIXED: usize = 62;
    let word = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4)? != b"DIRC" || !matches!(word(4)?, 2 | 3) {
        return None;
    }
    let mut names = Vec::new();
    let mut at = 12;
    for _ in 0..word(8)? {
        let flags = u16::from_be_bytes(index.get(at + FIXED - 2..at + FIXED)?.try_into().ok()?);
        let start = at + FIXED + if flags & 0x4000 == 0 { 0 } else { 2 };
        let length = index.get(start..)?.iter().position(|byte| *byte == 0)?;
        // Hashes of another length would put everything in another place.
        if length == 0 || usize::from(flags & 0xfff) != length.min(0xfff) {
            return None;
        }
        names.push(String::from_utf8_lossy(&index[start..start + length]).into_owned());
        at += (start + length - at + 8) & !7;
    }
    // Behind the names stand extensions and a hash of the whole. What must be understood has
    // a name in small letters: other names stand elsewhere then.
    while let Some(extension) = index.get(at..at + 8).filter(|_| index.len() > at + 20) {
        if !extension[0].is_ascii_uppercase() {
            return None;
        }
        at += 8 + usize::try_from(word(at + 4)?).ok()?;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(hash: usize, listed: &[&str]) -> Vec<u8> {
        let mut out = b"DIRC\0\0\0\x02\0\0\0".to_vec();
        out.push(u8::try_from(listed.len()).expect("few"));
        for name in listed {
            let start = out.len();
            out.extend(vec![0; 40 + hash]);
            out.extend(u16::try_from(name.len()).expect("short").to_be_bytes());
            out.extend(name.bytes());
            out.push(0);
            while !(out.len() - start).is_multiple_of(8) {
                out.push(0);
            }
        }
        out
    }

    #[test]
    fn an_index_that_does_not_hold_all_names_tells_none() {
        let with = |extension: &[u8]| {
            let mut out = index(20, &["src/lib.rs"]);
            out.extend(extension);
            out.extend([0, 0, 0, 2, 7, 7]);
            out.extend([1; 20]);
            names(&out)
        };
        assert_eq!(with(b"TREE").expect("is read"), ["src/lib.rs"]);
        assert_eq!(with(b"link"), None, "the others stand in a shared index");
        assert_eq!(with(b"sdir"), None, "folders stand for what is in them");
    }

    #[test]
    fn an_index_tells_its_names_or_nothing() {
        let listed = [".env", "a/longer-name.rs", "src/lib.rs"];
        assert_eq!(names(&index(20, &listed)).expect("is read"), listed);
        assert_eq!(names(&index(32, &listed)), None, "longer hashes are not read wrongly");
        assert_eq!(names(&index(20, &listed)[..100]), None, "a cut index is not read in part");
        assert_eq!(names(b"DIRC\0\0\0\x04\0\0\0\0"), None);
    }
}
