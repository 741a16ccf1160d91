//! `git`: what it asks, what it stages and commits; everything that throws work
//! away, talks to a remote or changes how git works is refused.

mod change;
mod listing;
mod query;

use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, ShellOutput, ShellValue};

use crate::guard::tables::git::{REMOTE, WORK_LOST, refused};

use super::call::ProgramCall;
use crate::guard::files::FileKind;
use crate::guard::tables::spec::lists;

/// Refused subcommands, as far as their first word makes them look and no more.
const QUESTIONS: &[(&str, &str)] = &[
    ("submodule", "status summary"),
    ("lfs", "ls-files status version"),
    ("bisect", "log terms"),
    ("sparse-checkout", "list"),
    ("bundle", "verify list-heads"),
    ("commit-graph multi-pack-index", "verify"),
    ("rerere", "status diff remaining"),
    ("ls-remote", "--get-url"),
    ("replace", "-l --list"),
    ("archive", "-l --list"),
];

/// Flags that change what a question tells, and nothing else.
const QUESTION_FLAGS: &str = "-q --quiet -v --verbose --recursive --cached -l --long -s --size -n --name-only -a --all \
            --json --porcelain --";

/// Settings that may be given for one command.
const HARMLESS_SETTINGS: &[&str] = &[
    "core.quotepath",
    "core.quotePath",
    "color.ui",
    "color.status",
    "color.diff",
    "commit.gpgsign",
    "commit.gpgSign",
    "tag.gpgsign",
    "diff.renames",
    "diff.noprefix",
    "diff.context",
    "status.short",
    "status.branch",
    "log.decorate",
    "log.date",
    "core.abbrev",
    "advice.detachedHead",
    "core.precomposeunicode",
    "diff.algorithm",
    "grep.lineNumber",
    "blame.date",
    "core.autocrlf",
];

