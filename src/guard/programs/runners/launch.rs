//! `java` and `cmake`: tools whose words name what they run and where they write.

use crate::guard::judge::{Judge, Read, Write};
use crate::guard::programs::Call;
use crate::guard::programs::options::{Does, Parsed, Spec, lists, parse};
use crate::guard::refusal::Refusal;
use crate::guard::shell::{Env, Stream, Value};

use super::tables::RUNS;
use super::told::{publish, publishes, refuse_verb};
use Does::{Data, Reads, Refused, Writes};

impl Judge<'_> {
    /// A class or an archive of the workspace; what `java` would load besides is refused.
    pub(super) fn java(&mut self, env: &mut Env, call: &Call<'_>) -> Result<Stream, Refusal> {
        const SPEC: Spec = Spec::dashed(&[
            ("-cp -classpath -class-path -p -module-path", Data),
            ("-jar -m -module", Data),
        ]);
        let loads = |word: &Value| {
            let text = word.head().trim_start_matches('-');
            ["javaagent", "agent", "XX", "Xbootclasspath", "patch-module", "@", "Xrun"]
                .iter()
                .any(|bad| text.starts_with(bad))
        };
        let asks = |word: &Value| matches!(word.text(), Some("-version" | "--version"));
        if call.words.iter().any(asks) {
            return Ok(Stream::Opaque);
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
                self.read_value(env, &Value::lit(part.trim_end_matches("/*")), Read::Name)?;
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
        Ok(Stream::Opaque)
    }

    /// `go tool pprof`: prints a profile of the workspace; its server and remote
    /// profiles are refused.
    pub(super) fn pprof(
        &mut self,
        env: &Env,
        files: &[Value],
        parsed: &Parsed,
    ) -> Result<(), Refusal> {
        const PRINTS: &str = "-top -text -tree -traces -raw -peek -list";
        const SAYS: &str = "-cum -flat -nodecount -lines -functions -files -unit -sample_index \
            -alloc_space -alloc_objects -inuse_space -inuse_objects -focus -ignore -show -hide";
        let prints = |(name, _): &(String, Option<Value>)| lists(PRINTS, name);
        let says = |(name, _): &(String, Option<Value>)| lists(SAYS, name);
        let remote = |word: &Value| word.is_open() || word.show().contains(':');
        let printed = parsed.options.iter().any(prints);
        if !printed
            || !parsed.options.iter().all(|option| prints(option) || says(option))
            || files.iter().any(remote)
        {
            return Err(refuse_verb("go tool", "pprof"));
        }
        files.iter().try_for_each(|file| self.read_value(env, file, Read::Content))
    }

    pub(super) fn cmake(&mut self, env: &Env, call: &Call<'_>) -> Result<Stream, Refusal> {
        const SPEC: Spec = Spec::open(&[
            ("--build -S -P -C --toolchain", Reads),
            ("-B", Writes),
            (
                "-D -G -j --parallel --target -t --config --preset -A -T --install-prefix --log-level",
                Data,
            ),
            ("-E", Refused("runs a tool that deletes and copies")),
            ("--install", Refused("installs outside the workspace")),
            ("--open", Refused(RUNS)),
        ]);
        let parsed = parse("cmake", call.words, &SPEC)?;
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
        if let Some(word) = defined.into_iter().find(names_program) {
            return Err(Refusal::new(
                "program.option",
                format!("cmake -D{} runs another program", word.show()),
            )
            .instead("configure with the compilers that are installed"));
        }
        if let Some(folder) = parsed.value(&["-B"]) {
            self.write_value(env, folder, Write::Change)?;
        }
        if let Some(script) = parsed.value(&["-P"]) {
            let script = script.clone();
            self.script(env, &script)?;
        }
        let refused: Vec<Value> = call
            .words
            .iter()
            .filter(|word| matches!(word.text(), Some("-E" | "--install" | "--open")))
            .cloned()
            .collect();
        if !refused.is_empty() {
            return Err(refuse_verb("cmake", &refused[0].show()));
        }
        self.harmless_words(env, "cmake", &parsed.operands)?;
        Ok(Stream::Opaque)
    }
}

/// Whether a definition makes `cmake` run a program that is no compiler of the machine.
fn names_program(definition: &Value) -> bool {
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
