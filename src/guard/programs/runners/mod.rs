//! The project's own tools: build, test, lint and format. They run code of the
//! workspace by design; what is judged is that they do nothing else: no install,
//! no publishing, no program or configuration from elsewhere.

use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::shell::{Env, Judge, Seg, ShellOutput, ShellValue};

mod classify;
mod launch;
mod verbs;

use super::builtins::dump;
use super::call::ProgramCall;
use super::options::Parsed;
use crate::guard::tables::known::{is_program, is_refused, is_runner};
use crate::guard::tables::runners::{INSTALLS, THROUGH, TOOLS, Tool, destroys, publishes};
use crate::guard::tables::spec::{Does, Spec, lists};
pub(super) use classify::publish;
use classify::{COMPILERS, inline_config, install, links_elsewhere, only_lists_pack, refuse_verb};

/// Words that ask a tool for what it is.
const VERSION: &str =
    "--version -V -v --help -h --list version help -version -list -showsdks -license";

/// Files that hold the commands a tool runs, in lower case.
const RECIPES: &[(&str, &str)] = &[
    ("make gmake bmake", "makefile gnumakefile bsdmakefile"),
    ("npm npx pnpm pnpx yarn bunx lerna nx turbo", "package.json"),
    ("just", "justfile .justfile"),
    ("task", "taskfile.yml taskfile.yaml taskfile.dist.yml taskfile.dist.yaml"),
    ("composer", "composer.json"),
    ("rake", "rakefile rakefile.rb"),
    ("tox", "tox.ini"),
    ("mix", "mix.exs"),
    ("pre-commit", ".pre-commit-config.yaml"),
    ("ninja", "build.ninja"),
    ("cargo", "makefile.toml"),
];

/// Tools whose operands are targets and variables.
const TARGETED: &[&str] =
    &["make", "gmake", "bmake", "just", "task", "gradle", "gradlew", "rake", "ninja", "scons"];

