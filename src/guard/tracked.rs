//! The files that git tracks, as far as its index tells; nothing is decided here.

use std::path::{Path, PathBuf};

use super::files::Files;

/// Canonical paths of all tracked files; `None` if the index cannot be read as a whole.
pub(super) fn read_index(files: &dyn Files, workspace: &Path) -> Option<Vec<PathBuf>> {
    let names = names(&files.read(&git_folder(files, workspace).join("index")).ok()?)?;
    Some(names.iter().map(|name| workspace.join(name)).collect())
}

/// Git's own folder: a worktree has one elsewhere, and says where.
fn git_folder(files: &dyn Files, workspace: &Path) -> PathBuf {
    let git = workspace.join(".git");
    let pointer = files.read(&git).ok().and_then(|text| String::from_utf8(text).ok());
    match pointer.as_deref().and_then(|text| text.strip_prefix("gitdir:")) {
        Some(elsewhere) => workspace.join(elsewhere.trim()),
        None => git,
    }
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
