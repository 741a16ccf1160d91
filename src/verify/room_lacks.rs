//! What a room or this machine lacks, as the output of a check that is red there says.
//!
//! Invariant: pure. A check that is red in a room and in the working tree for the same reason says
//! nothing about the room.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::broken_line::{syntax_error, unknown_program};
use super::classify::SourceTree;
use super::excerpt::excerpt;
use super::master::is_built;
use super::ways_back::names;
use crate::model::{CheckResult, CheckStatus};

/// Signs in an output, and the line of TASK.md that helps.
const SIGNS: [Sign; 6] = [
    (
        &[
            "Connection refused",
            "connection refused",
            "ECONNREFUSED",
            "could not connect to server",
            "Failed to connect to",
        ],
        "name the port or the socket: `services: [5432]`, or open the network: `network: open`",
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
        &["ModuleNotFoundError", "No module named"],
        "say how the room gets it: `setup: [python3 -m venv .venv, .venv/bin/pip install -e .]`, for \
         example, with `.venv/` in .gitignore and `.venv/bin/python` in the check",
    ),
    (
        &[
            "Cannot find module",
            "ERR_MODULE_NOT_FOUND",
            "Cannot find package",
            "cannot load such file",
            "Could not find gem",
            "command not found",
            ": not found",
        ],
        "say how the room gets it: `setup: [COMMAND]`, such as `npm ci`",
    ),
    (
        &[
            "error: toolchain '",
            "rustup could not choose a version of",
            "No version is set for command",
            "is not installed (set by ",
        ],
        "show the toolchain with `visible: [PATH]`",
    ),
    FILE,
];

/// A file is missing. Checks look for files that are not there, too.
const FILE: Sign = (
    &["No such file or directory", "ENOENT", "cannot open", "can't open"],
    "show it with `visible: [PATH]` if it is outside the repository, or make it with \
     `setup: [COMMAND]`",
);

/// The last resort.
const TREE: &str = "if nothing else helps, `proof: tree` runs the checks in the working tree";

/// The reason why the room is to blame for a check that is red in it, and the remedy. `own` is the
/// path of the working tree, if the room is seen at another one.
pub fn room_lacks(room: &CheckResult, tree: &CheckResult, own: Option<&Path>) -> Option<String> {
    let moved = own.and_then(|own| line_with(&room.output, own)).map(|line| {
        format!(
            "`{line}` shows that a file that git ignores contains the path of the working tree: \
             make it in the room, for example `setup: [rm -rf build && cmake -B build]`"
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
        output(tree),
        output(room),
    ))
}

/// Why a room does not show the commit alone.
pub(super) fn leads_back(found: &[PathBuf]) -> Option<String> {
    let paths: Vec<String> = found.iter().map(|path| format!("`{}`", path.display())).collect();
    let (verb, it) = if paths.len() > 1 { ("lead", "them") } else { ("leads", "it") };
    (!paths.is_empty()).then(|| {
        format!(
            "{} {verb} from the proof room back to the working tree: a check would test that tree \
             instead of the commit\n  make {it} in the room, for example `setup: [npm ci]` or `setup: \
             [python3 -m venv --clear .venv, .venv/bin/pip install -e .]`, or make a link relative; \
             {TREE}",
            paths.join(", ")
        )
    })
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
        output(setup),
    )
}

/// The reason why a check that should pass cannot: a module, a program, or a file that git ignores is
/// missing on this machine, and no commit brings it. `when` says which run failed, as in `fails at the
/// head`. `names` are those of the repository's files, and `ignores` tells whether git ignores a path.
pub fn lost_input(
    check: &CheckResult,
    when: &str,
    names: &[String],
    ignores: impl FnMut(&Path) -> bool,
) -> Option<String> {
    const HELP: &str = "git ignores it: make it with `setup: [COMMAND]`";
    if check.passed() {
        return None;
    }
    let (missing, help) = match ignored_file(&check.output, ignores) {
        Some(path) => (path.display().to_string(), HELP),
        None => {
            let sign = sign(check).filter(|sign| is_about_modules(sign))?;
            let program = matches!(check.status, CheckStatus::Failed(126 | 127))
                .then(|| missing_program(&check.output));
            let name = program.flatten().or_else(|| missing_name(&check.output))?;
            let is_own = name.contains('/') || name.starts_with('.') || names.contains(&name);
            (Some(name).filter(|_| !is_own)?, sign.1)
        }
    };
    let (command, output) = (&check.command, output(check));
    Some(format!("`{command}` {when}: `{missing}` is missing\n  proof room:{output}\n  {help}"))
}

