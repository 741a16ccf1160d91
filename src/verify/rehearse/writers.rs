//! Programs that write the files that a check looks at, or copy what they get.
//!
//! Invariant: pure.

use std::path::{Path, PathBuf};

use super::archive::makes_archive;
use super::attack::{Attack, NEW_FILES, plain};
use super::cheats::Cheat;
use super::smallest::smallest;
use crate::verify::classify::shell::ShellCommand;

/// A line of shell that copies a file to the other one that it gets, or its input to its output.
const COPIES: &str = "for it; do if [ -f \"$it\" ] && [ -z \"$from\" ]; then from=$it; else to=$it; fi; done; \
                      case \"$from:$to\" in :) cat;; :*) [ -t 0 ] || cat; printf '%s\\n' \"$to\";; *:) cat \"$from\";; \
                      *) case $to in */*|*.*) cp \"$from\" \"$to\";; *) cat \"$from\";; esac;; esac";

impl Attack<'_> {
    /// A line of shell that writes the files that are looked at, and prints what is looked for.
    pub(super) fn writes(&self, prints: bool) -> String {
        let mut parts: Vec<String> = Vec::new();
        for path in self.writable().into_iter().take(NEW_FILES) {
            let (path, folder) = match self.is_folder(&path) {
                true => (path.join("file"), path),
                false => (path.clone(), path.parent().unwrap_or(Path::new("")).to_owned()),
            };
            if !folder.as_os_str().is_empty() {
                parts.push(format!("mkdir -p {}", folder.display()));
            }
            parts.push(self.writes_one(&path));
        }
        let shape = self.scanned.iter().find_map(|command| self.shape(command));
        let shown = shape.map(|(_, value)| value.to_string());
        let shown = shown.filter(|text| !text.contains('\'')).unwrap_or_else(|| "x".to_owned());
        if prints {
            parts.push(format!("printf '%s\\n' '{shown}'"));
        }
        if parts.is_empty() { ":".to_owned() } else { parts.join("; ") }
    }

    fn writes_one(&self, path: &Path) -> String {
        let name = path.display();
        if let Some(other) = self.compared_with(path) {
            return format!("cp {} {name}", other.display());
        }
        let members: Vec<String> = self.greps().into_iter().map(|grep| grep.text).collect();
        if let Some(line) = makes_archive(path, members.last().map_or("", String::as_str)) {
            return line;
        }
        let text = self.asked_text(path, false).unwrap_or_else(|| smallest(path));
        let text = text.trim_end().replace('\'', "");
        format!("printf '%s\\n' '{text}' > {name}; chmod +x {name}")
    }

    /// The file that is there, and that another one is compared with.
    pub(super) fn compared_with(&self, path: &Path) -> Option<PathBuf> {
        self.scanned.iter().find_map(|command| {
            let (program, operands) = command.words.split_first()?;
            if !["diff", "cmp"].contains(&program.as_str()) {
                return None;
            }
            let operands: Vec<PathBuf> =
                operands.iter().chain(&command.stdin).filter_map(|word| plain(word)).collect();
            let is_one = operands.iter().any(|it| it == path);
            let mut others = operands.into_iter().filter(|it| it != path);
            others.find(|it| is_one && self.start.paths().contains_key(it))
        })
    }

    /// Lets every program print a constant and write the files that are looked at.
    pub(super) fn programs_write(&self) -> Cheat {
        let line = self.writes(true);
        let is_same = |command: &ShellCommand| {
            let compares = command.words.first().is_some_and(|it| it == "cmp" || it == "diff");
            let mut files = command.words.iter().skip(1).filter(|it| !it.starts_with('-'));
            compares && matches!((files.next(), files.next()), (Some(a), Some(b)) if a == b)
        };
        let (name, instead) = match self.scanned.iter().any(is_same) {
            true => (
                "let the programs print anything: the check compares a file with itself",
                "compare the output with a file that holds what it has to be",
            ),
            false => (
                "let the programs print a constant and write the files that it looks at",
                "compare what the program prints and writes, for several inputs",
            ),
        };
        self.programs_run(&line, name, instead)
    }

    /// Lets every program copy: what goes there and back is the same.
    pub(super) fn programs_copy(&self) -> Cheat {
        self.programs_run(
            COPIES,
            "let the programs copy their input",
            "compare what each program writes with a file: a way there and back proves nothing \
             about either",
        )
    }

    fn programs_run(&self, line: &str, name: &'static str, instead: &'static str) -> Cheat {
        let known = self.named().into_iter().chain(self.missing());
        let programs = known.filter(|path| self.is_product(path) && !self.is_sourced(path));
        let edits = programs.filter_map(|path| self.replaced(path, |it, _| Some(it.runs(line))));
        Cheat { name, edits: edits.collect(), instead }
    }
}