impl Judge<'_> {
    pub(super) fn runner(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        tool: Option<&Tool>,
    ) -> Result<ShellOutput, Denial> {
        self.deny_secret_args(env, call.words)?;
        self.own_recipes(call.name)?;
        self.places_set(env)?;
        let judged = self.runs_tool(env, call, tool);
        if judged.is_ok() {
            self.cx.note_build();
        }
        judged
    }

    /// Refuses a tool whose commands stand in a file that this same call writes: nobody has
    /// seen them, as with a script.
    fn own_recipes(&self, tool: &str) -> Result<(), Denial> {
        let lower = |path: &std::path::Path| {
            path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default()
        };
        let written = self.cx.changed().iter().find(|path| {
            let in_cargo = path.parent().is_some_and(|folder| lower(folder) == ".cargo");
            RECIPES.iter().any(|(tools, files)| lists(tools, tool) && lists(files, &lower(path)))
                || tool == "cargo" && in_cargo
        });
        match written {
            None => Ok(()),
            Some(path) => Err(Denial::new(
                "program.script",
                format!("{tool} runs the commands in {}, which this same call writes", lower(path)),
            )
            .instead(format!("write the file first, and run {tool} in a call of its own"))),
        }
    }

    /// Folders that variables of the line make tools write to.
    fn places_set(&mut self, env: &Env) -> Result<(), Denial> {
        for name in crate::guard::shell::FOLDERS.split_whitespace() {
            for value in env.vars.get(name).into_iter().flatten() {
                self.write_value(env, value, WriteKind::Change)?;
            }
        }
        Ok(())
    }

    fn runs_tool(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        tool: Option<&Tool>,
    ) -> Result<ShellOutput, Denial> {
        if matches!(call.name, "npx" | "pnpx" | "bunx") {
            return self.npx(env, call);
        }
        if call.name == "cmake" {
            return self.cmake(env, call);
        }
        if call.name == "java" {
            return self.java(env, call);
        }
        if call.name == "sass" {
            return self.sass(env, call);
        }
        if matches!(call.name, "nyc" | "c8") {
            return self.counts_lines(env, call);
        }
        let verb = call.words.first().and_then(ShellValue::text).unwrap_or_default();
        if call.name == "coverage" && verb == "run" {
            return self.coverage(env, &call.words[1..], call.stdin);
        }
        if let Some((tool, _)) =
            THROUGH.iter().find(|(tool, run)| *tool == call.name && *run == verb)
        {
            return self.through_tool(env, tool, &call.words[1..], call.stdin);
        }
        if matches!(call.name, "uv" | "poetry" | "pdm" | "pipenv" | "rye" | "pixi") {
            let fine = matches!(
                verb,
                "--version"
                    | "-V"
                    | "check"
                    | "show"
                    | "tree"
                    | "env"
                    | "version"
                    | "help"
                    | "build"
                    | "list"
                    | "info"
            ) || call.name == "uv"
                && verb == "pip"
                && call.words.get(1).and_then(ShellValue::text).is_some_and(|text| {
                    matches!(text, "list" | "show" | "freeze" | "check" | "tree")
                });
            let checks = call.name == "uv"
                && verb == "lock"
                && call
                    .words
                    .iter()
                    .any(|word| matches!(word.text(), Some("--check" | "--locked")));
            if !fine && !checks {
                return Err(install(call.name, verb));
            }
            const SPEC: Spec = Spec::open(&[("-o --out-dir --output", Does::Writes)]);
            let parsed = self.options(env, call.name, &call.words[1..], &SPEC)?;
            for (_, value) in &parsed.options {
                value.iter().try_for_each(|value| self.outside(env, call.name, value))?;
            }
            self.harmless_words(env, call.name, &parsed.operands)?;
            return Ok(ShellOutput::Opaque);
        }
        match tool {
            Some(tool) => self.tool(env, call, tool),
            None => Err(refuse_verb(call.name, verb)),
        }
    }

    fn tool(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
        tool: &Tool,
    ) -> Result<ShellOutput, Denial> {
        let mut words = call.words;
        if call.name == "cargo" && words.first().is_some_and(|word| word.head().starts_with('+')) {
            words = &words[1..];
        }
        let kept = if call.name == "pytest" { without_plugins_off(words) } else { Vec::new() };
        if call.name == "pytest" {
            words = &kept;
        }
        let asked = words.first().and_then(ShellValue::text).unwrap_or_default();
        let version = lists(VERSION, asked) && (call.name, asked) != ("lerna", "version");
        let asks_help = |word: &ShellValue| matches!(word.text(), Some("--help" | "-h"));
        let own_help = lists("cargo npm go rustup dotnet", call.name) && !asked.starts_with('-');
        if own_help && words.len() == 2 && asks_help(&words[1]) {
            return Ok(ShellOutput::Opaque);
        }
        if version && words.len() <= if asked == "help" { 2 } else { 1 } {
            return Ok(ShellOutput::Opaque);
        }
        // What stands behind `--` belongs to the tests or the script.
        let dashes = words.iter().position(|word| word.text() == Some("--"));
        let (own, passed_on) = words.split_at(dashes.unwrap_or(words.len()));
        if let Some(word) = own.iter().find(|word| links_elsewhere(call.name, word)) {
            let why = format!("{} {} runs another program", call.name, word.show());
            return Err(
                Denial::new("program.option", why).instead(format!("run {} without it", call.name))
            );
        }
        if let Some(word) = inline_config(words) {
            let why = format!(
                "{} {} takes a configuration that can run programs",
                call.name,
                word.show()
            );
            return Err(Denial::new("program.option", why)
                .instead("use a configuration file of the repository"));
        }
        if let Some(word) = own.iter().find(|word| prints_database(call.name, word)) {
            return Err(dump(&format!("{} {}", call.name, word.show())));
        }
        let spec = if tool.dashed { Spec::dashed(tool.options) } else { Spec::open(tool.options) };
        let before = self.cx.changed().clone();
        let parsed = self.options(env, call.name, own, &spec)?;
        self.option_values(env, call.name, tool, &spec, own, &parsed)?;
        // What a compiler makes of files that were there is no script of this call.
        let given =
            |word: &ShellValue| word.text() == Some("-") || word.head().starts_with("/dev/");
        if lists(COMPILERS, call.name) && before.is_empty() && !own.iter().any(given) {
            self.cx.forget_changed();
        }
        self.harmless_words(env, call.name, passed_on)?;
        if let Some(front) = classify::behind_dashes(call.name, own).filter(|_| passed_on.len() > 1)
        {
            let front = front.iter().map(|word| ShellValue::lit(*word));
            let command = front.chain(passed_on.iter().skip(1).cloned()).collect::<Vec<_>>();
            self.run(env, &command, call.stdin)?;
        }
        if !tool.verbs.is_empty() {
            self.tool_verb(env, call.name, tool, own, &parsed, version.then_some("--version"))?;
        } else if TARGETED.contains(&call.name) {
            self.targets_of(env, call.name, &parsed.operands)?;
        } else {
            let verb = parsed.operands.first().and_then(ShellValue::text).unwrap_or_default();
            let by_verb = lists("ng nx turbo nuxt astro playwright cypress", call.name);
            if by_verb && (publishes(verb) || lists(INSTALLS, verb)) {
                return Err(publish(call.name, verb));
            }
            self.harmless_words(env, call.name, &parsed.operands)?;
        }
        Ok(ShellOutput::Opaque)
    }

    /// Judges files that the values of options name.
    fn option_values(
        &mut self,
        env: &Env,
        name: &str,
        tool: &Tool,
        spec: &Spec,
        own: &[ShellValue],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        // `-o` and its file may be one word.
        let joined =
            |word: &&ShellValue| word.head().starts_with("-o") && word.text() != Some("-o");
        if lists(COMPILERS, name) && !matches!(name, "go" | "ghc" | "tsc" | "esbuild") {
            for word in own.iter().filter(joined) {
                self.write_value(env, &word.tail(2), WriteKind::Change)?;
            }
        }
        for (option, value) in &parsed.options {
            let Some(value) = value else { continue };
            if option == "--cov-report"
                && let Some((_, place)) = value.text().and_then(|text| text.split_once(':'))
            {
                self.write_value(env, &ShellValue::lit(place), WriteKind::Change)?;
            }
            if !tool.dashed && spec.find(option).is_none() {
                self.outside(env, name, value)?;
            }
        }
        Ok(())
    }

    /// Judges the verb of a tool, the first of its operands.
    fn tool_verb(
        &mut self,
        env: &mut Env,
        name: &str,
        tool: &Tool,
        own: &[ShellValue],
        parsed: &Parsed,
        version: Option<&str>,
    ) -> Result<(), Denial> {
        let Some(verb) = parsed.operands.first().and_then(ShellValue::text).or(version) else {
            // `yarn` alone installs, `npm` alone prints its help.
            return Err(refuse_verb(name, ""));
        };
        // sbt takes a command with its words in quotes, and several of them.
        let words = name == "sbt" && !verb.contains(';');
        let verb = verb.split(' ').next().filter(|_| words).unwrap_or(verb);
        if verb == "pack" && parsed.operands.len() == 1 && only_lists_pack(name, own) {
            return Ok(());
        }
        if !lists(tool.verbs, verb) {
            return Err(if lists(INSTALLS, verb) {
                install(name, verb)
            } else {
                refuse_verb(name, verb)
            });
        }
        self.verb(env, name, verb, &parsed.operands[1..], parsed)
    }

    /// Targets of make and its kind, with their variables.
    pub(super) fn targets_of(
        &mut self,
        env: &Env,
        tool: &str,
        words: &[ShellValue],
    ) -> Result<(), Denial> {
        for word in words {
            let head = word.head();
            match head.split_once('=') {
                Some((name, _)) => {
                    let name = name.trim_end_matches([':', '+', '?', '!']);
                    let value = word.tail(head.find('=').unwrap_or(0) + 1);
                    crate::guard::shell::check_assignment(name, &value)?;
                    let bad = value.text().is_none_or(|text| {
                        text.contains(['$', '`', ';', '|', '&', '(', '<', '>', '\n'])
                    });
                    if bad || matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKE") {
                        return Err(Denial::new(
                            "program.option",
                            format!("the value of {name} can run something"),
                        )
                        .instead(format!("run {tool} without it")));
                    }
                    let mut words = value.text().unwrap_or_default().split_whitespace();
                    if words.next().is_some_and(is_program) && words.next().is_some() {
                        // A recipe may run it.
                        self.line(&mut env.clone(), value.text().unwrap_or_default())?;
                    }
                }
                None => {
                    let Some(text) = word.text() else {
                        return Err(Denial::new(
                            "shell.unknown-word",
                            "cannot tell which target is made",
                        )
                        .instead("name the target"));
                    };
                    let target = text.rsplit(':').next().unwrap_or(text);
                    if publishes(target) {
                        return Err(publish(tool, text));
                    }
                    if text.starts_with("db:") && destroys(text) {
                        return Err(Denial::new(
                            "program.delete",
                            format!("`{tool} {text}` deletes data, judging by its name"),
                        ));
                    }
                }
            }
        }
        self.harmless_words(env, tool, words)
    }

    /// Words that a tool gets and that say no more than what to work on.
    pub(super) fn harmless_words(
        &mut self,
        env: &Env,
        tool: &str,
        words: &[ShellValue],
    ) -> Result<(), Denial> {
        for word in words {
            let head = word.head();
            if word.is_open() && (word.may_be_option() || word.splits) {
                return Err(Denial::new(
                    "shell.unknown-word",
                    format!("`{}` may turn out to be an option of {tool}", word.show()),
                )
                .instead("spell the words out"));
            }
            match head.split_once('=').filter(|_| head.starts_with('-')) {
                Some((name, _)) => self.outside(env, tool, &word.tail(name.len() + 1))?,
                None => self.outside(env, tool, word)?,
            }
        }
        Ok(())
    }

    /// Refuses an address, and a place outside the workspace.
    fn outside(&mut self, env: &Env, tool: &str, word: &ShellValue) -> Result<(), Denial> {
        let path = word.head();
        if path.starts_with("http:") || path.starts_with("https:") || path.starts_with("git+") {
            return Err(Denial::new("network", format!("{tool} would connect to {path}"))
                .instead("work with what is in the repository"));
        }
        // `//pkg:target` is a label there, not a path.
        let label = path.starts_with("//") && lists("bazel bazelisk buck2 pants", tool);
        let leaves = path.starts_with('/') && path.len() > 1 && !label
            || path.starts_with("../")
            || path.starts_with("~/");
        if leaves && !word.splits && word.segs.iter().all(|seg| matches!(seg, Seg::Lit(_))) {
            self.read_value(env, word, ReadKind::Name)?;
        }
        Ok(())
    }

    fn through_tool(
        &mut self,
        env: &mut Env,
        tool: &str,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        let mut rest = words;
        while let Some((first, more)) = rest.split_first() {
            match first.text() {
                Some("--") => {
                    rest = more;
                    break;
                }
                Some(
                    "--frozen" | "--locked" | "--offline" | "--no-sync" | "-q" | "--quiet"
                    | "--all-extras" | "--dev" | "--no-dev" | "--isolated" | "--silent" | "-s"
                    | "--no-install" | "--no" | "--all-groups",
                ) => rest = more,
                Some("--extra" | "--group" | "--package" | "--python" | "-p" | "-e")
                    if tool == "uv" =>
                {
                    rest = more.get(1..).unwrap_or_default()
                }
                Some(text) if text.starts_with('-') => {
                    return Err(Denial::new(
                        "program.option",
                        format!("{tool} {text} can fetch or run something else"),
                    )
                    .instead(format!("run {tool} without {text}")));
                }
                _ => break,
            }
        }
        if rest.is_empty() {
            return Err(refuse_verb(tool, "run"));
        }
        if matches!(tool, "npm" | "pnpm" | "yarn") {
            return self.npx(env, &ProgramCall { name: tool, words: rest, stdin });
        }
        self.run(env, rest, stdin)
    }

    /// `npx` and its kind fetch what is not there: only the known tools pass.
    pub(super) fn npx(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        let mut rest = call.words;
        while let Some((first, more)) = rest.split_first() {
            match first.text() {
                Some(
                    "--no-install" | "--no" | "--offline" | "--" | "-q" | "--quiet" | "-y"
                    | "--yes" | "--bun",
                ) => rest = more,
                Some("--version" | "-v") => return Ok(ShellOutput::Opaque),
                _ => break,
            }
        }
        let name = rest.first().and_then(ShellValue::text).unwrap_or_default().to_owned();
        if matches!(name.as_str(), "tsx" | "ts-node" | "cross-env") {
            return self.run(env, rest, call.stdin);
        }
        let javascript =
            |names: &str| ["eslint", "vite", "prisma"].iter().any(|name| lists(names, name));
        let known = matches!(name.as_str(), "nyc" | "c8" | "lerna" | "sass")
            || TOOLS.iter().any(|tool| javascript(tool.names) && lists(tool.names, &name));
        let local = !name.is_empty()
            && !name.contains('/')
            && self.script(env, &ShellValue::lit(format!("node_modules/.bin/{name}"))).is_ok();
        if local && !is_runner(&name) && !is_refused(&name) && !is_program(&name) {
            self.harmless_words(env, &name, &rest[1..])?;
            return Ok(ShellOutput::Opaque);
        }
        if known || local {
            self.run(env, rest, call.stdin)
        } else {
            Err(install(call.name, &name))
        }
    }
}

/// Words of pytest without `-p no:NAME`, which keeps a plugin from being loaded.
fn without_plugins_off(words: &[ShellValue]) -> Vec<ShellValue> {
    let off = |word: &ShellValue| word.text().is_some_and(|text| text.starts_with("no:"));
    let pair = |at: usize| words[at].text() == Some("-p") && words.get(at + 1).is_some_and(off);
    let at = (0..words.len()).filter(|at| !pair(*at) && (*at == 0 || !pair(at - 1)));
    at.map(|at| words[at].clone()).collect()
}

/// Does a word make `make` print its database, which holds the environment?
fn prints_database(tool: &str, word: &ShellValue) -> bool {
    if !lists("make gmake bmake", tool) {
        return false;
    }
    let short = |text: &str| text.starts_with('-') && !text.starts_with("--");
    let bundle = |text: &str| short(text) && text.bytes().skip(1).all(|b| b.is_ascii_alphabetic());
    let head = word.head();
    bundle(head) && head.contains('p') && !head.contains(['C', 'f', 'I', 'o', 'W', 'E'])
        || head.len() > 4 && "--print-data-base".starts_with(head)
}
