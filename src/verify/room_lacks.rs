//! The missing parts of the proof room, found from a check that is red there and green in the
//! working tree.
//!
//! Invariant: pure. A check that is red in both for the same reason says nothing about the room.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::broken_line::{syntax_error, unknown_program};
use super::excerpt::excerpt;
use super::ways_back::names;
use crate::model::{CheckResult, CheckStatus};

/// Signs in an output, and the line of TASK.md that helps.
const SIGNS: [Sign; 5] = [
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
    let help = moved.or_else(|| found.map(|sign| help(sign, &room.output)));
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

/// The remedy for a sign in an output.
pub(super) fn help((signs, help): &Sign, output: &str) -> String {
    let is = |sign| signs.contains(&sign);
    let tool = missing_name(output).filter(|name| is("No module named") && is_tool(name));
    tool.map_or_else(
        || (*help).to_owned(),
        |name| help.replace("install -e .", &format!("install -e . {name}")),
    )
}

/// The missing part of a check that is red before the work and after it for the same reason;
/// `names` are those of the repository's files, and `ignores` tells whether git ignores a path. The
/// room is not to blame for files that the work itself should have created.
pub(super) fn lacks_in_both(
    before: &CheckResult,
    now: &CheckResult,
    names: &[String],
    ignores: impl FnOnce(&Path) -> bool,
) -> Option<String> {
    let (was, is) = (sign(before)?, sign(now)?);
    let not_found = [now, before].map(|check| check.status == CheckStatus::Failed(127));
    let program = not_found.contains(&true).then(|| missing_program(&now.output)).flatten();
    let named = program.clone().or_else(|| missing_name(&now.output));
    let is_own = match (&program, named.as_deref()) {
        (Some(program), _) => program.contains('/') && !ignores(Path::new(program)),
        (None, Some(name)) => {
            let is_known = || names.iter().any(|known| known == name);
            name.starts_with(['.', '/'])
                || !is_tool(name) && (now.command.contains(name) || is_known())
        }
        (None, None) => true,
    };
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
        output(now),
        help(is, &now.output),
    ))
}

