//! What the verbs of a tool take further: which script is run, which second word installs,
//! publishes or changes settings.

use crate::guard::denial::Denial;
use crate::guard::programs::builtins::dump;
use crate::guard::programs::options::Parsed;
use crate::guard::shell::{Env, Judge, ShellValue};
use crate::guard::tables::spec::lists;

use super::classify::{install, publish, refuse_verb};
use crate::guard::tables::runners::{INSTALLS, TOOLS, publishes};

impl Judge<'_> {
    /// Judges what a verb takes further.
    pub(super) fn verb(
        &mut self,
        env: &mut Env,
        tool: &str,
        verb: &str,
        rest: &[ShellValue],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        match tool {
            "go" => self.go_verb(env, verb, rest, parsed),
            "cargo" => self.cargo_verb(env, verb, rest),
            "npm" | "pnpm" | "yarn" => self.node_verb(env, tool, verb, rest),
            "composer" if matches!(verb, "run" | "run-script" | "rum") => {
                self.run_script(env, tool, verb, rest)
            }
            _ => self.other_verb(env, tool, verb, rest),
        }
    }

    /// A script that the project's own manifest names.
    fn run_script(
        &mut self,
        env: &Env,
        tool: &str,
        verb: &str,
        rest: &[ShellValue],
    ) -> Result<(), Denial> {
        let script = rest.first().map(ShellValue::text);
        match script {
            Some(None) => {
                return Err(Denial::new("shell.unknown-word", "cannot tell which script is run")
                    .instead("name the script"));
            }
            Some(Some(script)) if publishes(script) => return Err(publish(tool, script)),
            // Without a script of that name it is a command of theirs.
            Some(Some("env")) => return Err(dump(&format!("{tool} {verb} env"))),
            _ => {}
        }
        self.harmless_words(env, tool, rest)
    }

    fn go_verb(
        &mut self,
        env: &Env,
        verb: &str,
        rest: &[ShellValue],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let second = rest.first().and_then(ShellValue::text);
        match verb {
            "mod" => {
                if !matches!(
                    second,
                    Some("tidy" | "verify" | "graph" | "why" | "edit" | "init" | "vendor")
                ) {
                    return Err(install("go mod", second.unwrap_or_default()));
                }
            }
            "env" => {
                if parsed.has(&["-w", "-u"]) {
                    return Err(refuse_verb("go env", "-w"));
                }
            }
            "tool" if second == Some("pprof") => self.pprof(env, &rest[1..], parsed)?,
            "tool" => {
                if !matches!(
                    second,
                    Some("cover" | "vet" | "compile" | "nm" | "objdump" | "doc") | None
                ) {
                    return Err(refuse_verb("go tool", second.unwrap_or_default()));
                }
            }
            "run" => {
                for word in rest {
                    if word.head().contains('@') || word.head().starts_with("http") {
                        return Err(install("go run", &word.show()));
                    }
                    if word.head().starts_with(['/', '~'])
                        || word.is_open()
                        || word.head().contains("..")
                    {
                        self.script(env, word)?;
                    }
                }
            }
            "work" => {
                if !matches!(second, Some("use" | "init" | "edit")) {
                    return Err(refuse_verb("go work", second.unwrap_or_default()));
                }
            }
            _ => self.harmless_words(env, "go", rest)?,
        }
        Ok(())
    }

    fn cargo_verb(&mut self, env: &Env, verb: &str, rest: &[ShellValue]) -> Result<(), Denial> {
        let second = rest.first().and_then(ShellValue::text);
        match verb {
            "insta" => {
                if matches!(second, Some("reject")) {
                    return Err(refuse_verb("cargo insta", "reject"));
                }
            }
            "deny" => {
                if !matches!(second, Some("check" | "list")) {
                    return Err(install("cargo deny", second.unwrap_or_default()));
                }
            }
            "nextest" => {
                if !matches!(second, Some("run" | "r" | "list" | "show-config") | None) {
                    return Err(install("cargo nextest", second.unwrap_or_default()));
                }
            }
            "make" => self.targets_of(env, "cargo", rest)?,
            _ => self.harmless_words(env, "cargo", rest)?,
        }
        Ok(())
    }

    fn node_verb(
        &mut self,
        env: &Env,
        tool: &str,
        verb: &str,
        rest: &[ShellValue],
    ) -> Result<(), Denial> {
        let second = rest.first().and_then(ShellValue::text);
        match (tool, verb) {
            (_, "run" | "run-script" | "rum") => self.run_script(env, tool, verb, rest)?,
            (_, "pkg") => {
                if second != Some("get") {
                    return Err(install("npm pkg", second.unwrap_or_default()));
                }
            }
            (_, "config") => {
                let fine = second == Some("get")
                    && rest.get(1).and_then(ShellValue::text).is_some_and(|key| {
                        !key.contains(['/', ':']) && !key.to_lowercase().contains("auth")
                    });
                if rest.len() != 2 || !fine {
                    return Err(refuse_verb(tool, "config"));
                }
            }
            ("pnpm", "-r" | "recursive")
            | ("yarn", "workspaces" | "workspace" | "foreach")
            | ("npm", "workspaces") => {
                let bad = rest
                    .iter()
                    .filter_map(ShellValue::text)
                    .find(|word| lists(INSTALLS, word) || publishes(word));
                if let Some(word) = bad {
                    return Err(install(tool, word));
                }
                let runs = |word: &&str| lists("exec node x npm", word);
                if let Some(word) = rest.iter().filter_map(ShellValue::text).find(runs) {
                    return Err(refuse_verb(tool, word));
                }
                self.harmless_words(env, tool, rest)?;
            }
            (_, "exec") => return Err(refuse_verb(tool, verb)),
            _ => self.harmless_words(env, tool, rest)?,
        }
        Ok(())
    }

    fn other_verb(
        &mut self,
        env: &Env,
        tool: &str,
        verb: &str,
        rest: &[ShellValue],
    ) -> Result<(), Denial> {
        let second = rest.first().and_then(ShellValue::text);
        match (tool, verb) {
            ("rustup", "target" | "component" | "toolchain") => {
                if second != Some("list") {
                    return Err(install("rustup", verb));
                }
            }
            // It counts up, commits, tags and pushes.
            ("lerna", "version") => return Err(publish(tool, verb)),
            ("lerna", "clean") => return Err(refuse_verb(tool, verb)),
            ("xcodebuild", _) => self.targets_of(env, tool, rest)?,
            // They take several commands.
            ("sbt" | "ant" | "pants" | "moon" | "lerna", _) => {
                let bad = rest.iter().filter_map(ShellValue::text).find(|word| {
                    let named = !word.contains(['/', '.']) && publishes(word);
                    named || tool == "sbt" && (word.contains(';') || word.starts_with("eval"))
                });
                if let Some(word) = bad {
                    return Err(publish(tool, word));
                }
                self.harmless_words(env, tool, rest)?;
            }
            ("mvn" | "mvnw" | "mvnd", _) => {
                for word in rest {
                    let text = word.text().unwrap_or("…");
                    let tool_verbs = TOOLS
                        .iter()
                        .find(|known| lists(known.names, tool))
                        .map_or("", |known| known.verbs);
                    if !lists(tool_verbs, text) {
                        return Err(refuse_verb(tool, text));
                    }
                }
            }
            ("dotnet", "list" | "sln") => {
                if second == Some("package-add") {
                    return Err(install(tool, "add"));
                }
            }
            ("mix", "deps" | "run") => {
                return if second.is_none() && verb == "deps" {
                    Ok(())
                } else {
                    Err(refuse_verb(tool, verb))
                };
            }
            ("dart" | "swift" | "zig" | "bazel" | "bazelisk" | "pre-commit", "run") => {
                self.harmless_words(env, tool, rest)?
            }
            ("swift", "package") => {
                if !matches!(second, Some("describe" | "dump-package" | "show-dependencies")) {
                    return Err(install("swift package", second.unwrap_or_default()));
                }
            }
            _ => self.harmless_words(env, tool, rest)?,
        }
        Ok(())
    }
}
