//! What the proof room lacks, told from a check that is red there and green in the working tree.
//!
//! Invariant: pure. A check that is red in both for the same reason says nothing about the room.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::ways_back::names;
use crate::model::{CheckResult, CheckStatus};

/// Signs in an output, and the line of TASK.md that helps.
const SIGNS: [Sign; 4] = [
    (
        &[
            "Connection refused",
            "connection refused",
            "ECONNREFUSED",
            "could not connect to server",
        ],
        "name the port or the socket: `services: [5432]`",
    ),
    (
        &[
            "Could not resolve host",
            "Temporary failure in name resolution",
            "Name or service not known",
            "ENOTFOUND",
            "EAI_AGAIN",
            "Network is unreachable",
            "no such host",
        ],
        "fetch before the work with `setup: [COMMAND]`, or open the network: `network: open`",
    ),
    (
        &[
            "ModuleNotFoundError",
            "No module named",
            "Cannot find module",
            "ERR_MODULE_NOT_FOUND",
            "Cannot find package",
            "cannot load such file",
            "Could not find gem",
            "command not found",
            ": not found",
        ],
        "say how the room gets it: `setup: [npm ci]`, for example",
    ),
    FILE,
];

/// A file is missing. Checks look for files that are not there, too.
const FILE: Sign = (
    &["No such file or directory", "ENOENT", "cannot open", "can't open"],
    "show it with `visible: [PATH]` if it lies outside of the repository, or make it with \
     `setup: [COMMAND]`",
);

/// What helps if nothing else does.
const TREE: &str = "if nothing else helps, `proof: tree` runs the checks in the working tree";

/// Why the room is to blame for a check that is red in it, and what helps. `own` is the path of
/// the working tree, if the room is seen at another one.
pub fn room_lacks(room: &CheckResult, tree: &CheckResult, own: Option<&Path>) -> Option<String> {
    let moved = own.and_then(|own| line_with(&room.output, own)).map(|line| {
        format!(
            "`{line}` shows that a file that git ignores knows the path of the working tree: make \
             it in the room, for example `setup: [rm -rf build && cmake -B build]`"
        )
    });
    let tells = |found: &Sign| *found != FILE || tree.status != room.status;
    let found = sign(room);
    let found = found.filter(|found| tree.passed() || !has(tree, found) && tells(found));
    if room.passed() || !(tree.passed() || moved.is_some() || found.is_some()) {
        return None;
    }
    let help = moved.or_else(|| found.map(|(_, help)| (*help).to_owned()));
    let help = help.map_or_else(|| TREE.to_owned(), |help| format!("{help}; {TREE}"));
    Some(format!(
        "`{}` {} in the working tree, and {} in the proof room\n  working tree:{}\n  proof room:{}\n  {help}",
        room.command,
        ended(tree),
        ended(room),
        tail(tree),
        tail(room),
    ))
}

/// Why a room does not show the commit alone.
pub(super) fn leads_back(found: &[PathBuf]) -> Option<String> {
    let paths: Vec<String> = found.iter().map(|path| format!("`{}`", path.display())).collect();
    let (verb, it) = if paths.len() > 1 { ("lead", "them") } else { ("leads", "it") };
    let help: BTreeSet<&str> = found.iter().map(|path| remade(path)).collect();
    let help = Vec::from_iter(help).join("; ");
    (!paths.is_empty()).then(|| {
        format!(
            "{} {verb} from the proof room back to the working tree: a check would test what is \
             there, and not the commit\n  make {it} in the room, {help}; {TREE}",
            paths.join(", ")
        )
    })
}

/// How a room gets such a file of its own.
fn remade(path: &Path) -> &'static str {
    let part = |is: fn(&str) -> bool| path.iter().any(|it| it.to_str().is_some_and(is));
    if part(|name| name == "node_modules") {
        "for example `setup: [npm ci]`, or make a link in `node_modules` relative"
    } else if part(|name| {
        name.contains("venv")
            || name == "site-packages"
            || name.starts_with("activate")
            || name.starts_with("__editable__")
            || name.ends_with(".pth")
            || name.ends_with(".egg-link")
    }) {
        "for example `setup: [python3 -m venv --clear .venv, .venv/bin/pip install -e .]`"
    } else {
        "with `setup: [COMMAND]`, or make a link relative"
    }
}

/// The line of an output that names the path of the working tree, but for warnings.
fn line_with<'a>(output: &'a str, own: &Path) -> Option<&'a str> {
    output.lines().find(|line| !line.contains("arning") && names(line.as_bytes(), own))
}

/// Why a command of `setup:` did not prepare the room.
pub fn setup_failed(setup: &CheckResult) -> String {
    format!(
        "`{}` in `setup:` {}:{}\n  fix the command in TASK.md, or show it what it needs with \
         `visible: [PATH]` or `services: [PORT]`",
        setup.command,
        ended(setup),
        tail(setup),
    )
}

/// What a check lacks that is red before the work and after it for the same reason; `names` are
/// those of the repository's files. What the work itself should have made is not the room's fault.
pub(super) fn lacks_in_both(
    before: &CheckResult,
    now: &CheckResult,
    names: &[String],
) -> Option<String> {
    let (was, is) = (sign(before)?, sign(now)?);
    let not_found = [now, before].map(|check| check.status == CheckStatus::Failed(127));
    let named = missing_name(&now.output);
    let is_own = named.as_deref().is_none_or(|name| {
        name.starts_with(['.', '/'])
            || now.command.contains(name)
            || names.iter().any(|known| known == name)
    });
    // A file that is not there says little: the work may have to make it.
    let is_file = is.0.contains(&"ENOENT") && not_found != [true, true];
    if now.passed() || was != is || is_own && named.is_some() || is_file {
        return None;
    }
    Some(format!(
        "`{}` {} before the work and {} at the commit that ticks it\n  proof room:{}\n  {}",
        now.command,
        ended(before),
        ended(now),
        tail(now),
        is.1,
    ))
}

