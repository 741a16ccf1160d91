//! Plain intent in lines that the strict parser does not read.
//!
//! A full parser of bash finds the simple commands of a line, wherever they are: in functions,
//! branches, substitutions, and here-documents that a shell reads. Each one is judged with the
//! known values of its words. This finds plain intent. It does not try to find hidden intent; the
//! sandbox is there for that.

use brush_parser::ast;

use super::ast::{Compound, List, Piece, PipelinePart, Redirect, Script, Simple, Word};
use crate::shell::{closing, nested, parse};

/// How deep substitutions may nest.
const MOST_DEPTH: usize = 8;

/// Reads a line as far as it can be read.
pub(super) fn read(line: &str) -> Script {
    Reader { depth: 0 }.line(line)
}

/// Reads what bash would run; parts that cannot be read are left out.
#[derive(Clone, Copy)]
struct Reader {
    depth: usize,
}

impl Reader {
    fn line(self, line: &str) -> Script {
        let lists = parse(line).map(|program| {
            program.complete_commands.iter().flat_map(|list| self.script(list).lists).collect()
        });
        Script { lists: lists.unwrap_or_default() }
    }

    fn script(self, list: &ast::CompoundList) -> Script {
        let lists = list.0.iter().map(|ast::CompoundListItem(and_or, _)| {
            let rest = and_or.additional.iter().map(|next| match next {
                ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
            });
            let pipelines = std::iter::once(&and_or.first).chain(rest);
            let pipelines = pipelines
                .map(|pipeline| pipeline.seq.iter().map(|command| self.command(command)).collect());
            List { pipelines: pipelines.collect(), all_or_nothing: true }
        });
        Script { lists: lists.collect() }
    }

