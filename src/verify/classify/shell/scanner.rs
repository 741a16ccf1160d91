//! Reads the simple commands of a shell text in their order.

use std::ops::Range;

use super::command::{Capture, Flow, Into, ShellCommand, Use};
use super::failing::{gives_up, reports_failure};
use super::lexer::{Lexer, Token};

/// How deep substitutions may nest.
const MOST_DEPTH: usize = 12;

/// The simple commands of a text in order, inner ones included, and where their output goes.
pub(super) fn read(text: &str) -> (Vec<ShellCommand>, Flow) {
    let mut scanner = Scanner {
        found: Vec::new(),
        flow: Flow::default(),
        pipelines: 0,
        current: 0,
        pipefail: false,
        errexit: false,
    };
    scanner.scan(text, 0, Use::Status);
    (scanner.found, scanner.flow)
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

/// A text while it is read.
struct Reading<'t> {
    tokens: &'t [Token],
    next: usize,
    /// Where open groups began.
    groups: Vec<usize>,
    /// Groups of which a branch may be left out.
    branches: Vec<usize>,
    /// Where the list around a group began.
    lists: Vec<usize>,
    /// Commands since the last `;`.
    chain_start: usize,
    /// A `||` was among them.
    alternatives: bool,
    command: ShellCommand,
    /// Commands since the last `;` or line end: their status counts if nothing follows.
    list_start: usize,
    depth: usize,
    base: Use,
    /// Commands in words of the command, with the word's place.
    inner: Vec<(Range<usize>, usize, bool)>,
    /// How many groups there were when a `case` began.
    cases: Vec<usize>,
    /// A label of a `case` is read.
    label: bool,
    /// Functions whose bodies are open, with the number of groups around the body.
    functions: Vec<(String, usize)>,
}

impl<'t> Reading<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.next)
    }
}

struct Scanner {
    found: Vec<ShellCommand>,
    flow: Flow,
    /// How many pipelines there are.
    pipelines: usize,
    /// The one that is read.
    current: usize,
    pipefail: bool,
    errexit: bool,
}

impl Scanner {
    fn scan(&mut self, text: &str, depth: usize, base: Use) {
        if depth > MOST_DEPTH {
            return;
        }
        let tokens = Lexer::new(text).tokens();
        let start = self.found.len();
        let mut at = Reading {
            tokens: &tokens,
            next: 0,
            groups: Vec::new(),
            branches: Vec::new(),
            lists: Vec::new(),
            chain_start: start,
            alternatives: false,
            command: self.fresh(base),
            list_start: start,
            depth,
            base,
            inner: Vec::new(),
            cases: Vec::new(),
            label: false,
            functions: Vec::new(),
        };
        while let Some(token) = at.tokens.get(at.next) {
            at.next += 1;
            match token {
                Token::Word { text, quoted, inner } => {
                    for body in inner {
                        self.captured(&mut at, body, text);
                    }
                    let first = at.command.words.is_empty() && !quoted;
                    at.command.conditional |= at.alternatives || !at.branches.is_empty();
                    if !(first && self.keyword(&mut at, text)) {
                        word(&mut at.command, text, *quoted);
                    }
                }
                Token::Document(body) => at.command.document = Some(body.clone()),
                Token::Operator(operator) => self.operator(&mut at, operator),
            }
        }
        self.end(&mut at, true);
    }

    /// Commands whose output is part of a word.
    fn captured(&mut self, at: &mut Reading<'_>, body: &str, word: &str) {
        let commands = self.inner(at, body);
        let status = body.contains("$?");
        let declares = ["declare", "export", "local", "readonly", "typeset"];
        let first = at.command.words.first();
        let keeps = first.is_none_or(|first| declares.contains(&first.as_str()));
        match word.split_once('=').filter(|_| keeps) {
            Some((name, _)) => {
                let into = Into::Variable(name.to_owned());
                self.flow.captures.push(Capture { commands, into, status });
            }
            None => at.inner.push((commands, at.command.words.len(), status)),
        }
    }

    /// The commands of a text in a word, which has pipelines of its own.
    fn inner(&mut self, at: &Reading<'_>, body: &str) -> Range<usize> {
        let (from, outer) = (self.found.len(), self.current);
        self.next_pipeline();
        self.scan(body, at.depth + 1, Use::Output);
        self.current = outer;
        from..self.found.len()
    }

    fn next_pipeline(&mut self) {
        self.pipelines += 1;
        self.current = self.pipelines;
    }

