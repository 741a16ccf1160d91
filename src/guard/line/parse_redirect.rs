//! Redirections in the strict parser, with the beginnings of here-documents.

use super::ast::{Piece, Redirect, Word};
use super::parse::{Parser, unclear};
use crate::guard::denial::Denial;

impl Parser {
    /// Reads a redirection, if there is one here. Copying a stream, as in `2>&1`, redirects no file.
    pub(super) fn redirect(&mut self) -> Result<Option<Option<Redirect>>, Denial> {
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
            let empty = word.text().is_none_or(|text| !text.contains(char::is_alphanumeric));
            return Ok(Some(Some(Redirect::Data { empty, text: word })));
        }
        if self.take("<<") {
            return self.document().map(|data| Some(Some(data)));
        }
        let output = !numbered || self.chars[start] == '1';
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
                            Ok(Some(takes_output(output && copy == ">&")))
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
            let target = self.target()?;
            return Ok(Some(Some(if output {
                Redirect::Write(target)
            } else {
                Redirect::WriteOther(target)
            })));
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
        let lines = text.split(|c| *c == '\n');
        let lines = lines.take_while(|line| !line.iter().copied().eq(end.chars()));
        let text: String = lines.flat_map(|line| line.iter().copied().chain(['\n'])).collect();
        let empty = !text.contains(char::is_alphanumeric);
        self.waiting.push((end, quote.is_none()));
        Ok(Redirect::Data { empty, text: Word { pieces: vec![Piece::Text(text)] } })
    }
}

/// A copy of a stream redirects no file; one that takes the output leaves files before it empty.
fn takes_output(output: bool) -> Option<Redirect> {
    let stream = Word { pieces: vec![Piece::Text("/dev/stderr".to_owned())] };
    output.then_some(Redirect::Write(stream))
}
