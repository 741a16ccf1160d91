//! Every program name that some table knows, in one index.
//!
//! The tables are words in strings, made to be read; this makes them fast.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::interpreters::{self, Language};
use super::readers::{self, Reader};
use super::refused::{self, Group};
use super::runners::{self, Tool};
use super::{builtins, wrappers, writers};

/// Who judges a program.
#[derive(Clone, Copy)]
pub(super) enum ProgramKind {
    Refused(&'static Group),
    Builtin,
    Wrapper,
    Reader(&'static Reader),
    Writer,
    Git,
    Find,
    Sed,
    Awk,
    Interpreter(&'static Language),
    /// A tool of the project; those that only run other tools have no table.
    Runner(Option<&'static Tool>),
}

static INDEX: LazyLock<HashMap<&'static str, ProgramKind>> = LazyLock::new(|| {
    let mut index = HashMap::new();
    let mut add = |names: &'static str, kind: ProgramKind| {
        for name in names.split_whitespace() {
            // A denial comes first and stays.
            index.entry(name).or_insert(kind);
        }
    };
    refused::GROUPS.iter().for_each(|group| add(group.names, ProgramKind::Refused(group)));
    add(builtins::NAMES, ProgramKind::Builtin);
    add(wrappers::NAMES, ProgramKind::Wrapper);
    readers::READERS.iter().for_each(|reader| add(reader.names, ProgramKind::Reader(reader)));
    add(writers::NAMES, ProgramKind::Writer);
    add("git", ProgramKind::Git);
    add("find gfind", ProgramKind::Find);
    add("sed gsed", ProgramKind::Sed);
    add("awk gawk mawk nawk", ProgramKind::Awk);
    runners::TOOLS.iter().for_each(|tool| add(tool.names, ProgramKind::Runner(Some(tool))));
    add(runners::PLAIN_NAMES, ProgramKind::Runner(None));
    index
});

/// Who judges a program of this name; `None` if nobody knows it.
pub(super) fn kind(name: &str) -> Option<ProgramKind> {
    let known = INDEX.get(name).copied();
    known.or_else(|| interpreters::language(name).map(ProgramKind::Interpreter)).or_else(|| {
        // On some machines `RM` is `rm`.
        let refused = INDEX.get(name.to_lowercase().as_str()).copied();
        refused.filter(|kind| matches!(kind, ProgramKind::Refused(_)))
    })
}

/// Whether any table judges a program of this name.
pub(in crate::guard) fn is_program(name: &str) -> bool {
    kind(name).is_some()
}

/// Whether a program is one of the project's tools.
pub(super) fn is_runner(name: &str) -> bool {
    matches!(kind(name), Some(ProgramKind::Runner(_)))
}

/// Whether a program is refused whatever its words.
pub(super) fn is_refused(name: &str) -> bool {
    matches!(kind(name), Some(ProgramKind::Refused(_)))
}
