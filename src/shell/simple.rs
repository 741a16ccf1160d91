//! Simple commands: their words, their redirections, and the commands in both.

use std::ops::Range;

use brush_parser::ast;

use super::command::{Capture, ShellCommand, Target, Use};
use super::reading::{Reading, Scan, Surroundings};
use super::word::unquoted;

impl Scan {
    /// A word whose commands' output goes somewhere else than into a command.
    pub(super) fn captured(&mut self, raw: &str, into: Target, around: &Surroundings) -> String {
        let (text, bodies) = unquoted(raw);
        for body in &bodies {
            let commands = self.substitution(body, around);
            let status = body.contains("$?");
            self.flow.captures.push(Capture { commands, into: into.clone(), status });
        }
        text
    }

    /// The commands of a substitution.
    pub(super) fn substitution(&mut self, body: &str, around: &Surroundings) -> Range<usize> {
        let from = self.found.len();
        self.text(body, &around.inside());
        from..self.found.len()
    }

    /// The commands in the next word of a command.
    pub(super) fn inner(
        &mut self,
        bodies: &[String],
        reading: &mut Reading,
        around: &Surroundings,
    ) {
        for body in bodies {
            let commands = self.substitution(body, around);
            reading.inner.push((commands, reading.command.words.len(), body.contains("$?")));
        }
    }

    /// `[[ … ]]`.
    pub(super) fn test(
        &mut self,
        test: &ast::ExtendedTestExprCommand,
        command: ShellCommand,
        around: &Surroundings,
    ) {
        let mut reading = Reading { command, inner: Vec::new() };
        reading.command.words.push("[[".to_owned());
        let mut open = vec![&test.expr];
        while let Some(expr) = open.pop() {
            match expr {
                ast::ExtendedTestExpr::And(one, other) | ast::ExtendedTestExpr::Or(one, other) => {
                    open.extend([&**other, &**one]);
                }
                ast::ExtendedTestExpr::Not(one) | ast::ExtendedTestExpr::Parenthesized(one) => {
                    open.push(one);
                }
                ast::ExtendedTestExpr::UnaryTest(operator, word) => {
                    reading.command.words.push(operator.to_string());
                    self.word(&word.value, &mut reading, around);
                }
                ast::ExtendedTestExpr::BinaryTest(operator, one, other) => {
                    self.word(&one.value, &mut reading, around);
                    reading.command.words.push(operator.to_string());
                    self.word(&other.value, &mut reading, around);
                }
            }
        }
        reading.command.words.push("]]".to_owned());
        self.end(reading);
    }

    pub(super) fn simple(
        &mut self,
        simple: &ast::SimpleCommand,
        pipeline: usize,
        around: &Surroundings,
    ) {
        let mut reading = Reading { command: around.fresh(pipeline), inner: Vec::new() };
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        prefix.for_each(|item| self.item(item, &mut reading, around));
        if let Some(name) = &simple.word_or_name {
            self.word(&name.value, &mut reading, around);
        }
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        suffix.for_each(|item| self.item(item, &mut reading, around));
        self.end(reading);
    }