/// The file that an output misses and that git ignores. Build output is missing where the code is
/// wrong.
fn ignored_file(output: &str, mut ignores: impl FnMut(&Path) -> bool) -> Option<PathBuf> {
    static FILE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?x)
            (?: [Cc]an(?:not|'t)\ open | rb_sysopen\ - | No\ such\ file\ or\ directory: | ENOENT:[^'"\n]* )
            \ ?['"]?(?P<after>[^\s'":]+)
            | (?P<before>[^\s'":]+)['"]?:\ (?:No\ such\ file\ or\ directory|not\ found)"#,
        )
        .expect("a pattern")
    });
    let paths = FILE.captures_iter(output).filter_map(|found| {
        let path = found.name("after").or(found.name("before"))?;
        Some(PathBuf::from(path.as_str()))
    });
    let mut inside = paths.filter(|path| path.is_relative() && !path.ancestors().any(is_built));
    inside.find(|path| ignores(path))
}

/// Names of files and folders.
pub fn file_names(files: &dyn SourceTree) -> Vec<String> {
    let names = files.paths().keys().flat_map(|path| {
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        parts.chain(stem).collect::<Vec<_>>()
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The reason why a check cannot be run at all, whatever the work is: a program or a test tool is
/// missing. `ignores` tells whether git ignores a path. `None` if the work may have to create it.
pub(super) fn cannot_run(
    check: &CheckResult,
    ignores: impl FnOnce(&Path) -> bool,
) -> Option<String> {
    if let Some(line) = syntax_error(check) {
        return Some(format!(
            "`{}` cannot run: the shell cannot read it: {line}\n  fix the command in TASK.md",
            check.command
        ));
    }
    let (missing, why) = match &check.status {
        CheckStatus::Failed(126) => {
            (missing_program(&check.output)?, "cannot be executed".to_owned())
        }
        CheckStatus::Failed(127) => (missing_program(&check.output)?, "was not found".to_owned()),
        CheckStatus::NotRun(error) => {
            ("its shell".to_owned(), format!("could not be started: {error}"))
        }
        CheckStatus::Failed(_) => match missing_name(&check.output).filter(|name| is_tool(name)) {
            Some(tool) => (tool, "is not installed".to_owned()),
            None => (unknown_program(check)?, "was not found".to_owned()),
        },
        CheckStatus::Passed
        | CheckStatus::Signalled(_)
        | CheckStatus::TimedOut(_)
        | CheckStatus::NothingRan(_)
        | CheckStatus::Incomplete(_) => return None,
    };
    let path = Path::new(&missing);
    let is_dependency = |path: &Path| {
        path.iter().any(|part| {
            let part = part.to_string_lossy();
            part.contains("venv") || ["node_modules", "vendor"].contains(&part.as_ref())
        })
    };
    let is_to_come = match missing.contains('/') {
        true => !is_dependency(path) || !ignores(path),
        false => check.command.contains("PATH=") || is_script(&check.output, &missing),
    };
    if is_to_come {
        return None;
    }
    const OF_BASH: [&str; 6] = ["[[", "source", "shopt", "declare", "mapfile", "pushd"];
    let help = match sign(check) {
        _ if OF_BASH.contains(&missing.as_str()) => {
            "checks run in `sh`; write `bash -c '…'` around this one".to_owned()
        }
        Some((_, help)) if missing.contains('/') || is_tool(&missing) => (*help).to_owned(),
        _ => "correct its name in TASK.md, install it, show its folder with `visible: [PATH]`, or \
              make it with `setup: [COMMAND]`"
            .to_owned(),
    };
    Some(format!(
        "`{}` cannot run: `{missing}` {why}\n  proof room:{}\n  {help}",
        check.command,
        output(check)
    ))
}

/// Test tools, which no work on a repository makes.
fn is_tool(name: &str) -> bool {
    const TOOLS: [&str; 14] = [
        "pytest", "nose2", "tox", "nox", "mypy", "ruff", "flake8", "pylint", "black", "coverage",
        "jest", "vitest", "mocha", "eslint",
    ];
    TOOLS.contains(&name)
}

/// Was a shell to run a script of this name? It finds programs by another message.
fn is_script(output: &str, name: &str) -> bool {
    let ending = format!(": {name}: No such file or directory");
    let shells = ["bash", "dash", "ksh", "sh", "zsh"];
    output.lines().filter_map(|line| line.trim_end().strip_suffix(&ending)).any(|shell| {
        let shell = shell.split(':').next().unwrap_or_default();
        shells.contains(&shell.rsplit('/').next().unwrap_or_default())
    })
}

/// The program that a shell could not start.
fn missing_program(output: &str) -> Option<String> {
    const AFTER: [&str; 5] = [
        ": not found",
        ": command not found",
        ": No such file or directory",
        ": Permission denied",
        ": bad interpreter",
    ];
    output.lines().rev().find_map(|line| {
        let before = AFTER.iter().find_map(|after| line.trim_end().strip_suffix(after))?;
        let name = before.rsplit(": ").next()?;
        let name = name.trim_matches(['\'', '"', '`', '\u{2018}', '\u{2019}']);
        (!name.is_empty() && !name.contains(' ')).then(|| name.to_owned())
    })
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

/// Signs of a missing part in an output, and the remedy.
type Sign = (&'static [&'static str], &'static str);

fn sign(check: &CheckResult) -> Option<&'static Sign> {
    SIGNS.iter().find(|sign| has(check, sign))
}

/// Is a sign about a module or a program?
fn is_about_modules((signs, _): &Sign) -> bool {
    ["No module named", "Cannot find module"].iter().any(|about| signs.contains(about))
}

fn has(check: &CheckResult, (signs, _): &Sign) -> bool {
    signs.iter().any(|sign| check.output.contains(sign))
}

fn ended(check: &CheckResult) -> String {
    if check.passed() { "passes".to_owned() } else { format!("fails ({})", check.status.how()) }
}

/// An excerpt of its output, indented.
fn output(check: &CheckResult) -> String {
    const LINES: usize = 8;
    let lines = excerpt(&check.output, LINES);
    if lines.is_empty() {
        return " (no output)".to_owned();
    }
    lines.iter().map(|line| format!("\n    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(output: &str) -> CheckResult {
        CheckResult {
            output: output.into(),
            ..CheckResult::new("make test", CheckStatus::Failed(1))
        }
    }

    fn helps(room: &str, tree: &str) -> Option<String> {
        room_lacks(&red(room), &red(tree), Some(Path::new("/home/me/app")))
    }

    #[test]
    fn the_room_is_to_blame_for_what_is_missing_there_alone() {
        for (room, tree, help) in [
            ("ConnectionRefusedError: [Errno 111] Connection refused", "0 != 49", "services:"),
            ("ModuleNotFoundError: No module named 'app'", "'' != 'hi'", "pip install -e ."),
            ("error: rustup could not choose a version of cargo", "0 != 49", "visible:"),
            ("CMake Error: made in /home/me/app/build", "1 test failed", "setup:"),
        ] {
            let told = helps(room, tree).unwrap_or_default();
            assert!(told.contains(help) && told.contains(room), "{told}");
        }
    }

    #[test]
    fn a_script_that_is_not_there_is_work_and_a_program_is_not() {
        let runs = |output: &str| {
            let check = CheckResult { status: CheckStatus::Failed(127), ..red(output) };
            cannot_run(&check, |_| false).is_none()
        };
        for output in [
            "bash: deploy.sh: No such file or directory",
            "/bin/bash: deploy.sh: No such file or directory\n",
            "sh: 1: ./deploy.sh: not found",
        ] {
            assert!(runs(output), "{output}");
        }
        for output in [
            "bash: line 1: deploy: command not found",
            "sh: 1: deploy: not found",
            "env: \u{2018}deploy\u{2019}: No such file or directory",
        ] {
            assert!(!runs(output), "{output}");
        }
    }

    fn ended(command: &str, status: i32, output: &str) -> CheckResult {
        let status = CheckStatus::Failed(status);
        CheckResult { command: command.into(), status, ..red(output) }
    }

    #[test]
    fn a_check_cannot_run_without_what_no_work_makes() {
        let ignores = |path: &Path| !path.starts_with("vendor");
        for (command, status, output, cannot) in [
            ("quern x", 127, "sh: 1: quern: not found", true),
            ("sh t.sh", 127, "t.sh: line 2: quern: command not found", true),
            (".venv/bin/pytest", 127, "sh: 1: .venv/bin/pytest: not found", true),
            ("python3 -m pytest", 1, "/usr/bin/python3: No module named pytest", true),
            ("vendor/bin/phpunit", 127, "sh: 1: vendor/bin/phpunit: not found", false),
            ("cargo build; target/debug/app", 127, "sh: 1: target/debug/app: not found", false),
            ("sh tests/new.sh", 127, "sh: tests/new.sh: No such file or directory", false),
            ("PATH=bin:$PATH greet", 127, "sh: 1: greet: not found", false),
            ("./app >/dev/null 2>&1", 127, "", false),
            ("python3 -m unittest", 1, "No module named 'retry'", false),
            ("./app.sh", 126, "sh: 1: ./app.sh: Permission denied", false),
            ("sh tests/run.sh", 1, "tests/run.sh: 2: sq: not found", false),
            ("sh tests/run.sh", 1, "tests/run.sh: 2: ./sq: not found", false),
        ] {
            let told = cannot_run(&ended(command, status, output), ignores);
            assert_eq!(told.is_some(), cannot, "{command}: {told:?}");
        }
    }

    #[test]
    fn what_is_lost_is_neither_the_work_s_nor_built() {
        let ignores =
            |path: &Path| ["env", ".venv", "target"].iter().any(|it| path.starts_with(it));
        let names = ["app".to_owned()];
        for (status, output, lost) in [
            (2, "grep: env: No such file or directory", Some("env")),
            (1, "FileNotFoundError: [Errno 2] No such file or directory: 'env/a'", Some("env/a")),
            (1, "Error: ENOENT: no such file or directory, open 'env'", Some("env")),
            (2, "sh: 1: .: cannot open env: No such file", Some("env")),
            (1, "No such file or directory @ rb_sysopen - env (Errno::ENOENT)", Some("env")),
            (127, "sh: 1: .venv/bin/check: not found", Some(".venv/bin/check")),
            (127, "sh: 1: quern: not found", Some("quern")),
            (1, "ModuleNotFoundError: No module named 'yaml'", Some("yaml")),
            (1, "ModuleNotFoundError: No module named 'app.core'", None),
            (1, "Error: Cannot find module './lib'", None),
            (127, "sh: 1: target/debug/app: not found", None),
            (127, "sh: 1: ./app.sh: not found", None),
            (2, "grep: out.txt: No such file or directory", None),
            (1, "0 != 49", None),
        ] {
            let check = ended("sh check.sh", status, output);
            let told = lost_input(&check, "cannot run here", &names, ignores).unwrap_or_default();
            let says = lost.map(|lost| format!("cannot run here: `{lost}` is missing\n"));
            assert_eq!(told.is_empty(), says.is_none(), "{output}: {told}");
            assert!(told.contains(&says.unwrap_or_default()), "{output}: {told}");
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
}
