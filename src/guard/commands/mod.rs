//! The programs that a command may run, and their arguments. `table.txt` lists the programs with
//! their options; separate code judges a few that take more than options and files.

mod addresses;
mod arguments;
mod builds;
mod files;
mod find;
mod git;
mod git_config;
mod offline;
mod operands;
mod options;
mod overrides;
mod own_patterns;
mod remove;
mod scripts;
mod searches;
mod sed;
mod special;
mod variables;
mod wrappers;

use std::path::Path;

use super::call_context::{CallContext, ReadKind, WriteKind};
use super::denial::{Denial, blocked_pattern, runs_what_it_writes};
use super::files::FileKind;
use super::line::{Arg, Judge, Place};
use super::programs::verbs::refuse_publishing;
use super::programs::{refused, table};
use super::rules;
use crate::model::RuleDecision;
use offline::is_offline;

/// Folders whose programs are the machine's own.
const SYSTEM_BINS: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"];

/// Folders of dependencies: what lies there is judged by its name, and is not a script of the
/// project.
const DEPENDENCIES: &[&str] = &[
    "node_modules",
    ".venv",
    "venv",
    "vendor",
    "site-packages",
    ".tox",
    ".nox",
    "bower_components",
];

impl Judge<'_> {
    /// Judges a command: the program's name and its words.
    pub(super) fn run(&mut self, place: &mut Place, args: &[Arg]) -> Result<(), Denial> {
        // A program that runs a program that runs a program: that has to end.
        self.deeper(|judge| judge.run_one(place, args))
    }

    fn run_one(&mut self, place: &mut Place, args: &[Arg]) -> Result<(), Denial> {
        let Some((first, rest)) = args.split_first() else { return Ok(()) };
        let Some(name) = first.text().map(str::to_owned) else {
            return Err(Denial::new("shell.unknown-program", "cannot tell which program this is")
                .instead("write the program's name as plain text"));
        };
        let splits = |arg: &Arg| matches!(arg, Arg::Open { quoted: false, .. });
        if !self.sandboxed && name != "echo" && rest.iter().any(splits) {
            // Options, names of files, or one more command for git.
            return Err(Denial::new(
                "shell.unknown-word",
                format!("`{name}` has a word without quotes that may become any words"),
            )
            .instead("quote it, or write the word itself"));
        }
        let mut judged = self.named(place, &name, rest);
        if self.sandboxed && judged.as_ref().is_err_and(|denial| denial.rule == "program.install") {
            let words: Vec<Option<&str>> = rest.iter().map(Arg::text).collect();
            if is_offline(&name, &words) {
                judged = self.names_in(place, rest);
            }
        }
        let policy = self.cx.policy();
        if policy.allow.is_empty() && !policy.rules.about_commands() {
            return match judged {
                Err(denial) if self.defaults_to(&denial, &name) => {
                    self.check_override_args(place, rest)
                }
                judged => judged,
            };
        }
        let mut plain: Vec<Option<String>> =
            args.iter().map(|arg| arg.text().map(str::to_owned)).collect();
        // The machine's own programs are meant by their names.
        let (folder, base) = name.rsplit_once('/').unwrap_or(("", &name));
        if SYSTEM_BINS.contains(&folder) {
            plain[0] = Some(base.to_owned());
        }
        let ruling = self.ruled(&plain)?;
        match judged {
            Err(denial) if rules::liftable(&denial.rule) => {
                let lifted = ruling.is_some()
                    || policy.allow.covers(&plain)
                    || self.defaults_to(&denial, &name);
                if !lifted {
                    return Err(denial);
                }
                if denial.rule == "program.delete" {
                    self.lifted_delete(place, base, rest)?;
                }
                self.check_override_args(place, rest)
            }
            judged => judged,
        }
    }

    /// Whether a program that nobody knows may run by the user's own default. A name in capitals
    /// may be a program that is known, on some machines.
    fn defaults_to(&self, denial: &Denial, name: &str) -> bool {
        let hidden = name.to_lowercase() != *name && is_known(&name.to_lowercase());
        self.cx.policy().rules.allow_unknown() && rules::unknown(&denial.rule) && !hidden
    }

    /// The decision of the user's rules about a command: a denial, or the rule that allows it. A
    /// need for a human's approval is recorded.
    fn ruled(&mut self, words: &[Option<String>]) -> Result<Option<RuleDecision>, Denial> {
        let rules = &self.cx.policy().rules;
        if !rules.about_commands() {
            return Ok(None);
        }
        let shown: Vec<&str> = words.iter().map(|word| word.as_deref().unwrap_or("…")).collect();
        if let Some(pattern) = rules.matches(&shown.join(" ")) {
            return Err(blocked_pattern(pattern));
        }
        let Some(ruling) = rules.command(words) else { return Ok(None) };
        match ruling.decision {
            RuleDecision::Deny => return Err(ruling.denial()),
            RuleDecision::Ask => self.cx.ask_human(ruling.denial()),
            RuleDecision::Allow => {}
        }
        Ok(Some(ruling.decision))
    }

    fn named(&mut self, place: &mut Place, name: &str, args: &[Arg]) -> Result<(), Denial> {
        if !name.contains('/') {
            return self.program(place, name, args);
        }
        let path = Path::new(name);
        let base =
            path.file_name().map(|base| base.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().unwrap_or(path);
        let cargo =
            self.cx.policy().home.as_ref().is_some_and(|home| folder == home.join(".cargo/bin"));
        if cargo || SYSTEM_BINS.iter().any(|bin| folder == Path::new(bin)) {
            return self.program(place, &base, args);
        }
        // Programs are judged by name, wherever they lie.
        if is_known(&base) {
            let tool = table::entry(&base).is_some_and(|entry| entry.runs);
            let judged = self.program(place, &base, args);
            return judged.and_then(|()| {
                if tool { self.tool_file(place, name) } else { self.script_file(place, name) }
            });
        }
        let dependency = path.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            DEPENDENCIES.contains(&part.as_ref()) || part == "bin" || part == ".bin"
        });
        if dependency {
            return Err(unknown_program(&base));
        }
        self.project_script(place, name, args)
    }

    /// A script of the project with its arguments.
    pub(super) fn project_script(
        &mut self,
        place: &Place,
        name: &str,
        args: &[Arg],
    ) -> Result<(), Denial> {
        let tool = Self::tool_of(name).filter(|_| !self.sandboxed);
        let judged = if tool.is_some() {
            self.tool_file(place, name)
        } else {
            self.script_file(place, name)
        };
        self.soften(judged)?;
        if let Some(tool) = tool {
            return self.program(&mut place.clone(), tool, args);
        }
        let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        refuse_publishing(&stem.unwrap_or_default())?;
        args.iter().try_for_each(|arg| self.harmless(place, arg))
    }

    /// Checks that a tool's wrapper is a file of the workspace that was there before, or missing:
    /// then it runs nothing.
    fn tool_file(&mut self, place: &Place, name: &str) -> Result<(), Denial> {
        for path in self.paths(place, &Arg::of(name))? {
            let real = self.cx.resolve(&path)?;
            if real.kind == FileKind::Missing
                && self.cx.inside(&real.path)
                && !self.cx.changed().contains(&real.path)
            {
                continue;
            }
            return self.script_file(place, name);
        }
        Ok(())
    }

    /// Checks that a script is a file of the workspace that was there before this call.
    pub(super) fn script_file(&mut self, place: &Place, name: &str) -> Result<(), Denial> {
        let arg = Arg::of(name);
        self.reads(place, &arg, ReadKind::Content)?;
        let mut found = false;
        for path in self.paths(place, &arg)? {
            let real = self.cx.resolve(&path)?;
            if self.cx.changed().contains(&real.path) {
                return Err(runs_what_it_writes());
            }
            found |= real.kind == FileKind::File && self.cx.inside(&real.path);
        }
        if found {
            Ok(())
        } else {
            Err(Denial::new(
                "program.script",
                format!("there is no script {name} in the workspace"),
            )
            .instead("run an existing one: `git ls-files '*.sh' '*.py' '*.js'` lists them"))
        }
    }

    /// Judges a program by its name.
    pub(super) fn program(
        &mut self,
        place: &mut Place,
        name: &str,
        args: &[Arg],
    ) -> Result<(), Denial> {
        if let Some(group) = refused::group(name) {
            return self.refused_program(place, name, args, group);
        }
        if let Some(judged) = self.wrapper(place, name, args) {
            return judged;
        }
        match name {
            "cd" => self.change_folder(place, args),
            "git" => self.git(place, args),
            "find" | "gfind" => self.find(place, args),
            "sed" | "gsed" => self.sed(place, args),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(place, args),
            "test" | "[" => self.test(place, args),
            "set" => shell_options(args),
            "export" | "declare" | "typeset" | "readonly" | "printenv" => {
                self.environment(place, name, args)
            }
            _ => match table::entry(name) {
                Some(entry) => self.listed(place, name, entry, args),
                None if self.sandboxed => self.unlisted(place, name, args),
                None => Err(unknown_program(name)),
            },
        }
    }

    /// A program that is denied whatever its words, but for a question.
    fn refused_program(
        &mut self,
        place: &mut Place,
        name: &str,
        args: &[Arg],
        group: &'static refused::Group,
    ) -> Result<(), Denial> {
        let words: Vec<Option<&str>> = args.iter().map(Arg::text).collect();
        if refused::only_asks(name, &words) {
            if let Some(entry) = table::entry(name) {
                return self.listed(place, name, entry, args);
            }
            return args.iter().try_for_each(|arg| self.harmless(place, arg));
        }
        if self.sandboxed {
            match group.rule {
                "program.delete" => return self.remove(place, name, args),
                "system" if matches!(name, "kill" | "pkill" | "killall") => return Ok(()),
                "system" if refused::is_harmless_in_a_sandbox(name) => {
                    return self.names_in(place, args);
                }
                "network" if !refused::is_foreign(name, &words) => {
                    return self.names_in(place, args);
                }
                "program.install" if refused::installs_nothing(name, &words) => {
                    return self.names_in(place, args);
                }
                "program.opaque" => return self.names_in(place, args),
                "network" | "program.install" if self.cx.policy().is_online() => {
                    return self.names_in(place, args);
                }
                _ => {}
            }
        }
        Err(group.denial())
    }

    /// In a sandbox, words of a program that is not understood: none may name a secret, or what
    /// belongs to git.
    pub(super) fn names_in(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        for arg in args {
            let Some(text) = arg.text().filter(|text| !text.contains(char::is_whitespace)) else {
                continue;
            };
            // `@FILE` stands for what is in it, as for curl.
            let value =
                text.split_once('=').map_or(text, |(_, value)| value).trim_start_matches('@');
            if value.starts_with('-') || value.is_empty() {
                continue;
            }
            let paths = self.paths(place, &Arg::of(value));
            for path in self.soften(paths)?.unwrap_or_default() {
                match self.cx.read(&path, ReadKind::Content) {
                    Err(denial) if denial.rule == "path.git" => return Err(denial),
                    // A word of that name may mean something else.
                    Err(denial)
                        if denial.rule == "secret.file"
                            && self.cx.kind(&path) == FileKind::File =>
                    {
                        return Err(denial);
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// In a sandbox, a program without a table: what it plainly writes may not be protected.
    fn unlisted(&mut self, place: &Place, name: &str, args: &[Arg]) -> Result<(), Denial> {
        self.names_in(place, args)?;
        // With an open network, this is all that keeps it from publishing.
        let verb = args.first().and_then(Arg::text).unwrap_or_default();
        if verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            refuse_publishing(verb)?;
        }
        let operands: Vec<&Arg> = args.iter().filter(|arg| !arg.head().starts_with('-')).collect();
        let written = match name {
            "ln" | "install" => operands.last().into_iter().copied().collect(),
            "truncate" => operands,
            _ => Vec::new(),
        };
        written.into_iter().try_for_each(|arg| self.writes(place, arg, WriteKind::Change))
    }
}

/// `set -euo pipefail` and the like.
fn shell_options(args: &[Arg]) -> Result<(), Denial> {
    let words: Option<Vec<&str>> = args.iter().map(Arg::text).collect();
    let words = words.unwrap_or_default();
    let letters = |word: &str| {
        word.len() > 1
            && word.starts_with(['-', '+'])
            && word[1..].chars().all(|c| "euxo".contains(c))
    };
    let pipefail = words.iter().filter(|word| **word == "pipefail").count();
    let named = words.iter().filter(|word| word.ends_with('o')).count();
    if words.is_empty()
        || !words.iter().all(|word| letters(word) || *word == "pipefail")
        || pipefail != named
    {
        return Err(Denial::new(
            "shell.not-understood",
            "`set` changes how the shell reads the line",
        )
        .instead("`set -euo pipefail` is known"));
    }
    Ok(())
}

/// Is a program known by its name, allowed or refused?
fn is_known(name: &str) -> bool {
    table::entry(name).is_some()
        || refused::group(name).is_some()
        || wrappers::is_wrapper(name)
        || matches!(
            name,
            "cd" | "git"
                | "find"
                | "sed"
                | "awk"
                | "test"
                | "gfind"
                | "gsed"
                | "gawk"
                | "mawk"
                | "printenv"
        )
}

pub(super) fn unknown_program(name: &str) -> Denial {
    Denial::new("shell.unknown-program", format!("unknown program `{name}`")).instead(
        "use a program of the project's own toolchain, a script of the repository, or ask for it under `allow:` in TASK.md",
    )
}

/// The context of a call, for functions that need no walk.
pub(super) fn is_inside(cx: &CallContext<'_>, path: &Path) -> bool {
    cx.inside(path) || cx.in_tmp(path)
}
