//! A strict parser of the simple part of bash.
//!
//! Every character has one known meaning here, or the line is not understood. It does not read
//! arrays, functions, arithmetic, brace expansion, `${…}` beyond a plain name, process
//! substitution, or a here-document next to a substitution.

use super::ast::{Compound, List, Piece, PipelinePart, Script, Simple, Word};
use crate::guard::denial::Denial;

/// How deep groups and substitutions may nest.
const MOST_DEPTH: usize = 16;

/// Words that mean something to the shell where a command begins.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "time", "coproc", "{", "}", "!", "[[", "]]", "in",
];

/// Parses a line.
///
/// # Errors
/// A denial that says which part is not understood.
pub(in crate::guard) fn parse(line: &str) -> Result<Script, Denial> {
    if let Some(hidden) = line.chars().find(|c| is_hidden(*c)) {
        let why = format!("it contains the invisible character U+{:04X}", u32::from(hidden));
        return Err(Denial::new("shell.hidden-character", why).instead("write the line without it"));
    }
    let mut parser = Parser {
        chars: line.chars().collect(),
        at: 0,
        waiting: Vec::new(),
        depth: 0,
        dollars: false,
        documents: false,
    };
    let script = parser.script(&[])?;
    if parser.at < parser.chars.len() {
        return Err(unclear("an unexpected character"));
    }
    if !parser.waiting.is_empty() {
        return Err(unclear("a here-document without its end"));
    }
    if parser.dollars && parser.documents {
        return Err(unclear("a here-document next to a substitution"));
    }
    Ok(script)
}

/// Characters that people do not see, or that other layers read as something else.
fn is_hidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{a0}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
            | '\u{3000}' | '\u{feff}')
}

/// The denial of a line that uses more of bash than the guard reads.
pub(in crate::guard) fn unclear(what: &str) -> Denial {
    Denial::new("shell.not-understood", format!("the line has {what}, which cannot be checked"))
        .instead("write plain commands, one call each, without variables and substitutions")
}

