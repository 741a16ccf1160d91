//! Parts of code in any language, told apart by brackets and quotes.
//!
//! Invariant: pure. Text that cannot be read gives a part that ends too early.

/// The text up to the bracket that closes the one just before it.
pub(super) fn inside(text: &str) -> &str {
    &text[..end_of(text, |_| false)]
}

/// The parts of a list that commas separate.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text);
    loop {
        let end = end_of(rest, |rest| rest.starts_with(','));
        found.push(rest[..end].trim());
        match rest[end..].strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    found.retain(|part| !part.is_empty());
    found
}

/// The expression at the beginning of a text: to the end of its line, unless a bracket is open or
/// the next line goes on with a method.
pub(super) fn expression(text: &str) -> &str {
    let ends = |rest: &str| {
        let goes_on = || {
            let next = rest.trim_start();
            next.starts_with('.') || next.starts_with("->")
        };
        rest.starts_with(';')
            || rest.starts_with(" #")
            || rest.starts_with(" //")
            || rest.starts_with('\n') && !goes_on()
    };
    text[..end_of(text, ends)].trim()
}

/// The operand before an operator.
pub(super) fn operand_before(text: &str) -> &str {
    let text = text.trim_end();
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    let mut at = letters.len();
    while at > 0 {
        let (_, letter) = letters[at - 1];
        let open = match letter {
            ')' => '(',
            ']' => '[',
            '"' | '\'' | '`' => letter,
            _ if letter.is_alphanumeric() || "_.$@:?".contains(letter) => {
                at -= 1;
                continue;
            }
            _ => break,
        };
        let Some(start) = opening(&letters[..at - 1], letter, open) else { break };
        at = start;
    }
    text[letters.get(at).map_or(text.len(), |it| it.0)..].trim_start_matches([':', '?'])
}

/// The place of the bracket or quote that opens what a last one closes.
fn opening(letters: &[(usize, char)], close: char, open: char) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, (_, letter)) in letters.iter().enumerate().rev() {
        if close != open {
            let is_quote = ['"', '\'', '`'].contains(letter);
            match quote {
                Some(other) => {
                    quote = quote.filter(|_| other != *letter);
                    continue;
                }
                None if is_quote => {
                    quote = Some(*letter);
                    continue;
                }
                None => {}
            }
        }
        match *letter {
            letter if letter == open && depth == 0 => return Some(at),
            letter if letter == open => depth -= 1,
            letter if letter == close => depth += 1,
            _ => {}
        }
    }
    None
}

/// The operand behind an operator.
pub(super) fn operand_after(text: &str) -> &str {
    const ENDS: [&str; 17] = [
        ",", ";", "\n", " and ", " or ", " && ", " || ", " ? ", " if ", " for ", " else", " then",
        " {", " #", " //", ": ", " do",
    ];
    let text = text.trim_start_matches(' ');
    let is_last = |rest: &str| rest.starts_with(':') && rest.trim_end() == ":";
    let end = end_of(text, |rest| {
        is_last(rest) || rest.starts_with(":\n") || ENDS.iter().any(|end| rest.starts_with(end))
    });
    text[..end].trim()
}

/// The statements of a text, each with everything behind it: a bracket may be open at its end.
pub(super) fn statements(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut rest) = (Vec::new(), text);
    loop {
        let end = end_of_statement(rest);
        found.push((&rest[..end], rest));
        match rest.get(end + 1..) {
            Some(more) => rest = more,
            None => return found,
        }
    }
}

fn end_of_statement(text: &str) -> usize {
    let mut quote = Quote::default();
    let mut letters = text.char_indices();
    let end = letters.find(|(_, letter)| !quote.holds(*letter) && [';', '\n'].contains(letter));
    end.map_or(text.len(), |(at, _)| at)
}

/// The place where an expression ends: at a bracket that closes more than was opened, or at the
/// first place outside brackets and quotes that `ends` knows by the text from there on.
fn end_of(text: &str, ends: impl Fn(&str) -> bool) -> usize {
    let (mut depth, mut quote) = (0_usize, Quote::default());
    for (at, letter) in text.char_indices() {
        if quote.holds(letter) {
            continue;
        }
        match letter {
            _ if depth == 0 && ends(&text[at..]) => return at,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The quotes around a place. A line ends them, but for those of templates.
#[derive(Default)]
struct Quote {
    open: Option<char>,
    is_escaped: bool,
}

impl Quote {
    /// Is the next letter part of a quoted text, its quotes included?
    fn holds(&mut self, letter: char) -> bool {
        match self.open {
            None => {
                self.open = Some(letter).filter(|it| ['"', '\'', '`'].contains(it));
                self.open.is_some()
            }
            Some(_) if self.is_escaped => {
                self.is_escaped = false;
                true
            }
            Some(open) => {
                self.is_escaped = letter == '\\';
                let is_over = letter == '\n' && open != '`';
                if letter == open || is_over {
                    self.open = None;
                }
                !is_over
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_code_are_told_apart() {
        assert_eq!(inside("a(b), ')') + c)"), "a(b), ')'");
        assert_eq!(parts("sq(1, 2), [3, 4], 'a,b'"), ["sq(1, 2)", "[3, 4]", "'a,b'"]);
        assert_eq!(expression("run(\n 1)\n  .stdout\nnext"), "run(\n 1)\n  .stdout");
        assert_eq!(expression("sq(7); x"), "sq(7)");
        assert_eq!(operand_before("assert app.sq(7, ')')['a'] "), "app.sq(7, ')')['a']");
        assert_eq!(operand_before("not x "), "x");
        assert_eq!(operand_after(" {'a': [1, 2]}, 'why'"), "{'a': [1, 2]}");
        assert_eq!(operand_after(" 49:\n    fail()"), "49");
        assert_eq!(operand_after(" want {"), "want");
        let all: Vec<&str> = statements("a; b = ';'\nc").into_iter().map(|it| it.0).collect();
        assert_eq!(all, ["a", " b = ';'", "c"]);
    }
}