    fn command(self, command: &ast::Command) -> PipelinePart {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                let mut scripts = Vec::new();
                let redirects = redirects.iter().flat_map(|list| &list.0);
                let redirects =
                    redirects.filter_map(|one| self.redirect(one, &mut scripts)).collect();
                let compound = match self.compound(compound) {
                    Compound::Branches(more) => {
                        Compound::Branches(more.into_iter().chain(scripts).collect())
                    }
                    other => other,
                };
                PipelinePart::Compound(Box::new(compound), redirects)
            }
            ast::Command::Function(function) => {
                let body = self.compound(&function.body.0);
                let command = PipelinePart::Compound(Box::new(body), Vec::new());
                let list = List { pipelines: vec![vec![command]], all_or_nothing: true };
                branches(vec![Script { lists: vec![list] }])
            }
            ast::Command::ExtendedTest(..) => branches(Vec::new()),
        }
    }

    fn compound(self, compound: &ast::CompoundCommand) -> Compound {
        let scripts = match compound {
            ast::CompoundCommand::Arithmetic(_) => Vec::new(),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                vec![self.script(&clause.body.list)]
            }
            ast::CompoundCommand::BraceGroup(group) => {
                return Compound::Group(self.script(&group.list));
            }
            ast::CompoundCommand::Subshell(shell) => {
                return Compound::Subshell(self.script(&shell.list));
            }
            ast::CompoundCommand::ForClause(clause) => {
                let values =
                    clause.values.iter().flatten().map(|word| self.word(&word.value)).collect();
                let body = self.script(&clause.body.list);
                return Compound::For { name: clause.variable_name.clone(), values, body };
            }
            ast::CompoundCommand::CaseClause(clause) => clause
                .cases
                .iter()
                .filter_map(|case| case.cmd.as_ref())
                .map(|list| self.script(list))
                .collect(),
            ast::CompoundCommand::IfClause(clause) => {
                let elses = clause.elses.iter().flatten();
                let elses = elses.flat_map(|other| other.condition.iter().chain([&other.body]));
                [&clause.condition, &clause.then]
                    .into_iter()
                    .chain(elses)
                    .map(|list| self.script(list))
                    .collect()
            }
            ast::CompoundCommand::WhileClause(clause)
            | ast::CompoundCommand::UntilClause(clause) => {
                vec![self.script(&clause.0), self.script(&clause.1.list)]
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                let list = List {
                    pipelines: vec![vec![self.command(&coprocess.body)]],
                    all_or_nothing: true,
                };
                vec![Script { lists: vec![list] }]
            }
        };
        Compound::Branches(scripts)
    }

    fn simple(self, command: &ast::SimpleCommand) -> PipelinePart {
        let mut simple = Simple { text: command.to_string(), ..Simple::default() };
        let mut scripts = Vec::new();
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        self.items(prefix, &mut simple, &mut scripts);
        if let Some(name) = &command.word_or_name {
            simple.words.push(self.word(&name.value));
        }
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        self.items(suffix, &mut simple, &mut scripts);
        if scripts.is_empty() {
            return PipelinePart::Simple(simple);
        }
        let list =
            List { pipelines: vec![vec![PipelinePart::Simple(simple)]], all_or_nothing: true };
        scripts.push(Script { lists: vec![list] });
        branches(scripts)
    }

    fn items<'t>(
        self,
        items: impl Iterator<Item = &'t ast::CommandPrefixOrSuffixItem>,
        simple: &mut Simple,
        scripts: &mut Vec<Script>,
    ) {
        for item in items {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    let document = match redirect {
                        ast::IoRedirect::HereDocument(_, document) => Some(&document.doc.value),
                        ast::IoRedirect::HereString(_, word) => Some(&word.value),
                        ast::IoRedirect::File(..) | ast::IoRedirect::OutputAndError(..) => None,
                    };
                    // What a shell reads, it runs.
                    let shell = simple.words.first().and_then(Word::text);
                    if let Some(text) = document
                        && shell.is_some_and(|name| {
                            matches!(name, "bash" | "sh" | "dash" | "zsh" | "ksh")
                        })
                        && let Some(inner) = self.inner()
                    {
                        let text = text.trim_matches(['\'', '"']);
                        scripts.push(inner.line(text));
                    }
                    simple.redirects.extend(self.redirect(redirect, scripts));
                }
                ast::CommandPrefixOrSuffixItem::Word(word) => {
                    simple.words.push(self.word(&word.value))
                }
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    if simple.words.is_empty()
                        && let ast::AssignmentName::VariableName(name) = &assignment.name
                        && let ast::AssignmentValue::Scalar(value) = &assignment.value
                    {
                        simple.variables.push((name.clone(), self.word(&value.value)));
                    } else {
                        simple.words.push(self.word(&word.value));
                    }
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                    scripts.push(self.script(&shell.list));
                    simple.words.push(unknown());
                }
            }
        }
    }

    fn redirect(self, redirect: &ast::IoRedirect, scripts: &mut Vec<Script>) -> Option<Redirect> {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => {
                let word = match target {
                    ast::IoFileRedirectTarget::Filename(word) => self.word(&word.value),
                    ast::IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                        scripts.push(self.script(&shell.list));
                        return None;
                    }
                    ast::IoFileRedirectTarget::Fd(_) | ast::IoFileRedirectTarget::Duplicate(_) => {
                        return None;
                    }
                };
                Some(match kind {
                    ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => {
                        Redirect::Read(word)
                    }
                    ast::IoFileRedirectKind::Append => Redirect::Append(word),
                    ast::IoFileRedirectKind::Write
                    | ast::IoFileRedirectKind::ReadAndWrite
                    | ast::IoFileRedirectKind::Clobber
                    | ast::IoFileRedirectKind::DuplicateOutput => Redirect::Write(word),
                })
            }
            ast::IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.substitutions(&self.pieces(&document.doc.value, true), scripts);
                }
                Some(Redirect::Data { empty: document.doc.value.is_empty(), text: Word::default() })
            }
            ast::IoRedirect::HereString(_, word) => {
                Some(Redirect::Data { empty: false, text: self.word(&word.value) })
            }
            ast::IoRedirect::OutputAndError(word, append) => {
                let word = self.word(&word.value);
                Some(if *append { Redirect::Append(word) } else { Redirect::Write(word) })
            }
        }
    }

    fn substitutions(self, pieces: &[Piece], scripts: &mut Vec<Script>) {
        for piece in pieces {
            if let Piece::Substitution { script, .. } = piece {
                scripts.push(script.clone());
            }
        }
    }

    fn inner(self) -> Option<Self> {
        (self.depth < MOST_DEPTH).then(|| Self { depth: self.depth + 1 })
    }

    fn word(self, text: &str) -> Word {
        Word { pieces: self.pieces(text, false) }
    }

    /// The pieces of a word as it is written; a here-document has no quotes.
    fn pieces(self, text: &str, document: bool) -> Vec<Piece> {
        let chars: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut glob = false;
        let mut quoted = document;
        let mut at = 0;
        while let Some(c) = chars.get(at).copied() {
            at += 1;
            match c {
                '\'' if !quoted => {
                    let end = closing(&chars, at, '\'');
                    plain.extend(&chars[at..end]);
                    at = end + 1;
                }
                '"' if !document => quoted = !quoted,
                '\\' => {
                    if let Some(next) = chars.get(at) {
                        let kept = quoted && !matches!(next, '"' | '\\' | '$' | '`' | '\n');
                        plain.extend(kept.then_some('\\'));
                        plain.extend((*next != '\n').then_some(*next));
                        at += 1;
                    }
                }
                '`' | '$' => {
                    if !plain.is_empty() {
                        let text = std::mem::take(&mut plain);
                        pieces.push(if glob { Piece::Glob(text) } else { Piece::Text(text) });
                        glob = false;
                    }
                    let (piece, end) = self.expansion(&chars, at - 1, quoted);
                    pieces.push(piece);
                    at = end;
                }
                '~' if at == 1 && !document && chars.get(1).is_none_or(|c| *c == '/') => {
                    pieces.push(Piece::Variable { name: "HOME".to_owned(), quoted: true });
                }
                '{' if !quoted && chars[at..].contains(&',') => {
                    return vec![Piece::Unknown { quoted: false }];
                }
                _ => {
                    glob |= !quoted && matches!(c, '*' | '?' | '[');
                    plain.push(c);
                }
            }
        }
        if !plain.is_empty() || pieces.is_empty() {
            // `[` alone is a program.
            let glob = glob && plain != "[";
            pieces.push(if glob { Piece::Glob(plain) } else { Piece::Text(plain) });
        }
        pieces
    }

    /// An expansion that begins at a `$` or a backquote, and where it ends.
    fn expansion(self, chars: &[char], at: usize, quoted: bool) -> (Piece, usize) {
        let unknown = Piece::Unknown { quoted };
        let substitution = |from: usize, end: usize| {
            let body: String = chars[from..end.min(chars.len())].iter().collect();
            let script = self.inner().map(|inner| inner.line(&body)).unwrap_or_default();
            Piece::Substitution { script, quoted }
        };
        match (chars[at], chars.get(at + 1)) {
            ('`', _) => {
                let end = closing(chars, at + 1, '`');
                (substitution(at + 1, end), end + 1)
            }
            (_, Some('(')) if chars.get(at + 2) == Some(&'(') => {
                (unknown, nested(chars, at + 1, '(', ')') + 1)
            }
            (_, Some('(')) => {
                let end = nested(chars, at + 1, '(', ')');
                (substitution(at + 2, end), end + 1)
            }
            (_, Some('{')) => {
                let end = nested(chars, at + 1, '{', '}');
                let name: String = chars[at + 2..end.min(chars.len())].iter().collect();
                let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                (if plain { Piece::Variable { name, quoted } } else { unknown }, end + 1)
            }
            (_, Some(c)) if c.is_ascii_alphabetic() || *c == '_' => {
                let name: String = chars[at + 1..]
                    .iter()
                    .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
                    .collect();
                let end = at + 1 + name.len();
                (Piece::Variable { name, quoted }, end)
            }
            (_, Some('\'')) if !quoted => (unknown, closing(chars, at + 2, '\'') + 1),
            (_, Some('"')) | (_, None) => (Piece::Text("$".to_owned()), at + 1),
            (_, Some(_)) => (unknown, at + 2),
        }
    }
}

fn branches(scripts: Vec<Script>) -> PipelinePart {
    PipelinePart::Compound(Box::new(Compound::Branches(scripts)), Vec::new())
}

fn unknown() -> Word {
    Word { pieces: vec![Piece::Unknown { quoted: false }] }
}
