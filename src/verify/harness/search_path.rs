//! Files of the start whose place a new file takes: a package comes before a module of its name, and
//! a folder comes before those after it in a search path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::deciding;
use super::files::SourceTree;
use super::paths::{file_name, normal};
use super::programs::lists;

/// Endings of a name in the order in which a loader tries them in one folder.
const ORDERS: &[&[&str]] = &[
    &["/__init__.py", ".py"],
    &["/__main__.py", ".py"],
    &[".so", ".py"],
    &[".pmc", ".pm"],
    &[".lua", "/init.lua"],
    &[
        "",
        ".mjs",
        ".js",
        ".cjs",
        ".mts",
        ".ts",
        ".cts",
        ".jsx",
        ".tsx",
        ".json",
        ".node",
        "/index.mjs",
        "/index.js",
        "/index.cjs",
        "/index.ts",
    ],
];

/// The paths in the same folder that a loader no longer reaches if a path exists.
pub(super) fn behind(path: &Path) -> Vec<PathBuf> {
    let Some(text) = path.to_str() else { return Vec::new() };
    let mut found = Vec::new();
    for order in ORDERS {
        for (at, ending) in order.iter().enumerate() {
            let Some(stem) = text.strip_suffix(ending).filter(|stem| !stem.is_empty()) else {
                continue;
            };
            // `sq.cpython-312-x86_64-linux-gnu.so`
            let name = file_name(Path::new(stem));
            let tag =
                if *ending == ".so" { name.find('.').map_or(0, |at| name.len() - at) } else { 0 };
            let stem = &stem[..stem.len() - tag];
            found.extend(
                order[at + 1..].iter().map(|later| PathBuf::from(format!("{stem}{later}"))),
            );
        }
    }
    found
}

/// The folders that lines name in a search path: `-Isrc`, `PYTHONPATH=a:b`, `use lib "a"`.
pub(super) fn folders<'t>(texts: impl Iterator<Item = &'t str>) -> BTreeSet<PathBuf> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:^|\s)-(?:I|cp\b|classpath\b)|(?:PYTHON|NODE_|CLASS)PATH|PERL5LIB|RUBYLIB|LUA_PATH",
            r"|\buse\s+lib\b|sys\.path|LOAD_PATH|\$:|auto_path|package\.path|include_path",
        ))
        .expect("valid")
    });
    let odd = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
    let lines = texts.flat_map(str::lines).filter(|line| NAMES.is_match(line));
    let words = lines.flat_map(|line| line.split(odd));
    let words = words.map(|word| word.strip_prefix("-I").unwrap_or(word));
    words.filter_map(|word| normal(Path::new(word))).collect()
}

/// Whether these texts run a command of this name after they set where commands are looked for:
/// `PATH=$PWD/bin:$PATH`.
pub(super) fn takes_a_commands_place<'t>(
    name: &str,
    mut texts: impl Iterator<Item = &'t str> + Clone,
) -> bool {
    static PATHS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\bPATH["']?\]?\s*(?:\+?=|,|:\+?=)|\bpath\s*\+?=\s*\(|\bfind_program\b"#)
            .expect("valid")
    });
    texts.clone().any(|text| PATHS.is_match(text))
        && texts.any(|text| deciding::mentions(text, name))
}

/// Whether a name is that of a command of the system.
pub(super) fn is_command_name(name: &str) -> bool {
    lists(COMMANDS, name)
}

/// Whether a word is a command of the system, or of the shell.
pub(super) fn is_known_command(word: &str) -> bool {
    const BUILTINS: &str = "
        : . [ [[ break case cd command continue declare eval exec exit export fi for getopts hash if
        kill let local mapfile popd pushd pwd read readonly return set shift shopt source trap type
        typeset ulimit umask unset until wait while
    ";
    is_command_name(word) || lists(BUILTINS, word)
}

/// Commands that checks use.
const COMMANDS: &str = "
    ag awk base64 basename bash bc cargo cat cc chmod clang cmake cmp column comm cp curl cut date dc
    diff dirname docker echo egrep env expr false fd fgrep file find fold gawk gcc git go grep head
    jar java javac join jq ln ls lua make mawk md5sum mkdir mktemp mv nl node npm npx od openssl paste
    perl php pip printf prove ps pytest python python3 rg rm ruby rustc sed seq sh sha1sum sha256sum
    shasum sleep sort sqlite3 stat tail tar tclsh tee test time timeout touch tr true uniq unzip wc
    wget which xargs xmllint yq zip
";

/// Whether a new module has the name of a folder of the start that is a package without a file of
/// its own, with files that decide.
pub(super) fn package_behind(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?.strip_suffix(".py")?;
    (!name.ends_with("__init__")).then(|| PathBuf::from(name))
}

/// The files of the start that have the same name in another folder of the search path.
pub(super) fn elsewhere(
    start: &dyn SourceTree,
    folders: &BTreeSet<PathBuf>,
    path: &Path,
) -> Vec<PathBuf> {
    let roots = folders.iter().filter(|root| path.starts_with(root));
    let names = roots.filter_map(|root| Some((root, path.strip_prefix(root).ok()?)));
    let others = |(root, name): (&PathBuf, &Path)| -> Vec<PathBuf> {
        let mut wanted = vec![name.to_owned()];
        wanted.extend(behind(name));
        let others = folders.iter().filter(|other| *other != root);
        others.flat_map(|other| wanted.iter().map(|name| other.join(name))).collect()
    };
    let found = names.flat_map(others);
    found.filter(|path| start.paths().contains_key(path)).collect()
}
