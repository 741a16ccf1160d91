//! The simple commands of a shell text in their order, inner ones included, and where their output
//! goes.

use std::fmt::Display;

use brush_parser::ast;

use super::command::{Capture, Flow, ShellCommand, Target, Use};
use super::parse::{deep, parse};
use super::reading::{Reading, Scan, Surroundings};
use super::word::unquoted;

/// How deep substitutions may nest.
const MOST_DEPTH: usize = 12;

/// The simple commands of a line or a script. It never fails: of a part that the parser does not
/// read, each piece is a command of its own.
pub fn commands(text: &str) -> (Vec<ShellCommand>, Flow) {
    let read = || {
        let mut scan = Scan::default();
        scan.text(text, &Surroundings::default());
        (scan.found, scan.flow)
    };
    deep(text, read).unwrap_or_else(|| {
        let mut scan = Scan::default();
        scan.pieces(text, &Surroundings::default());
        (scan.found, scan.flow)
    })
}

impl Scan {
    pub(super) fn text(&mut self, text: &str, around: &Surroundings) {
        if around.depth > MOST_DEPTH {
            return;
        }
        match parse(text) {
            Some(program) => {
                self.list(program.complete_commands.iter().flat_map(|it| &it.0), around)
            }
            None if text.trim_end().contains('\n') => {
                text.lines().for_each(|line| self.text(line, around));
            }
            None => self.pieces(text, around),
        }
    }

    /// Text that is no shell.
    fn pieces(&mut self, text: &str, around: &Surroundings) {
        for piece in text.split(['\n', ';', '&', '|', '(', ')', '`']) {
            let words = piece.split_whitespace().map(|word| word.replace(['"', '\''], ""));
            let words: Vec<String> = words.collect();
            self.pipelines += 1;
            if !words.is_empty() {
                self.found.push(ShellCommand { words, ..around.fresh(self.pipelines) });
            }
        }
    }

