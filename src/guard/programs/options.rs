//! A program's words → options and operands, with a table of what each option does.
//!
//! Long options may be shortened as GNU's `getopt` allows, so a beginning of a
//! listed option counts as that option.

use crate::guard::denial::Denial;
use crate::guard::judge::{Judge, ReadKind, WriteKind};
use crate::guard::shell::{Env, ShellValue};

/// What an option does with its value, or by being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Takes a value that is only data.
    Data,
    /// Reads the file its value names.
    Reads,
    /// Reads the folder its value names and everything below it.
    Tree,
    /// Runs the file its value names: it must be one of the workspace.
    Runs,
    /// Writes the file its value names.
    Writes,
    /// Empties the folder its value names, and fills it anew.
    Empties,
    /// Takes a value and runs something, or writes where it cannot be seen.
    Refused(&'static str),
    /// Takes no value and is refused.
    FlagRefused(&'static str),
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `-abc`, `--long`.
    Gnu,
    /// `-long`, as in `go` and `java`.
    Dashed,
}

/// What is known of a program's options.
pub(super) struct Spec {
    /// Options that matter, names that do the same in one string: `-o --output`.
    pub(super) options: &'static [(&'static str, Does)],
    /// How they are written.
    pub(super) style: Style,
    /// Flags beside those, in one string; `None`: any flag is harmless.
    pub(super) flags: Option<&'static str>,
}

impl Spec {
    /// A table for a program whose other options are harmless flags.
    pub(super) const fn open(options: &'static [(&'static str, Does)]) -> Self {
        Self { options, style: Style::Gnu, flags: None }
    }

    /// A table for a program all of whose options are listed.
    pub(super) const fn closed(
        options: &'static [(&'static str, Does)],
        flags: &'static str,
    ) -> Self {
        Self { options, style: Style::Gnu, flags: Some(flags) }
    }

    /// The same with options of one dash.
    pub(super) const fn dashed(options: &'static [(&'static str, Does)]) -> Self {
        Self { options, style: Style::Dashed, flags: None }
    }

    /// The option of a name, as it is listed, and what it does.
    pub(super) fn find(&self, name: &str) -> Option<(&'static str, Does)> {
        let all = || {
            self.options
                .iter()
                .flat_map(|(names, does)| names.split_whitespace().map(move |name| (name, *does)))
        };
        // Where options have one dash, two are the same.
        let dashed = self.style == Style::Dashed;
        let same = |option: &str| {
            option == name || dashed && option.strip_prefix('-').is_some_and(|one| one == name)
        };
        if let Some(found) = all().find(|(option, _)| same(option)) {
            return Some(found);
        }
        let shortened = name.starts_with("--") && name.len() > 3;
        if shortened && !self.flags.is_some_and(|flags| lists(flags, name)) {
            return all().find(|(option, _)| option.starts_with(name));
        }
        None
    }

    fn knows(&self, flag: &str) -> bool {
        let Some(flags) = self.flags else { return true };
        let shortened =
            |known: &str| flag.len() > 3 && flag.starts_with("--") && known.starts_with(flag);
        lists(flags, flag) || flags.split_whitespace().any(shortened)
    }
}

/// Whether a word is one of the words of a string.
pub(super) fn lists(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Words told apart.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Options as they are called, with their values.
    pub(super) options: Vec<(String, Option<ShellValue>)>,
    /// Everything that is no option.
    pub(super) operands: Vec<ShellValue>,
    /// How many of the operands stand before a `--`; all, if there is none.
    pub(super) before_dashes: usize,
}

impl Parsed {
    /// Whether one of these options is there.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The value of the first of these options.
    pub(super) fn value(&self, names: &[&str]) -> Option<&ShellValue> {
        self.options.iter().find(|(name, _)| names.contains(&name.as_str()))?.1.as_ref()
    }
}