/// The line, and where it is read.
pub(super) struct Parser {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    /// Ends of here-documents whose text begins on the next line, and whether it is expanded.
    pub(super) waiting: Vec<(String, bool)>,
    depth: usize,
    /// The line has a substitution.
    pub(super) dollars: bool,
    /// The line has a here-document.
    pub(super) documents: bool,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn looks_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.chars.get(self.at + i) == Some(&c))
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.looks_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// Skips blanks, continued lines, and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.looks_at("\\\n") => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and line breaks.
    fn breaks(&mut self) -> Result<(), Denial> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.at += 1;
            self.documents()?;
        }
    }

    /// Takes the here-documents that begin here.
    fn documents(&mut self) -> Result<(), Denial> {
        for (end, expands) in std::mem::take(&mut self.waiting) {
            loop {
                if self.at >= self.chars.len() {
                    return Err(unclear("a here-document without its end"));
                }
                let start = self.at;
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
                let line: String = self.chars[start..self.at].iter().collect();
                if self.peek() == Some('\n') {
                    self.at += 1;
                }
                if line == end {
                    break;
                }
                if expands && line.contains(['$', '`', '\\']) {
                    return Err(unclear("a here-document that the shell expands")
                        .instead("quote its end word: `<<'EOF'`"));
                }
            }
            // The next command begins on a line of its own.
            if self.at > 0 && self.chars[self.at - 1] == '\n' {
                self.at -= 1;
            }
        }
        Ok(())
    }

    /// A reserved word at this place, not taken.
    fn reserved(&self) -> Option<&'static str> {
        RESERVED.iter().copied().find(|word| {
            let end = self.chars.get(self.at + word.len());
            self.looks_at(word)
                && end.is_none_or(|c| {
                    matches!(c, ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>')
                })
        })
    }

    fn deeper(&mut self) -> Result<(), Denial> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Denial::new("shell.too-long", "the line is nested too deeply"));
        }
        Ok(())
    }

    /// Lists up to one of these words, or to `)` or the end; what ends it is not taken.
    pub(super) fn script(&mut self, ends: &[&str]) -> Result<Script, Denial> {
        self.deeper()?;
        let mut script = Script::default();
        loop {
            self.breaks()?;
            match self.peek() {
                None | Some(')') => break,
                Some(_) => {}
            }
            if self.reserved().is_some_and(|word| ends.contains(&word)) {
                break;
            }
            script.lists.push(self.list()?);
        }
        self.depth -= 1;
        Ok(script)
    }

    fn list(&mut self) -> Result<List, Denial> {
        self.blanks();
        let mut list = List { all_or_nothing: true, ..List::default() };
        loop {
            // What follows `! …` runs where it failed.
            list.all_or_nothing &= self.reserved() != Some("!");
            list.pipelines.push(self.pipeline()?);
            self.blanks();
            if self.take("&&") {
                self.breaks()?;
            } else if self.take("||") {
                list.all_or_nothing = false;
                self.breaks()?;
            } else {
                break;
            }
        }
        match self.peek() {
            None | Some('\n' | ')') => {}
            Some(';') if !self.looks_at(";;") => self.at += 1,
            Some('&') => {
                self.at += 1;
                list.all_or_nothing = false;
            }
            Some(_) => return Err(unclear("an unexpected character")),
        }
        Ok(list)
    }

    fn pipeline(&mut self) -> Result<Vec<PipelinePart>, Denial> {
        self.blanks();
        let mut timed = false;
        while let Some(word @ ("!" | "time")) = self.reserved() {
            self.at += word.len();
            timed |= word == "time";
            self.blanks();
        }
        let first = self.command()?;
        // For `sh` it is a program, which changes nothing of the shell itself.
        if timed
            && let PipelinePart::Simple(simple) = &first
            && matches!(simple.words.first().map(Word::text), None | Some(Some("cd" | "export")))
        {
            return Err(unclear("`time` before a command of the shell itself"));
        }
        let mut commands = vec![first];
        loop {
            self.blanks();
            if self.looks_at("||") || !(self.take("|&") || self.take("|")) {
                return Ok(commands);
            }
            self.breaks()?;
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> Result<PipelinePart, Denial> {
        self.blanks();
        let compound = match self.reserved() {
            Some("{") => {
                self.at += 1;
                let body = self.script(&["}"])?;
                self.word_of("}")?;
                Compound::Group(body)
            }
            Some("if") => self.condition()?,
            Some(word @ ("while" | "until")) => {
                self.at += word.len();
                let condition = self.script(&["do"])?;
                let body = self.body()?;
                // The second round meets what the first one did.
                Compound::Branches(vec![condition.clone(), body.clone(), condition, body])
            }
            Some("for") => self.for_loop()?,
            Some("[[") => return self.question().map(PipelinePart::Simple),
            Some(word) => return Err(unclear(&format!("`{word}`"))),
            None if self.looks_at("((") => return Err(unclear("arithmetic")),
            None if self.take("(") => {
                let body = self.script(&[])?;
                if !self.take(")") {
                    return Err(unclear("an open parenthesis"));
                }
                Compound::Subshell(body)
            }
            None => return self.simple().map(PipelinePart::Simple),
        };
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => redirects.extend(redirect),
                None => return Ok(PipelinePart::Compound(Box::new(compound), redirects)),
            }
        }
    }

    /// `[[ … ]]`, as far as it asks what `test` asks, too. Comparing numbers would evaluate words.
    fn question(&mut self) -> Result<Simple, Denial> {
        let start = self.at;
        self.at += "[[".len();
        let mut words = vec![Word { pieces: vec![Piece::Text("test".to_owned())] }];
        loop {
            self.blanks();
            if self.reserved() == Some("]]") {
                self.at += "]]".len();
                break;
            }
            if self.ends_word() {
                return Err(unclear("more than one question in `[[`"));
            }
            let word = self.word()?;
            if matches!(word.text(), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")) {
                return Err(unclear("a comparison of numbers in `[[`").instead("use `[`"));
            }
            words.push(word);
        }
        let text = self.chars[start..self.at].iter().collect();
        Ok(Simple { words, text, ..Simple::default() })
    }

    fn word_of(&mut self, word: &'static str) -> Result<(), Denial> {
        if self.reserved() == Some(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(unclear(&format!("no `{word}` where one is needed")))
        }
    }

    fn body(&mut self) -> Result<Script, Denial> {
        self.word_of("do")?;
        let body = self.script(&["done"])?;
        self.word_of("done")?;
        Ok(body)
    }

    fn condition(&mut self) -> Result<Compound, Denial> {
        self.at += "if".len();
        let mut scripts = vec![self.script(&["then"])?];
        self.word_of("then")?;
        loop {
            scripts.push(self.script(&["elif", "else", "fi"])?);
            match self.reserved() {
                Some("elif") => {
                    self.at += "elif".len();
                    scripts.push(self.script(&["then"])?);
                    self.word_of("then")?;
                }
                Some("else") => self.at += "else".len(),
                _ => {
                    self.word_of("fi")?;
                    return Ok(Compound::Branches(scripts));
                }
            }
        }
    }

    fn for_loop(&mut self) -> Result<Compound, Denial> {
        self.at += "for".len();
        self.blanks();
        let name = self.name();
        // A name in small letters means nothing to the shell or to programs.
        if name.is_empty() || name.len() > 12 || !name.bytes().all(|b| b.is_ascii_lowercase()) {
            return Err(unclear("a loop variable other than a short name in small letters"));
        }
        self.blanks();
        self.word_of("in")?;
        let mut values = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(';' | '\n') => break,
                _ if self.ends_word() => return Err(unclear("a strange loop")),
                _ => values.push(self.word()?),
            }
        }
        if self.peek() == Some(';') {
            self.at += 1;
        }
        self.breaks()?;
        let body = self.body()?;
        Ok(Compound::For { name, values, body })
    }

    pub(super) fn name(&mut self) -> String {
        let start = self.at;
        let fits = |c: char, first: bool| {
            c.is_ascii_alphabetic() || c == '_' || !first && c.is_ascii_digit()
        };
        while self.peek().is_some_and(|c| fits(c, self.at == start)) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn simple(&mut self) -> Result<Simple, Denial> {
        let start = self.at;
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.extend(redirect);
                continue;
            }
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some('(') => return Err(unclear("a function or an array")),
                Some(_) => {}
            }
            let before = self.at;
            let name = self.name();
            if simple.words.is_empty() && !name.is_empty() && self.peek() == Some('=') {
                self.at += 1;
                if self.peek() == Some('(') {
                    return Err(unclear("an array"));
                }
                let value = if self.ends_word() { Word::default() } else { self.word()? };
                simple.variables.push((name, value));
                continue;
            }
            self.at = before;
            simple.words.push(self.word()?);
        }
        simple.text = self.chars[start..self.at].iter().collect::<String>().trim().to_owned();
        if simple.words.is_empty() && simple.variables.is_empty() && simple.redirects.is_empty() {
            return Err(unclear("an empty command"));
        }
        Ok(simple)
    }

    /// A line break inside a word, where no here-document may begin.
    pub(super) fn within(&self, c: char) -> Result<(), Denial> {
        if c == '\n' && !self.waiting.is_empty() {
            return Err(unclear("a here-document next to a text of several lines"));
        }
        Ok(())
    }

    pub(super) fn ends_word(&self) -> bool {
        self.peek().is_none_or(|c| {
            matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
        })
    }
}
