//! The walk over the syntax tree: every command that could run is judged, in
//! every place of the grammar, with what is known of the shell at that place.

use std::rc::Rc;

use brush_parser::ast;

use super::judge::Judge;
use crate::guard::denial::Denial;

use super::assign;
use super::env::{Env, MOST_VARIABLES};
use super::params::keys;
use super::parse;
use super::value::{Printed, Seg, ShellOutput, ShellValue, joined};

/// What one more round of a loop costs, in commands.
const COST_OF_A_ROUND: usize = 25;

/// What a substitution costs, in commands: it is parsed, in a copy of all that is known.
const COST_OF_A_SUBSTITUTION: usize = 30;

/// Values of a loop that are walked one by one.
const MOST_ROUNDS: usize = 40;

impl Judge<'_> {
    /// Judges a whole line in an environment.
    pub(in crate::guard) fn line(
        &mut self,
        env: &mut Env,
        line: &str,
    ) -> Result<ShellOutput, Denial> {
        self.spend_bytes(line.len())?;
        self.deeper(|judge| {
            let program = parse(line)?;
            let mut last = ShellOutput::Text(String::new());
            let several = program.complete_commands.len() > 1;
            for list in &program.complete_commands {
                let stream = judge.list(env, list)?;
                last = if several { joined(last, stream) } else { stream };
            }
            Ok(last)
        })
    }

    /// Judges what `$(…)` runs, in a copy of the environment.
    pub(super) fn substitution(&mut self, env: &Env, body: &str) -> Result<ShellOutput, Denial> {
        self.cx.spend(COST_OF_A_SUBSTITUTION)?;
        let mut inner = env.clone();
        self.line(&mut inner, body)
    }

    pub(super) fn list(
        &mut self,
        env: &mut Env,
        list: &ast::CompoundList,
    ) -> Result<ShellOutput, Denial> {
        let mut last = ShellOutput::Text(String::new());
        let several = list.0.len() > 1;
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let stream = match separator {
                ast::SeparatorOperator::Async => self.and_or(&mut env.clone(), and_or)?,
                ast::SeparatorOperator::Sequence => self.and_or(env, and_or)?,
            };
            last = if several { joined(last, stream) } else { stream };
        }
        Ok(last)
    }

    fn and_or(&mut self, env: &mut Env, list: &ast::AndOrList) -> Result<ShellOutput, Denial> {
        let mut stream = self.pipeline(env, &list.first)?;
        if list.additional.is_empty() {
            let unsure = std::mem::take(&mut env.unsure);
            env.also_in(&unsure);
            return Ok(stream);
        }
        // Whatever follows the first command may not run: what it changes, may be.
        let first = env.clone();
        for next in &list.additional {
            let pipeline = match next {
                ast::AndOr::And(pipeline) => {
                    // We are here only if every `cd` before went well.
                    env.unsure.clear();
                    pipeline
                }
                ast::AndOr::Or(pipeline) => {
                    env.merge(&first);
                    pipeline
                }
            };
            let more = self.pipeline(env, pipeline)?;
            stream = joined(stream, more);
        }
        env.merge(&first);
        Ok(stream)
    }

    fn pipeline(&mut self, env: &mut Env, pipeline: &ast::Pipeline) -> Result<ShellOutput, Denial> {
        if let [command] = pipeline.seq.as_slice() {
            let stdin = env.stdin.clone();
            return self.command(env, command, stdin);
        }
        let mut stream = env.stdin.clone();
        for command in &pipeline.seq {
            let mut inner = env.clone();
            inner.stdin = stream.clone();
            stream = self.command(&mut inner, command, stream)?;
        }
        Ok(stream)
    }

    fn command(
        &mut self,
        env: &mut Env,
        command: &ast::Command,
        stdin: ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        self.cx.spend(1)?;
        if env.vars.len() > MOST_VARIABLES {
            return Err(Denial::new("shell.too-long", "it sets too many variables"));
        }
        match command {
            ast::Command::Simple(simple) => {
                self.parts.see(|| simple.to_string());
                self.simple(env, simple, stdin).map_err(|denial| denial.within(&simple.to_string()))
            }
            ast::Command::Compound(compound, redirects) => {
                let outer = env.stdin.clone();
                env.stdin = self.redirects(env, redirects.as_ref(), stdin)?;
                let stream = self.deeper(|judge| judge.compound(env, compound))?;
                env.stdin = outer;
                let redirects_of = redirects.iter().flat_map(|list| &list.0);
                self.kept_from(env, &stream, redirects_of)?;
                Ok(if redirects.is_some() { ShellOutput::Opaque } else { stream })
            }
            ast::Command::Function(function) => {
                let name = function.fname.value.clone();
                // The shell may outlive this call: the next one would meet the function.
                if crate::guard::tables::known::is_program(&name) {
                    return Err(Denial::new(
                        "shell.shadowed",
                        format!("a function named {name} would stand in for the program"),
                    )
                    .instead("give the function a name of its own"));
                }
                env.functions.insert(name, vec![Rc::new(function.body.clone())]);
                Ok(ShellOutput::Text(String::new()))
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirects(env, redirects.as_ref(), stdin)?;
                self.extended_test(env, &test.expr)?;
                Ok(ShellOutput::Text(String::new()))
            }
        }
    }

    fn compound(
        &mut self,
        env: &mut Env,
        compound: &ast::CompoundCommand,
    ) -> Result<ShellOutput, Denial> {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => {
                self.arithmetic(env, &arithmetic.expr.value)?;
                Ok(ShellOutput::Text(String::new()))
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for part in
                    [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten()
                {
                    // The counter of such a loop is set here, and only to numbers.
                    let name: String = part
                        .value
                        .trim()
                        .chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect();
                    self.arithmetic(env, &part.value)?;
                    if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
                        assign::check(&name, &ShellValue::one(Seg::Token))?;
                        env.set(&name, ShellValue::one(Seg::Token));
                    }
                }
                self.looped(env, |judge, env| judge.list(env, &clause.body.list))
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(env, &group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&mut env.clone(), &subshell.list),
            ast::CompoundCommand::ForClause(clause) => self.for_clause(env, clause),
            ast::CompoundCommand::CaseClause(clause) => self.case_clause(env, clause),
            ast::CompoundCommand::IfClause(clause) => {
                let mut printed = Printed::default();
                printed.also(self.list(env, &clause.condition)?);
                let mut ends = vec![env.clone()];
                let mut branch = env.clone();
                printed.also(self.list(&mut branch, &clause.then)?);
                ends.push(branch);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        printed.also(self.list(env, condition)?);
                    }
                    let mut branch = env.clone();
                    printed.also(self.list(&mut branch, &other.body)?);
                    ends.push(branch);
                }
                ends.iter().for_each(|end| env.merge(end));
                Ok(printed.stream())
            }
            ast::CompoundCommand::WhileClause(clause)
            | ast::CompoundCommand::UntilClause(clause) => self.looped(env, |judge, env| {
                let mut printed = Printed::default();
                printed.also(judge.list(env, &clause.0)?);
                printed.also(judge.list(env, &clause.1.list)?);
                Ok(printed.stream())
            }),
            ast::CompoundCommand::Coprocess(coprocess) => {
                self.command(&mut env.clone(), &coprocess.body, ShellOutput::Opaque)?;
                Ok(ShellOutput::Opaque)
            }
        }
    }

    /// Walks the body of a loop until another round would teach nothing new.
    fn looped(
        &mut self,
        env: &mut Env,
        mut body: impl FnMut(&mut Self, &mut Env) -> Result<ShellOutput, Denial>,
    ) -> Result<ShellOutput, Denial> {
        let mut printed = Printed::default();
        for _ in 0..3 {
            let start = env.clone();
            printed.also(body(self, env)?);
            env.merge(&start);
            if env.same(&start) {
                return Ok(printed.stream());
            }
        }
        env.lost = true;
        printed.also(body(self, env)?);
        Ok(printed.stream())
    }

    fn for_clause(
        &mut self,
        env: &mut Env,
        clause: &ast::ForClauseCommand,
    ) -> Result<ShellOutput, Denial> {
        let mut values = Vec::new();
        let array = clause.values.as_deref().and_then(array_of_keys);
        match &clause.values {
            Some(words) => {
                for word in words {
                    for value in self.words(env, &word.value)? {
                        match self.named_by_pattern(env, &value) {
                            Some(named) => values.extend(named),
                            None => values.push(value),
                        }
                    }
                }
            }
            None => match &env.arguments {
                Some(arguments) => values.clone_from(arguments),
                None => values.push(ShellValue::one(Seg::Any)),
            },
        }
        for value in &mut values {
            if value.splits {
                *value = ShellValue::one(Seg::Any);
            }
            assign::check(&clause.variable_name, value)?;
        }
        if values.len() > MOST_ROUNDS {
            // Too many to walk each: the paths are checked, then stand for one another.
            let tokens = values.iter().all(ShellValue::is_token);
            values = vec![ShellValue::one(if tokens { Seg::Token } else { Seg::Any })];
        }
        self.looped(env, |judge, env| {
            let mut printed = Printed::default();
            for value in &values {
                // Rounds multiply where loops stand in loops.
                judge.cx.spend(COST_OF_A_ROUND)?;
                env.set(&clause.variable_name, value.clone());
                if let Some(array) = array {
                    env.keys.insert(clause.variable_name.clone(), array.to_owned());
                }
                printed.also(judge.list(env, &clause.body.list)?);
            }
            Ok(printed.stream())
        })
    }

    fn case_clause(
        &mut self,
        env: &mut Env,
        clause: &ast::CaseClauseCommand,
    ) -> Result<ShellOutput, Denial> {
        self.single(env, &clause.value.value)?;
        let start = env.clone();
        let mut printed = Printed::default();
        for case in &clause.cases {
            for pattern in &case.patterns {
                self.single(env, &pattern.value)?;
            }
            if let Some(list) = &case.cmd {
                let mut branch = start.clone();
                // `;&` and `;;&` go on into the next one.
                branch.merge(env);
                printed.also(self.list(&mut branch, list)?);
                env.merge(&branch);
            }
        }
        Ok(printed.stream())
    }

    /// Judges what the traps run once more, now that it is known what the line changes.
    pub(super) fn judge_traps(&mut self, env: &Env) -> Result<(), Denial> {
        for body in self.take_traps() {
            self.line(&mut env.some_time(), &body)?;
        }
        Ok(())
    }

    /// Judges a call of a function that this line defines.
    pub(in crate::guard) fn call(
        &mut self,
        env: &mut Env,
        name: &str,
        arguments: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        if self.active.iter().any(|active| active == name) {
            return Err(Denial::new(
                "shell.recursion",
                format!("the function {name} calls itself"),
            ));
        }
        let bodies = env.functions.get(name).cloned().unwrap_or_default();
        self.active.push(name.to_owned());
        let outer = env.arguments.replace(arguments.to_vec());
        let outer_stdin = std::mem::replace(&mut env.stdin, stdin.clone());
        let start = env.clone();
        let mut printed = Printed::default();
        for body in bodies {
            let mut inner = start.clone();
            let ast::FunctionBody(compound, redirects) = body.as_ref();
            inner.stdin = self.redirects(&mut inner, redirects.as_ref(), stdin.clone())?;
            printed.also(self.deeper(|judge| judge.compound(&mut inner, compound))?);
            env.merge(&inner);
        }
        env.arguments = outer;
        env.stdin = outer_stdin;
        self.active.pop();
        Ok(printed.stream())
    }
}

/// The array whose keys the words of a loop are.
fn array_of_keys(words: &[ast::Word]) -> Option<&str> {
    let [word] = words else { return None };
    let inner = word.value.trim_matches('"').strip_prefix("${!")?.strip_suffix('}')?;
    keys(inner).map(|(name, _)| name)
}