    pub(super) fn list<'t>(
        &mut self,
        items: impl Iterator<Item = &'t ast::CompoundListItem>,
        around: &Surroundings,
    ) {
        let mut items = items.peekable();
        while let Some(ast::CompoundListItem(and_or, separator)) = items.next() {
            let background = matches!(separator, ast::SeparatorOperator::Async);
            let is_last = items.peek().is_none() || self.errexit;
            let ignored = background || !is_last;
            let mut around = if ignored { around.at_least(Use::Ignored) } else { around.clone() };
            around.background |= background;
            self.and_or(and_or, &around);
        }
    }

    fn and_or(&mut self, list: &ast::AndOrList, around: &Surroundings) {
        let pipelines: Vec<(ast::PipelineOperator, &ast::Pipeline)> = list.into_iter().collect();
        let may_be_skipped = pipelines.iter().skip(1).any(|(operator, pipeline)| {
            *operator == ast::PipelineOperator::Or && !gives_up(pipeline)
        });
        for (at, (_, pipeline)) in pipelines.iter().enumerate() {
            let conditional = around.conditional || may_be_skipped && at > 0;
            self.pipeline(pipeline, &Surroundings { conditional, ..around.clone() });
            let next = pipelines.get(at + 1);
            if next.is_some_and(|(operator, next)| {
                *operator == ast::PipelineOperator::And && reports_failure(next)
            }) {
                self.reverse_last();
            }
        }
    }

    /// Success of the last command is a failure of the check.
    fn reverse_last(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.must_fail ^= true;
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, around: &Surroundings) {
        self.pipelines += 1;
        let id = self.fed.take().unwrap_or(self.pipelines);
        let mut around = around.clone();
        around.conditional |= pipeline.bang;
        around.must_fail ^= pipeline.bang;
        for (at, command) in pipeline.seq.iter().enumerate() {
            let piped = at + 1 < pipeline.seq.len();
            let from = self.found.len();
            self.fed = (at > 0).then_some(id).filter(|_| is_group(command));
            match command {
                ast::Command::Simple(simple) => {
                    let usage = if piped { Use::Output } else { Use::Status };
                    self.simple(simple, id, &around.at_least(usage));
                }
                ast::Command::ExtendedTest(test, _) => {
                    self.test(test, around.fresh(id), &around);
                }
                ast::Command::Compound(compound, redirects) => {
                    let usage = if piped { Use::Output } else { Use::Status };
                    self.group(compound, redirects.as_ref(), &around.at_least(usage));
                }
                ast::Command::Function(function) => {
                    let name = Some(function.fname.value.clone());
                    let around = Surroundings { function: name, ..around.clone() };
                    let ast::FunctionBody(body, redirects) = &function.body;
                    self.group(body, redirects.as_ref(), &around);
                }
            }
            if piped && is_group(command) {
                let (commands, into) = (from..self.found.len(), Target::Pipeline(id));
                self.flow.captures.push(Capture { commands, into, status: false });
            }
        }
    }

    /// A compound command with its redirections.
    fn group(
        &mut self,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
        around: &Surroundings,
    ) {
        let mut input = Reading { command: around.fresh(self.pipelines), inner: Vec::new() };
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut input, around);
        }
        let usage = if input.command.outputs.len() > around.outputs.len() {
            Use::Output
        } else {
            Use::Status
        };
        let around =
            Surroundings { outputs: input.command.outputs.clone(), ..around.at_least(usage) };
        self.compound(compound, &around);
        if !input.command.stdin.is_empty() || input.command.document.is_some() {
            self.end(input);
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand, around: &Surroundings) {
        match compound {
            ast::CompoundCommand::Arithmetic(it) => {
                let mut reading =
                    Reading { command: around.fresh(self.pipelines), inner: Vec::new() };
                reading.command.words.push("((".to_owned());
                let (text, bodies) = unquoted(&it.expr.value);
                self.inner(&bodies, &mut reading, around);
                reading.command.words.extend(text.split_whitespace().map(str::to_owned));
                self.end(reading);
            }
            ast::CompoundCommand::BraceGroup(it) => self.list(it.list.0.iter(), around),
            ast::CompoundCommand::Subshell(it) => self.list(it.list.0.iter(), around),
            ast::CompoundCommand::ArithmeticForClause(it) => {
                self.list(it.body.list.0.iter(), &around.branch());
            }
            ast::CompoundCommand::ForClause(it) => {
                let mut head = around.fresh(self.pipelines);
                head.usage = head.usage.max(Use::Ignored);
                head.words.push("for".to_owned());
                for value in it.values.iter().flatten() {
                    let into = Target::Variable(it.variable_name.clone());
                    let text = self.captured(&value.value, into, around);
                    head.assignments.push((it.variable_name.clone(), text));
                }
                self.found.push(head);
                self.list(it.body.list.0.iter(), &around.branch());
            }
            ast::CompoundCommand::CaseClause(it) => {
                let labels = it.cases.iter().flat_map(|case| &case.patterns);
                for word in std::iter::once(&it.value).chain(labels) {
                    let text = self.captured(&word.value, Target::Case, around);
                    self.flow.cases.push(text);
                }
                for list in it.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(list.0.iter(), &around.branch());
                }
            }
            ast::CompoundCommand::IfClause(it) => {
                let first = (Some(&it.condition), &it.then);
                let elses = it.elses.iter().flatten().map(|it| (it.condition.as_ref(), &it.body));
                for (condition, then) in std::iter::once(first).chain(elses) {
                    if let Some(condition) = condition {
                        self.list(condition.0.iter(), &around.condition());
                        if reports_failure(then) {
                            self.reverse_last();
                        }
                    }
                    self.list(then.0.iter(), &around.branch());
                }
            }
            ast::CompoundCommand::WhileClause(it) | ast::CompoundCommand::UntilClause(it) => {
                self.list(it.0.0.iter(), &around.condition());
                self.list(it.1.list.0.iter(), &around.branch());
            }
            ast::CompoundCommand::Coprocess(it) => {
                let pipeline =
                    ast::Pipeline { timed: None, bang: false, seq: vec![(*it.body).clone()] };
                self.pipeline(&pipeline, &around.at_least(Use::Ignored));
            }
        }
    }
}

fn is_group(command: &ast::Command) -> bool {
    matches!(command, ast::Command::Compound(..))
}

/// Whether the other side of a `||` only ends the line with an error.
fn gives_up(other: &ast::Pipeline) -> bool {
    let words = words(other);
    let fails = |at: usize| words.get(at + 1).is_some_and(|code| code != "0");
    match words.first().map(String::as_str) {
        Some("false") => true,
        Some("exit" | "return") => words.get(1).is_none_or(|code| code != "0"),
        Some("{") => words.iter().enumerate().any(|(at, word)| word == "exit" && fails(at)),
        Some(_) | None => false,
    }
}

