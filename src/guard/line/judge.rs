//! The walk over a line: every command that could run is judged.
//!
//! Without a sandbox, the first part that is not understood ends it. In a sandbox, only plain
//! intent does; everything else is passed over, and the walk continues.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::ast::{Compound, List, Piece, PipelinePart, Redirect, Script, Simple, Word};
use super::intent;
use super::parse::unclear;
use super::place::Place;
use super::value::Arg;
use crate::guard::call_context::{CallContext, Noted, WriteKind};
use crate::guard::denial::{Denial, DenialKind};
use crate::guard::explain::ExplainedParts;
use crate::guard::programs::lists;
use crate::guard::secrets;

/// How deep nested shells, substitutions and wrappers may go.
const MOST_DEPTH: usize = 24;

/// Values of a loop that are walked one by one.
const MOST_ROUNDS: usize = 40;

/// The cost of one more round of a loop, in commands.
const COST_OF_A_ROUND: usize = 25;

/// Longest word that variables may make, in bytes; the line itself may have longer ones.
const LONGEST_WORD: usize = 256 * 1024;

/// Variables of the environment that may be shown.
const SHOWN: &str = "PATH USER SHELL LOGNAME HOSTNAME TMPDIR CI TERM LANG";

/// The cost of a redirection, in commands.
const COST_OF_A_REDIRECTION: usize = 5;

/// One line under judgment.
pub(in crate::guard) struct Judge<'a> {
    pub(in crate::guard) cx: CallContext<'a>,
    /// The call runs in a sandbox: what is not understood may run.
    pub(in crate::guard) sandboxed: bool,
    /// Folders that this line makes.
    pub(in crate::guard) made: BTreeSet<PathBuf>,
    /// The line moves a folder, so later folders are not known.
    pub(in crate::guard) moved: bool,
    parts: ExplainedParts,
    depth: usize,
}

impl<'a> Judge<'a> {
    pub(in crate::guard) fn new(cx: CallContext<'a>, parts: ExplainedParts) -> Self {
        let sandboxed = cx.policy().tier.is_sandboxed();
        Self { cx, sandboxed, made: BTreeSet::new(), moved: false, parts, depth: 0 }
    }

    /// Looks through a line that the strict parser does not read.
    pub(in crate::guard) fn look_through_line(
        &mut self,
        line: &str,
        place: &mut Place,
    ) -> Result<(), Denial> {
        let judged = self.script(place, &intent::read(line));
        self.soften(judged).map(drop)
    }

    pub(super) fn take_parts(&mut self) -> ExplainedParts {
        std::mem::take(&mut self.parts)
    }

    /// The result of the line.
    pub(super) fn noted(self) -> Noted {
        self.cx.noted()
    }

