//! Recipes that a check names and that its manifest does not have.
//!
//! Invariant: pure.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::verify::classify::SourceTree;
use crate::verify::classify::shell::ShellCommand;
use crate::verify::classify::wrappers::unwrapped;

/// How a program names its recipes.
struct Launcher {
    programs: &'static [&'static str],
    /// Files that hold them; the last one is for a new one.
    files: &'static [&'static str],
    /// Words between the program and the recipe.
    verbs: &'static [&'static str],
    /// A verb, or a recipe that needs none, stands before the name.
    bare: &'static [&'static str],
}

const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        programs: &["make", "gmake"],
        files: &["GNUmakefile", "makefile", "Makefile"],
        verbs: &[],
        bare: &[],
    },
    Launcher { programs: &["just"], files: &["Justfile", "justfile"], verbs: &[], bare: &[] },
    Launcher {
        programs: &["rake"],
        files: &["rakefile", "Rakefile.rb", "Rakefile"],
        verbs: &[],
        bare: &[],
    },
    Launcher {
        programs: &["npm", "pnpm", "yarn", "bun"],
        files: &["package.json"],
        verbs: &["run", "run-script"],
        bare: &["test", "start"],
    },
    Launcher {
        programs: &["composer"],
        files: &["composer.json"],
        verbs: &["run", "run-script"],
        bare: &["test"],
    },
];

/// The manifest that a command reads, with its new recipe, which runs `body`.
pub(super) fn recipe(
    start: &dyn SourceTree,
    command: &ShellCommand,
    body: &str,
) -> Option<(PathBuf, String)> {
    let (program, rest) = unwrapped(&command.words).split_first()?;
    let launcher = LAUNCHERS.iter().find(|it| it.programs.contains(&program.as_str()))?;
    let plain = |word: &&String| !word.starts_with('-') && !word.contains('=');
    let mut words = rest.iter().filter(plain).map(String::as_str);
    let first = words.next()?;
    let name = match launcher.verbs.contains(&first) {
        true => words.next()?,
        false if launcher.verbs.is_empty() || launcher.bare.contains(&first) => first,
        false => return None,
    };
    let there = launcher.files.iter().find(|it| start.paths().contains_key(Path::new(**it)));
    let path = PathBuf::from(there.or(launcher.files.last())?);
    let old = start.read(&path).and_then(|bytes| String::from_utf8(bytes).ok());
    let text = added(&path, &old.unwrap_or_default(), name, body)?;
    Some((path, text))
}

/// The text with one more recipe; none if it has it.
fn added(path: &Path, old: &str, name: &str, body: &str) -> Option<String> {
    if path.extension().is_some_and(|it| it == "json") {
        let mut manifest: Value = serde_json::from_str(old).unwrap_or_else(|_| json!({}));
        let scripts = manifest.as_object_mut()?.entry("scripts").or_insert_with(|| json!({}));
        let scripts = scripts.as_object_mut().filter(|it| !it.contains_key(name))?;
        scripts.insert(name.to_owned(), json!(body));
        return Some(format!("{manifest:#}\n"));
    }
    let is_rake = path.to_str()?.to_lowercase().starts_with("rakefile");
    let has = old.lines().any(|line| match is_rake {
        true => {
            let line = line.trim_start();
            (line.starts_with("task") || line.starts_with("file")) && line.contains(name)
        }
        false => {
            let head = line.split(':').next().unwrap_or_default();
            line.contains(':') && head.split_whitespace().any(|word| word == name)
        }
    });
    let quoted = body.replace('\\', "\\\\").replace('\'', "\\'");
    let recipe = match is_rake {
        true => format!("task '{name}' do\n  sh '{quoted}'\nend\n"),
        false => format!("{name}:\n\t@{}\n", body.replace('$', "$$")),
    };
    (!has).then(|| format!("{old}\n{recipe}").trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_recipe_is_added() {
        for (path, old, wanted) in [
            ("Makefile", "all: x\n", Some("all: x\n\ndocs:\n\t@:\n")),
            ("Makefile", "a docs: x\n\ttrue\n", None),
            ("Rakefile", "task :all\n", Some("task :all\n\ntask 'docs' do\n  sh ':'\nend\n")),
            ("Rakefile", "task docs: :all\n", None),
            ("package.json", "{\"scripts\":{\"docs\":\"x\"}}", None),
        ] {
            assert_eq!(added(Path::new(path), old, "docs", ":").as_deref(), wanted, "{old}");
        }
        let new = added(Path::new("package.json"), "{\"name\":\"a\"}", "docs", ":");
        assert!(new.is_some_and(|text| text.contains("\"docs\": \":\"")));
    }
}