/// The reason why a check cannot be run at all, whatever the work is: a program or a test tool is
/// missing. `ignores` tells whether git ignores a path. `None` if the work may have to create it.
pub(super) fn cannot_run(
    check: &CheckResult,
    ignores: impl FnOnce(&Path) -> bool,
) -> Option<String> {
    if !check.passed()
        && let Some(line) = line_about_toolchain(&check.output)
    {
        return Some(format!(
            "`{}` cannot run: {line}\n  proof room:{}\n  install the toolchain, or show it with \
             `visible: [PATH]`",
            check.command,
            output(check)
        ));
    }
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
        CheckStatus::Failed(_) => {
            let tool = missing_name(&check.output).filter(|name| is_tool(name));
            match tool.or_else(|| lost_program(&check.output)) {
                Some(tool) => (tool, "is not installed".to_owned()),
                None => (unknown_program(check)?, "was not found".to_owned()),
            }
        }
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
        Some(sign) if missing.contains('/') || is_tool(&missing) => help(sign, &check.output),
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

/// The line of an output which says that something outside the work may be missing.
pub fn may_lack(check: &CheckResult) -> Option<&str> {
    let found = sign(check).filter(|found| **found != FILE && !check.passed())?;
    // What the work is to make is missing before it.
    let is_to_come = |name: &String| {
        ["./", "../", "/"].iter().any(|it| name.starts_with(it))
            || !is_tool(name) && !name.contains('/') && check.command.contains(name.as_str())
    };
    if missing_name(&check.output).as_ref().is_some_and(is_to_come) {
        return None;
    }
    let line = |line: &&str| found.0.iter().any(|sign| line.contains(sign));
    check.output.lines().rev().find(line).map(str::trim)
}

/// Test tools, which no work on a repository makes.
fn is_tool(name: &str) -> bool {
    const TOOLS: [&str; 14] = [
        "pytest", "nose2", "tox", "nox", "mypy", "ruff", "flake8", "pylint", "black", "coverage",
        "jest", "vitest", "mocha", "eslint",
    ];
    TOOLS.contains(&name)
}

/// The line in which a version manager says that it has no version of a program.
fn line_about_toolchain(output: &str) -> Option<&str> {
    const SAYS: [&str; 8] = [
        "error: toolchain '",
        "rustup could not choose a version of",
        "no default toolchain",
        "No version is set for command",
        "is not installed (set by ",
        "Unable to locate a Java Runtime",
        "JAVA_HOME environment variable is not defined",
        "You must install or update .NET",
    ];
    output.lines().find(|line| SAYS.iter().any(|says| line.contains(says))).map(str::trim)
}

/// The well-known program that a shell or `make` could not start, however the check ended. Any
/// other name may be a function that the work is to define.
fn lost_program(output: &str) -> Option<String> {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^(?:[^\s:]+: (?:line )?\d+: (?P<by_shell>[\w.+-]+): (?:command )?not found|g?make(?:\[\d+\])?: (?P<by_make>[\w.+-]+): No such file or directory)\s*$",
        )
        .expect("a pattern")
    });
    const PROGRAMS: &str = "
        bash bats bun bundle bundler cabal cargo cc clang cmake composer ctest curl deno docker
        dotnet elixir g++ gcc gem ghc git go gofmt gradle hadolint helm java javac jq julia just
        kotlinc kubectl ld lua luac make meson mix mvn mysql ninja node npm npx nim ocaml openssl
        perl php pip pip3 pnpm psql pwsh python python3 rake redis-cli Rscript rspec ruby rustc
        rustfmt sbt scala shellcheck sqlite3 stack swift terraform tsc uv wget xmllint yamllint
        yarn yq zig
    ";
    let found = LINE.captures_iter(output).filter_map(|it| {
        let name = it.name("by_shell").or(it.name("by_make"))?.as_str().to_owned();
        PROGRAMS.split_whitespace().any(|known| known == name).then_some(name)
    });
    found.last()
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
pub(super) fn missing_program(output: &str) -> Option<String> {
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
pub(super) fn missing_name(output: &str) -> Option<String> {
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
pub(super) type Sign = (&'static [&'static str], &'static str);

pub(super) fn sign(check: &CheckResult) -> Option<&'static Sign> {
    SIGNS.iter().find(|sign| has(check, sign))
}

/// Is a sign about a module or a program?
pub(super) fn is_about_modules((signs, _): &Sign) -> bool {
    ["No module named", "Cannot find module"].iter().any(|about| signs.contains(about))
}

fn has(check: &CheckResult, (signs, _): &Sign) -> bool {
    signs.iter().any(|sign| check.output.contains(sign))
}

fn ended(check: &CheckResult) -> String {
    if check.passed() { "passes".to_owned() } else { format!("fails ({})", check.status.how()) }
}

/// An excerpt of its output, indented.
pub(super) fn output(check: &CheckResult) -> String {
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

    #[test]
    fn the_setup_is_that_of_the_ecosystem() {
        let told = helps("/usr/bin/python3: No module named pytest", "0 != 49").unwrap_or_default();
        assert!(told.contains("install -e . pytest") && !told.contains("npm"), "{told}");
        let told = helps("Error: Cannot find module 'jest'", "0 != 49").unwrap_or_default();
        assert!(told.contains("npm ci") && !told.contains("pip"), "{told}");
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
            ("cargo test", 1, "error: rustup could not choose a version of cargo to run", true),
            (
                "pyver x",
                1,
                "pyenv: version `3.9' is not installed (set by /a/.python-version)",
                true,
            ),
            ("cargo test", 1, "error: toolchain '1.11.0-x86_64' is not installed", true),
            ("yq .a a.yml | grep -q x", 1, "sh: 1: yq: not found", true),
            (
                "make test",
                2,
                "make: cargo: No such file or directory\nmake: *** [test] Error 127",
                true,
            ),
            ("sh tests/run.sh", 1, "tests/run.sh: 2: sq: not found", false),
            ("sh tests/run.sh", 1, "tests/run.sh: 2: ./sq: not found", false),
        ] {
            let told = cannot_run(&ended(command, status, output), ignores);
            assert_eq!(told.is_some(), cannot, "{command}: {told:?}");
        }
    }

    #[test]
    fn what_git_ignores_is_not_the_work_to_come() {
        let ignores = |path: &Path| path.starts_with(".venv");
        for (command, status, output, lacks) in [
            (".venv/bin/python -m pytest", 127, "sh: 1: .venv/bin/python: not found", true),
            ("python3 -m pytest", 1, "/usr/bin/python3: No module named pytest", true),
            ("jest", 127, "sh: 1: jest: not found", true),
            ("./app.sh", 127, "sh: 1: ./app.sh: not found", false),
            ("python3 -m tests.test_new", 1, "No module named tests.test_new", false),
        ] {
            let check = ended(command, status, output);
            let told = lacks_in_both(&check, &check, &[], ignores);
            assert_eq!(told.is_some(), lacks, "{command}: {told:?}");
        }
    }

    #[test]
    fn what_the_work_is_to_make_is_not_missing_on_the_machine() {
        for (command, output, told) in [
            ("node -e \"require('./sub.js')\"", "Error: Cannot find module './sub.js'", false),
            ("python3 -c 'import bye'", "ModuleNotFoundError: No module named 'bye'", false),
            ("python3 -m pytest -q", "No module named pytest", true),
            ("python3 run.py", "No module named 'requests'", true),
            (".venv/bin/python -m pytest", "/bin/sh: 1: .venv/bin/python: not found", true),
        ] {
            let check = ended(command, 1, output);
            assert_eq!(may_lack(&check).is_some(), told, "{command}");
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