impl Judge<'_> {
    /// Whether a `checkout` or `switch` does more than go to a branch or make one.
    fn discards(&mut self, env: &Env, name: &str, words: &[ShellValue]) -> bool {
        let text = |word: &ShellValue| word.text().unwrap_or("--").to_owned();
        let plain: Vec<String> = words.iter().map(text).collect();
        let makes = plain.iter().any(|word| matches!(word.as_str(), "-b" | "-c" | "--orphan"));
        let fine = |word: &String| {
            !word.starts_with('-')
                || lists("-b -c -q --quiet --orphan --create -t --track --detach", word)
        };
        let names: Vec<&String> = plain.iter().filter(|word| !word.starts_with('-')).collect();
        let exists = |judge: &mut Self, name: &str| {
            let path = env.cwds.first().map(|cwd| cwd.join(name)).unwrap_or_default();
            !judge.cx.resolve(&path).is_ok_and(|real| real.kind == FileKind::Missing)
        };
        if !plain.iter().all(fine) {
            return true;
        }
        match (name, makes, names.as_slice()) {
            (_, true, _) | ("switch", false, _) => false,
            (_, false, [one]) => exists(self, one),
            (_, false, _) => true,
        }
    }

    pub(super) fn git(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        let mut inner = env.clone();
        let mut rest = call.words;
        while let Some((first, more)) = rest.split_first() {
            let text = first.text().ok_or_else(|| {
                Denial::new(
                    "git.unknown",
                    format!("cannot tell which git command `{}` is", first.show()),
                )
                .instead("write the git command as plain text")
            })?;
            match text {
                "-C" => {
                    let folder = more.first().cloned().unwrap_or_default();
                    self.run(&mut inner, &[ShellValue::lit("cd"), folder], call.stdin)?;
                    rest = more.get(1..).unwrap_or_default();
                }
                "-c" => {
                    setting(more.first())?;
                    rest = more.get(1..).unwrap_or_default();
                }
                "--no-pager"
                | "-P"
                | "--literal-pathspecs"
                | "--no-optional-locks"
                | "--no-replace-objects"
                | "--no-lazy-fetch"
                | "--glob-pathspecs"
                | "--icase-pathspecs" => rest = more,
                "--version" | "-v" | "--help" | "-h" | "--html-path" | "--man-path"
                | "--info-path" | "--exec-path" => {
                    return Ok(ShellOutput::Opaque);
                }
                _ if text.starts_with('-') => {
                    return Err(Denial::new(
                        "git.option",
                        format!("git {text} changes where git works or what it runs"),
                    )
                    .instead("run git without it, in the workspace"));
                }
                _ => return self.git_command(&mut inner, text, more, call.stdin),
            }
        }
        Ok(ShellOutput::Opaque)
    }

    /// Whether a subcommand that is refused otherwise only looks here; its words are judged.
    fn asks(&mut self, env: &Env, name: &str, words: &[ShellValue]) -> Result<bool, Denial> {
        let Some((first, rest)) = words.split_first() else { return Ok(name == "submodule") };
        let first = first.text().unwrap_or_default();
        let question = |(names, firsts): &(&str, &str)| lists(names, name) && lists(firsts, first);
        let harmless = |word: &ShellValue| {
            let text = word.text().unwrap_or("-");
            !text.starts_with('-') || lists(QUESTION_FLAGS, text)
        };
        if !QUESTIONS.iter().any(question) || !rest.iter().all(harmless) {
            return Ok(false);
        }
        let mut named = rest.iter().filter(|word| !word.head().starts_with('-'));
        match name {
            "bundle" => named.try_for_each(|file| self.read_value(env, file, ReadKind::Content))?,
            // Its name or nothing: an address would be told as it is.
            "ls-remote" => return Ok(rest.len() <= 1),
            _ => named.try_for_each(|word| self.revision_or_path(env, word))?,
        }
        Ok(true)
    }

    fn git_command(
        &mut self,
        env: &mut Env,
        name: &str,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let all = [ShellValue::lit("git"), ShellValue::lit(name)];
        let all = all.iter().chain(words);
        let plain: Vec<Option<String>> = all.map(|word| word.text().map(str::to_owned)).collect();
        self.ruled(&plain)?;
        if name == "push" && words.iter().any(overwrites) {
            let why = "it overwrites or removes commits that others have";
            return Err(Denial::new("git.push-force", why).instead(REMOTE.2));
        }
        if matches!(name, "checkout" | "switch") && self.discards(env, name, words) {
            return Err(Denial::new("git.destructive", WORK_LOST.1).instead(WORK_LOST.2));
        }
        if self.asks(env, name, words)? {
            return Ok(ShellOutput::Opaque);
        }
        if let Some((rule, why, instead)) = refused(name) {
            return Err(Denial::new(rule, why).instead(instead));
        }
        let call = ProgramCall { name, words, stdin };
        if let Some(judged) = self.git_query(env, &call) {
            return judged;
        }
        if let Some(judged) = self.git_change(env, &call) {
            return judged;
        }
        Err(Denial::new("git.unknown", format!("unknown git command `{name}`; it may be an alias"))
            .instead("use status, diff, log, show, add or commit"))
    }
}

/// Whether a word of `git push` makes it more than adding commits.
fn overwrites(word: &ShellValue) -> bool {
    let Some(text) = word.text() else { return true };
    let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['f', 'd']);
    let long = ["--force", "--mirror", "--delete", "--prune", "--receive-pack", "--exec"];
    short || text.starts_with(['+', ':']) || long.iter().any(|option| text.starts_with(option))
}

fn setting(value: Option<&ShellValue>) -> Result<(), Denial> {
    let refuse = || {
        Denial::new("git.setting", "a git setting given with -c can run a program")
            .instead("run git without -c")
    };
    let text = value.and_then(ShellValue::text).ok_or_else(refuse)?;
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let pager = name == "core.pager" && matches!(value, "cat" | "");
    let editor = name == "core.editor" && matches!(value, "true" | ":" | "cat");
    let identity = matches!(name, "user.name" | "user.email");
    if pager || editor || identity || HARMLESS_SETTINGS.contains(&name) && !value.starts_with('!') {
        Ok(())
    } else {
        Err(refuse())
    }
}
