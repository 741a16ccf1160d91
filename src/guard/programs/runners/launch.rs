//! `java`, `cmake` and what counts covered lines: tools whose words name what they run and
//! where they write.

use crate::guard::call_context::ReadKind;
use crate::guard::denial::Denial;
use crate::guard::programs::call::ProgramCall;
use crate::guard::programs::options::Parsed;
use crate::guard::programs::wrappers::own_words;
use crate::guard::shell::{Env, Judge, ShellOutput, ShellValue};
use crate::guard::tables::known::is_program;
use crate::guard::tables::spec::{Does, Spec, lists};

use super::classify::{publish, refuse_verb};
use crate::guard::tables::runners::{RUNS, publishes};
use Does::{Data, Reads, Refused, Writes};

impl Judge<'_> {
    /// A class or an archive of the workspace; what `java` would load besides is refused.
    pub(super) fn java(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::dashed(&[
            ("-cp -classpath -class-path -p -module-path", Data),
            ("-jar -m -module", Data),
        ]);
        let loads = |word: &ShellValue| {
            let text = word.head().trim_start_matches('-');
            ["javaagent", "agent", "XX", "Xbootclasspath", "patch-module", "@", "Xrun"]
                .iter()
                .any(|bad| text.starts_with(bad))
        };
        let asks = |word: &ShellValue| matches!(word.text(), Some("-version" | "--version"));
        if call.words.iter().any(asks) {
            return Ok(ShellOutput::Opaque);
        }
        // Behind the class or the archive stand the program's own words.
        let mut own = 0;
        while let Some(word) = call.words.get(own).filter(|word| word.head().starts_with('-')) {
            let name = word.head().replace("--", "-");
            own += 1 + usize::from(SPEC.find(&name).is_some());
            if name == "-jar" || name == "-m" {
                break;
            }
        }
        let (options, program) = call.words.split_at(own.min(call.words.len()));
        if let Some(word) = options.iter().find(|word| loads(word)) {
            return Err(refuse_verb("java", &word.show()));
        }
        let parsed = self.options(env, "java", options, &SPEC)?;
        if let Some(archive) = parsed.value(&["-jar"]) {
            self.script_or_nothing(env, archive)?;
        }
        for paths in parsed.value(&["-cp"]).into_iter().chain(parsed.value(&["-classpath"])) {
            for part in paths.text().unwrap_or("/").split(':').filter(|part| !part.is_empty()) {
                self.read_value(
                    env,
                    &ShellValue::lit(part.trim_end_matches("/*")),
                    ReadKind::Name,
                )?;
            }
        }
        let main = program.first();
        if let Some(source) = main.filter(|main| main.head().ends_with(".java")) {
            self.script(env, source)?;
        }
        if main.is_none() && !parsed.has(&["-jar", "-m", "-module"]) {
            return Err(refuse_verb("java", ""));
        }
        self.harmless_words(env, "java", program)?;
        Ok(ShellOutput::Opaque)
    }

    /// `go tool pprof`: prints a profile of the workspace; its server and remote
    /// profiles are refused.
    pub(super) fn pprof(
        &mut self,
        env: &Env,
        files: &[ShellValue],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        const PRINTS: &str = "-top -text -tree -traces -raw -peek -list";
        const SAYS: &str = "-cum -flat -nodecount -lines -functions -files -unit -sample_index \
            -alloc_space -alloc_objects -inuse_space -inuse_objects -focus -ignore -show -hide";
        let prints = |(name, _): &(String, Option<ShellValue>)| lists(PRINTS, name);
        let says = |(name, _): &(String, Option<ShellValue>)| lists(SAYS, name);
        let remote = |word: &ShellValue| word.is_open() || word.show().contains(':');
        let printed = parsed.options.iter().any(prints);
        if !printed
            || !parsed.options.iter().all(|option| prints(option) || says(option))
            || files.iter().any(remote)
        {
            return Err(refuse_verb("go tool", "pprof"));
        }
        files.iter().try_for_each(|file| self.read_value(env, file, ReadKind::Content))
    }

    /// `sass IN OUT` or `sass IN:OUT …`.
    pub(super) fn sass(
        &mut self,
        env: &Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::open(&[
            ("-I --load-path", Does::Tree),
            ("-s --style --source-map-urls --fatal-deprecation --future-deprecation", Data),
            ("--silence-deprecation", Data),
            ("-p --pkg-importer", Refused(RUNS)),
        ]);
        let parsed = self.options(env, "sass", call.words, &SPEC)?;
        let mut pairs = parsed.operands.iter().filter(|word| word.head().contains(':')).peekable();
        if pairs.peek().is_none() {
            if let Some(source) = parsed.operands.first() {
                self.read_value(env, source, ReadKind::Tree)?;
            }
            for target in parsed.operands.iter().skip(1) {
                self.write_value(env, target, crate::guard::call_context::WriteKind::Change)?;
            }
        }
        for pair in pairs {
            let at = pair.head().find(':').unwrap_or_default();
            self.read_value(env, &ShellValue::lit(&pair.head()[..at]), ReadKind::Tree)?;
            self.write_value(
                env,
                &pair.tail(at + 1),
                crate::guard::call_context::WriteKind::Change,
            )?;
        }
        Ok(ShellOutput::Opaque)
    }

    /// A script of the workspace, or of the machine itself.
    fn included(&mut self, env: &Env, script: &ShellValue) -> Result<(), Denial> {
        self.read_value(env, script, ReadKind::Content)?;
        for path in self.paths(env, script)? {
            let real = self.cx.resolve(&path)?;
            if self.cx.inside(&real.path) {
                return self.script(env, script).map(drop);
            }
        }
        Ok(())
    }

    /// `coverage run`: python under another name.
    pub(super) fn coverage(
        &mut self,
        env: &mut Env,
        words: &[ShellValue],
        stdin: &ShellOutput,
    ) -> Result<ShellOutput, Denial> {
        const VALUED: &str =
            "--source --source-pkgs --omit --include --rcfile --data-file --context --concurrency";
        let mut rest = words;
        while let Some((first, more)) = rest.split_first() {
            let head = first.head();
            if !head.starts_with('-') || head.starts_with("-m") {
                break;
            }
            rest = if lists(VALUED, head) { more.get(1..).unwrap_or_default() } else { more };
        }
        self.harmless_words(env, "coverage", &words[..words.len() - rest.len()])?;
        if rest.is_empty() {
            return Ok(ShellOutput::Opaque);
        }
        let command: Vec<ShellValue> =
            std::iter::once(ShellValue::lit("python")).chain(rest.iter().cloned()).collect();
        self.run(env, &command, stdin)
    }

    /// `nyc` and `c8` in front of the command whose lines they count.
    pub(super) fn counts_lines(
        &mut self,
        env: &mut Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::open(&[
            (
                "-r --reporter -x --exclude -n --include -e --extension --src --lines --functions \
                --branches --statements",
                Data,
            ),
            ("-o --report-dir --reports-dir", Writes),
            ("-t --temp-dir --temp-directory", Does::Empties),
            ("-i --require --cwd --config --nycrc-path", Reads),
        ]);
        let own = own_words(call.words, &SPEC);
        self.options(env, call.name, &call.words[..own], &SPEC)?;
        let rest = &call.words[own..];
        match rest.first().map(|word| word.text().unwrap_or_default()) {
            None | Some("report" | "check-coverage" | "merge") => Ok(ShellOutput::Opaque),
            Some(name) if is_program(name) => self.run(env, rest, call.stdin),
            Some(_) => {
                self.npx(env, &ProgramCall { name: call.name, words: rest, stdin: call.stdin })
            }
        }
    }

    pub(super) fn cmake(
        &mut self,
        env: &Env,
        call: &ProgramCall<'_>,
    ) -> Result<ShellOutput, Denial> {
        const SPEC: Spec = Spec::open(&[
            ("--build -S", Reads),
            ("-P", Does::Runs),
            ("-C --toolchain", Reads),
            ("-B --graphviz --trace-redirect --profiling-output", Writes),
            (
                "-D -G -j --parallel --target -t --config --preset -A -T --install-prefix --log-level",
                Data,
            ),
            ("-E", Refused("runs a tool that deletes and copies")),
            ("--install", Refused("installs outside the workspace")),
            ("--open", Refused(RUNS)),
        ]);
        let parsed = self.options(env, "cmake", call.words, &SPEC)?;
        for target in [parsed.value(&["--target"]), parsed.value(&["-t"])].into_iter().flatten() {
            if target.text().is_none_or(publishes) {
                return Err(publish("cmake", &target.show()));
            }
        }
        let defined = call.words.iter().enumerate().filter_map(|(at, word)| {
            let behind = at.checked_sub(1).and_then(|at| call.words[at].text()) == Some("-D");
            if behind {
                Some(word.clone())
            } else {
                word.head().starts_with("-D").then(|| word.tail(2))
            }
        });
        let defined: Vec<ShellValue> = defined.collect();
        for script in defined.iter().filter_map(included).flatten() {
            self.included(env, &script)?;
        }
        for (_, script) in parsed.options.iter().filter(|(name, _)| lists("-C --toolchain", name)) {
            script.iter().try_for_each(|script| self.included(env, script))?;
        }
        if let Some(word) = defined.into_iter().find(names_program) {
            return Err(Denial::new(
                "program.option",
                format!("cmake -D{} runs another program", word.show()),
            )
            .instead("configure with the compilers that are installed"));
        }
        let (own, passed_on) = parsed.operands.split_at(parsed.before_dashes);
        // What stands behind `--` is for make or its kind.
        self.targets_of(env, "cmake", passed_on)?;
        self.harmless_words(env, "cmake", own)?;
        Ok(ShellOutput::Opaque)
    }
}

