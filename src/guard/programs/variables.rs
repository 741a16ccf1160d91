//! The builtins that set variables to what their words or their input say.
//!
//! Which variables may be set at all is decided in the shell's own part.

use crate::guard::denial::Denial;
use crate::guard::shell::{
    Env, Judge, Seg, ShellOutput, ShellValue, check_assignment, subscript_end,
};

use super::builtins::dump;
use super::call::ProgramCall;
use crate::guard::tables::spec::{Does, Spec};

impl Judge<'_> {
    pub(super) fn declare(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        let mut names = 0;
        for word in call.words {
            let head = word.head();
            if word.text().is_some_and(|text| text.starts_with('-') && !text.contains('=')) {
                if head.contains('i') {
                    return Err(Denial::new(
                        "shell.arithmetic",
                        format!("{} {head} makes every later value run as arithmetic", call.name),
                    )
                    .instead("set it to a number with `n=$((n + 1))`"));
                }
                if head.contains(['p', 'f', 'F', 'n']) {
                    return Err(Denial::new(
                        "env.dump",
                        format!(
                            "{} {head} prints or exports what it should not, or makes names point elsewhere",
                            call.name
                        ),
                    ));
                }
                continue;
            }
            names += 1;
            let unknown = || Denial::new("env.injection", "cannot tell which variable is set");
            let (name, behind) = named(head).ok_or_else(unknown)?;
            env.forget_keys(name);
            let indexed = behind > name.len();
            if indexed {
                self.names_variable(env, &ShellValue::lit(&head[..behind]))?;
            }
            let rest = &head[behind..];
            let sets = rest.strip_prefix('+').unwrap_or(rest);
            let appended = indexed || rest.len() > sets.len();
            let value = match sets.strip_prefix('=') {
                Some(value) => Some(word.tail(head.len() - value.len())),
                None if sets.is_empty() && word.text().is_some() => None,
                None => return Err(unknown()),
            };
            match value {
                Some(value) => {
                    check_assignment(name, &value)?;
                    // For an array bash expands the text in quotes once more.
                    let again = |text: &str| !text.contains(['$', '`', '<', '>']);
                    if value.head().starts_with('(') && !value.text().is_some_and(again) {
                        return Err(Denial::new(
                            "shell.opaque",
                            "an array's values in quotes are expanded once more",
                        )
                        .instead("write the values without quotes around the parentheses"));
                    }
                    let value = if appended { ShellValue::one(Seg::Any) } else { value };
                    env.set(name, value);
                }
                None => {
                    let known = env.vars.get(name).and_then(|values| values.first()).cloned();
                    check_assignment(name, &known.unwrap_or_else(|| ShellValue::one(Seg::Any)))?;
                }
            }
        }
        if names == 0 {
            return Err(dump(call.name));
        }
        Ok(ShellOutput::Text(String::new()))
    }

    pub(super) fn read_builtin(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const MAPFILE: Spec = Spec::open(&[
            ("-d -n -u -O -s -c", Does::Data),
            ("-C", Does::Refused("runs a command for every line")),
        ]);
        const READ: Spec = Spec::open(&[("-d -n -N -p -t -u -a -i", Does::Data)]);
        let spec = if call.name == "read" { &READ } else { &MAPFILE };
        let parsed = self.options(env, call.name, call.words, spec)?;
        let value = match call.stdin {
            ShellOutput::Listing(root) => ShellValue::one(Seg::Listed(root.clone())),
            ShellOutput::Tokens => ShellValue::one(Seg::Token),
            ShellOutput::Text(_) | ShellOutput::Lines(_) | ShellOutput::Opaque => {
                ShellValue::one(Seg::Any)
            }
        };
        let default = [ShellValue::lit(if call.name == "read" { "REPLY" } else { "MAPFILE" })];
        let array = parsed.value(&["-a"]).cloned();
        let names = array.iter().chain(&parsed.operands);
        let names: Vec<&ShellValue> = names.collect();
        let names = if names.is_empty() { default.iter().collect() } else { names };
        for name in names {
            let unknown = || Denial::new("env.injection", "cannot tell which variable is set");
            self.names_variable(env, name).map_err(|_| unknown())?;
            let name = name.text().ok_or_else(unknown)?;
            check_assignment(name, &value)?;
            env.set(name, value.clone());
        }
        Ok(ShellOutput::Text(String::new()))
    }
}

/// The variable that a word names or sets, and where its name ends with its subscript.
fn named(head: &str) -> Option<(&str, usize)> {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let end = head.bytes().position(|byte| !letters(byte)).unwrap_or(head.len());
    let (name, rest) = head.split_at(end);
    if name.is_empty() {
        return None;
    }
    let behind = if rest.starts_with('[') { end + subscript_end(rest)? + 1 } else { end };
    Some((name, behind))
}
