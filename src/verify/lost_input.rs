//! Inputs of a check that are missing on this machine and that no commit brings: a file that git
//! ignores, a module, or a program.
//!
//! Invariant: pure. A check that lacks one says nothing about work that was proven before.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::classify::SourceTree;
use super::master::is_built;
use super::room_lacks::{help, is_about_modules, missing_name, missing_program, output, sign};
use crate::model::{CheckResult, CheckStatus};

/// The reason why a check that passed before cannot run here. `names` are those of the
/// repository's files, and `ignores` tells whether git ignores a path.
pub fn lost_input(
    check: &CheckResult,
    names: &[String],
    ignores: impl FnMut(&Path) -> bool,
) -> Option<String> {
    lost_file(check, "cannot run here", ignores).or_else(|| {
        let sign = sign(check).filter(|sign| is_about_modules(sign) && !check.passed())?;
        let program = matches!(check.status, CheckStatus::Failed(126 | 127))
            .then(|| missing_program(&check.output));
        let name = program.flatten().or_else(|| missing_name(&check.output))?;
        let is_own = name.contains('/') || name.starts_with('.') || names.contains(&name);
        (!is_own).then(|| told(check, "cannot run here", &name, &help(sign, &check.output)))
    })
}

/// The reason why a check fails without a file that git ignores, which a clone does not have.
/// `when` says which run of the check failed, as in `fails at the head`.
pub(super) fn lost_file(
    check: &CheckResult,
    when: &str,
    ignores: impl FnMut(&Path) -> bool,
) -> Option<String> {
    const HELP: &str = "git ignores it: make it with `setup: [COMMAND]`";
    let path = ignored_file(&check.output, ignores).filter(|_| !check.passed())?;
    Some(told(check, when, &path.display().to_string(), HELP))
}

fn told(check: &CheckResult, when: &str, missing: &str, help: &str) -> String {
    format!(
        "`{}` {when}: `{missing}` is missing\n  proof room:{}\n  {help}",
        check.command,
        output(check)
    )
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
pub fn names(files: &dyn SourceTree) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            (0, "grep: env: No such file or directory", None),
        ] {
            let status = match status {
                0 => CheckStatus::Passed,
                status => CheckStatus::Failed(status),
            };
            let check = CheckResult {
                output: output.to_owned(),
                ..CheckResult::new("sh check.sh", status)
            };
            let told = lost_input(&check, &names, ignores);
            let says = lost.map(|lost| format!("cannot run here: `{lost}` is missing\n"));
            match (&told, says) {
                (Some(told), Some(says)) => assert!(told.contains(&says), "{output}: {told}"),
                (None, None) => {}
                _ => panic!("{output}: {told:?}"),
            }
        }
    }
}
