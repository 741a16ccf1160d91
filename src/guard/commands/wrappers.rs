//! Programs that run another one, which is judged instead.

use std::collections::HashMap;

use super::options::unknown_option;
use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place, parse, unclear};

const SHELLS: &[&str] = &["bash", "sh", "dash"];

/// Wrappers of the table.
const WRAPPERS: &[&str] =
    &["timeout", "gtimeout", "nice", "nohup", "time", "stdbuf", "chronic", "setsid", "xvfb-run"];

/// Wrappers that only a sandbox allows, where they are looked through.
const LOOKED_THROUGH: &[&str] =
    &["xargs", "exec", "eval", "builtin", "ionice", "caffeinate", "flock", "unbuffer", "parallel"];

/// Whether a program of this name runs another one.
pub(super) fn is_wrapper(name: &str) -> bool {
    SHELLS.contains(&name)
        || matches!(name, "env" | "command")
        || WRAPPERS.contains(&name)
        || LOOKED_THROUGH.contains(&name)
}

impl Judge<'_> {
    /// Judges a wrapper; `None` if the program is not one, or is in the table.
    pub(super) fn wrapper(
        &mut self,
        place: &mut Place,
        name: &str,
        args: &[Arg],
    ) -> Option<Result<(), Denial>> {
        if !is_wrapper(name) {
            return None;
        }
        if SHELLS.contains(&name) {
            return Some(self.shell(place, name, args));
        }
        if self.sandboxed {
            return Some(self.look_through(place, name, args));
        }
        match name {
            "env" => Some(self.env(place, args)),
            "command" => Some(self.command_builtin(place, args)),
            _ if WRAPPERS.contains(&name) => None,
            _ => {
                let why = format!("`{name}` runs what this line does not show");
                let instead = "run the command itself, in a plain line";
                Some(Err(Denial::new("program.opaque", why).instead(instead)))
            }
        }
    }

    /// `env NAME=VALUE … COMMAND`; without a command it prints the environment.
    fn env(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        let set = args
            .iter()
            .take_while(|arg| arg.head().contains('=') && !arg.head().starts_with('-'))
            .count();
        let (variables, command) = args.split_at(set);
        self.variables(place, variables)?;
        match command.first() {
            None => Err(Denial::new("env.dump", "it prints the whole environment")
                .instead("print one variable that you need")),
            Some(first) if first.head().starts_with('-') => {
                Err(unknown_option("env", first.head()))
            }
            Some(_) => self.run(&mut place.inner(), command),
        }
    }

    /// Judges words of the form `NAME=VALUE` that are set for a command.
    pub(super) fn variables(&mut self, place: &Place, words: &[Arg]) -> Result<(), Denial> {
        words.iter().try_for_each(|word| {
            let at = word.head().find('=').unwrap_or_default();
            let name = word.head()[..at].to_owned();
            self.variable(place, &name, &word.tail(at + 1), false)
        })
    }

    fn command_builtin(&mut self, place: &mut Place, args: &[Arg]) -> Result<(), Denial> {
        match args.first().and_then(Arg::text) {
            Some("-v" | "-V") => args[1..].iter().try_for_each(|arg| self.harmless(place, arg)),
            Some(option) if option.starts_with('-') => Err(unknown_option("command", option)),
            Some(_) => self.run(place, args),
            None => Err(unknown_option("command", "")),
        }
    }

    /// `bash -c LINE` is judged as a line, `bash FILE` as a script of the project.
    fn shell(&mut self, place: &mut Place, name: &str, args: &[Arg]) -> Result<(), Denial> {
        const RUNS: &[&str] = &["-c", "-lc", "-ec", "-euc", "-xc", "-exc", "-euxc"];
        let refuse = || {
            Denial::new(
                "program.inline-code",
                format!("`{name}` runs code that this line does not show"),
            )
            .instead("run the commands themselves, in plain lines")
        };
        let text = |at: usize| args.get(at).and_then(Arg::text);
        match text(0) {
            Some("--version") if args.len() == 1 => Ok(()),
            Some("-n") if args.len() == 2 => self.reads(place, &args[1], ReadKind::Content),
            Some(option) if RUNS.contains(&option) && args.len() == 2 => match text(1) {
                Some(line) => self.inner_line(place, line),
                None => Err(refuse()),
            },
            Some(option) if option.starts_with('-') => {
                if self.sandboxed {
                    // Words of an inner line are looked at wherever they stand.
                    let lines: Vec<String> =
                        args.iter().filter_map(Arg::text).map(str::to_owned).collect();
                    for line in lines.iter().filter(|line| line.contains(' ')) {
                        self.inner_line(place, line)?;
                    }
                    self.names_in(place, args)?;
                }
                Err(refuse())
            }
            Some(script) => {
                let script = script.to_owned();
                let names = script.split('/').next_back().unwrap_or_default();
                if is_wrapper(names) && !script.contains('/') {
                    return Err(refuse());
                }
                self.project_script(place, &script, &args[1..])
            }
            None => Err(refuse()),
        }
    }

    pub(super) fn inner_line(&mut self, place: &Place, line: &str) -> Result<(), Denial> {
        self.cx.spend(10 + line.len() / 64)?;
        let script = match parse(line) {
            Ok(script) => script,
            Err(denial) if self.sandboxed => {
                let mut inner = Place { fixed: false, ..place.clone() };
                return self
                    .deeper(|judge| judge.look_through_line(line, &mut inner))
                    .and(Err(denial));
            }
            Err(denial) => return Err(denial),
        };
        // What the line outside sets is not exported.
        let mut inner = Place { variables: HashMap::new(), fixed: false, ..place.clone() };
        self.script(&mut inner, &script)
    }

    /// In a sandbox: the command behind a wrapper's options, as far as it can be told.
    fn look_through(&mut self, place: &mut Place, name: &str, args: &[Arg]) -> Result<(), Denial> {
        if name == "eval" {
            let line: Option<Vec<&str>> = args.iter().map(Arg::text).collect();
            return line.map_or_else(
                || Err(unclear("`eval`")),
                |line| self.inner_line(place, &line.join(" ")),
            );
        }
        let skipped = |arg: &&Arg| {
            let head = arg.head();
            let number = head.starts_with(|c: char| c.is_ascii_digit());
            head.starts_with('-')
                || number
                || name == "env" && head.contains('=')
                || head.is_empty()
                || head == "{}"
        };
        let from = args.iter().take_while(skipped).count();
        match args.get(from) {
            Some(_) => self.run(place, &args[from..]),
            None if name == "env" => {
                Err(Denial::new("env.dump", "it prints the whole environment"))
            }
            None => Ok(()),
        }
    }
}