    pub(super) fn item(
        &mut self,
        item: &ast::CommandPrefixOrSuffixItem,
        reading: &mut Reading,
        around: &Surroundings,
    ) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                self.redirect(redirect, reading, around);
            }
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                self.word(&word.value, reading, around);
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                self.process(shell, reading, around);
                reading.command.words.push(String::new());
            }
        }
    }

    pub(super) fn word(&mut self, raw: &str, reading: &mut Reading, around: &Surroundings) {
        const DECLARES: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
        let first = reading.command.words.first();
        let keeps = first.is_none_or(|first| DECLARES.contains(&first.as_str()));
        let assigns = |text: &str| {
            let (name, value) = text.split_once('=')?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_one = !name.is_empty() && name.chars().all(is_name);
            is_one.then(|| (name.to_owned(), value.to_owned()))
        };
        match assigns(&unquoted(raw).0).filter(|_| keeps) {
            Some((name, value)) => {
                let text = self.captured(raw, Target::Variable(name.clone()), around);
                match reading.command.words.is_empty() {
                    true => reading.command.assignments.push((name, value)),
                    false => reading.command.words.push(text),
                }
            }
            None => {
                let (text, bodies) = unquoted(raw);
                self.inner(&bodies, reading, around);
                reading.command.words.push(text);
            }
        }
    }

    /// The commands of `<(…)`.
    pub(super) fn process(
        &mut self,
        shell: &ast::SubshellCommand,
        reading: &mut Reading,
        around: &Surroundings,
    ) {
        let from = self.found.len();
        self.list(shell.list.0.iter(), &around.inside());
        reading.inner.push((from..self.found.len(), reading.command.words.len(), false));
    }

    pub(super) fn redirect(
        &mut self,
        redirect: &ast::IoRedirect,
        reading: &mut Reading,
        around: &Surroundings,
    ) {
        let written = |reading: &mut Reading, text: &str| {
            reading.command.discarded |= text == "/dev/null";
            reading.command.outputs.push(text.trim_start_matches("./").to_owned());
            if !text.starts_with("/dev/") {
                reading.command.usage = reading.command.usage.max(Use::Output);
            }
        };
        match redirect {
            ast::IoRedirect::File(fd, kind, target) => {
                let is_input = matches!(kind, ast::IoFileRedirectKind::Read);
                let is_output = matches!(
                    kind,
                    ast::IoFileRedirectKind::Write
                        | ast::IoFileRedirectKind::Append
                        | ast::IoFileRedirectKind::Clobber
                ) && fd.is_none_or(|fd| fd == 1);
                let text = match target {
                    _ if !is_input && !is_output => return,
                    ast::IoFileRedirectTarget::Filename(word) => {
                        let (text, bodies) = unquoted(&word.value);
                        self.inner(&bodies, reading, around);
                        text
                    }
                    ast::IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                        self.process(shell, reading, around);
                        String::new()
                    }
                    ast::IoFileRedirectTarget::Fd(_) | ast::IoFileRedirectTarget::Duplicate(_) => {
                        return;
                    }
                };
                if is_input { reading.command.stdin.push(text) } else { written(reading, &text) }
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                let (text, bodies) = unquoted(&word.value);
                self.inner(&bodies, reading, around);
                written(reading, &text);
            }
            ast::IoRedirect::HereDocument(_, document) => {
                reading.command.document = Some(document.doc.value.clone());
            }
            ast::IoRedirect::HereString(_, word) => {
                let (text, bodies) = unquoted(&word.value);
                self.inner(&bodies, reading, around);
                reading.command.document = Some(text);
            }
        }
    }

    /// A command with all of its words.
    pub(super) fn end(&mut self, Reading { mut command, inner }: Reading) {
        if command.words.first().is_some_and(|word| word == "set") {
            self.errexit |= command.words.iter().any(|word| {
                word == "errexit"
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('e'))
            });
        }
        let by = self.found.len();
        let captures = inner.into_iter().map(|(commands, word, status)| Capture {
            commands,
            into: Target::Word(by, word),
            status,
        });
        self.flow.captures.extend(captures);
        let named: Vec<String> = outputs(&command.words).map(str::to_owned).collect();
        command.outputs.extend(named.iter().map(|it| it.trim_start_matches("./").to_owned()));
        self.found.push(command);
    }
}

/// Files that a command's words name as its output: those of `tee`, and the value of `-o`.
fn outputs(words: &[String]) -> impl Iterator<Item = &str> {
    let tee = words.first().is_some_and(|word| word == "tee");
    let named = |word: &str| matches!(word, "-o" | "--out" | "--output");
    words.iter().enumerate().skip(1).filter_map(move |(at, word)| {
        let glued = || word.strip_prefix("--output=").or_else(|| word.strip_prefix("--out="));
        if tee || named(&words[at - 1]) { Some(word.as_str()) } else { glued() }
    })
}