/// Why a check cannot be run at all: a program is not there, and the work is not to make it.
pub(super) fn cannot_run(check: &CheckResult) -> Option<String> {
    let why = match &check.status {
        CheckStatus::Failed(126) => "cannot be executed",
        CheckStatus::Failed(127) => "was not found",
        CheckStatus::NotRun(_) => "could not be started",
        CheckStatus::Passed
        | CheckStatus::Failed(_)
        | CheckStatus::Signalled(_)
        | CheckStatus::TimedOut(_)
        | CheckStatus::NothingRan(_)
        | CheckStatus::Incomplete(_) => return None,
    };
    let missing = missing_name(&check.output);
    if missing.as_deref().is_some_and(|name| name.contains('/')) {
        return None;
    }
    let what = missing.map_or_else(|| "a program".to_owned(), |name| format!("`{name}`"));
    Some(format!("`{}` cannot run: {what} {why}\n  proof room:{}", check.command, tail(check)))
}

/// The module, package or program that an output misses.
fn missing_name(output: &str) -> Option<String> {
    const BEFORE: [&str; 6] = [
        "No module named ",
        "Cannot find module ",
        "Cannot find package ",
        "cannot load such file -- ",
        "Could not find gem ",
        "sh: ",
    ];
    let line = output.lines().find(|line| BEFORE.iter().any(|it| line.contains(it)))?;
    let rest = BEFORE.iter().find_map(|it| Some(line.split_once(it)?.1))?;
    // `sh: 1: jest: not found`
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ');
    let quoted = rest.trim_start_matches(['\'', '"', '`']);
    let end = quoted.find(['\'', '"', '`', ' ', ':']).unwrap_or(quoted.len());
    let name = &quoted[..end];
    let whole = name.starts_with(['.', '/']);
    let first = if whole { name } else { name.split('.').next().unwrap_or(name) };
    (!first.is_empty()).then(|| first.to_owned())
}

/// How an output shows that something is missing, and what helps.
type Sign = (&'static [&'static str], &'static str);

fn sign(check: &CheckResult) -> Option<&'static Sign> {
    SIGNS.iter().find(|sign| has(check, sign))
}

fn has(check: &CheckResult, (signs, _): &Sign) -> bool {
    signs.iter().any(|sign| check.output.contains(sign))
}

fn ended(check: &CheckResult) -> String {
    if check.passed() { "passes".to_owned() } else { format!("fails ({})", check.status.how()) }
}

/// The last lines of its output, indented.
fn tail(check: &CheckResult) -> String {
    const LINES: usize = 8;
    let lines: Vec<&str> = check.output.trim_end().lines().collect();
    if lines.is_empty() {
        return " (no output)".to_owned();
    }
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("\n    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(output: &str) -> CheckResult {
        CheckResult {
            command: "make test".into(),
            criteria: Vec::new(),
            whole_task: false,
            status: CheckStatus::Failed(1),
            millis: 1,
            tests: Vec::new(),
            output: output.into(),
        }
    }

    fn helps(room: &str, tree: &str) -> Option<String> {
        room_lacks(&red(room), &red(tree), Some(Path::new("/home/me/app")))
    }

    #[test]
    fn the_room_is_to_blame_for_what_is_missing_there_alone() {
        for (room, tree, help) in [
            ("ConnectionRefusedError: [Errno 111] Connection refused", "0 != 49", "services:"),
            ("ModuleNotFoundError: No module named 'app'", "'' != 'hi'", "setup:"),
            ("CMake Error: made in /home/me/app/build", "1 test failed", "setup:"),
        ] {
            let told = helps(room, tree).unwrap_or_default();
            assert!(told.contains(help) && told.contains(room), "{told}");
        }
    }

    #[test]
    fn work_that_is_not_done_is_red_in_both() {
        for (room, tree) in [
            ("0 != 49", "0 != 49"),
            ("No module named 'app.new'", "No module named 'app.new'"),
            ("Connection refused, as expected; 0 != 49", "Connection refused, too; 0 != 49"),
            ("mv: cannot stat 'x': No such file or directory", ""),
            ("warning: VIRTUAL_ENV=/home/me/app/.venv does not match\n0 != 49", "0 != 49"),
            ("/home/me/app2/build: 0 != 49", "/home/me/app/build: 0 != 49"),
        ] {
            assert_eq!(helps(room, tree), None, "{room}");
        }
    }

    #[test]
    fn what_leads_back_is_made_as_its_kind_is() {
        for (path, helps) in [
            ("node_modules/app", "npm ci"),
            ("web/node_modules/.bin/app", "npm ci"),
            (".venv/bin/greet", "pip install -e ."),
            ("env/lib/app.pth", "pip install -e ."),
            ("data/current", "make a link relative"),
        ] {
            let told = leads_back(&[path.into()]).expect("told");
            assert!(told.contains(helps), "{told}");
            assert_eq!(told.contains("pip"), helps.contains("pip"), "{told}");
        }
        assert_eq!(leads_back(&[]), None);
    }
}
