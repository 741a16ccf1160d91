//! `java` and `cmake`: tools whose words name what they run and where they write.

use crate::guard::judge::{Judge, Read, Write};
use crate::guard::programs::Call;
use crate::guard::programs::options::{Does, Spec, parse};
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
