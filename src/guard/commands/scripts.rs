//! Scripts of the project that an interpreter runs, and modules of Python.

use super::options::{Parsed, inline, unknown_option};
use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::table;
use crate::guard::programs::verbs::refuse_publishing;

/// Modules of Python that are judged as the program of this name.
const MODULES: &[(&str, &str)] = &[
    ("pytest", "pytest"),
    ("mypy", "mypy"),
    ("black", "black"),
    ("isort", "isort"),
    ("ruff", "ruff"),
    ("flake8", "flake8"),
    ("pylint", "pylint"),
    ("coverage", "coverage"),
    ("pyflakes", "pyflakes"),
    ("pycodestyle", "pycodestyle"),
    ("pydocstyle", "pydocstyle"),
    ("bandit", "bandit"),
    ("tox", "tox"),
    ("nox", "nox"),
    ("pip", "pip"),
    ("mkdocs", "mkdocs"),
    ("sphinx", "sphinx-build"),
    ("pyright", "pyright"),
    ("vulture", "vulture"),
    ("behave", "behave"),
    ("unittest", "python-unittest"),
    ("cProfile", "python-profile"),
    ("py_compile", "python-compile"),
    ("compileall", "python-compile"),
    ("json.tool", "python-json"),
    ("doctest", "python-doctest"),
    ("pre_commit", "pre-commit"),
    ("yapf", "yapf"),
    ("pyupgrade", "pyupgrade"),
    ("autopep8", "autopep8"),
    ("poetry", "poetry"),
    ("pdm", "pdm"),
    ("hatch", "hatch"),
];

impl Judge<'_> {
    /// The tool that a script of this name is, whoever starts it: `bash gradlew publish`.
    pub(super) fn tool_of(script: &str) -> Option<&str> {
        let base = script.rsplit('/').next().unwrap_or(script);
        match base {
            "manage.py" => Some("django-admin"),
            "setup.py" => Some("setup.py"),
            "console" if script.ends_with("bin/console") => Some("console"),
            "artisan" => Some("artisan"),
            _ => {
                let tool = base.strip_suffix(".phar").unwrap_or(base);
                let is_script = !tool.contains('.') || base.ends_with(".phar");
                let runs = table::entry(tool).is_some_and(|entry| entry.runs);
                (is_script && runs).then_some(tool)
            }
        }
    }

    /// A script of the project with its arguments, or a module of Python.
    pub(super) fn interpreted(
        &mut self,
        place: &mut Place,
        name: &str,
        args: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        const PRINT: &[&str] = &["--version", "-V", "-VV", "-v", "--help", "-h"];
        if parsed.has(&["-m"]) {
            return self.module(place, name, args);
        }
        let Some(script) = args.first() else {
            let asks = parsed.has(PRINT) || parsed.has(&["--test"]);
            return if asks { Ok(()) } else { Err(inline(name)) };
        };
        let Some(text) = script.text().map(str::to_owned) else {
            // `node --test tests/*.js`, and `--check`, which runs none of them.
            let many = parsed.has(&["--test", "--check", "-c"]);
            return args.iter().try_for_each(|arg| {
                if !(many && matches!(arg, Arg::Text(_) | Arg::Pattern(_))) {
                    self.soften::<()>(Err(inline(name)))?;
                }
                self.reads(place, arg, ReadKind::Content)
            });
        };
        if matches!(text.as_str(), "-" | "" | "/dev/stdin") || text.starts_with("/dev/fd") {
            return Err(inline(name));
        }
        // A program of a dependency is judged by its name.
        if ["vendor/bin/", "node_modules/.bin/"].iter().any(|bin| text.starts_with(bin)) {
            return self.run(place, args);
        }
        if name == "go run" && !self.sandboxed {
            refuse_publishing(&text)?;
        }
        if name == "go run" && !text.ends_with(".go") {
            // A package of the module.
            let local = text == "." || text.starts_with("./") && !text.contains('@');
            if !local {
                return Err(unknown_option(name, &text));
            }
            return args.iter().try_for_each(|arg| self.harmless(place, arg));
        }
        if parsed.has(&["--test", "--check", "-c", "-l"]) && name != "python" {
            return args.iter().try_for_each(|file| self.reads(place, file, ReadKind::Content));
        }
        self.project_script(place, &text, &args[1..])
    }

    /// `python -m MODULE`.
    pub(super) fn module(
        &mut self,
        place: &mut Place,
        name: &str,
        args: &[Arg],
    ) -> Result<(), Denial> {
        let module = args.first().and_then(Arg::text).unwrap_or_default();
        if module == "twine" {
            return Err(Denial::new("publish", "twine uploads packages")
                .instead("leave publishing to a human"));
        }
        let Some((_, program)) = MODULES.iter().find(|(known, _)| *known == module) else {
            return Err(Denial::new(
                "program.module",
                format!("`{name} -m {module}` is not known to be safe"),
            )
            .instead("run the project's own tests: `python -m pytest`"));
        };
        match table::entry(program) {
            Some(entry) => self.listed(place, program, entry, &args[1..]),
            None => Err(unknown_option(name, module)),
        }
    }
}
