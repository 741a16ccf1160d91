//! The walk over the syntax tree: every command that could run is judged, in
//! every place of the grammar, with what is known of the shell at that place.

use std::rc::Rc;

use brush_parser::ast;

use crate::guard::judge::Judge;
use crate::guard::refusal::Refusal;

use super::assign;
use super::env::{Env, MOST_VARIABLES};
use super::expand::secret_variable;
use super::parse;
use super::redirect::is_stderr;
use super::value::{Printed, Seg, Stream, Value, joined};

/// Functions, substitutions and nested shells inside each other.
const MOST_DEPTH: usize = 24;

/// What one more round of a loop costs, in commands.
const COST_OF_A_ROUND: usize = 25;

/// Values of a loop that are walked one by one.
const MOST_ROUNDS: usize = 40;

impl Judge<'_> {
    /// Judges a whole line in an environment.
    pub(in crate::guard) fn line(&mut self, env: &mut Env, line: &str) -> Result<Stream, Refusal> {
        self.bytes = self
            .bytes
            .checked_sub(line.len())
            .ok_or_else(|| Refusal::new("shell.too-long", "it is too much to look through"))?;
        self.deeper(|judge| {
            let program = parse(line)?;
            let mut last = Stream::Text(String::new());
            let several = program.complete_commands.len() > 1;
            for list in &program.complete_commands {
                let stream = judge.list(env, list)?;
                last = if several { joined(last, stream) } else { stream };
            }
            Ok(last)
        })
    }

    /// Judges what `$(…)` runs, in a copy of the environment.
    pub(super) fn substitution(&mut self, env: &Env, body: &str) -> Result<Stream, Refusal> {
        let mut inner = env.clone();
        self.line(&mut inner, body)
    }

    /// Takes from what may still be looked at.
    pub(in crate::guard) fn spend(&mut self, cost: usize) -> Result<(), Refusal> {
        self.budget = self.budget.checked_sub(cost).ok_or_else(|| {
            Refusal::new("shell.too-long", "there is too much of it to look through")
                .instead("split it into several calls")
        })?;
        Ok(())
    }

    pub(in crate::guard) fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.depth >= MOST_DEPTH {
            return Err(Refusal::new("shell.too-long", "it is nested too deep"));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    pub(super) fn list(
        &mut self,
        env: &mut Env,
        list: &ast::CompoundList,
    ) -> Result<Stream, Refusal> {
        let mut last = Stream::Text(String::new());
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

    fn and_or(&mut self, env: &mut Env, list: &ast::AndOrList) -> Result<Stream, Refusal> {
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

    fn pipeline(&mut self, env: &mut Env, pipeline: &ast::Pipeline) -> Result<Stream, Refusal> {
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
        stdin: Stream,
    ) -> Result<Stream, Refusal> {
        self.spend(1)?;
        if env.vars.len() > MOST_VARIABLES {
            return Err(Refusal::new("shell.too-long", "it sets too many variables"));
        }
        match command {
            ast::Command::Simple(simple) => {
                self.parts.see(|| simple.to_string());
                self.simple(env, simple, stdin)
                    .map_err(|refusal| refusal.within(&simple.to_string()))
            }
            ast::Command::Compound(compound, redirects) => {
                let outer = env.stdin.clone();
                env.stdin = self.redirects(env, redirects.as_ref(), stdin)?;
                let stream = self.deeper(|judge| judge.compound(env, compound))?;
                env.stdin = outer;
                let redirects_of = redirects.iter().flat_map(|list| &list.0);
                self.kept_from(env, &stream, redirects_of)?;
                Ok(if redirects.is_some() { Stream::Opaque } else { stream })
            }
            ast::Command::Function(function) => {
                let name = function.fname.value.clone();
                // The shell may outlive this call: the next one would meet the function.
                if crate::guard::programs::is_program(&name) {
                    return Err(Refusal::new(
                        "shell.shadowed",
                        format!("a function named {name} would stand in for the program"),
                    )
                    .instead("give the function a name of its own"));
                }
                env.functions.insert(name, vec![Rc::new(function.body.clone())]);
                Ok(Stream::Text(String::new()))
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirects(env, redirects.as_ref(), stdin)?;
                self.extended_test(env, &test.expr)?;
                Ok(Stream::Text(String::new()))
            }
        }
    }

    fn compound(
        &mut self,
        env: &mut Env,
        compound: &ast::CompoundCommand,
    ) -> Result<Stream, Refusal> {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => {
                self.arithmetic(env, &arithmetic.expr.value)?;
                Ok(Stream::Text(String::new()))
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
                        assign::check(&name, &Value::one(Seg::Token))?;
                        env.set(&name, Value::one(Seg::Token));
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
                self.command(&mut env.clone(), &coprocess.body, Stream::Opaque)?;
                Ok(Stream::Opaque)
            }
        }
    }

    /// Walks the body of a loop until another round would teach nothing new.
    fn looped(
        &mut self,
        env: &mut Env,
        mut body: impl FnMut(&mut Self, &mut Env) -> Result<Stream, Refusal>,
    ) -> Result<Stream, Refusal> {
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
    ) -> Result<Stream, Refusal> {
        let mut values = Vec::new();
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
                None => values.push(Value::one(Seg::Any)),
            },
        }
        for value in &mut values {
            if value.splits {
                *value = Value::one(Seg::Any);
            }
            assign::check(&clause.variable_name, value)?;
        }
        if values.len() > MOST_ROUNDS {
            // Too many to walk each: the paths are checked, then stand for one another.
            let tokens = values.iter().all(Value::is_token);
            values = vec![Value::one(if tokens { Seg::Token } else { Seg::Any })];
        }
        self.looped(env, |judge, env| {
            let mut printed = Printed::default();
            for value in &values {
                // Rounds multiply where loops stand in loops.
                judge.spend(COST_OF_A_ROUND)?;
                env.set(&clause.variable_name, value.clone());
                printed.also(judge.list(env, &clause.body.list)?);
            }
            Ok(printed.stream())
        })
    }

    fn case_clause(
        &mut self,
        env: &mut Env,
        clause: &ast::CaseClauseCommand,
    ) -> Result<Stream, Refusal> {
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

    fn simple(
        &mut self,
        env: &mut Env,
        simple: &ast::SimpleCommand,
        stdin: Stream,
    ) -> Result<Stream, Refusal> {
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        let mut stdin = stdin;
        let mut redirected = false;
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        if let Some(name) = &simple.word_or_name {
            words.extend(self.words(env, &name.value)?);
        }
        for item in prefix {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    assignments.push(self.assignment(env, assignment)?);
                }
                other => self.item(env, other, &mut words, &mut stdin, &mut redirected)?,
            }
        }
        for item in suffix.clone() {
            self.item(env, item, &mut words, &mut stdin, &mut redirected)?;
        }
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let redirects = prefix.chain(suffix).filter_map(|item| match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => Some(redirect),
            _ => None,
        });
        if words.is_empty() {
            for (name, values) in assignments {
                env.vars.insert(name, values);
            }
            let nothing = Stream::Text(String::new());
            self.kept_from(env, &nothing, redirects.clone())?;
            // `$(< file)` prints the file.
            return Ok(if redirects.count() > 0 { Stream::Opaque } else { nothing });
        }
        let declares = words.first().and_then(Value::text).is_some_and(|name| name == "read");
        if !declares && assignments.iter().any(|(name, _)| name == "IFS") {
            env.set("IFS", Value::one(Seg::Any));
        }
        let stream = self.run(env, &words, &stdin)?;
        self.kept_from(env, &stream, redirects)?;
        Ok(if redirected { Stream::Opaque } else { stream })
    }

    fn item(
        &mut self,
        env: &mut Env,
        item: &ast::CommandPrefixOrSuffixItem,
        words: &mut Vec<Value>,
        stdin: &mut Stream,
        redirected: &mut bool,
    ) -> Result<(), Refusal> {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                if let Some(stream) = self.redirect(env, redirect)? {
                    *stdin = stream;
                }
                *redirected |= !is_stderr(redirect);
            }
            ast::CommandPrefixOrSuffixItem::Word(word) => {
                words.extend(self.words(env, &word.value)?)
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                match &assignment.value {
                    ast::AssignmentValue::Scalar(_) => words.extend(self.words(env, &word.value)?),
                    ast::AssignmentValue::Array(_) => {
                        let (name, _) = self.assignment(env, assignment)?;
                        let mut value = Value::lit(format!("{name}="));
                        value.push(Seg::Any);
                        words.push(value);
                    }
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.deeper(|judge| judge.list(&mut env.clone(), &subshell.list))?;
                words.push(Value::lit("/dev/fd/63"));
            }
        }
        Ok(())
    }

    fn assignment(
        &mut self,
        env: &mut Env,
        assignment: &ast::Assignment,
    ) -> Result<(String, Vec<Value>), Refusal> {
        let (name, indexed) = match &assignment.name {
            ast::AssignmentName::VariableName(name) => (name.clone(), false),
            ast::AssignmentName::ArrayElementName(name, index) => {
                self.arithmetic(env, index)?;
                (name.clone(), true)
            }
        };
        let mut values = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => vec![self.single(env, &word.value)?],
            ast::AssignmentValue::Array(elements) => {
                let mut values = Vec::new();
                for (key, element) in elements {
                    if let Some(key) = key {
                        self.arithmetic(env, &key.value)?;
                    }
                    values.extend(self.words(env, &element.value)?);
                }
                values
            }
        };
        for value in &values {
            self.assigned(env, &name, value)?;
        }
        if assignment.append {
            // What stands there already stays in it.
            secret_variable(env, &name)?;
        }
        if assignment.append || indexed {
            values = vec![Value { segs: vec![Seg::Any], splits: true }];
        }
        Ok((name, values))
    }

    /// Judges a call of a function that this line defines.
    pub(in crate::guard) fn call(
        &mut self,
        env: &mut Env,
        name: &str,
        arguments: &[Value],
        stdin: &Stream,
    ) -> Result<Stream, Refusal> {
        if self.active.iter().any(|active| active == name) {
            return Err(Refusal::new(
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
