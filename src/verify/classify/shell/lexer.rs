//! Words and operators of a shell text.

#[derive(Clone, Debug)]
pub(super) enum Token {
    Word { text: String, quoted: bool, inner: Vec<String> },
    Operator(&'static str),
    Document(String),
}

/// Splits text into words and operators.
pub(super) struct Lexer {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    text: String,
    quoted: bool,
    inner: Vec<String>,
    /// End words of here-documents that begin after this line.
    documents: Vec<String>,
}

impl Lexer {
    pub(super) fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            tokens: Vec::new(),
            text: String::new(),
            quoted: false,
            inner: Vec::new(),
            documents: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() || self.quoted || !self.inner.is_empty() {
            let text = std::mem::take(&mut self.text);
            let inner = std::mem::take(&mut self.inner);
            self.tokens.push(Token::Word { text, quoted: self.quoted, inner });
        }
        self.quoted = false;
    }

    fn operator(&mut self, operator: &'static str) {
        self.flush();
        self.at += operator.len();
        self.tokens.push(Token::Operator(operator));
    }

    pub(super) fn tokens(mut self) -> Vec<Token> {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => {
                    self.flush();
                    self.at += 1;
                }
                '\n' => {
                    self.operator("\n");
                    self.read_documents();
                }
                '#' if self.text.is_empty() && !self.quoted => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '\\' => {
                    if let Some(next) = self.peek(1).filter(|next| *next != '\n') {
                        self.text.push(next);
                    }
                    self.at += 2;
                }
                '\'' => self.single(),
                '"' => self.double(),
                '$' | '`' => self.expansion(),
                _ => self.symbol(c),
            }
        }
        self.flush();
        self.tokens
    }

    fn symbol(&mut self, c: char) {
        match (c, self.peek(1), self.peek(2)) {
            ('&', Some('&'), _) => self.operator("&&"),
            ('|', Some('|'), _) => self.operator("||"),
            ('|', Some('&'), _) => self.operator("|&"),
            (';', Some(';'), _) => self.operator(";;"),
            ('&', Some('>'), _) => self.operator("&>"),
            ('<', Some('<'), Some('<')) => {
                self.flush();
                self.at += 3;
                let text = self.next_word();
                self.tokens.push(Token::Document(text));
            }
            ('<', Some('<'), _) => {
                self.flush();
                self.at += 2;
                if self.peek(0) == Some('-') {
                    self.at += 1;
                }
                let end = self.next_word();
                self.documents.push(end);
            }
            ('<' | '>', Some('('), _) => {
                self.at += 2;
                let body = self.until_closed();
                self.inner.push(body);
                self.quoted = true;
            }
            ('>', Some('>'), _) => self.redirect(">>"),
            ('>', Some('|'), _) => self.redirect(">|"),
            ('>', _, _) => self.redirect(">"),
            ('<', _, _) => self.redirect("<"),
            ('&', _, _) => self.operator("&"),
            ('|', _, _) => self.operator("|"),
            (';', _, _) => self.operator(";"),
            ('(', _, _) => self.operator("("),
            (')', _, _) => self.operator(")"),
            _ => {
                self.text.push(c);
                self.at += 1;
            }
        }
    }

    /// A redirection; digits before it are the descriptor, and `2>&1` names no file.
    fn redirect(&mut self, operator: &'static str) {
        let descriptor = std::mem::take(&mut self.text);
        let number = !descriptor.is_empty() && descriptor.chars().all(|c| c.is_ascii_digit());
        if !number {
            self.text = descriptor.clone();
        }
        self.flush();
        self.at += operator.len();
        if self.peek(0) == Some('&') {
            self.at += 1;
            self.next_word();
        } else if number && descriptor != "1" && operator != "<" {
            self.next_word();
        } else {
            self.tokens.push(Token::Operator(operator));
        }
    }

    /// A word that belongs to an operator, without its expansions.
    fn next_word(&mut self) -> String {
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let mut word = String::new();
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')') => break,
                (None | Some(_), _) => word.push(c),
            }
            self.at += 1;
        }
        word
    }

    fn read_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while self.at < self.chars.len() {
                let line: String =
                    self.chars[self.at..].iter().take_while(|c| **c != '\n').collect();
                self.at += line.chars().count() + 1;
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            // It belongs to the command before the line end.
            let place = self.tokens.len().saturating_sub(1);
            self.tokens.insert(place, Token::Document(body));
        }
    }

    fn single(&mut self) {
        self.quoted = true;
        self.at += 1;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                break;
            }
            self.text.push(c);
        }
    }

    fn double(&mut self) {
        self.quoted = true;
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.at += 1;
                    break;
                }
                '\\' => {
                    match self.peek(1) {
                        Some(next @ ('"' | '\\' | '$' | '`')) => self.text.push(next),
                        Some('\n') | None => {}
                        Some(next) => {
                            self.text.push('\\');
                            self.text.push(next);
                        }
                    }
                    self.at += 2;
                }
                '$' | '`' => self.expansion(),
                _ => {
                    self.text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn expansion(&mut self) {
        if self.peek(0) == Some('`') {
            self.at += 1;
            let mut body = String::new();
            while let Some(c) = self.peek(0) {
                self.at += 1;
                if c == '`' {
                    break;
                }
                body.push(c);
            }
            self.inner.push(body);
            self.text.push('$');
        } else if self.peek(1) == Some('(') {
            let arithmetic = self.peek(2) == Some('(');
            self.at += 2;
            let body = self.until_closed();
            if arithmetic {
                self.inner.extend(substitutions(&body));
            } else {
                self.inner.push(body);
            }
            self.text.push('$');
        } else {
            self.text.push('$');
            self.at += 1;
        }
    }

    /// The text up to the bracket that closes, which is skipped.
    fn until_closed(&mut self) -> String {
        let mut body = String::new();
        let mut depth = 1_usize;
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (quote, c) {
                (_, '\\') => {
                    body.push(c);
                    body.extend(self.peek(0));
                    self.at += 1;
                    continue;
                }
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                (None | Some(_), _) => {}
            }
            body.push(c);
        }
        body
    }
}

/// The substitutions inside of an arithmetic expression.
fn substitutions(body: &str) -> Vec<String> {
    let body = body.strip_prefix('(').and_then(|body| body.strip_suffix(')')).unwrap_or(body);
    let tokens = Lexer::new(body).tokens();
    let inner = tokens.into_iter().filter_map(|token| match token {
        Token::Word { inner, .. } => Some(inner),
        Token::Document(_) | Token::Operator(_) => None,
    });
    inner.flatten().collect()
}