/// The scripts that a definition makes `cmake` read and run.
fn included(definition: &ShellValue) -> Option<Vec<ShellValue>> {
    let head = definition.head();
    let (name, value) = head.split_once('=')?;
    let name = name.split(':').next().unwrap_or(name).to_uppercase();
    let ends = ["_TOOLCHAIN_FILE", "_INCLUDE", "_INCLUDE_BEFORE", "_INCLUDES", "_RULES_OVERRIDE"];
    let runs = name.starts_with("CMAKE_") && ends.iter().any(|end| name.ends_with(end));
    if !runs {
        return None;
    }
    Some(match definition.text() {
        Some(_) => value.split(';').filter(|part| !part.is_empty()).map(ShellValue::lit).collect(),
        None => vec![definition.tail(head.len() - value.len())],
    })
}

/// Whether a definition makes `cmake` run a program that is no compiler of the machine.
fn names_program(definition: &ShellValue) -> bool {
    const KNOWN: &str = "gcc g++ cc c++ clang clang++ gfortran nvcc ccache sccache distcc ninja make gmake ld \
        lld mold ar ranlib";
    let head = definition.head();
    let (name, value) = head.split_once('=').unwrap_or((head, ""));
    let name = name.split(':').next().unwrap_or(name).to_uppercase();
    let runs = [
        "_COMPILER",
        "_LAUNCHER",
        "_MAKE_PROGRAM",
        "_LINKER",
        "_EMULATOR",
        "RULE_LAUNCH_COMPILE",
        "RULE_LAUNCH_LINK",
        "CMAKE_AR",
        "CMAKE_RANLIB",
    ];
    if !runs.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    let installed = ["/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    let program = installed.iter().find_map(|folder| value.strip_prefix(folder)).unwrap_or(value);
    // `clang-17` is `clang`.
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    definition.text().is_none() || !lists(KNOWN, plain)
}