/// Does a branch say that the check failed: `exit 1`, `bad=1`?
fn reports_failure(branch: &impl Display) -> bool {
    const COUNTS: [&str; 8] = ["bad", "rc", "ret", "err", "status", "fail", "result", "problem"];
    let words = words(branch);
    words.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some((name, value)) => {
            COUNTS.iter().any(|it| name.starts_with(it)) && !["", "0"].contains(&value)
        }
        None if matches!(word.as_str(), "exit" | "return") => {
            words.get(at + 1).is_some_and(|code| code != "0")
        }
        None => word == "false" && at == 0 || word.starts_with("fail") || word == "die",
    })
}

/// The words of a part, whatever they are.
fn words(part: &impl Display) -> Vec<String> {
    let text = part.to_string();
    let words = text.split(|c: char| c.is_whitespace() || c == ';');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command: its words, and what is known of it in letters.
    fn shown(line: &str) -> String {
        let (found, flow) = commands(line);
        let shown = found.iter().map(|it| {
            let flags = [
                (it.usage == Use::Ignored, 'i'),
                (it.usage == Use::Output, 'o'),
                (it.conditional, 'c'),
                (it.must_fail, 'f'),
                (it.background, '&'),
                (it.discarded, 'd'),
            ];
            let flags: String = flags.iter().filter(|it| it.0).map(|it| it.1).collect();
            let assigned = it.assignments.iter().map(|(name, value)| format!("{name}={value}"));
            let inputs = it.stdin.iter().map(|file| format!("<{file}"));
            let outputs = it.outputs.iter().map(|file| format!(">{file}"));
            let words: Vec<String> =
                assigned.chain(it.words.clone()).chain(inputs).chain(outputs).collect();
            format!("{}:{flags}", words.join(" "))
        });
        let shown: Vec<String> = shown.collect();
        format!("{} {}", shown.join(" | "), flow.captures.len())
    }

    #[test]
    fn a_line_has_its_commands_and_what_becomes_of_their_results() {
        for (line, expected) in [
            ("A=1 sh 'a b.sh' \"$x\" && make", "A=1 sh a b.sh $x: | make: 0"),
            ("sh a.sh; sh b.sh", "sh a.sh:i | sh b.sh: 0"),
            ("set -e; sh a.sh; sh b.sh", "set -e:i | sh a.sh: | sh b.sh: 0"),
            ("sh a.sh || sh b.sh", "sh a.sh: | sh b.sh:c 0"),
            (
                "sh a.sh && sh b.sh || { echo x; exit 1; }",
                "sh a.sh: | sh b.sh: | echo x:i | exit 1: 0",
            ),
            ("! sh a.sh", "sh a.sh:cf 0"),
            ("sh a.sh && exit 1; sh b.sh", "sh a.sh:if | exit 1:i | sh b.sh: 0"),
            ("if sh a.sh; then exit 1; fi; sh b.sh", "sh a.sh:cf | exit 1:ic | sh b.sh: 0"),
            ("node s.js & sh a.sh", "node s.js:i& | sh a.sh: 0"),
            ("sh a.sh | grep x >/dev/null 2>log", "sh a.sh:o | grep x >/dev/null:d 0"),
            ("{ sh a.sh; sh b.sh; } | diff - c > d", "sh a.sh:o | sh b.sh:o | diff - c >d:o 1"),
            ("test \"$(sh a.sh 7)\" = 4", "sh a.sh 7:o | test $ = 4: 1"),
            (
                "x=`sh a.sh`; [ $x = $((1 + $(cat n))) ]",
                "sh a.sh:o | x=$:i | cat n:o | [ $x = $ ]: 2",
            ),
            ("diff <(sh a.sh) b", "sh a.sh:o | diff  b: 1"),
            ("for f in *.in; do sh a.sh < $f; done", "f=*.in for:i | sh a.sh <$f:c 0"),
            ("[[ $(sh a.sh) == 4 && -f b ]]", "sh a.sh:o | [[ $ == 4 -f b ]]: 1"),
            ("case $(sh a.sh) in 4) ;; *) exit 1;; esac", "sh a.sh:o | exit 1:c 1"),
            ("f() { sh a.sh; }; f", "sh a.sh:i | f: 0"),
            ("cat <<E | sh b.sh\nx\nE", "cat:o | sh b.sh: 0"),
            ("if sh a.sh; then", "if sh a.sh: | then: 0"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
