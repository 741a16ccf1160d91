//! The files and folders that a check's line makes, and cannot make twice: `mkdir build`,
//! `sqlite3 shop.db < schema.sql`.
//!
//! Invariant: pure. The paths are relative, and lead nowhere else. Not in this file: what the
//! programs that a line runs make, since code under test could keep a count there.

use std::path::{Component, Path, PathBuf};

use super::classify::scan;

/// The paths.
pub(super) fn made_by_line(line: &str) -> Vec<PathBuf> {
    let commands = scan(line);
    let made = commands.iter().filter_map(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let mut operands = words.iter().skip(1).filter(|word| !word.starts_with('-')).copied();
        match words.as_slice() {
            ["mkdir" | "sqlite3", ..] => operands.next(),
            ["ln", ..] | ["git", "clone" | "init", ..] | ["python3", "-m", "venv", ..] => {
                operands.next_back()
            }
            _ => None,
        }
    });
    let paths = made.map(|word| PathBuf::from(word.trim_start_matches("./").trim_end_matches('/')));
    paths.filter(|path| is_inside(path)).collect()
}

fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    let is_git = path.starts_with(".git");
    parts.peek().is_some()
        && !is_git
        && parts.all(|part| matches!(part, Component::Normal(name) if !name.is_empty()))
        && !path.to_string_lossy().contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_makes_is_named_in_it() {
        for (line, made) in [
            ("mkdir build && cd build && cmake ..", vec!["build"]),
            ("sqlite3 shop.db < schema.sql && sqlite3 shop.db 'select 1'", vec!["shop.db"; 2]),
            ("git clone -q . out/copy && make -C out/copy", vec!["out/copy"]),
            ("mkdir ../x; mkdir /x; mkdir .git/x; mkdir $D", vec![]),
            ("sh app.sh > out", vec![]),
        ] {
            let made: Vec<PathBuf> = made.into_iter().map(PathBuf::from).collect();
            assert_eq!(made_by_line(line), made, "{line}");
        }
    }
}