    /// Reads a reserved word; `false` if it is none.
    fn keyword(&mut self, at: &mut Reading<'_>, text: &str) -> bool {
        match text {
            "if" | "while" | "until" | "then" | "else" | "elif" | "do" | "!" | "time" | "not" => {
                let option =
                    |token: &Token| matches!(token, Token::Word { text, .. } if text == "-p");
                at.next += usize::from(text == "time" && at.peek().is_some_and(option));
                if matches!(text, "if" | "while" | "until") {
                    at.branches.push(at.groups.len());
                    at.groups.push(self.found.len());
                }
                at.command.conditional |= matches!(text, "!" | "not");
                at.command.must_fail ^= matches!(text, "!" | "not");
                if text == "then" && reports_failure(&at.tokens[at.next..], &["fi", "else", "elif"])
                {
                    self.reverse_last();
                }
                // A condition's status counts.
                at.list_start = self.found.len();
            }
            "function" => {
                if let Some(Token::Word { text, .. }) = at.peek() {
                    at.next += 1;
                    at.functions.push((text.clone(), at.groups.len()));
                }
            }
            "{" => self.open(at),
            "for" | "case" | "select" => self.loop_head(at, text),
            "fi" | "done" | "esac" | "}" => {
                if text == "esac" {
                    at.cases.pop();
                    at.label = false;
                }
                self.close(at);
                if text == "}" {
                    at.list_start = at.lists.pop().unwrap_or(at.list_start);
                }
                at.branches.retain(|branch| *branch < at.groups.len());
            }
            _ => return false,
        }
        true
    }

    /// `for NAME in VALUES`, `case WORD in`: the values are not commands.
    fn loop_head(&mut self, at: &mut Reading<'_>, keyword: &str) {
        at.branches.push(at.groups.len());
        at.groups.push(self.found.len());
        let mut values: Vec<String> = Vec::new();
        while let Some(token) = at.peek() {
            if let Token::Word { inner, text, .. } = token {
                values.push(text.clone());
                for body in inner {
                    let commands = self.inner(at, body);
                    let variable = values.first().filter(|_| keyword != "case").cloned();
                    let into = variable.map_or(Into::Case, Into::Variable);
                    let status = body.contains("$?");
                    self.flow.captures.push(Capture { commands, into, status });
                }
                if text == "in" && keyword == "case" {
                    at.next += 1;
                    break;
                }
            }
            if matches!(token, Token::Operator(";" | "\n")) {
                break;
            }
            at.next += 1;
        }
        if keyword == "case" {
            at.cases.push(at.groups.len());
            at.label = true;
        }
        if keyword == "for" {
            self.found.push(self.values_of_loop(&values));
        } else if keyword == "case" {
            self.flow.cases.extend(values);
        }
    }

    fn operator(&mut self, at: &mut Reading<'_>, operator: &str) {
        match operator {
            "|" | ")" if at.label && at.cases.last() == Some(&at.groups.len()) => {
                at.label = operator == "|";
                self.label(at);
            }
            "(" if at.command.words.is_empty()
                && matches!(at.peek(), Some(Token::Operator("("))) =>
            {
                at.next += 1;
                at.command.words.push("((".to_owned());
            }
            ")" if at.command.words.first().is_some_and(|word| word == "((") => {
                at.next += usize::from(matches!(at.peek(), Some(Token::Operator(")"))));
            }
            "|" | "|&" => {
                if !at.command.words.is_empty() && !self.pipefail {
                    at.command.usage = at.command.usage.max(Use::Output);
                }
                self.end(at, false);
            }
            "&&" | "||" => {
                self.end(at, true);
                if operator == "&&" && reports_failure(&at.tokens[at.next..], &["}", ";", "\n"]) {
                    self.reverse_last();
                }
                if operator == "||" && !gives_up(&at.tokens[at.next..]) {
                    at.alternatives = true;
                    for command in self.found.iter_mut().skip(at.chain_start + 1) {
                        command.conditional = true;
                    }
                }
            }
            ";" | "\n" | "&" | ";;" => self.end_of_list(at, operator),
            "(" if at.command.words.len() < 2
                && matches!(at.peek(), Some(Token::Operator(")"))) =>
            {
                at.next += 1;
                at.functions.extend(at.command.words.pop().map(|name| (name, at.groups.len())));
            }
            "(" => self.open(at),
            ")" => {
                self.end(at, true);
                self.close(at);
                at.list_start = at.lists.pop().unwrap_or(at.list_start);
                at.branches.retain(|branch| *branch < at.groups.len());
            }
            ">" | ">>" | "&>" | ">|" => {
                if let Some(Token::Word { text, inner, .. }) = at.peek() {
                    at.next += 1;
                    at.command.discarded |= text == "/dev/null";
                    at.command.outputs.push(text.trim_start_matches("./").to_owned());
                    if !text.starts_with("/dev/") && !text.starts_with('&') {
                        at.command.usage = at.command.usage.max(Use::Output);
                    }
                    for body in inner {
                        self.inner(at, body);
                    }
                }
            }
            "<" => {
                if let Some(Token::Word { text, inner, .. }) = at.peek() {
                    at.next += 1;
                    for body in inner {
                        let commands = self.inner(at, body);
                        at.inner.push((commands, at.command.words.len(), false));
                    }
                    at.command.stdin.push(text.clone());
                }
            }
            _ => {}
        }
    }

    /// A label of a `case` is a value that is compared.
    fn label(&mut self, at: &mut Reading<'_>) {
        for (commands, _, status) in at.inner.drain(..) {
            self.flow.captures.push(Capture { commands, into: Into::Case, status });
        }
        let command = std::mem::replace(&mut at.command, self.fresh(at.base));
        self.flow.cases.extend(command.words);
    }

