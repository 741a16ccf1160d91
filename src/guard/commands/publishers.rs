//! Scripts whose names say that they publish, where a tool runs or loads them: `mocha
//! scripts/deploy.js`.

use std::path::Path;

use super::options::Parsed;
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::programs::lists;
use crate::guard::programs::table::{Entry, Kind};
use crate::guard::programs::verbs::refuse_publishing;

/// Endings of scripts.
const SCRIPTS: &str = "js cjs mjs jsx ts cts mts tsx py rb php pl lua sh bash";

/// Parts of a path that tell of tests and of settings.
const OTHERS: &str = "test tests spec specs e2e fixtures config conf rc";

impl Judge<'_> {
    /// Checks the operands of a tool that runs code of the project.
    pub(super) fn runs_no_publisher(
        &mut self,
        place: &Place,
        name: &str,
        words: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        if self.sandboxed {
            return Ok(());
        }
        // The tasks of a project are the subcommands of its `xtask`.
        let is_task = |(_, value, _): &(Kind, Arg, String)| value.text() == Some("xtask");
        if matches!(name, "cargo run" | "cargo r") && parsed.values.iter().any(is_task) {
            refuse_publishing(words.first().map(Arg::head).unwrap_or_default())?;
        }
        words.iter().try_for_each(|word| self.is_no_publisher(place, word, false))
    }

    /// Checks the value of an option of such a tool: a script that it loads, or a program of the
    /// project.
    pub(super) fn loads_no_publisher(
        &mut self,
        place: &Place,
        name: &str,
        entry: &Entry,
        (kind, value, option): (Kind, &Arg, &str),
    ) -> Result<(), Denial> {
        if self.sandboxed || !entry.runs {
            return Ok(());
        }
        if matches!(name, "cargo run" | "cargo r") && matches!(option, "--bin" | "--example") {
            return refuse_publishing(value.head());
        }
        match kind {
            Kind::Config | Kind::Word | Kind::Argument | Kind::NameGlob => {
                self.is_no_publisher(place, value, false)
            }
            _ => Ok(()),
        }
    }

    /// Refuses a word that stands for such a script, or, for a tool that runs all scripts of a
    /// folder, for a folder with one.
    pub(super) fn is_no_publisher(
        &mut self,
        place: &Place,
        word: &Arg,
        folders: bool,
    ) -> Result<(), Denial> {
        if self.sandboxed {
            return Ok(());
        }
        let file = match word {
            // A pattern that the tool expands itself.
            Arg::Text(text) if text.contains('*') => Arg::Pattern(text.clone()),
            Arg::Text(text) => Arg::of(text.split("::").next().unwrap_or(text)),
            Arg::Pattern(_) | Arg::Open { .. } => word.clone(),
        };
        for path in self.paths(place, &file).unwrap_or_default() {
            let real = self.cx.resolve(&path)?;
            let below = match real.kind {
                FileKind::Dir if folders => self.cx.entries(&real.path).paths.clone(),
                FileKind::File => vec![real.path],
                _ => Vec::new(),
            };
            self.cx.spend(below.len())?;
            for script in below {
                let root = &self.cx.policy().workspace;
                publishes_nothing(script.strip_prefix(root).unwrap_or(&script))?;
            }
        }
        Ok(())
    }
}

/// Refuses a script by its path below the workspace, unless it is a test or has settings.
fn publishes_nothing(script: &Path) -> Result<(), Denial> {
    let ending = script.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let path = script.to_string_lossy().to_lowercase();
    let is_other = path.split(['/', '.', '-', '_']).any(|part| lists(OTHERS, part));
    if is_other || !lists(SCRIPTS, &ending) || path.contains("node_modules") {
        return Ok(());
    }
    refuse_publishing(&script.file_stem().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_told_from_its_tests_and_settings() {
        for script in ["scripts/deploy.js", "release.py", "tools/npm-publish.ts", "a/Upload.rb"] {
            assert!(publishes_nothing(Path::new(script)).is_err(), "{script}");
        }
        for script in [
            "tests/deploy.py",
            "src/deploy.test.ts",
            "test_release.py",
            "spec/upload_spec.rb",
            "vite.release.config.ts",
            "src/employ.js",
            "docs/deploy.md",
        ] {
            assert!(publishes_nothing(Path::new(script)).is_ok(), "{script}");
        }
    }
}