    /// Passes over what is not understood, in a sandbox.
    pub(in crate::guard) fn soften<T>(
        &self,
        result: Result<T, Denial>,
    ) -> Result<Option<T>, Denial> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(denial) if self.sandboxed && denial.kind() == DenialKind::NotUnderstood => Ok(None),
            Err(denial) if self.cx.policy().is_online() && denial.is_about_the_network() => {
                Ok(None)
            }
            Err(denial) => Err(denial),
        }
    }

    /// Judges a whole line.
    pub(super) fn line(&mut self, place: &mut Place, script: &Script) -> Result<(), Denial> {
        self.script(place, script)
    }

    /// Does `work` one level deeper.
    pub(in crate::guard) fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Denial>,
    ) -> Result<T, Denial> {
        if self.depth >= MOST_DEPTH {
            return Err(Denial::new("shell.too-long", "the line is nested too deeply"));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    pub(in crate::guard) fn script(
        &mut self,
        place: &mut Place,
        script: &Script,
    ) -> Result<(), Denial> {
        self.deeper(|judge| script.lists.iter().try_for_each(|list| judge.list(place, list)))
    }

    fn list(&mut self, place: &mut Place, list: &List) -> Result<(), Denial> {
        let before = place.folders.clone();
        let fixed = place.fixed;
        place.fixed |= !list.all_or_nothing;
        for (at, pipeline) in list.pipelines.iter().enumerate() {
            place.straight = !place.fixed && at == 0;
            match pipeline.as_slice() {
                [command] => self.command(place, command)?,
                commands => self.pipeline(place, commands)?,
            }
        }
        place.fixed = fixed;
        // A `cd` may have failed, and the next list runs all the same.
        if !place.folders.is_empty() {
            for folder in before {
                if !place.folders.contains(&folder) {
                    place.folders.push(folder);
                }
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, place: &Place, commands: &[PipelinePart]) -> Result<(), Denial> {
        commands.iter().try_for_each(|command| self.command(&mut place.inner(), command))
    }

    fn command(&mut self, place: &mut Place, command: &PipelinePart) -> Result<(), Denial> {
        self.cx.spend(1)?;
        match command {
            PipelinePart::Simple(simple) => {
                self.parts.see(|| simple.text.clone());
                let judged = self.simple(place, simple);
                self.soften(judged.map_err(|denial| denial.within(&simple.text))).map(drop)
            }
            PipelinePart::Compound(compound, redirects) => {
                let certain = place.straight && redirects.iter().all(succeeds);
                let before = place.variables.clone();
                self.redirects(place, redirects, false)?;
                self.compound(place, compound)?;
                if !certain {
                    // It may not run, and sets nothing then.
                    place.variables.retain(|name, value| before.get(name) == Some(value));
                }
                Ok(())
            }
        }
    }

    fn compound(&mut self, place: &mut Place, compound: &Compound) -> Result<(), Denial> {
        match compound {
            Compound::Group(script) => self.script(place, script),
            Compound::Subshell(script) => {
                let mut inner = Place { fixed: false, ..place.clone() };
                self.script(&mut inner, script)
            }
            Compound::Branches(scripts) => {
                scripts.iter().try_for_each(|script| self.script(&mut place.inner(), script))
            }
            Compound::For { name, values, body } => self.for_loop(place, name, values, body),
        }
    }

    fn for_loop(
        &mut self,
        place: &Place,
        name: &str,
        values: &[Word],
        body: &Script,
    ) -> Result<(), Denial> {
        if place.variables.contains_key(name) {
            let reused = unclear("a loop over a variable that has a value already");
            self.soften::<()>(Err(reused.instead("give the loop a variable of its own")))?;
        }
        let mut known = Vec::new();
        for value in values {
            known.push(self.expand(place, value)?);
        }
        if known.len() > MOST_ROUNDS {
            let unknown = Err(unclear("a loop over too many values"));
            self.soften::<()>(unknown)?;
            known = vec![Arg::Open { head: String::new(), quoted: false }];
        }
        for value in known {
            if matches!(value, Arg::Open { .. }) {
                self.soften::<()>(Err(unclear("a loop over values that are not known")))?;
            }
            self.cx.spend(COST_OF_A_ROUND)?;
            let mut inner = place.inner();
            inner.variables.insert(name.to_owned(), value);
            self.script(&mut inner, body)?;
        }
        Ok(())
    }

    fn simple(&mut self, place: &mut Place, simple: &Simple) -> Result<(), Denial> {
        let mut args = Vec::new();
        for word in &simple.words {
            args.push(self.argument(place, word)?);
        }
        for (name, value) in &simple.variables {
            let value = self.argument(place, value)?;
            if simple.words.is_empty()
                && simple.redirects.is_empty()
                && place.straight
                && is_plain_name(name)
                && !value.head().contains(['[', '$', '`'])
            {
                if matches!(value, Arg::Text(_)) && name.starts_with(char::is_uppercase) {
                    self.harmless(place, &value)?;
                }
                place.variables.insert(name.clone(), value);
                continue;
            }
            let judged = self.variable(place, name, &value, simple.words.is_empty());
            self.soften(judged)?;
        }
        self.redirects(place, &simple.redirects, gives(simple))?;
        if args.is_empty() {
            return if simple.variables.is_empty() {
                Err(unclear("a redirection without a command"))
            } else {
                Ok(())
            };
        }
        self.run(place, &args)
    }

    /// Judges the redirections of a command that is known to print something, or not.
    fn redirects(
        &mut self,
        place: &Place,
        redirects: &[Redirect],
        gives: bool,
    ) -> Result<(), Denial> {
        // Where another one fails, or takes the output, the file stays empty.
        let others = redirects.iter().filter(|it| !succeeds(it)).count() > 1;
        for redirect in redirects {
            let judged = self.redirect(place, redirect, gives && !others);
            self.soften(judged)?;
        }
        Ok(())
    }

    fn redirect(&mut self, place: &Place, redirect: &Redirect, gives: bool) -> Result<(), Denial> {
        use crate::guard::call_context::ReadKind;
        self.cx.spend(COST_OF_A_REDIRECTION)?;
        match redirect {
            Redirect::Data { text, .. } => self.expand(place, text).map(drop),
            Redirect::Read(word) => {
                let arg = self.expand(place, word)?;
                self.reads(place, &arg, ReadKind::Content)
            }
            Redirect::Append(word) => {
                let arg = self.expand(place, word)?;
                self.writes(place, &arg, WriteKind::Append)
            }
            Redirect::Write(word) => {
                let arg = self.expand(place, word)?;
                self.fills(place, &arg, gives)
            }
            Redirect::WriteOther(word) => {
                let arg = self.expand(place, word)?;
                self.fills(place, &arg, false)
            }
        }
    }

    /// Expands a word; in a sandbox one that is not understood is not known.
    fn argument(&mut self, place: &Place, word: &Word) -> Result<Arg, Denial> {
        let expanded = self.expand(place, word);
        let known = self.soften(expanded)?;
        Ok(known.unwrap_or(Arg::Open { head: String::new(), quoted: false }))
    }

    /// Expands a word; the substitutions in it are judged.
    pub(in crate::guard) fn expand(&mut self, place: &Place, word: &Word) -> Result<Arg, Denial> {
        let mut text = String::new();
        let mut pattern = false;
        let mut special = false;
        let mut open: Option<bool> = None;
        for piece in &word.pieces {
            let mut add = |part: &str, open: Option<bool>| {
                if open.is_none() {
                    text.push_str(part);
                }
            };
            match piece {
                Piece::Text(part) => {
                    special |= part.contains(['*', '?', '[', ']', '{', '}', '\\']);
                    add(part, open);
                }
                Piece::Glob(part) => {
                    pattern = true;
                    add(part, open);
                }
                Piece::Number => {
                    add("0", open);
                    open = Some(open.unwrap_or(true));
                }
                Piece::Unknown { quoted } => open = Some(open.unwrap_or(true) && *quoted),
                Piece::Substitution { script, quoted } => {
                    let mut inner = Place { fixed: false, ..place.clone() };
                    self.script(&mut inner, script)?;
                    open = Some(open.unwrap_or(true) && *quoted);
                }
                Piece::Variable { name, quoted } => match self.value_of(place, name)? {
                    Arg::Text(part) => {
                        if !quoted && (part.is_empty() || !part.chars().all(stays_whole)) {
                            self.soften::<()>(Err(unclear("an unquoted variable")))?;
                            open = Some(false);
                        }
                        special |= part.contains(['*', '?', '[', ']', '{', '}', '\\']);
                        add(&part, open);
                    }
                    Arg::Pattern(part) => {
                        pattern = true;
                        add(&part, open);
                    }
                    Arg::Open { .. } => open = Some(open.unwrap_or(true) && *quoted),
                },
            }
        }
        if text.len() > LONGEST_WORD {
            return Err(Denial::new("shell.too-long", "a word grows too long"));
        }
        Ok(match open {
            Some(quoted) => Arg::Open { head: text, quoted },
            None if pattern && special => {
                return Err(unclear("a pattern with quoted characters in it"));
            }
            None if pattern => Arg::Pattern(text),
            None => Arg::Text(text),
        })
    }

    fn value_of(&self, place: &Place, name: &str) -> Result<Arg, Denial> {
        if let Some(value) = place.variables.get(name) {
            return Ok(value.clone());
        }
        let folder = match place.folders.as_slice() {
            [folder] => folder.to_str(),
            _ => None,
        };
        let home = self.cx.policy().home.as_deref().and_then(|home| home.to_str());
        let known = match name {
            "HOME" => home,
            "PWD" => folder,
            _ if lists(SHOWN, name) => {
                return Ok(Arg::Open { head: String::new(), quoted: true });
            }
            _ => None,
        };
        if let Some(text) = known {
            return Ok(Arg::of(text));
        }
        if secrets::variable(name) {
            return Err(Denial::new("secret.variable", format!("${name} may hold a secret"))
                .instead("leave its value alone"));
        }
        let unknown =
            Err(unclear(&format!("the variable `{name}`")).instead("write the value itself"));
        self.soften(unknown)
            .map(|known| known.unwrap_or(Arg::Open { head: String::new(), quoted: true }))
    }
}

/// Does the shell leave a character of an unquoted variable as it is?
fn stays_whole(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./:=,+@%-".contains(c)
}

/// A name that means nothing to the shell, and that no program knows.
fn is_plain_name(name: &str) -> bool {
    const NAMES: &str = "FILE FILES DIR OUT COUNT BRANCH VERSION COMMIT RESULT TOTAL";
    let known = ["_proxy", "npm_", "yarn_", "rvm_"].iter().any(|part| name.contains(part));
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let small = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(plain);
    name.len() <= 16 && small && !known || lists(NAMES, name)
}

/// Is a redirection sure to succeed?
fn succeeds(redirect: &Redirect) -> bool {
    match redirect {
        Redirect::Data { .. } => true,
        Redirect::Read(word)
        | Redirect::Write(word)
        | Redirect::WriteOther(word)
        | Redirect::Append(word) => word.text() == Some("/dev/null"),
    }
}

/// Does a command print text of the line itself with something in it?
fn gives(simple: &Simple) -> bool {
    let fixed = |word: &Word| {
        let text = word.text().unwrap_or_default();
        ["\\n", "%s", "%d"].iter().fold(text.to_owned(), |rest, it| rest.replace(it, ""))
    };
    match simple.words.first().and_then(Word::text) {
        // An escape may end or take the text.
        Some("echo" | "printf") => {
            let words: Vec<String> = simple.words[1..].iter().map(fixed).collect();
            let shows =
                |word: &String| !word.starts_with('-') && word.chars().any(char::is_alphanumeric);
            !words.iter().any(|word| word.contains(['\\', '%'])) && words.iter().any(shows)
        }
        Some("cat") if simple.words.len() == 1 => simple
            .redirects
            .iter()
            .any(|redirect| matches!(redirect, Redirect::Data { empty: false, .. })),
        _ => false,
    }
}
