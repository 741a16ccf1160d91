//! A strict parser of the simple part of bash.
//!
//! Every character has one known meaning here, or the line is not understood. There is no
//! attempt to read arrays, functions, arithmetic, brace expansion, `${…}` beyond a plain name,
//! process substitution, or a here-document next to a substitution.

use super::ast::{Compound, List, Piece, PipelinePart, Redirect, Script, Simple, Word};
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

struct Parser {
    chars: Vec<char>,
    at: usize,
    /// Ends of here-documents whose text begins on the next line, and whether it is expanded.
    waiting: Vec<(String, bool)>,
    depth: usize,
    /// The line has a substitution.
    dollars: bool,
    /// The line has a here-document.
    documents: bool,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn looks_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.chars.get(self.at + i) == Some(&c))
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.looks_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// Skips blanks, continued lines, and a comment.
    fn blanks(&mut self) {
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
    fn script(&mut self, ends: &[&str]) -> Result<Script, Denial> {
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
        let mut list = List { pipelines: Vec::new(), all_or_nothing: true };
        loop {
            // What stands behind `! …` runs where it failed.
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
        while self.reserved() == Some("!") || self.reserved() == Some("time") {
            if self.reserved() == Some("!") {
                self.at += 1;
            } else {
                self.at += 4;
            }
            self.blanks();
        }
        let mut commands = vec![self.command()?];
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
                Compound::Branches(vec![condition, self.body()?])
            }
            Some("for") => self.for_loop()?,
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

    fn name(&mut self) -> String {
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
    fn within(&self, c: char) -> Result<(), Denial> {
        if c == '\n' && !self.waiting.is_empty() {
            return Err(unclear("a here-document next to a text of several lines"));
        }
        Ok(())
    }

    fn ends_word(&self) -> bool {
        self.peek().is_none_or(|c| {
            matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
        })
    }

    /// A redirection, if one stands here. Copies of streams are no redirection of files.
    fn redirect(&mut self) -> Result<Option<Option<Redirect>>, Denial> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let numbered = self.at > start;
        let stream = match self.peek() {
            Some('<' | '>') => true,
            Some('&') => !numbered,
            _ => false,
        };
        if !stream {
            self.at = start;
            return Ok(None);
        }
        if self.at - start > 1 {
            return Err(unclear("a strange redirection"));
        }
        if self.peek() == Some('&') {
            let append = self.looks_at("&>>");
            if !append && !self.looks_at("&>") {
                return Ok(None);
            }
            self.at += if append { 3 } else { 2 };
            let target = self.target()?;
            return Ok(Some(Some(if append {
                Redirect::Append(target)
            } else {
                Redirect::Write(target)
            })));
        }
        if self.take("<<<") {
            self.blanks();
            let word = self.word()?;
            return Ok(Some(Some(Redirect::Data { empty: word.text() == Some(""), text: word })));
        }
        if self.take("<<") {
            return self.document().map(|data| Some(Some(data)));
        }
        for copy in [">&", "<&"] {
            if self.take(copy) {
                return match self.peek() {
                    Some('0'..='9')
                        if self
                            .chars
                            .get(self.at + 1)
                            .is_none_or(|c| !c.is_ascii_alphanumeric()) =>
                    {
                        self.at += 1;
                        if self.ends_word() {
                            Ok(Some(None))
                        } else {
                            Err(unclear("a strange redirection"))
                        }
                    }
                    _ => Err(unclear("a strange redirection")),
                };
            }
        }
        for odd in ["<>", ">|", "<(", ">("] {
            if self.looks_at(odd) {
                return Err(unclear(&format!("`{odd}`")));
            }
        }
        if self.take(">>") {
            return Ok(Some(Some(Redirect::Append(self.target()?))));
        }
        if self.take(">") {
            return Ok(Some(Some(Redirect::Write(self.target()?))));
        }
        self.at += 1;
        Ok(Some(Some(Redirect::Read(self.target()?))))
    }

    fn target(&mut self) -> Result<Word, Denial> {
        self.blanks();
        if self.ends_word() {
            return Err(unclear("a redirection without a file"));
        }
        self.word()
    }

    fn document(&mut self) -> Result<Redirect, Denial> {
        self.documents = true;
        if self.peek() == Some('-') {
            return Err(unclear("`<<-`"));
        }
        self.blanks();
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"'));
        if quote.is_some() {
            self.at += 1;
        }
        let end = self.name();
        if end.is_empty() || quote.is_some() && self.peek() != quote {
            return Err(unclear("a here-document with a strange end word"));
        }
        if quote.is_some() {
            self.at += 1;
        }
        if !self.ends_word() {
            return Err(unclear("a here-document with a strange end word"));
        }
        let from = self.chars[self.at..].iter().position(|c| *c == '\n');
        let text = from.map(|from| &self.chars[self.at + from + 1..]).unwrap_or_default();
        let empty = text.iter().take_while(|c| **c != '\n').copied().eq(end.chars());
        self.waiting.push((end, quote.is_none()));
        Ok(Redirect::Data { empty, text: Word::default() })
    }

    fn word(&mut self) -> Result<Word, Denial> {
        let mut pieces = Vec::new();
        let start = self.at;
        let mut text = String::new();
        let mut glob = false;
        while !self.ends_word() {
            let c = self.chars[self.at];
            self.at += 1;
            match c {
                '\'' => {
                    flush(&mut pieces, &mut text, &mut glob);
                    let from = self.at;
                    while let Some(c) = self.peek().filter(|c| *c != '\'') {
                        self.within(c)?;
                        self.at += 1;
                    }
                    pieces.push(Piece::Text(self.chars[from..self.at].iter().collect()));
                    if self.peek().is_none() {
                        return Err(unclear("an open quote"));
                    }
                    self.at += 1;
                }
                '"' => {
                    flush(&mut pieces, &mut text, &mut glob);
                    self.quoted(&mut pieces)?;
                }
                '\\' => match self.peek() {
                    None => return Err(unclear("a backslash at its end")),
                    Some('\n') => self.at += 1,
                    Some(escaped) => {
                        self.at += 1;
                        flush(&mut pieces, &mut text, &mut glob);
                        pieces.push(Piece::Text(escaped.to_string()));
                    }
                },
                '`' => return Err(unclear("backquotes")),
                '$' => {
                    flush(&mut pieces, &mut text, &mut glob);
                    let piece = self.dollar(false)?;
                    pieces.push(piece);
                }
                '{' if self.at == start + 1 && self.peek() == Some('}') => {
                    self.at += 1;
                    if !self.ends_word() {
                        return Err(unclear("braces"));
                    }
                    text.push_str("{}");
                }
                '{' | '}' => return Err(unclear("braces").instead("quote the word")),
                '~' if self.at == start + 1 => {
                    if !(self.ends_word() || self.peek() == Some('/')) {
                        return Err(unclear("`~` with a name"));
                    }
                    pieces.push(Piece::Variable { name: "HOME".to_owned(), quoted: true });
                }
                '~' if !matches!(self.chars[self.at - 2], 'a'..='z' | 'A'..='Z' | '0'..='9' | '^') =>
                {
                    return Err(unclear("a `~` in the middle of a word"));
                }
                '*' | '?' | '[' | ']' => {
                    glob = true;
                    text.push(c);
                }
                _ => text.push(c),
            }
        }
        flush(&mut pieces, &mut text, &mut glob);
        // `[` and `]` alone are a program and its last word.
        if let [Piece::Glob(only)] = pieces.as_slice()
            && matches!(only.as_str(), "[" | "]")
        {
            pieces = vec![Piece::Text(only.clone())];
        }
        Ok(Word { pieces: joined(pieces) })
    }

    fn quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Denial> {
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else { return Err(unclear("an open quote")) };
            self.at += 1;
            self.within(c)?;
            match c {
                '"' => {
                    pieces.push(Piece::Text(text));
                    return Ok(());
                }
                '\\' => match self.peek() {
                    Some('\n') => self.at += 1,
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                        self.at += 1;
                        text.push(escaped);
                    }
                    _ => text.push('\\'),
                },
                '`' => return Err(unclear("backquotes")),
                '$' => match self.dollar(true)? {
                    Piece::Text(plain) => text.push_str(&plain),
                    piece => {
                        pieces.push(Piece::Text(std::mem::take(&mut text)));
                        pieces.push(piece);
                    }
                },
                _ => text.push(c),
            }
        }
    }

    /// What follows a dollar sign.
    fn dollar(&mut self, quoted: bool) -> Result<Piece, Denial> {
        if self.looks_at("((") {
            return Err(unclear("arithmetic"));
        }
        if self.take("(") {
            self.dollars = true;
            let waiting = self.waiting.len();
            let script = self.script(&[])?;
            if !self.take(")") || self.waiting.len() != waiting {
                return Err(unclear("an open substitution"));
            }
            return Ok(Piece::Substitution { script, quoted });
        }
        if self.take("?") || self.take("!") || self.take("{PIPESTATUS[0]}") {
            return Ok(Piece::Unknown { quoted });
        }
        let braces = self.take("{");
        let name = self.name();
        if braces && !self.take("}") {
            return Err(unclear("`${…}` with more than a name"));
        }
        if !name.is_empty() {
            return Ok(Piece::Variable { name, quoted });
        }
        let plain = match self.peek() {
            None => true,
            Some(c) if quoted => matches!(c, '"' | ' ' | '|' | '/' | '.' | ',' | ')' | ':'),
            Some(_) => self.ends_word() && self.peek() != Some('('),
        };
        if braces || !plain {
            Err(unclear("a strange `$`"))
        } else {
            Ok(Piece::Text("$".to_owned()))
        }
    }
}

/// Ends a run of unquoted text.
fn flush(pieces: &mut Vec<Piece>, text: &mut String, glob: &mut bool) {
    if !text.is_empty() {
        let text = std::mem::take(text);
        pieces.push(if *glob { Piece::Glob(text) } else { Piece::Text(text) });
    }
    *glob = false;
}

/// Joins neighbors of plain text.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, piece) => out.push(piece),
        }
    }
    out
}
