//! Statements of manifests: lines, joined while brackets or strings are open.

/// How a language writes comments and strings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax {
    /// The marks that begin a comment up to the end of the line.
    pub(super) comment: &'static str,
    /// Characters around strings.
    pub(super) quotes: &'static [char],
    /// Whether strings may hold line ends.
    pub(super) long_strings: bool,
}

/// Splits a text into statements, each with its line end.
pub(super) fn statements(code: &str, syntax: Syntax) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = Reader { syntax, depth: 0, quote: None, block_comment: false };
    let mut statement = String::new();
    for line in code.split_inclusive('\n') {
        statement.push_str(line);
        reader.line(line);
        if reader.depth <= 0 && reader.quote.is_none() && !reader.block_comment {
            let continues = line.trim_end().ends_with(['\\', ',']);
            if !continues {
                reader.depth = 0;
                found.push(std::mem::take(&mut statement));
            }
        }
    }
    if !statement.is_empty() {
        found.push(statement);
    }
    found
}

/// The place of the bracket that opens a statement's block: a `{` outside other brackets.
pub(super) fn opening(statement: &str, syntax: Syntax) -> Option<usize> {
    let mut reader = Reader { syntax, depth: 0, quote: None, block_comment: false };
    let mut at = 0;
    for line in statement.split_inclusive('\n') {
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let step = reader.step(rest);
            if c == '{' && reader.depth == 1 && step == 1 {
                return Some(at);
            }
            let step = step.min(rest.len());
            at += step;
            rest = &rest[step..];
        }
        reader.end_line();
    }
    None
}

struct Reader {
    syntax: Syntax,
    depth: i32,
    quote: Option<char>,
    block_comment: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let mut rest = line;
        while !rest.is_empty() {
            let step = self.step(rest);
            rest = &rest[step.min(rest.len())..];
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        if !self.syntax.long_strings {
            self.quote = None;
        }
    }

    /// Reads one symbol and returns its length.
    fn step(&mut self, rest: &str) -> usize {
        let Some(c) = rest.chars().next() else { return 0 };
        if self.block_comment {
            if rest.starts_with("*/") {
                self.block_comment = false;
                return 2;
            }
            return c.len_utf8();
        }
        if let Some(open) = self.quote {
            if c == '\\' {
                return 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            if c == open {
                self.quote = None;
            }
            return c.len_utf8();
        }
        if rest.starts_with(self.syntax.comment) {
            return rest.len();
        }
        if self.syntax.comment == "//" && rest.starts_with("/*") {
            self.block_comment = true;
            return 2;
        }
        match c {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth -= 1,
            _ if self.syntax.quotes.contains(&c) => self.quote = Some(c),
            _ => {}
        }
        c.len_utf8()
    }
}
