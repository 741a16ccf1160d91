//! Which program a command runs and who judges it. One table per kind of
//! program says what its options and operands do; a program in no table is
//! refused.

mod awk;
mod builtins;
mod call;
mod find;
mod git;
mod interpreters;
mod options;
mod overrides;
mod readers;
mod runners;
mod secret_args;
mod sed;
mod variables;
mod wrappers;
mod writers;

use call::ProgramCall;
pub(super) use readers::{aims_at_secrets, names};

use std::path::{Path, PathBuf};

use super::call_context::{ReadKind, WriteKind};
use super::denial::{Denial, blocked_pattern};
use super::files;
use super::rules;
use super::shell::{Env, Judge, ShellOutput, ShellValue};
use super::tables::known::{self, ProgramKind, is_program};
use super::tables::refused;
use super::tables::spec::Spec;
use crate::model::RuleDecision;

/// Folders whose programs are the machine's own.
const SYSTEM_BINS: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"];

impl Judge<'_> {
    /// Judges a command: the program's name and its words.
    pub(super) fn run(
        &mut self,
        env: &mut Env,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        // A program that runs a program that runs a program: that has to end.
        self.deeper(|judge| judge.run_one(env, words, stdin))
    }

    fn run_one(
        &mut self,
        env: &mut Env,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let Some((first, rest)) = words.split_first() else {
            return Ok(ShellOutput::Text(String::new()));
        };
        let Some(name) = first.text() else {
            return Err(Denial::new(
                "shell.unknown-program",
                format!("cannot tell which program `{}` is", first.show()),
            )
            .instead("write the program's name as plain text"));
        };
        let judged = self.named(env, name, rest, stdin);
        let policy = self.cx.policy();
        if policy.allow.is_empty() && !policy.rules.about_commands() {
            return match judged {
                Err(denial) if self.defaults_to(&denial, name) => {
                    self.check_override_args(env, rest)?;
                    Ok(ShellOutput::Opaque)
                }
                judged => judged,
            };
        }
        let mut plain: Vec<Option<String>> =
            words.iter().map(|word| word.text().map(str::to_owned)).collect();
        // The machine's own programs are meant by their names.
        let (folder, base) = name.rsplit_once('/').unwrap_or(("", name));
        if SYSTEM_BINS.contains(&folder) {
            plain[0] = Some(base.to_owned());
        }
        let ruling = self.ruled(&plain)?;
        match judged {
            Err(denial) if rules::liftable(&denial.rule) => {
                let lifted = ruling.is_some()
                    || policy.allow.covers(&plain)
                    || self.defaults_to(&denial, name);
                if !lifted {
                    return Err(denial);
                }
                if denial.rule == "program.delete" {
                    self.deletes(env, base, rest)?;
                }
                self.check_override_args(env, rest)?;
                Ok(ShellOutput::Opaque)
            }
            judged => judged,
        }
    }

    /// Whether a program that nobody knows may run by the user's own default. A name in
    /// capitals may be a program that is known, on some machines.
    fn defaults_to(&self, denial: &Denial, name: &str) -> bool {
        let hidden = name.to_lowercase() != *name && is_program(&name.to_lowercase());
        self.cx.policy().rules.allow_unknown() && rules::unknown(&denial.rule) && !hidden
    }

    /// What the user's rules say about a command: a denial, or the rule that lets it
    /// through. What a human has to approve is noted.
    pub(super) fn ruled(
        &mut self,
        words: &[Option<String>],
    ) -> Result<Option<RuleDecision>, Denial> {
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

    /// A deletion that the user's configuration lets through: of what the agent could
    /// have changed, too.
    fn deletes(&mut self, env: &Env, name: &str, words: &[ShellValue]) -> Result<(), Denial> {
        const SPEC: Spec = Spec::closed(
            &[],
            "-r -R -f -v -d -i -I --recursive --force --verbose --dir --interactive -p --parents \
            --ignore-fail-on-non-empty -u -z",
        );
        if !matches!(name, "rm" | "rmdir" | "unlink" | "shred") {
            return Ok(());
        }
        let parsed = self.options(env, name, words, &SPEC)?;
        for operand in &parsed.operands {
            for path in self.write_value(env, operand, WriteKind::Move)? {
                if !self.cx.inside(&path) && !self.cx.in_tmp(&path) {
                    return Err(Denial::new("path.outside", "it deletes outside the workspace"));
                }
            }
        }
        Ok(())
    }

    fn named(
        &mut self,
        env: &mut Env,
        name: &str,
        rest: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        if env.functions.contains_key(name) {
            return self.call(env, name, rest, stdin);
        }
        if !name.contains('/') {
            return self.program(env, &ProgramCall { name, words: rest, stdin });
        }
        let path = Path::new(name);
        let base =
            path.file_name().map(|base| base.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().unwrap_or(path);
        let system = SYSTEM_BINS.iter().any(|bin| folder == Path::new(bin))
            || self.cx.policy().home.as_ref().is_some_and(|home| folder == home.join(".cargo/bin"));
        if system {
            return self.program(env, &ProgramCall { name: &base, words: rest, stdin });
        }
        let tool = matches!(
            known::kind(&base),
            Some(ProgramKind::Runner(_) | ProgramKind::Interpreter(_))
        );
        if tool || self.cx.has_built() {
            // A wrapper of a known tool that is not there runs nothing, and what is not
            // there yet can come from the build before it alone.
            self.script_or_nothing(env, &ShellValue::lit(name))?;
        } else {
            self.script(env, &ShellValue::lit(name))?;
        }
        self.deny_secret_args(env, rest)?;
        // A known program that lives in the workspace (`.venv/bin/python`,
        // `./node_modules/.bin/eslint`) is judged as what it is called.
        if is_program(&base) && !known::is_refused(&base) {
            return self.program(env, &ProgramCall { name: &base, words: rest, stdin });
        }
        Ok(ShellOutput::Opaque)
    }

    /// The same for what may be missing.
    fn script_or_nothing(&mut self, env: &Env, value: &ShellValue) -> Result<(), Denial> {
        // A word without either may be a command of the program's own, as in `bun add`.
        let named = value.text().is_some_and(|name| name.contains(['.', '/']));
        if !named || value.head().contains(':') {
            return self.script(env, value).map(drop);
        }
        for path in self.paths(env, value)? {
            let real = self.cx.resolve(&path)?;
            if real.kind != files::FileKind::Missing || !self.cx.inside(&real.path) || env.lost {
                return self.script(env, value).map(drop);
            }
            if self.cx.changed().contains(&real.path) {
                return self.script(env, value).map(drop);
            }
        }
        Ok(())
    }

    /// Checks that a program or script is a file of the workspace that was there
    /// before this call.
    fn script(&mut self, env: &Env, value: &ShellValue) -> Result<Vec<PathBuf>, Denial> {
        self.read_value(env, value, ReadKind::Content)?;
        if value.text().is_none() || env.lost {
            return Err(Denial::new("program.script", "cannot tell which script this is")
                .instead("name the script"));
        }
        let paths = self.paths(env, value)?;
        let mut found = Vec::new();
        for path in paths {
            let real = self.cx.resolve(&path)?;
            if self.cx.changed().contains(&real.path) {
                return Err(Denial::new(
                    "program.script",
                    "this call writes the script that it runs",
                )
                .instead(
                    "write the script first, with the create tool, and run it in a call of its own",
                ));
            }
            if real.kind == files::FileKind::File && self.cx.inside(&real.path) {
                found.push(real.path);
            }
        }
        if found.is_empty() {
            return Err(Denial::new(
                "program.script",
                format!("there is no script {} in the workspace", value.show()),
            )
            .instead("run one that is there: `git ls-files '*.sh' '*.py' '*.js'` names them"));
        }
        Ok(found)
    }

    /// Judges a program by its name.
    pub(in crate::guard::programs) fn program(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        match known::kind(call.name) {
            Some(ProgramKind::Refused(_)) if only_asks(call) => {
                self.harmless_words(env, call.name, call.words)?;
                self.deny_secret_args(env, call.words)?;
                Ok(ShellOutput::Opaque)
            }
            Some(ProgramKind::Refused(group)) => Err(group.denial()),
            Some(ProgramKind::Builtin) => self.builtin(env, call),
            Some(ProgramKind::Wrapper) => self.wrapper(env, call),
            Some(ProgramKind::Reader(reader)) => self.reads(env, call, reader),
            Some(ProgramKind::Writer) => self.writer(env, call),
            Some(ProgramKind::Git) => self.git(env, call),
            Some(ProgramKind::Find) => self.find(env, call),
            Some(ProgramKind::Sed) => self.sed(env, call),
            Some(ProgramKind::Awk) => self.awk(env, call),
            Some(ProgramKind::Interpreter(language)) => self.interprets(env, call, language),
            Some(ProgramKind::Runner(tool)) => self.runner(env, call, tool),
            None => Err(Denial::new("shell.unknown-program", format!("unknown program `{}`", call.name)).instead(
            "use a program of the project's own toolchain, a script of the repository, or ask for it under `allow:` in TASK.md",
        ))
        }
    }
}

/// Does a command of a program that is always denied only ask for its version or the like?
fn only_asks(call: &ProgramCall<'_>) -> bool {
    let words: Vec<Option<&str>> = call.words.iter().map(ShellValue::text).collect();
    refused::only_asks(call.name, &words)
}
