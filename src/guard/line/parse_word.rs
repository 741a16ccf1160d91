//! Words in the strict parser: quotes, globs, and dollar expansions.

use super::ast::{Piece, Word};
use super::parse::{Parser, unclear};
use crate::guard::denial::Denial;

impl Parser {
    pub(super) fn word(&mut self) -> Result<Word, Denial> {
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
                // `stash@{0}` and `@{u}` mean nothing to the shell.
                '{' if self.chars[start..self.at - 1].ends_with(&['@']) => {
                    let rest = &self.chars[self.at..];
                    let name = rest.iter().take_while(|c| c.is_ascii_alphanumeric()).count();
                    if name == 0 || rest.get(name) != Some(&'}') {
                        return Err(unclear("braces"));
                    }
                    let revision = format!("{{{}", rest[..=name].iter().collect::<String>());
                    self.at += name + 1;
                    flush(&mut pieces, &mut text, &mut glob);
                    pieces.push(Piece::Text(revision));
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

    /// The text of `$(cat <<'END' … END)`, from its parenthesis on.
    fn document_of_cat(&mut self) -> Option<String> {
        if !self.looks_at("(cat <<'") || !self.waiting.is_empty() {
            return None;
        }
        let rest: String = self.chars[self.at..].iter().collect();
        let (end, body) = rest.strip_prefix("(cat <<'")?.split_once("'\n")?;
        let (text, after) = body.split_once(&format!("\n{end}\n"))?;
        let after = after.trim_start().strip_prefix(')')?;
        let plain = !end.is_empty() && end.bytes().all(|b| b.is_ascii_alphabetic());
        if !plain || text.lines().any(|line| line == end) || !leaves_end(text) {
            return None;
        }
        self.dollars = true;
        self.at = self.chars.len() - after.chars().count();
        Some(text.trim_end_matches('\n').to_owned())
    }

    /// The expansion after a dollar sign.
    fn dollar(&mut self, quoted: bool) -> Result<Piece, Denial> {
        if self.looks_at("((") {
            return Err(unclear("arithmetic"));
        }
        if self.take("(nproc)") {
            return Ok(Piece::Number);
        }
        if self.take("(pwd)") {
            return Ok(Piece::Variable { name: "PWD".to_owned(), quoted });
        }
        if quoted && let Some(text) = self.document_of_cat() {
            return Ok(Piece::Text(text));
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
        if self.take("!") {
            return Ok(Piece::Unknown { quoted });
        }
        if self.take("?") || self.take("{PIPESTATUS[0]}") {
            return Ok(Piece::Number);
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

/// Does every shell find the end of a substitution behind this text? Older ones look for it without
/// regard to a here-document, but for quotes, comments, and parentheses in pairs.
fn leaves_end(text: &str) -> bool {
    let mut open = 0_usize;
    let mut blank = true;
    for c in text.chars() {
        match c {
            '\'' | '"' | '`' | '\\' | '$' => return false,
            '#' if blank => return false,
            '(' => open += 1,
            ')' if open == 0 => return false,
            ')' => open -= 1,
            _ => {}
        }
        blank = c.is_whitespace();
    }
    open == 0
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
