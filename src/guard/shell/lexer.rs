//! One shell word → its pieces: quotes, expansions and substitutions told apart.
//!
//! A single pass over the text, because the grammar of the parser library
//! backtracks without bound on words with many open parentheses. Whatever this
//! scanner does not understand is an error, and an error is a denial. It runs
//! nothing and knows no variable; that is `expand`'s work.

use crate::guard::denial::Denial;

use super::brackets::{Bracket, bracket};
use super::ends::{MOST_DEPTH, command_end, param_end};
use super::params::param;
use super::pieces::{Op, Param, Piece, Which, too_deep, unclear};

/// Scans a word of a command line.
pub(super) fn word(text: &str) -> Result<Vec<Piece>, Denial> {
    Scanner { text, at: 0, depth: 0 }.word()
}

/// Scans text in which quotes mean nothing but expansions do: the body of an
/// unquoted here-document, the inside of `${…}` and of arithmetic.
pub(super) fn body(text: &str) -> Result<Vec<Piece>, Denial> {
    nested(text, 0)
}

pub(super) fn nested(text: &str, depth: usize) -> Result<Vec<Piece>, Denial> {
    if depth > MOST_DEPTH {
        return Err(too_deep());
    }
    Scanner { text, at: 0, depth }.body_until(None)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// Adds a piece, joining texts.
fn push(pieces: &mut Vec<Piece>, text: &str) {
    if let Some(Piece::Text(last)) = pieces.last_mut() {
        last.push_str(text);
    } else {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

/// Adds pieces, joining texts.
fn append(pieces: &mut Vec<Piece>, more: Vec<Piece>) {
    for piece in more {
        match piece {
            Piece::Text(text) => push(pieces, &text),
            other => pieces.push(other),
        }
    }
}

impl<'a> Scanner<'a> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes one whole character.
    fn take(&mut self) -> Option<&'a str> {
        let length = self.rest().chars().next()?.len_utf8();
        let taken = self.rest().get(..length);
        self.at += length;
        taken
    }

    /// Takes everything up to the first of these ASCII bytes.
    fn run(&mut self, stops: &[u8]) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| stops.contains(&byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(mut self) -> Result<Vec<Piece>, Denial> {
        let mut pieces = Vec::new();
        if self.byte() == Some(b'~') {
            self.at += 1;
            let name = self.run(b"/");
            if name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b)) {
                pieces.push(Piece::Tilde(name.to_owned()));
            } else {
                self.at = 0;
            }
        }
        while let Some(byte) = self.byte() {
            match byte {
                b'\'' => {
                    self.at += 1;
                    let inner = self.run(b"'");
                    self.close(b'\'')?;
                    push(&mut pieces, inner);
                }
                b'"' => {
                    self.at += 1;
                    // An empty string is still a word.
                    push(&mut pieces, "");
                    append(&mut pieces, self.double()?);
                }
                b'\\' => {
                    self.at += 1;
                    match self.take() {
                        Some("\n") | None => {}
                        Some(escaped) => push(&mut pieces, escaped),
                    }
                }
                b'$' if self.rest().starts_with("$'") => {
                    self.at += 2;
                    let inner = self.ansi()?;
                    push(&mut pieces, &inner);
                }
                b'$' if self.rest().starts_with("$\"") => {
                    self.at += 2;
                    push(&mut pieces, "");
                    append(&mut pieces, self.double()?);
                }
                b'$' | b'`' => pieces.push(self.expansion(Quoted::No)?),
                b'*' | b'?' => {
                    self.at += 1;
                    pieces.push(Piece::Glob(char::from(byte).to_string()));
                }
                b'[' => {
                    let rest = self.rest();
                    match bracket(rest) {
                        Bracket::Plain(end) => {
                            pieces.push(Piece::Glob(rest[..end].to_owned()));
                            self.at += end;
                        }
                        Bracket::Classes(end) => {
                            pieces.push(Piece::Glob("?".to_owned()));
                            self.at += end;
                        }
                        Bracket::Unclear => {
                            pieces.push(Piece::Glob("[".to_owned()));
                            self.at += 1;
                        }
                        Bracket::Open => {
                            push(&mut pieces, "[");
                            self.at += 1;
                        }
                    }
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    return Err(unclear("a word with an unquoted operator in it"));
                }
                _ => {
                    let plain = self.run(b"'\"\\$`*?[ \t\n;&|<>()");
                    push(&mut pieces, plain);
                }
            }
        }
        Ok(pieces)
    }

    fn close(&mut self, quote: u8) -> Result<(), Denial> {
        if self.byte() == Some(quote) {
            self.at += 1;
            Ok(())
        } else {
            Err(unclear("an open quote"))
        }
    }

    /// Inside double quotes, up to the closing one.
    fn double(&mut self) -> Result<Vec<Piece>, Denial> {
        let scanned = self.body_until(Some(b'"'))?;
        self.close(b'"')?;
        Ok(scanned)
    }

    fn body_until(&mut self, stop: Option<u8>) -> Result<Vec<Piece>, Denial> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.byte() {
            match byte {
                _ if Some(byte) == stop => break,
                b'\\' => {
                    self.at += 1;
                    match self.byte() {
                        Some(b'\n') => self.at += 1,
                        Some(next @ (b'$' | b'`' | b'\\')) => {
                            push(&mut pieces, &char::from(next).to_string());
                            self.at += 1;
                        }
                        Some(b'"') if stop == Some(b'"') => {
                            push(&mut pieces, "\"");
                            self.at += 1;
                        }
                        _ => push(&mut pieces, "\\"),
                    }
                }
                b'$' | b'`' => pieces.push(self.expansion(Quoted::Yes)?),
                _ => {
                    let plain = if stop == Some(b'"') {
                        self.run(b"\"\\$`")
                    } else {
                        // A quote is text here; take it when it stands first.
                        self.run(b"\\$`")
                    };
                    push(&mut pieces, plain);
                }
            }
        }
        Ok(pieces)
    }

    /// At a `$` or a backquote.
    fn expansion(&mut self, quoted: Quoted) -> Result<Piece, Denial> {
        let quoted = matches!(quoted, Quoted::Yes);
        if self.byte() == Some(b'`') {
            return self.backquoted(quoted);
        }
        let rest = self.rest();
        if rest.starts_with("$(") {
            let inner_at = self.at + 2;
            let end = command_end(self.text, inner_at, 0)
                .ok_or_else(|| unclear("the end of a command substitution"))?;
            let inner = &self.text[inner_at..end];
            self.at = end + 1;
            if let Some(expression) = arithmetic(inner) {
                return Ok(Piece::Arith(nested(expression, self.depth + 1)?));
            }
            return Ok(Piece::Command { body: inner.to_owned(), quoted });
        }
        if rest.starts_with("$[") {
            return Err(unclear("the old form of arithmetic `$[…]`"));
        }
        if rest.starts_with("${") {
            let inner_at = self.at + 2;
            let end = param_end(self.text, inner_at, 0)
                .ok_or_else(|| unclear("the end of a parameter expansion"))?;
            let inner = &self.text[inner_at..end];
            self.at = end + 1;
            return param(inner, quoted, |text| nested(text, self.depth + 1));
        }
        self.at += 1;
        let name = match self.byte() {
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let rest = self.rest();
                let end = rest
                    .bytes()
                    .position(|b| !(b.is_ascii_alphanumeric() || b == b'_'))
                    .unwrap_or(rest.len());
                &rest[..end]
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => &self.rest()[..1],
            // A lone dollar sign stands for itself.
            _ => return Ok(Piece::Text("$".to_owned())),
        };
        self.at += name.len();
        Ok(Piece::Param(Param {
            name: name.to_owned(),
            op: Op::Value,
            inner: Vec::new(),
            index: Vec::new(),
            which: Which::of(name, ""),
            quoted,
        }))
    }

    fn backquoted(&mut self, quoted: bool) -> Result<Piece, Denial> {
        self.at += 1;
        let mut inner = String::new();
        loop {
            inner.push_str(self.run(b"\\`"));
            match self.byte() {
                Some(b'`') => {
                    self.at += 1;
                    return Ok(Piece::Command { body: inner, quoted });
                }
                Some(_) => {
                    self.at += 1;
                    match self.take() {
                        Some(escaped @ ("`" | "\\" | "$")) => inner.push_str(escaped),
                        Some("\"") if quoted => inner.push('"'),
                        Some(other) => {
                            inner.push('\\');
                            inner.push_str(other);
                        }
                        None => return Err(unclear("an open backquote")),
                    }
                }
                None => return Err(unclear("an open backquote")),
            }
        }
    }

    /// Inside `$'…'`, up to the closing quote.
    fn ansi(&mut self) -> Result<String, Denial> {
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            bytes.extend(self.run(b"\\'").bytes());
            match self.byte() {
                Some(b'\'') => {
                    self.at += 1;
                    return Ok(String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(_) => {
                    self.at += 1;
                    self.escape(&mut bytes)?;
                }
                None => return Err(unclear("an open quote")),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), Denial> {
        let open = || unclear("an open quote");
        let escaped = self.take().ok_or_else(open)?;
        let simple = match escaped {
            "n" => b'\n',
            "t" => b'\t',
            "r" => b'\r',
            "a" => 7,
            "b" => 8,
            "e" | "E" => 27,
            "f" => 12,
            "v" => 11,
            "\\" | "'" | "\"" | "?" => escaped.as_bytes()[0],
            "x" => {
                let code = self.digits(16, 2);
                u8::try_from(code).map_err(|_| open())?
            }
            "u" | "U" => {
                let code = self.digits(16, if escaped == "u" { 4 } else { 8 });
                let character = char::from_u32(code).ok_or_else(open)?;
                bytes.extend(character.to_string().bytes());
                return Ok(());
            }
            "c" => return Err(unclear("a control character escape")),
            _ if escaped.as_bytes()[0].is_ascii_digit() => {
                self.at -= 1;
                (self.digits(8, 3) & 0xff) as u8
            }
            other => {
                bytes.push(b'\\');
                bytes.extend(other.bytes());
                return Ok(());
            }
        };
        bytes.push(simple);
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> u32 {
        let digits: String =
            self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        u32::from_str_radix(&digits, radix).unwrap_or_default()
    }
}

enum Quoted {
    Yes,
    No,
}

/// The expression, if the inside of `$(…)` is `(…)` as a whole.
fn arithmetic(inner: &str) -> Option<&str> {
    let expression = inner.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_i64;
    for byte in expression.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    (depth == 0).then_some(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(word_text: &str) -> String {
        match word(word_text).expect("scans").as_slice() {
            [] => String::new(),
            [Piece::Text(text)] => text.clone(),
            other => panic!("{word_text} is not literal: {other:?}"),
        }
    }

    #[test]
    fn every_way_of_quoting_gives_the_same_text() {
        for form in ["rm", "'rm'", "\"rm\"", "r\\m", "r'm'", "$'\\x72m'", "$'\\162\\155'", "r\\\nm"]
        {
            assert_eq!(text(form), "rm", "{form}");
        }
        assert_eq!(text(r#""a \"b\" \x""#), r#"a "b" \x"#);
        assert_eq!(text(r"$'a\u00e9\n'"), "aé\n");
    }

    #[test]
    fn substitutions_keep_their_text_whatever_stands_in_them() {
        for (form, inside) in [
            ("$(git push)", "git push"),
            ("`git push`", "git push"),
            ("\"$(echo \")\" # )\n)\"", "echo \")\" # )\n"),
            ("$(cat <<'EOF'\nit's :( here\nEOF\n)", "cat <<'EOF'\nit's :( here\nEOF\n"),
            ("\"$(cat <<-EOF\n\ta ) b\n\tEOF\n)\"", "cat <<-EOF\n\ta ) b\n\tEOF\n"),
            ("$( (a) )", " (a) "),
            ("$(echo ${x#)})", "echo ${x#)}"),
            ("`echo \\`id\\``", "echo `id`"),
        ] {
            let pieces = word(form).expect(form);
            let found = pieces.iter().find_map(|piece| match piece {
                Piece::Command { body, .. } => Some(body.as_str()),
                _ => None,
            });
            assert_eq!(found, Some(inside), "{form}");
        }
    }

    #[test]
    fn arithmetic_is_told_from_a_subshell() {
        assert!(matches!(word("$((1+2))").expect("scans").as_slice(), [Piece::Arith(_)]));
        assert!(matches!(word("$((a); (b))").expect("scans").as_slice(), [Piece::Command { .. }]));
    }

    #[test]
    fn what_is_left_open_is_refused() {
        for form in ["'a", "\"a", "$(a", "${a", "`a", "a b", "a;b", "${!x}", "${x@P}", "$[1]"] {
            assert!(word(form).is_err(), "{form}");
        }
    }
}
