//! Every program name that some table knows, in one index.
//!
//! The tables are words in strings, made to be read; this makes them fast.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::{self, Language};
use super::readers::{READERS, Reader};
use super::refused::{GROUPS, Group};
use super::runners::{TOOLS, Tool};

/// Builtins of the shell, and programs that only print.
const BUILTINS: &str = ": true false echo printf test [ cd pushd popd dirs pwd export declare typeset local \
            readonly unset set shopt shift return exit break continue read mapfile readarray let \
            wait jobs trap umask times type which whereis hash getopts sleep seq date whoami id groups \
            uname hostname arch nproc uptime tty expr basename dirname printenv locale cal tput \
            clear factor yes ulimit mktemp getconf sw_vers free lscpu ps logname fg bg disown caller \
            numfmt users who w pgrep pidof lsof ss netstat vmstat iostat pstree";

/// Names judged here.
const WRAPPERS: &str = "env command builtin exec timeout gtimeout nice ionice nohup setsid stdbuf time xargs \
            eval bash sh dash chronic caffeinate flock not valgrind hyperfine cross-env xvfb-run";

/// Names judged here.
const WRITERS: &str =
    "tee cp gcp mv gmv ln mkdir touch truncate chmod dos2unix unix2dos gzip bzip2 xz split";

/// Tools that have no table of their own.
const PLAIN_RUNNERS: &str = "uv poetry pdm pipenv rye pixi npx pnpx bunx cmake java nyc c8 sass";

/// Who judges a program.
#[derive(Clone, Copy)]
pub(in crate::guard) enum ProgramKind {
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
    GROUPS.iter().for_each(|group| add(group.names, ProgramKind::Refused(group)));
    add(BUILTINS, ProgramKind::Builtin);
    add(WRAPPERS, ProgramKind::Wrapper);
    READERS.iter().for_each(|reader| add(reader.names, ProgramKind::Reader(reader)));
    add(WRITERS, ProgramKind::Writer);
    add("git", ProgramKind::Git);
    add("find gfind", ProgramKind::Find);
    add("sed gsed", ProgramKind::Sed);
    add("awk gawk mawk nawk", ProgramKind::Awk);
    TOOLS.iter().for_each(|tool| add(tool.names, ProgramKind::Runner(Some(tool))));
    add(PLAIN_RUNNERS, ProgramKind::Runner(None));
    index
});

/// Who judges a program of this name; `None` if nobody knows it.
pub(in crate::guard) fn kind(name: &str) -> Option<ProgramKind> {
    let known = INDEX.get(name).copied();
    known.or_else(|| languages::language(name).map(ProgramKind::Interpreter)).or_else(|| {
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
pub(in crate::guard) fn is_runner(name: &str) -> bool {
    matches!(kind(name), Some(ProgramKind::Runner(_)))
}

/// Whether a program is refused whatever its words.
pub(in crate::guard) fn is_refused(name: &str) -> bool {
    matches!(kind(name), Some(ProgramKind::Refused(_)))
}