impl Judge<'_> {
    /// Tells a program's words apart and judges its options.
    pub(super) fn options(
        &mut self,
        env: &Env,
        program: &str,
        words: &[ShellValue],
        spec: &Spec,
    ) -> Result<Parsed, Denial> {
        let parsed = parse(program, words, spec)?;
        for (name, value) in &parsed.options {
            let Some((_, does)) = spec.find(name) else { continue };
            match (does, value) {
                (Does::Refused(why) | Does::FlagRefused(why), _) => {
                    return Err(Denial::new("program.option", format!("{program} {name} {why}"))
                        .instead(format!("run {program} without {name}")));
                }
                (Does::Reads, Some(value)) => self.read_value(env, value, ReadKind::Content)?,
                (Does::Tree, Some(value)) => self.read_value(env, value, ReadKind::Tree)?,
                (Does::Runs, Some(value)) => {
                    self.script(env, value)?;
                }
                (Does::Writes, Some(value)) => {
                    self.write_value(env, value, WriteKind::Change)?;
                }
                (Does::Empties, Some(value)) => self.empties(env, program, value)?,
                (Does::Data, Some(value)) => self.stray(env, name, value)?,
                (Does::Data, None)
                | (Does::Reads | Does::Runs | Does::Tree | Does::Writes | Does::Empties, None) => {}
            }
        }
        Ok(parsed)
    }

    /// Refuses a folder for output in which there is work: the program empties it first.
    fn empties(&mut self, env: &Env, program: &str, value: &ShellValue) -> Result<(), Denial> {
        for path in self.write_value(env, value, WriteKind::Change)? {
            let held = match self.index() {
                Some(tracked) => tracked.iter().any(|file| file.starts_with(&path)),
                None => !self.entries(&path).paths.is_empty(),
            };
            if held {
                return Err(Denial::new(
                    "program.delete",
                    format!("{program} empties {} before it writes there", value.show()),
                )
                .instead("name a folder that is not there yet"));
            }
        }
        Ok(())
    }

    /// A second look at the value of an option: where a table takes a flag for an
    /// option with a value, a file name must not slip through as data.
    fn stray(&mut self, env: &Env, name: &str, value: &ShellValue) -> Result<(), Denial> {
        let Some(text) = value.text() else { return Ok(()) };
        let path = std::path::Path::new(text);
        // An expression of several words names tests.
        let expression = matches!(name, "-k" | "-m") && text.contains(' ');
        if crate::guard::secrets::path(path) && !expression {
            return Err(crate::guard::judge::secret(path));
        }
        // A pattern, or the lines that one finds, may well look like a path.
        let pattern = lists(
            "-e --regexp --expression --grep -S -G -E -F -k -g -L --glob --include --exclude --xpath",
            name,
        );
        let up = path.components().any(|part| part == std::path::Component::ParentDir);
        if !pattern && (up || path.is_absolute()) {
            // Whether the file exists must not matter: it may exist by the time the command runs.
            for path in self.paths(env, value)? {
                self.read(&path, ReadKind::Name)?;
            }
        }
        Ok(())
    }
}

/// Tells options from operands.
pub(super) fn parse(program: &str, words: &[ShellValue], spec: &Spec) -> Result<Parsed, Denial> {
    let matters = spec.flags.is_some() || spec.options.iter().any(|(_, does)| *does != Does::Data);
    let mut parsed = Parsed::default();
    let mut rest = words.iter();
    let mut dashes = None;
    while let Some(word) = rest.next() {
        let head = word.head();
        if dashes.is_some() || head == "-" && word.text().is_some() {
            parsed.operands.push(word.clone());
        } else if word.text() == Some("--") {
            dashes = Some(parsed.operands.len());
        } else if head.starts_with('-') {
            option(program, word, &mut rest, spec, &mut parsed)?;
        } else {
            if matters
                && word.may_be_option()
                && !matches!(word.segs.first(), Some(crate::guard::shell::Seg::Glob(_)))
            {
                return Err(Denial::new(
                    "shell.unknown-word",
                    format!("`{}` may turn out to be an option of {program}", word.show()),
                )
                .instead("spell the words out, or put `--` before them"));
            }
            parsed.operands.push(word.clone());
        }
    }
    parsed.before_dashes = dashes.unwrap_or(parsed.operands.len());
    Ok(parsed)
}

fn option<'w>(
    program: &str,
    word: &ShellValue,
    rest: &mut impl Iterator<Item = &'w ShellValue>,
    spec: &Spec,
    parsed: &mut Parsed,
) -> Result<(), Denial> {
    let unknown = |name: &str| {
        Denial::new("program.option", format!("it is not known what {program} {name} does"))
            .instead(format!("run {program} without {name}"))
    };
    let head = word.head();
    let long = head.starts_with("--") || spec.style == Style::Dashed;
    if long {
        let (name, attached) = match head.split_once('=') {
            Some((name, _)) => (name, Some(word.tail(name.len() + 1))),
            None if word.text().is_none() => return Err(unknown(head)),
            None => (head, None),
        };
        let name = match (spec.style, name.strip_prefix("--")) {
            (Style::Dashed, Some(plain)) => format!("-{plain}"),
            _ => name.to_owned(),
        };
        let value = match (spec.find(&name), attached) {
            (Some((_, Does::FlagRefused(_))), attached) => attached,
            (Some(_), Some(attached)) => Some(attached),
            (Some(_), None) => rest.next().cloned(),
            (None, attached) if spec.knows(&name) => attached,
            (None, _) => return Err(unknown(&name)),
        };
        let called = spec.find(&name).map_or(name, |(option, _)| option.to_owned());
        parsed.options.push((called, value));
        return Ok(());
    }
    let mut at = 1;
    while let Some(character) = head.get(at..).and_then(|rest| rest.chars().next()) {
        let name = format!("-{character}");
        at += character.len_utf8();
        match spec.find(&name) {
            Some((_, Does::FlagRefused(_))) => parsed.options.push((name, None)),
            Some(_) => {
                let attached = word.tail(at);
                let value =
                    if attached.segs.is_empty() { rest.next().cloned() } else { Some(attached) };
                parsed.options.push((name, value));
                return Ok(());
            }
            None if spec.knows(&name) => parsed.options.push((name, None)),
            None => return Err(unknown(&name)),
        }
    }
    if word.text().is_none() {
        return Err(unknown(head));
    }
    Ok(())
}