    fn end_of_list(&mut self, at: &mut Reading<'_>, operator: &str) {
        at.label = operator == ";;" && !at.cases.is_empty()
            || at.label && operator == "\n" && at.command.words.is_empty();
        if operator == "&" {
            at.command.usage = at.command.usage.max(Use::Ignored);
            at.command.background = true;
        }
        self.end(at, true);
        if ends_list(&at.tokens[at.next..]) {
            // Its status is that of the group: what follows the group decides.
            return;
        }
        let then = matches!(at.peek(), Some(Token::Word { text, quoted: false, .. })
            if matches!(text.as_str(), "then" | "do"));
        if !then && !self.errexit && operator != ";;" {
            for command in &mut self.found[at.list_start..] {
                command.usage = command.usage.max(Use::Ignored);
            }
        }
        at.list_start = self.found.len();
        (at.chain_start, at.alternatives) = (at.list_start, false);
    }

    /// Success of the last command is a failure of the check.
    fn reverse_last(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.must_fail ^= true;
        }
    }

    /// A group begins.
    fn open(&mut self, at: &mut Reading<'_>) {
        at.groups.push(self.found.len());
        at.lists.push(std::mem::replace(&mut at.list_start, self.found.len()));
    }

    /// `for NAME in VALUES`.
    fn values_of_loop(&self, words: &[String]) -> ShellCommand {
        let (name, values) = words.split_first().map_or(("", words), |(name, rest)| (name, rest));
        let assignments = values.iter().filter(|value| *value != "in");
        let assignments = assignments.map(|value| (name.to_owned(), value.clone())).collect();
        ShellCommand { words: vec!["for".to_owned()], assignments, ..self.fresh(Use::Ignored) }
    }

    fn fresh(&self, base: Use) -> ShellCommand {
        ShellCommand {
            words: Vec::new(),
            assignments: Vec::new(),
            stdin: Vec::new(),
            document: None,
            usage: base,
            pipeline: self.current,
            conditional: false,
            discarded: false,
            outputs: Vec::new(),
            function: None,
            compared: false,
            code: false,
            both_ways: false,
            background: false,
            must_fail: false,
        }
    }

    fn end(&mut self, at: &mut Reading<'_>, pipeline_ends: bool) {
        let simple = &at.command;
        if simple.words.first().is_some_and(|word| word == "set") {
            self.pipefail |= simple.words.iter().any(|word| word == "pipefail");
            self.errexit |= simple.words.iter().any(|word| {
                word == "errexit"
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('e'))
            });
        }
        let has_input = !simple.stdin.is_empty() || simple.document.is_some();
        if !simple.words.is_empty() || !simple.assignments.is_empty() || has_input {
            let by = self.found.len();
            let captures = at.inner.drain(..).map(|(commands, word, status)| Capture {
                commands,
                into: Into::Word(by, word),
                status,
            });
            self.flow.captures.extend(captures);
            let function = at.functions.last().map(|(name, _)| name.clone());
            let named = outputs(&at.command.words);
            at.command.outputs.extend(named.map(|it| it.trim_start_matches("./").to_owned()));
            self.found.push(ShellCommand { function, ..at.command.clone() });
        }
        if pipeline_ends {
            self.next_pipeline();
        }
        at.command = self.fresh(at.base);
    }

    /// A group ends: if a pipe follows, the output of all its commands is what counts.
    fn close(&mut self, at: &mut Reading<'_>) {
        let Some(from) = at.groups.pop() else { return };
        at.functions.retain(|(_, around)| *around < at.groups.len());
        match at.tokens.get(at.next..) {
            Some([Token::Operator("|" | "|&"), ..]) => self.flow.captures.push(Capture {
                commands: from..self.found.len(),
                into: Into::Pipeline(self.current),
                status: false,
            }),
            Some([Token::Operator(">" | ">>"), Token::Word { text, .. }, ..]) => {
                for command in &mut self.found[from..] {
                    command.outputs.push(text.trim_start_matches("./").to_owned());
                }
            }
            Some(_) | None => {}
        }
        if matches!(at.peek(), Some(Token::Operator("|" | "|&" | ">" | ">>"))) {
            for command in &mut self.found[from..] {
                command.usage = command.usage.max(Use::Output);
            }
        }
    }
}

/// Adds a word to a command.
fn word(command: &mut ShellCommand, text: &str, quoted: bool) {
    if command.words.is_empty()
        && let Some((name, value)) = text.split_once('=')
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        command.assignments.push((name.to_owned(), value.to_owned()));
        return;
    }
    if quoted || !text.is_empty() {
        command.words.push(text.to_owned());
    }
}

/// Whether nothing follows in a group or in the text.
fn ends_list(tokens: &[Token]) -> bool {
    let mut rest = tokens.iter().filter(|token| !matches!(token, Token::Operator(";" | "\n")));
    match rest.next() {
        None | Some(Token::Operator(")")) => true,
        Some(Token::Word { text, quoted: false, .. }) => {
            matches!(text.as_str(), "fi" | "done" | "esac" | "}" | "else" | "elif")
        }
        Some(Token::Word { .. } | Token::Operator(_) | Token::Document(_)) => false,
    }
}
