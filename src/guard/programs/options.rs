//! A program's words → options and operands, each option judged by its table.

use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, ShellValue};
use crate::guard::tables::spec::{Does, Spec, Style, lists};

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
            let held = match self.cx.tracked() {
                Some(tracked) => tracked.iter().any(|file| file.starts_with(&path)),
                None => !self.cx.entries(&path).paths.is_empty(),
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
        if self.cx.policy().hides(path) && !expression {
            return Err(crate::guard::call_context::secret(path));
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
                self.cx.read(&path, ReadKind::Name)?;
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
        Denial::new("program.option", format!("cannot tell what {program} {name} does"))
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
