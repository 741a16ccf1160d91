//! Simple commands: their words, assignments and redirections, in bash's own order.
//!
//! What the words run is judged in `programs`; values are `expand`'s work.

use brush_parser::ast;

use super::judge::Judge;
use crate::guard::denial::Denial;

use super::env::Env;
use super::expand::secret_variable;
use super::redirect::is_stderr;
use super::value::{Seg, ShellOutput, ShellValue};

/// What a value costs that a variable is set to.
const COST_OF_A_VALUE: usize = 8;

impl Judge<'_> {
    pub(super) fn simple(
        &mut self,
        env: &mut Env,
        simple: &ast::SimpleCommand,
        stdin: ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        let mut scratch = None;
        let mut stdin = stdin;
        let mut redirected = false;
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let declares = simple.word_or_name.as_ref().map_or(Declares::No, Declares::of);
        if let Some(name) = &simple.word_or_name {
            words.extend(self.words(env, &name.value)?);
        }
        for item in prefix {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    // Each may use those before it.
                    let at = if words.is_empty() {
                        &mut *env
                    } else {
                        scratch.get_or_insert_with(|| env.clone())
                    };
                    let (name, values) = self.assignment(at, assignment)?;
                    at.put(name.clone(), values.clone());
                    assignments.push((name, values));
                }
                other => {
                    self.item(env, other, declares, &mut words, &mut stdin, &mut redirected)?
                }
            }
        }
        for item in suffix.clone() {
            self.item(env, item, declares, &mut words, &mut stdin, &mut redirected)?;
        }
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let redirects = prefix.chain(suffix).filter_map(|item| match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => Some(redirect),
            _ => None,
        });
        if words.is_empty() {
            let nothing = ShellOutput::Text(String::new());
            self.kept_from(env, &nothing, redirects.clone())?;
            // `$(< file)` prints the file.
            return Ok(if redirects.count() > 0 { ShellOutput::Opaque } else { nothing });
        }
        let reads = words.first().and_then(ShellValue::text).is_some_and(|name| name == "read");
        if !reads && assignments.iter().any(|(name, _)| name == "IFS") {
            env.set("IFS", ShellValue::one(Seg::Any));
        }
        let stream = self.run_with(env, assignments, &words, &stdin)?;
        self.kept_from(env, &stream, redirects)?;
        Ok(if redirected { ShellOutput::Opaque } else { stream })
    }

    /// Judges a command with variables that are set for it alone. A function, `eval` and
    /// another shell see them, and builtins may keep them.
    fn run_with(
        &mut self,
        env: &mut Env,
        assignments: Vec<(String, Vec<ShellValue>)>,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let mut before = Vec::new();
        for (name, values) in assignments {
            if name == "IFS" {
                continue;
            }
            if env.vars.get(&name) != Some(&values) {
                before.push(name.clone());
                env.put(name, values);
            }
        }
        let stream = self.run(env, words, stdin)?;
        for name in before {
            env.set(&name, ShellValue::one(Seg::Any));
        }
        Ok(stream)
    }

    fn item(
        &mut self,
        env: &mut Env,
        item: &ast::CommandPrefixOrSuffixItem,
        declares: Declares,
        words: &mut Vec<ShellValue>,
        stdin: &mut ShellOutput,
        redirected: &mut bool,
    ) -> Result<(), Denial> {
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
                match (&assignment.value, declares) {
                    (ast::AssignmentValue::Scalar(_), Declares::No) => {
                        words.extend(self.words(env, &word.value)?);
                    }
                    (ast::AssignmentValue::Scalar(_), Declares::Yes) => {
                        let (name, values) = self.assignment(env, assignment)?;
                        let mut declared = ShellValue::lit(format!("{name}="));
                        for value in values {
                            declared.splits |= value.splits;
                            value.segs.into_iter().for_each(|seg| declared.push(seg));
                        }
                        words.push(declared);
                    }
                    (ast::AssignmentValue::Scalar(_), Declares::Perhaps)
                    | (ast::AssignmentValue::Array(_), _) => {
                        let (name, _) = self.assignment(env, assignment)?;
                        let mut value = ShellValue::lit(format!("{name}="));
                        value.push(Seg::Any);
                        words.push(value);
                    }
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.deeper(|judge| judge.list(&mut env.clone(), &subshell.list))?;
                words.push(ShellValue::lit("/dev/fd/63"));
            }
        }
        Ok(())
    }

    fn assignment(
        &mut self,
        env: &mut Env,
        assignment: &ast::Assignment,
    ) -> Result<(String, Vec<ShellValue>), Denial> {
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
            self.cx.spend(COST_OF_A_VALUE)?;
            self.assigned(env, &name, value)?;
        }
        if assignment.append {
            // What stands there already stays in it.
            secret_variable(env, &name)?;
        }
        if assignment.append || indexed {
            values = vec![ShellValue { segs: vec![Seg::Any], splits: true }];
        }
        Ok((name, values))
    }
}

/// Whether a command takes words such as `a=$b` for assignments, which are not split.
#[derive(Clone, Copy)]
enum Declares {
    Yes,
    /// Behind `command` and `builtin` it depends on how the shell was started.
    Perhaps,
    No,
}

impl Declares {
    /// Bash decides by the name as it is written.
    fn of(name: &ast::Word) -> Self {
        match name.value.as_str() {
            "export" | "declare" | "typeset" | "local" | "readonly" => Self::Yes,
            "command" | "builtin" => Self::Perhaps,
            _ => Self::No,
        }
    }
}
