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
    /// What a verb takes further.
    pub(super) fn verb(
        &mut self,
        env: &mut Env,
        tool: &str,
        verb: &str,
        rest: &[ShellValue],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let second = rest.first().and_then(ShellValue::text);
        match (tool, verb) {
            ("npm" | "pnpm" | "yarn" | "composer", "run" | "run-script" | "rum") => {
                let script = rest.first().map(ShellValue::text);
                match script {
                    Some(None) => {
                        return Err(Denial::new(
                            "shell.unknown-word",
                            "cannot tell which script is run",
                        )
                        .instead("name the script"));
                    }
                    Some(Some(script)) if publishes(script) => return Err(publish(tool, script)),
                    // Without a script of that name it is a command of theirs.
                    Some(Some("env")) => return Err(dump(&format!("{tool} {verb} env"))),
                    _ => {}
                }
                self.harmless_words(env, tool, rest)?;
            }
            ("go", "mod") => {
                if !matches!(
                    second,
                    Some("tidy" | "verify" | "graph" | "why" | "edit" | "init" | "vendor")
                ) {
                    return Err(install("go mod", second.unwrap_or_default()));
                }
            }
            ("go", "env") => {
                if parsed.has(&["-w", "-u"]) {
                    return Err(refuse_verb("go env", "-w"));
                }
            }
            ("go", "tool") if second == Some("pprof") => self.pprof(env, &rest[1..], parsed)?,
            ("go", "tool") => {
                if !matches!(
                    second,
                    Some("cover" | "vet" | "compile" | "nm" | "objdump" | "doc") | None
                ) {
                    return Err(refuse_verb("go tool", second.unwrap_or_default()));
                }
            }
            ("go", "run") => {
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
            ("go", "work") => {
                if !matches!(second, Some("use" | "init" | "edit")) {
                    return Err(refuse_verb("go work", second.unwrap_or_default()));
                }
            }
            ("npm" | "pnpm" | "yarn", "pkg") => {
                if second != Some("get") {
                    return Err(install("npm pkg", second.unwrap_or_default()));
                }
            }
            ("rustup", "target" | "component" | "toolchain") => {
                if second != Some("list") {
                    return Err(install("rustup", verb));
                }
            }
            ("cargo", "insta") => {
                if matches!(second, Some("reject")) {
                    return Err(refuse_verb("cargo insta", "reject"));
                }
            }
            ("cargo", "deny") => {
                if !matches!(second, Some("check" | "list")) {
                    return Err(install("cargo deny", second.unwrap_or_default()));
                }
            }
            ("cargo", "nextest") => {
                if !matches!(second, Some("run" | "r" | "list" | "show-config") | None) {
                    return Err(install("cargo nextest", second.unwrap_or_default()));
                }
            }
            ("npm" | "pnpm" | "yarn", "config") => {
                let fine = second == Some("get")
                    && rest.get(1).and_then(ShellValue::text).is_some_and(|key| {
                        !key.contains(['/', ':']) && !key.to_lowercase().contains("auth")
                    });
                if rest.len() != 2 || !fine {
                    return Err(refuse_verb(tool, "config"));
                }
            }
            ("cargo", "make") => self.targets_of(env, tool, rest)?,
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
            ("npm" | "pnpm" | "yarn", "exec") => return Err(refuse_verb(tool, verb)),
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
