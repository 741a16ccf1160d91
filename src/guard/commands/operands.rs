//! The meaning of the values and operands of a listed program: each passes the rules of its kind.

use super::addresses::fetched;
use super::offline::is_dry_run;
use super::options::{Parsed, inline, number, parse, unknown_option};
use super::searches::{grep, search};
use crate::guard::call_context::{COST_OF_A_GLOB, ReadKind, WriteKind, secret};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place, aims_at_secrets};
use crate::guard::programs::table::{self, Entry, Kind};
use crate::guard::programs::verbs::{in_words, refuse_meaning, refuse_publishing, refuse_verb};
use std::path::Path;

impl Judge<'_> {
    /// Judges a program of the table.
    pub(super) fn listed(
        &mut self,
        place: &mut Place,
        name: &str,
        entry: &'static Entry,
        args: &[Arg],
    ) -> Result<(), Denial> {
        if name == "echo" {
            return args.iter().try_for_each(|arg| match arg {
                Arg::Pattern(_) => self.reads(place, arg, ReadKind::Name),
                Arg::Text(_) | Arg::Open { .. } => Ok(()),
            });
        }
        let parsed = match parse(name, args, entry) {
            Err(denial) if self.sandboxed => {
                if name == "git add" {
                    // `-f` is no listed option, and takes what git ignores.
                    let named = args.iter().filter(|arg| !arg.head().starts_with('-'));
                    named.into_iter().try_for_each(|arg| self.staged(place, name, arg, true))?;
                }
                // A launcher with a `-y` fetches what is not there.
                let fetches = name.ends_with('x')
                    && args
                        .iter()
                        .any(|arg| matches!(arg.head(), "-y" | "--yes" | "-p" | "--package"));
                return self.names_in(place, args).and(Err(if fetches {
                    fetched(name)
                } else {
                    denial
                }));
            }
            Err(_) if entry.operands == [Kind::Script] && args.iter().any(is_code_option) => {
                return Err(inline(name));
            }
            parsed => parsed?,
        };
        self.values(place, name, entry, &parsed)?;
        if entry.has_subcommands() {
            return self.subcommand(place, name, &parsed);
        }
        if entry.runs
            && let Some(own) = name.split_whitespace().nth(1)
        {
            refuse_publishing(own)?;
        }
        let mut operands = parsed.operands.as_slice();
        if !matches!(entry.operands.first(), Some(Kind::Special(_)))
            && let [first, rest @ ..] = operands
            && first.text().is_some_and(|text| entry.words.contains(&text))
        {
            operands = rest;
        }
        if operands.len() < entry.needs {
            return Err(Denial::new(
                "program.option",
                format!("`{name}` needs one more word here"),
            ));
        }
        if self.operands(place, name, entry, operands, &parsed)? {
            return Ok(());
        }
        match entry.operands.first() {
            Some(Kind::Special(check)) if operands.is_empty() => {
                self.special(place, name, check, &[], &parsed)
            }
            Some(Kind::Script) if operands.is_empty() => {
                self.interpreted(place, name, &[], &parsed)
            }
            Some(Kind::Command) if operands.is_empty() && parsed.names.is_empty() => {
                Err(unknown_option(name, ""))
            }
            _ => self.without_folder(place, name, entry, operands, &parsed),
        }
    }

    /// Judges the values of options.
    fn values(
        &mut self,
        place: &Place,
        name: &str,
        entry: &Entry,
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        for (kind, value, option) in &parsed.values {
            // It may be several words, or an option where the program expects no value.
            let dashed = value.head().len() > 1 && value.head().starts_with('-');
            let free = match kind {
                Kind::Text | Kind::TwoTexts => !entry.runs,
                Kind::Number | Kind::Special(_) => true,
                _ => false,
            };
            if matches!(value, Arg::Open { quoted: false, .. }) || dashed && !free {
                self.soften::<()>(Err(unknown_option(name, value.head())))?;
            }
            let leaves_out =
                ["exclude", "ignore", "omit", "skip"].iter().any(|part| option.contains(part));
            if leaves_out && matches!(kind, Kind::Word | Kind::Name) && value.text().is_some() {
                continue;
            }
            let judged = self.value(place, name, *kind, value, parsed);
            self.soften(judged)?;
        }
        Ok(())
    }

    /// Judges operands; tells whether one of them took all the others.
    fn operands(
        &mut self,
        place: &mut Place,
        name: &str,
        entry: &Entry,
        operands: &[Arg],
        parsed: &Parsed,
    ) -> Result<bool, Denial> {
        // With the pattern in an option, the first operand is a file.
        let given = entry.operands.first() == Some(&Kind::Text)
            && parsed.values.iter().any(|(kind, _, option)| *kind == Kind::Text && option == "-e")
            || parsed.has(&["--files"]);
        let kinds = entry
            .operands
            .iter()
            .copied()
            .skip(usize::from(given))
            .chain(std::iter::repeat_n(entry.more, operands.len()).flatten());
        let mut kinds = kinds.take(operands.len());
        for (at, operand) in operands.iter().enumerate() {
            let Some(kind) = kinds.next() else {
                return Err(Denial::new(
                    "program.option",
                    format!("`{name}` with `{}` is not known to be safe", operand.head()),
                ));
            };
            let all = &operands[at..];
            if kind == Kind::Command {
                if self.is_fetched(place, name, operand, parsed) {
                    return Err(fetched(name));
                }
                // Nothing of this shell changes.
                return self.run(&mut place.inner(), all).map(|()| true);
            }
            if kind == Kind::Target && self.is_program(place, name, operand) {
                return self.run(place, all).map(|()| true);
            }
            if kind == Kind::Script {
                return self.interpreted(place, name, all, parsed).map(|()| true);
            }
            if let Kind::Special(check) = kind {
                return self.special(place, name, check, all, parsed).map(|()| true);
            }
            let expands = matches!(
                kind,
                Kind::Write | Kind::Read | Kind::Tree | Kind::SearchRoot | Kind::NameGlob
            );
            if expands && entry.runs && !self.sandboxed {
                self.own_pattern(place, name, operand)?;
            }
            if at == 0 && entry.runs {
                let judged = self.is_no_verb(place, name, kind, operand);
                self.soften(judged)?;
            }
            if kind == Kind::Argument {
                return self.arguments(place, name, all).map(|()| true);
            }
            let judged = self.value(place, name, kind, operand, parsed);
            self.soften(judged)?;
        }
        Ok(false)
    }

    fn subcommand(&mut self, place: &mut Place, name: &str, parsed: &Parsed) -> Result<(), Denial> {
        let Some((verb, rest)) = parsed.operands.split_first() else {
            // With a flag such as `--version` it prints something.
            return if parsed.names.is_empty() { refuse_verb(name, "") } else { Ok(()) };
        };
        let Some(verb) = verb.text() else {
            return Err(unknown_option(name, verb.head()));
        };
        let full = format!("{name} {verb}");
        if let Some(entry) = table::entry(&full) {
            return self.listed(place, &full, entry, rest);
        }
        match refuse_verb(name, verb) {
            Err(denial) if self.sandboxed && denial.rule == "publish" && is_dry_run(rest) => {
                self.names_in(place, rest)
            }
            judged => judged,
        }
    }

    /// Judges one value or operand.
    pub(super) fn value(
        &mut self,
        place: &Place,
        name: &str,
        kind: Kind,
        value: &Arg,
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let unknown = || unknown_option(name, value.head());
        // A dash stands for a stream.
        let stream = value.text() == Some("-");
        let runs = table::entry(name).is_some_and(|entry| entry.runs);
        let is_text = matches!(kind, Kind::Text | Kind::TwoTexts | Kind::Special(_));
        if !is_text && value.head().contains("://") {
            return Err(unknown());
        }
        match kind {
            Kind::Text | Kind::TwoTexts => match value {
                Arg::Pattern(_) => self.reads(place, value, ReadKind::Name),
                Arg::Text(_) | Arg::Open { .. } => Ok(()),
            },
            Kind::Number => number(value).then_some(()).ok_or_else(unknown),
            Kind::Plain if !plain(value) => Err(unknown()),
            Kind::Plain | Kind::Word | Kind::Argument => self.harmless(place, value),
            Kind::Target => self.target(place, name, value),
            Kind::NameGlob => {
                self.cx.spend(COST_OF_A_GLOB)?;
                let text = value.head();
                let excluded = text.starts_with('!')
                    || parsed
                        .names
                        .iter()
                        .any(|name| name.contains("exclude") || name.contains("omit"));
                if matches!(value, Arg::Open { .. })
                    || text.starts_with(['/', '~'])
                    || text.contains("..")
                {
                    return Err(unknown());
                }
                if aims_at_secrets(text) && !excluded {
                    return Err(secret(Path::new(text)));
                }
                Ok(())
            }
            // It would be code that no file holds.
            Kind::Read | Kind::Config if stream && runs => Err(inline(name)),
            Kind::Read if stream => Ok(()),
            Kind::Tree if stream && name == "diff" => Ok(()),
            // The settings of the folder itself, for which it looks anyway.
            Kind::Config if value.text() == Some(".") => Ok(()),
            Kind::Read => self.reads(place, value, ReadKind::Content),
            Kind::Config
                if value.head().starts_with("/dev")
                    || !value
                        .head()
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "_./@-".contains(c)) =>
            {
                Err(unknown())
            }
            Kind::Config => self.reads(place, value, ReadKind::Tree),
            Kind::Tree => {
                self.reads(place, value, ReadKind::Tree)?;
                self.reads_links(place, value)
            }
            Kind::GrepRoot if stream => Ok(()),
            Kind::GrepRoot if parsed.has(&["-R"]) => {
                self.reads(place, value, grep(parsed))?;
                self.reads_links(place, value)
            }
            Kind::GrepRoot => self.reads(place, value, grep(parsed)),
            Kind::SearchRoot => self.reads(place, value, search(name, parsed)),
            Kind::Name => self.reads(place, value, ReadKind::Name),
            Kind::WorkDir => self.works_in(place, value),
            Kind::Write => self.changes(place, value),
            Kind::Fill if parsed.has(&["-a", "--append"]) => {
                self.writes(place, value, WriteKind::Append)
            }
            Kind::Fill => self.fills(place, value, false),
            Kind::OutDir => self.fills_folder(place, value),
            Kind::MakeDir => self.makes(place, value),
            Kind::Mode => self.writes(place, value, WriteKind::Mode),
            Kind::Special(check) => self.special_value(place, name, check, value),
            Kind::Script => self.script_file(place, value.text().ok_or_else(unknown)?),
            Kind::Command | Kind::Subcommand => Err(unknown()),
        }
    }

    /// A folder to work in: of the workspace, not reached through a link, and none of git's.
    pub(super) fn works_in(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        for path in self.paths(place, value)? {
            let real = self.cx.read(&path, ReadKind::Name)?;
            if !self.cx.inside(&real.path) || real.links.iter().any(|link| self.cx.inside(link)) {
                return Err(Denial::new(
                    "path.outside",
                    format!("{} is outside the workspace", path.display()),
                ));
            }
            self.cx.enterable(&real.path)?;
        }
        Ok(())
    }

    /// The target of a tool's changes: a file, or everything below a folder.
    fn changes(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        let text = value.head();
        if value.text().is_some() && text.contains([':', '=', ',']) {
            self.harmless(place, value)?;
        }
        let whole = matches!(text, "." | "./" | "..." | "./...");
        if whole && place.folders.contains(&self.cx.policy().workspace) {
            return Ok(());
        }
        self.writes(place, value, WriteKind::Change)
    }

    /// A folder that a tool writes to, and may empty first.
    pub(super) fn fills_folder(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        for path in self.paths(place, value)? {
            let real = self.cx.write(&path, WriteKind::Mode)?;
            self.cx.enterable(&real)?;
            let there = self.cx.kind(&real) == FileKind::File || !self.cx.list(&path, 1).is_empty();
            if !self.sandboxed && !self.is_output(&real) && there {
                return Err(Denial::new(
                    "program.delete",
                    format!("the tool may empty the folder {}", path.display()),
                )
                .instead("write to a new folder, or below `build/`"));
            }
        }
        Ok(())
    }

    fn makes(&mut self, place: &Place, value: &Arg) -> Result<(), Denial> {
        let paths = self.paths(place, value);
        for path in self.soften(paths)?.unwrap_or_default() {
            // A folder that is there already stays as it is.
            if self.cx.resolve(&path)?.path == self.cx.policy().workspace {
                continue;
            }
            let judged = self.cx.write(&path, WriteKind::Mode);
            if let Some(real) = self.soften(judged)? {
                self.made.insert(real);
            }
        }
        Ok(())
    }

    /// A target of a build tool, or a script of package.json.
    pub(super) fn target(&mut self, place: &Place, name: &str, value: &Arg) -> Result<(), Denial> {
        let Some(text) = value.text() else { return Err(unknown_option(name, value.head())) };
        let fits = |c: char| c.is_ascii_alphanumeric() || "_:.-/@#,+ ".contains(c);
        if text.is_empty() || text.starts_with('-') || !text.chars().all(fits) {
            return Err(unknown_option(name, text));
        }
        refuse_publishing(text)?;
        if !name.starts_with("cmake") {
            refuse_publishing(&in_words(text))?;
        }
        refuse_meaning(name, text)?;
        self.harmless(place, value)
    }
}

/// Does an option of an interpreter give it code?
fn is_code_option(arg: &Arg) -> bool {
    ["-c", "-e", "-p", "-n", "-r", "-i", "--eval", "--print"]
        .iter()
        .any(|option| arg.head().starts_with(option))
}

fn plain(value: &Arg) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.+:=@%^~-".contains(c);
    value.text().is_some_and(|text| text.chars().all(fits) && !text.starts_with(['.', '~']))
}
