//! `[[ … ]]`: its words are expanded, its arithmetic is bash's own.

use brush_parser::ast::{BinaryPredicate, ExtendedTestExpr, UnaryPredicate};

use super::judge::Judge;
use crate::guard::denial::Denial;

use super::env::Env;
use super::value::ShellValue;

impl Judge<'_> {
    /// Judges what an extended test could run.
    pub(super) fn extended_test(
        &mut self,
        env: &mut Env,
        test: &ExtendedTestExpr,
    ) -> Result<(), Denial> {
        match test {
            ExtendedTestExpr::And(one, two) | ExtendedTestExpr::Or(one, two) => {
                self.extended_test(env, one)?;
                self.extended_test(env, two)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.extended_test(env, inner)
            }
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                let value = self.single(env, &word.value)?;
                match predicate {
                    UnaryPredicate::ShellVariableIsSetAndAssigned
                    | UnaryPredicate::ShellVariableIsSetAndNameRef => {
                        self.names_variable(env, &value)
                    }
                    _ => subscripts(value.head()),
                }
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let left_value = self.single(env, &left.value)?;
                // The right side may be a regular expression with free parentheses.
                let right_value = match predicate {
                    BinaryPredicate::StringMatchesRegex
                    | BinaryPredicate::StringContainsSubstring => {
                        self.document(env, &right.value)?
                    }
                    _ => self.single(env, &right.value)?,
                };
                match predicate {
                    BinaryPredicate::ArithmeticEqualTo
                    | BinaryPredicate::ArithmeticNotEqualTo
                    | BinaryPredicate::ArithmeticLessThan
                    | BinaryPredicate::ArithmeticLessThanOrEqualTo
                    | BinaryPredicate::ArithmeticGreaterThan
                    | BinaryPredicate::ArithmeticGreaterThanOrEqualTo => {
                        for value in [left_value, right_value] {
                            self.evaluated(env, &value)?;
                        }
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Judge<'_> {
    /// Judges a value that bash evaluates as arithmetic: names in it are looked up.
    fn evaluated(&mut self, env: &mut Env, value: &ShellValue) -> Result<(), Denial> {
        match value.text() {
            Some(text) => self.arithmetic(env, text),
            None if value.is_token() => Ok(()),
            None => Err(Denial::new(
                "shell.arithmetic",
                "`[[` would evaluate a value that is not known to be a number",
            )
            .instead("compare with `[ \"$n\" -gt 3 ]`, which does not evaluate")),
        }
    }

    /// Refuses a word that a builtin takes for a variable and of which it is not known that
    /// it is one: its subscript would be evaluated.
    pub(in crate::guard) fn names_variable(
        &mut self,
        env: &mut Env,
        value: &ShellValue,
    ) -> Result<(), Denial> {
        let unknown = || {
            Denial::new("shell.arithmetic", "cannot tell which variable this is")
                .instead("write the variable's name as plain text")
        };
        let text = value.text().ok_or_else(unknown)?;
        subscripts(text)?;
        text.find('[').map_or(Ok(()), |at| self.arithmetic(env, &text[at..]))
    }
}

/// Refuses text that a builtin would take for a variable with a subscript that
/// runs something: bash expands those even when they were quoted.
pub(in crate::guard) fn subscripts(text: &str) -> Result<(), Denial> {
    if text.contains('[') && (text.contains("$(") || text.contains('`')) {
        return Err(Denial::new("shell.arithmetic", "a subscript with a command in it")
            .instead("run the command before, as in `n=$(wc -l < README.md)`"));
    }
    Ok(())
}
