//! Which program a command runs and who judges it. One table per kind of
//! program says what its options and operands do; a program in no table is
//! refused.

mod awk;
mod builtins;
mod find;
mod git;
mod given;
mod interpreters;
mod known;
mod lifted;
mod options;
mod readers;
mod refused;
mod runners;
mod sed;
mod variables;
mod wrappers;
mod writers;

use known::Kind;
pub(super) use known::is_program;
pub(super) use lifted::exactly;
use options::Spec;
pub(super) use readers::{aims_at_secrets, names};

use std::path::{Path, PathBuf};

use super::files;
use super::judge::{Judge, Read, Write};
use super::refusal::{Refusal, blocked_pattern};
use super::rules;
use super::shell::{Env, Stream, Value};
use crate::model::RuleDecision;

/// Folders whose programs are the machine's own.
const SYSTEM_BINS: &[&str] =
    &["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"];

/// What a command is about to run.
pub(super) struct Call<'w> {
    /// The program's own name, without folders.
    pub(super) name: &'w str,
    /// Its words behind the name.
    pub(super) words: &'w [Value],
    /// What stands on its standard input.
    pub(super) stdin: &'w Stream,
}

impl Judge<'_> {
    /// Judges a command: the program's name and its words.
    pub(super) fn run(
        &mut self,
        env: &mut Env,
        words: &[Value],
        stdin: &Stream,
    ) -> Result<Stream, Refusal> {
        // A program that runs a program that runs a program: that has to end.
        self.deeper(|judge| judge.run_one(env, words, stdin))
    }

    fn run_one(
        &mut self,
        env: &mut Env,
        words: &[Value],
        stdin: &Stream,
    ) -> Result<Stream, Refusal> {
        let Some((first, rest)) = words.split_first() else {
            return Ok(Stream::Text(String::new()));
        };
        let Some(name) = first.text() else {
            return Err(Refusal::new(
                "shell.unknown-program",
                format!("it is not known which program `{}` is", first.show()),
            )
            .instead("write the program's name as plain text"));
        };
        let judged = self.named(env, name, rest, stdin);
        let policy = self.policy;
        if policy.allow.is_empty() && !policy.rules.about_commands() {
            return match judged {
                Err(refusal) if self.defaults_to(&refusal, name) => {
                    self.lifted(env, rest)?;
                    Ok(Stream::Opaque)
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
            Err(refusal) if rules::liftable(&refusal.rule) => {
                let lifted = ruling.is_some()
                    || policy.allow.covers(&plain)
                    || self.defaults_to(&refusal, name);
                if !lifted {
                    return Err(refusal);
                }
                if refusal.rule == "program.delete" {
                    self.deletes(env, base, rest)?;
                }
                self.lifted(env, rest)?;
                Ok(Stream::Opaque)
            }
            judged => judged,
        }
    }

    /// Whether a program that nobody knows may run by the user's own default. A name in
    /// capitals may be a program that is known, on some machines.
    fn defaults_to(&self, refusal: &Refusal, name: &str) -> bool {
        let hidden = name.to_lowercase() != *name && is_program(&name.to_lowercase());
        self.policy.rules.allow_unknown() && rules::unknown(&refusal.rule) && !hidden
    }

    /// What the user's rules say about a command: a refusal, or the rule that lets it
    /// through. What a human has to approve is noted.
    pub(super) fn ruled(
        &mut self,
        words: &[Option<String>],
    ) -> Result<Option<RuleDecision>, Refusal> {
        let rules = &self.policy.rules;
        if !rules.about_commands() {
            return Ok(None);
        }
        let shown: Vec<&str> = words.iter().map(|word| word.as_deref().unwrap_or("…")).collect();
        if let Some(pattern) = rules.matches(&shown.join(" ")) {
            return Err(blocked_pattern(pattern));
        }
        let Some(ruling) = rules.command(words) else { return Ok(None) };
        match ruling.decision {
            RuleDecision::Deny => return Err(Refusal::ruled(ruling)),
            RuleDecision::Ask => self.ask = self.ask.take().or(Some(Refusal::ruled(ruling))),
            RuleDecision::Allow => {}
        }
        Ok(Some(ruling.decision))
    }

    /// A deletion that the user's configuration lets through: of what the agent could
    /// have changed, too.
    fn deletes(&mut self, env: &Env, name: &str, words: &[Value]) -> Result<(), Refusal> {
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
            for path in self.write_value(env, operand, Write::Move)? {
                if !self.inside(&path) && !self.in_tmp(&path) {
                    return Err(Refusal::new("path.outside", "it deletes outside the workspace"));
                }
            }
        }
        Ok(())
    }

    fn named(
        &mut self,
        env: &mut Env,
        name: &str,
        rest: &[Value],
        stdin: &Stream,
    ) -> Result<Stream, Refusal> {
        if env.functions.contains_key(name) {
            return self.call(env, name, rest, stdin);
        }
        if !name.contains('/') {
            return self.program(env, &Call { name, words: rest, stdin });
        }
        let path = Path::new(name);
        let base =
            path.file_name().map(|base| base.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().unwrap_or(path);
        let system = SYSTEM_BINS.iter().any(|bin| folder == Path::new(bin))
            || self.policy.home.as_ref().is_some_and(|home| folder == home.join(".cargo/bin"));
        if system {
            return self.program(env, &Call { name: &base, words: rest, stdin });
        }
        let tool = matches!(known::kind(&base), Some(Kind::Runner(_) | Kind::Interpreter(_)));
        if tool || self.built {
            // A wrapper of a known tool that is not there runs nothing, and what is not
            // there yet can come from the build before it alone.
            self.script_or_nothing(env, &Value::lit(name))?;
        } else {
            self.script(env, &Value::lit(name))?;
        }
        self.given(env, rest)?;
        // A known program that lives in the workspace (`.venv/bin/python`,
        // `./node_modules/.bin/eslint`) is judged as what it is called.
        if is_program(&base) && !known::is_refused(&base) {
            return self.program(env, &Call { name: &base, words: rest, stdin });
        }
        Ok(Stream::Opaque)
    }

    /// The same for what may be missing.
    fn script_or_nothing(&mut self, env: &Env, value: &Value) -> Result<(), Refusal> {
        // A word without either may be a command of the program's own, as in `bun add`.
        let named = value.text().is_some_and(|name| name.contains(['.', '/']));
        if !named || value.head().contains(':') {
            return self.script(env, value).map(drop);
        }
        for path in self.paths(env, value)? {
            let real = self.resolve(&path)?;
            if real.kind != files::Kind::Missing || !self.inside(&real.path) || env.lost {
                return self.script(env, value).map(drop);
            }
            if self.changed.contains(&real.path) {
                return self.script(env, value).map(drop);
            }
        }
        Ok(())
    }

    /// Checks that a program or script is a file of the workspace that was there
    /// before this call.
    fn script(&mut self, env: &Env, value: &Value) -> Result<Vec<PathBuf>, Refusal> {
        self.read_value(env, value, Read::Content)?;
        if value.text().is_none() || env.lost {
            return Err(Refusal::new("program.script", "it is not known which script this is")
                .instead("name the script"));
        }
        let paths = self.paths(env, value)?;
        let mut found = Vec::new();
        for path in paths {
            let real = self.resolve(&path)?;
            if self.changed.contains(&real.path) {
                return Err(Refusal::new(
                    "program.script",
                    "the script is written by this same call",
                )
                .instead(
                    "write the script first, with the create tool, and run it in a call of its own",
                ));
            }
            if real.kind == files::Kind::File && self.inside(&real.path) {
                found.push(real.path);
            }
        }
        if found.is_empty() {
            return Err(Refusal::new(
                "program.script",
                format!("there is no script {} in the workspace", value.show()),
            )
            .instead("run one that is there: `git ls-files '*.sh' '*.py' '*.js'` names them"));
        }
        Ok(found)
    }

    /// Judges a program by its name.
    pub(super) fn program(&mut self, env: &mut Env, call: &Call<'_>) -> Result<Stream, Refusal> {
        match known::kind(call.name) {
            Some(Kind::Refused(_)) if refused::only_asks(call.name, call.words) => {
                self.harmless_words(env, call.name, call.words)?;
                self.given(env, call.words)?;
                Ok(Stream::Opaque)
            }
            Some(Kind::Refused(group)) => Err(group.refusal(call.name)),
            Some(Kind::Builtin) => self.builtin(env, call),
            Some(Kind::Wrapper) => self.wrapper(env, call),
            Some(Kind::Reader(reader)) => self.reads(env, call, reader),
            Some(Kind::Writer) => self.writer(env, call),
            Some(Kind::Git) => self.git(env, call),
            Some(Kind::Find) => self.find(env, call),
            Some(Kind::Sed) => self.sed(env, call),
            Some(Kind::Awk) => self.awk(env, call),
            Some(Kind::Interpreter(language)) => self.interprets(env, call, language),
            Some(Kind::Runner(tool)) => self.runner(env, call, tool),
            None => Err(Refusal::new("shell.unknown-program", format!("it is not known what {} does", call.name)).instead(
            "use a program of the project's own toolchain, a script of the repository, or ask for it under `allow:` in TASK.md",
        ))
        }
    }
}
