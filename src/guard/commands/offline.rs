//! Installing from local files: behind a sandbox, it cannot reach the network.

use std::path::Path;

use crate::guard::line::Arg;

/// Whether a package manager is told to work without the network, or builds what lies here.
pub(super) fn is_offline(program: &str, words: &[Option<&str>]) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program);
    let has = |option: &str| words.contains(&Some(option));
    let first = words.first().copied().flatten();
    match (name, first) {
        _ if ["--offline", "--no-index", "--no-install", "--no"].into_iter().any(has) => true,
        ("bundle" | "bundler", Some("install")) => has("--local"),
        ("go", Some("install")) => {
            let mut packages = words[1..].iter().filter(|word| !word.is_some_and(is_option));
            let is_here = |word: &Option<&str>| word.is_some_and(|word| word.starts_with('.'));
            packages.all(is_here)
        }
        _ => false,
    }
}

/// Whether a command only shows what it would do: by one plain option, which no other takes back.
pub(super) fn is_dry_run(words: &[Arg]) -> bool {
    let mut about = words.iter().filter(|word| word.head().contains("dry-run"));
    let is_plain = |word: &Arg| word.text() == Some("--dry-run");
    words.iter().all(|word| word.text().is_some())
        && about.next().is_some_and(is_plain)
        && about.next().is_none()
}

/// Whether a revision control source is a folder of this machine, and not a URL or `host:path`.
pub(super) fn is_local_source(words: &[&str]) -> bool {
    let source = words.iter().copied().find(|word| !is_option(word));
    source.is_some_and(|source| {
        !source.is_empty() && !source.contains(':') && !words.contains(&"--recurse-submodules")
    })
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}
