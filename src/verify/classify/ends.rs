//! Scripts that load the product into their own process: whether they run to their end.
//!
//! Code under test can end the process with 0 before anything is compared. So such a script runs
//! once more with a failure as its last line: if the check is green all the same, that line is never
//! reached. Not in this file: the runs, and their result.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::files::text;
use super::judges::{Judges, loaded};
use super::question::{HarnessQuestion, JudgeEnd, TreeEdit};
use super::table::{LanguageFacts, language};

/// The scripts of checks that load files of the repository which are not put back.
pub(super) fn ends<'c>(
    question: &HarnessQuestion<'_>,
    checks: impl Iterator<Item = &'c str>,
    Judges { scripts, files, .. }: &Judges,
    edits: &[TreeEdit],
) -> Vec<JudgeEnd> {
    /// Each costs a run.
    const MOST: usize = 2;
    let mut found = Vec::new();
    for check in checks {
        let named = scripts.iter().filter(|path| {
            path.file_name().and_then(|it| it.to_str()).is_some_and(|name| check.contains(name))
        });
        found
            .extend(named.filter_map(|path| end(question, check, (path, files), edits)).take(MOST));
    }
    found
}

fn end(
    question: &HarnessQuestion<'_>,
    check: &str,
    (path, judges): (&Path, &BTreeSet<PathBuf>),
    edits: &[TreeEdit],
) -> Option<JudgeEnd> {
    let put_back = edits.iter().find(|edit| edit.path() == path);
    let (kind, code) = match put_back {
        Some(TreeEdit::Write { kind, bytes, .. }) => {
            (*kind, String::from_utf8_lossy(bytes).into_owned())
        }
        Some(TreeEdit::Remove { .. }) => return None,
        None => (question.now.paths().get(path)?.kind, text(question.now, path)?),
    };
    let language = language(path, &code).filter(|it| it.script)?;
    // It may end itself before its last line.
    static ENDS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:exit|_exit|quit|SystemExit)\b[ \t]*\(?[ \t]*(?:[0$(!A-Za-z_\x22]|\)|;|$)")
            .expect("a valid pattern")
    });
    let before = code.trim_end().rsplit_once('\n').map_or("", |(before, _)| before);
    if before.lines().any(|line| ENDS.is_match(line)) {
        return None;
    }
    // What it runs as a process of its own cannot end it.
    let is_product = |it: &PathBuf| question.table.role(it).is_none() && !judges.contains(it);
    if !loaded(question.now, path, &code).iter().any(is_product) {
        return None;
    }
    let edit =
        |code: String| TreeEdit::Write { path: path.to_owned(), kind, bytes: code.into_bytes() };
    Some(JudgeEnd {
        check: check.to_owned(),
        name: path.display().to_string(),
        at_start: edit(at_start(&code, language)),
        at_end: edit(at_end(&code, language)),
    })
}

/// The code with a failure as the first statement.
fn at_start(code: &str, language: &LanguageFacts) -> String {
    let first = code.lines().next().filter(|line| line.starts_with("#!") || line.contains("<?php"));
    let head = first.map_or(0, |line| (line.len() + 1).min(code.len()));
    let (head, rest) = code.split_at(head);
    format!("{head}{}\n{rest}", language.fails)
}

/// The code with a failure as the last statement. What the last line gives to `exit` still runs.
fn at_end(code: &str, language: &LanguageFacts) -> String {
    static EXIT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^([ \t]*)(?:sys\.exit|raise SystemExit|process\.exit|os\.exit|exit!?)[ \t]*(\(?.*?\)?);?$",
        )
        .expect("a valid pattern")
    });
    let code = code.trim_end().trim_end_matches("?>").trim_end();
    let (before, last) = code.rsplit_once('\n').unwrap_or(("", code));
    let fails = &language.fails;
    match EXIT.captures(last) {
        // A failure of its own, below a condition.
        Some(found) if found[2].trim_matches(['(', ')']).parse::<u8>().is_ok_and(|it| it > 0) => {
            format!("{code}\n{fails}\n")
        }
        Some(found) if found[2].contains('(') && found[2][1..].contains('(') => {
            format!("{before}\n{}{}\n{}{fails}\n", &found[1], &found[2], &found[1])
        }
        Some(found) => format!("{before}\n{}{fails}\n", &found[1]),
        None => format!("{code}\n{fails}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stands_at_the_end_and_what_exit_gets_still_runs() {
        let of = |name: &str, code: &str| {
            at_end(code, language(Path::new(name), code).expect("a language"))
        };
        let fails = "import os; os._exit(97)";
        assert_eq!(of("a.sh", "x\nexit $failed\n"), "x\nexit 97\n");
        assert_eq!(of("a.sh", "x\ny\n"), "x\ny\nexit 97\n");
        assert_eq!(
            of("a.py", "x\nif m:\n    sys.exit(main())\n"),
            format!("x\nif m:\n    (main())\n    {fails}\n")
        );
        assert_eq!(of("a.py", "x\nsys.exit(1 if bad else 0)"), format!("x\n{fails}\n"));
        assert_eq!(of("a.php", "<?php\nx();\n?>\n"), "<?php\nx();\nexit(97);\n");
        let start = at_start("#!/bin/sh\nx\n", language(Path::new("a.sh"), "").expect("shell"));
        assert_eq!(start, "#!/bin/sh\nexit 97\nx\n");
    }
}
