//! What a call left behind: its exit code, its output and the tree, without what differs each
//! time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;

/// The result of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The exit code, or the signal.
    pub(crate) status: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The result of all commands of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Result {
    pub(crate) seen: Vec<Seen>,
    /// What the tree holds, by name.
    pub(crate) tree: BTreeMap<String, String>,
}

impl Result {
    /// Where it differs from the result outside, for a reader; empty if it does not.
    pub(crate) fn difference(&self, outside: &Self) -> String {
        let mut told = String::new();
        for (at, (there, here)) in outside.seen.iter().zip(&self.seen).enumerate() {
            for (name, there, here) in [
                ("status", &there.status, &here.status),
                ("stdout", &there.stdout, &here.stdout),
                ("stderr", &there.stderr, &here.stderr),
            ] {
                if plain(there) != plain(here) {
                    told += &format!(
                        "    {name} {at}: outside {:?}\n      here {:?}\n",
                        short(there),
                        short(here)
                    );
                }
            }
        }
        for name in outside.tree.keys().chain(self.tree.keys()) {
            let (there, here) = (outside.tree.get(name), self.tree.get(name));
            if there.map(|text| plain(text)) != here.map(|text| plain(text)) {
                let show = |text: Option<&String>| text.map(|text| short(text));
                let line =
                    format!("    {name}: outside {:?}, here {:?}\n", show(there), show(here));
                if !told.contains(&line) {
                    told += &line;
                }
            }
        }
        told
    }
}

fn short(text: &str) -> String {
    let from = text.floor_char_boundary(text.len().saturating_sub(600));
    text[from..].to_owned()
}

/// The lines of a text in a fixed order, without times, numbers of processes and random names.
fn plain(text: &str) -> Vec<String> {
    static VARIES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r"\d+([.,]\d+)?(e[-+]?\d+)? ?(ns|µs|us|ms|s|sec|secs|second|seconds|minutes?)\b",
            r"\b(real|user|sys) \d+\.\d+",
            r"duration_ms[: ]+[\d.]+",
            r"\d+(\.\d+)? +(usr|sys|cusr|csys|CPU|wallclock)",
            r"\d\d\d\d-\d\d-\d\d",
            r"\d\d:\d\d(:\d\d)?(\.\d+)?",
            r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[ ,][A-Za-z0-9 ]+",
            r"(?i)(--seed|seed) \d+",
            r"\d+(\.\d+)? ?(runs|assertions|tests|files)/s",
            r"line \d+: +\d+",
            r"\[\d{3,}\]",
            r"0x[0-9a-f]+",
            r"tmp\.?[A-Za-z0-9_]{8,}",
            // The folder above the repository is not the same one.
            r"(?m)^d[rwxst-]{9} .* \.\.$",
        ]
        .map(|pattern| Regex::new(pattern).expect("a pattern"))
        .to_vec()
    });
    let text = VARIES.iter().fold(text.to_owned(), |text, it| it.replace_all(&text, "~").into());
    let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.sort();
    lines
}

/// What the tree of a repository holds: its files, and what git says of it. Of ignored files only
/// the names are compared, and of ignored folders only their own.
pub(crate) fn tree(repo: &Path, home: &Path) -> BTreeMap<String, String> {
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(repo)
            .env("HOME", home)
            .stdin(Stdio::null())
            .output()
            .expect("git");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let mut found = BTreeMap::new();
    for (name, args) in [
        ("status", vec!["status", "--porcelain", "--ignored"]),
        ("commits", vec!["log", "--all", "--format=%H %an %ae %s"]),
        ("stash", vec!["stash", "list", "--format=%gs"]),
        ("branches", vec!["branch", "-a"]),
    ] {
        found.insert(format!("git {name}"), git(&args));
    }
    let files = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for file in files.split('\0').filter(|file| !file.is_empty()) {
        let path = repo.join(file);
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let told = if meta.is_symlink() {
            format!("to {:?}", fs::read_link(&path).expect("a link"))
        } else if meta.is_file() {
            let bytes = fs::read(&path).expect("read");
            format!("{:o} {}", meta.permissions().mode(), String::from_utf8_lossy(&bytes))
        } else {
            continue;
        };
        found.insert(file.to_owned(), told);
    }
    found
}
