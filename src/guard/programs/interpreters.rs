//! Interpreters: a script of the workspace runs, code given inline or on standard
//! input does not, because nobody can see what it does.

use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, ShellOutput, ShellValue};

use super::call::ProgramCall;
use super::runners::publish;
use crate::guard::tables::languages::Language;
use crate::guard::tables::runners::{destroys, publishes};
use crate::guard::tables::spec::lists;

/// Modules that `python -m` may run, beside the runners of the same name.
const MODULES: &str = "pytest unittest doctest mypy ruff black isort flake8 pylint pyflakes pycodestyle \
            pydocstyle bandit compileall py_compile coverage json.tool tox nox build tabnanny ast \
            dis tokenize pyright vulture radon mkdocs sphinx pre_commit yapf autopep8 platform this \
            behave nose2";

impl Judge<'_> {
    pub(super) fn interprets(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        language: &Language,
    ) -> Result<ShellOutput, Denial> {
        let inline = || {
            Denial::new(
                "program.inline-code",
                format!("{} would run code that is not a file of the workspace", call.name),
            )
            .instead("write it to a file with the create tool, then run that file")
        };
        self.deny_secret_args(env, call.words)?;
        let mut rest = call.words;
        let mut tests = false;
        while let Some((first, more)) = rest.split_first() {
            let Some(text) = first.text() else {
                // A pattern that begins plainly is no option; what it names is judged below.
                if first.may_be_option() {
                    return Err(inline());
                }
                break;
            };
            if lists(language.checks, text) {
                return Ok(ShellOutput::Opaque);
            }
            let name = text.split('=').next().unwrap_or(text);
            if language.module == Some(text) {
                return self.module(env, call, more);
            }
            if let Some(module) = language
                .module
                .and_then(|flag| text.strip_prefix(flag))
                .filter(|module| !module.is_empty())
            {
                let words: Vec<ShellValue> =
                    std::iter::once(ShellValue::lit(module)).chain(more.iter().cloned()).collect();
                return self.module(env, call, &words);
            }
            if lists(language.flags, name) {
                tests |= matches!(name, "--test" | "--check" | "-c" | "-l");
                rest = more;
            } else if lists(language.valued, text) {
                rest = more.get(1..).unwrap_or_default();
            } else if language
                .valued
                .split_whitespace()
                .any(|valued| name == valued || valued.len() == 2 && text.starts_with(valued))
            {
                rest = more;
            } else if text == "--" {
                rest = more;
                break;
            } else if text.starts_with('-') {
                return Err(inline());
            } else {
                break;
            }
        }
        match rest.split_first() {
            Some((first, more)) if first.text().is_some_and(|text| lists(language.verbs, text)) => {
                self.harmless_words(env, call.name, more)?;
                let verb = first.text().unwrap_or_default();
                let named = more.iter().find(|word| !word.head().starts_with('-'));
                let task = named.and_then(ShellValue::text).unwrap_or_default();
                if matches!(verb, "task" | "run") && publishes(task) {
                    return Err(publish(call.name, task));
                }
                if verb == "artisan" && task == "tinker" {
                    return Err(inline());
                }
                if verb == "artisan" && destroys(task) {
                    let why = format!("`artisan {task}` deletes data, judging by its name");
                    return Err(Denial::new("program.delete", why));
                }
                Ok(ShellOutput::Opaque)
            }
            // `node --test` takes folders and patterns of tests.
            Some((first, more)) if tests && language.flags.contains("--test") => {
                for word in std::iter::once(first).chain(more) {
                    self.read_value(env, word, crate::guard::call_context::ReadKind::Name)?;
                }
                Ok(ShellOutput::Opaque)
            }
            // What is not there runs nothing, and the answer says so by itself.
            Some((script, _)) => {
                self.script_or_nothing(env, script)?;
                Ok(ShellOutput::Opaque)
            }
            None if tests => Ok(ShellOutput::Opaque),
            None => Err(inline()),
        }
    }

    /// A profiler in front of a script or a module of the workspace.
    fn profiled(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        words: &[ShellValue],
    ) -> Result<ShellOutput, Denial> {
        match words.split_first() {
            Some((first, rest)) => match (first.text(), rest.split_first()) {
                (Some("-o"), Some((file, rest))) => {
                    self.write_value(env, file, crate::guard::call_context::WriteKind::Change)?;
                    self.profiled(env, call, rest)
                }
                (Some("-s"), Some((_, rest))) => self.profiled(env, call, rest),
                (Some("-m"), _) => self.module(env, call, rest),
                _ => self.script(env, first).map(|_| ShellOutput::Opaque),
            },
            None => Ok(ShellOutput::Opaque),
        }
    }

    fn module(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        words: &[ShellValue],
    ) -> Result<ShellOutput, Denial> {
        let refuse = |name: &str| {
            Denial::new("program.module", format!("cannot tell what the module {name} does"))
                .instead("run `python -m pytest`, a linter, or a script of the repository")
        };
        let (first, rest) = words.split_first().ok_or_else(|| refuse(""))?;
        let name = first.text().ok_or_else(|| refuse(&first.show()))?;
        match name {
            "pip" => {
                let verb = rest.first().and_then(ShellValue::text).unwrap_or_default();
                if matches!(
                    verb,
                    "list" | "show" | "freeze" | "check" | "--version" | "-V" | "debug"
                ) {
                    return Ok(ShellOutput::Opaque);
                }
                Err(Denial::new("program.install", "pip fetches and installs")
                    .instead("use the dependencies that are installed"))
            }
            "cProfile" | "profile" => self.profiled(env, call, rest),
            "venv" | "virtualenv" => {
                if rest.iter().any(|word| word.head().starts_with("--cl")) {
                    let why = format!("{name} --clear empties the folder first");
                    return Err(Denial::new("program.delete", why).instead(format!(
                        "`python -m {name}` with a folder that is not there yet"
                    )));
                }
                for word in rest.iter().filter(|word| !word.head().starts_with('-')) {
                    self.write_value(env, word, crate::guard::call_context::WriteKind::Change)?;
                }
                Ok(ShellOutput::Opaque)
            }
            _ if crate::guard::tables::known::is_runner(name) => self.run(env, words, call.stdin),
            _ if lists(MODULES, name) => {
                self.harmless_words(env, name, rest)?;
                if matches!(name, "json.tool" | "ast" | "tokenize" | "dis") {
                    let files: Vec<&ShellValue> =
                        rest.iter().filter(|word| !word.head().starts_with('-')).collect();
                    for (index, file) in files.iter().enumerate() {
                        if index == 0 || name != "json.tool" {
                            self.read_value(
                                env,
                                file,
                                crate::guard::call_context::ReadKind::Content,
                            )?;
                        } else {
                            self.write_value(
                                env,
                                file,
                                crate::guard::call_context::WriteKind::Change,
                            )?;
                        }
                    }
                }
                Ok(ShellOutput::Opaque)
            }
            // A module of the project itself, as `python -m package.tool`.
            _ => {
                let path = name.replace('.', "/");
                for candidate in [
                    format!("{path}.py"),
                    format!("{path}/__main__.py"),
                    format!("src/{path}.py"),
                    format!("src/{path}/__main__.py"),
                ] {
                    if self.script(env, &ShellValue::lit(candidate)).is_ok() {
                        return Ok(ShellOutput::Opaque);
                    }
                }
                Err(refuse(name))
            }
        }
    }
}
