//! Content that this clone lacks: commits of submodules, and large files.
//!
//! Invariant: pure. A check that fails without it says nothing about the work.

use std::path::PathBuf;

/// What a room could not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotFetched {
    /// Submodules that stay empty.
    pub submodules: Vec<PathBuf>,
    /// Files that stay pointers of git-lfs.
    pub large: Vec<PathBuf>,
}

impl NotFetched {
    /// What is missing, and the command that brings it.
    pub fn told(&self) -> Option<String> {
        let kinds = [
            ("the submodule", &self.submodules, "git submodule update --init --recursive"),
            ("the large file", &self.large, "git lfs pull"),
        ];
        let lines = kinds.into_iter().filter_map(|(what, paths, command)| {
            let first = paths.first()?.display();
            let more = match paths.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            Some(format!("this clone lacks {what} `{first}`{more}: run `{command}`"))
        });
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_with_its_command() {
        let mut it = NotFetched::default();
        assert_eq!(it.told(), None);
        it.submodules = vec!["kit".into()];
        let kit = "this clone lacks the submodule `kit`: run `git submodule update --init \
                   --recursive`";
        assert_eq!(it.told().as_deref(), Some(kit));
        it.large = vec!["a.bin".into(), "b.bin".into(), "c.bin".into()];
        let large = "this clone lacks the large file `a.bin` and 2 more: run `git lfs pull`";
        assert_eq!(it.told(), Some(format!("{kit}\n{large}")));
    }
}
