//! Programs that always print the one text that the lines compare with.
//!
//! Invariant: pure. A program that always prints one text meets no two others, so that lines with
//! several inputs give no cheat.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::attack::{Attack, plain, program};
use super::grep::grep;
use super::languages::{Language, smallest};
use crate::shell::unwrapped;
use crate::shell::{ShellCommand, Use};
use crate::verify::classify::TreeEdit;

/// Programs that pass on, make up, or compare text, and are not the work.
const TOOLS: &str = " : [ [[ awk basename cat cd cmp comm cut date diff dirname echo egrep exit \
                     false fgrep find for git grep head jq ls mktemp paste printf pwd read rg sed \
                     seq set sort tail tee test tr true uniq wc";

/// Options whose value is code.
const CODE: [&str; 6] = ["-c", "-e", "-p", "-r", "--eval", "--print"];

impl Attack<'_> {
    /// The program that the lines run, printing the text.
    pub(super) fn constants(&self) -> Vec<TreeEdit> {
        let Some((words, text)) = self.comparison() else { return Vec::new() };
        let is_code = |pair: &[String]| CODE.contains(&pair[0].as_str());
        if let Some(pair) = words.windows(2).find(|pair| is_code(pair))
            && (text.contains([' ', '\n', ',']) || pair[1].contains(&text))
        {
            // The code compares several values, or prints the text itself.
            return Vec::new();
        }
        let paths = self.programs(&words).into_iter().filter(|path| self.is_product(path));
        let edits = paths.filter_map(|path| {
            let old = self.text(&path).unwrap_or_default();
            // A program that is not there may be in any language.
            let language = Language::of(&path, Some(&old));
            let language = language.or_else(|| Language::of(Path::new("x.sh"), None))?;
            Some(self.replaced(&path, &language.prints(&path, &text)))
        });
        edits.collect()
    }

    /// The words of the only program whose output is compared, and the text.
    fn comparison(&self) -> Option<(Vec<String>, String)> {
        let mut runs = BTreeSet::new();
        let is_used = |it: &&ShellCommand| it.compared || it.usage == Use::Output;
        for command in self.scanned.iter().filter(is_used) {
            if !TOOLS.split(' ').any(|it| it == program(command)) {
                let before = self.scanned.iter().take_while(|it| it.words != command.words);
                let piped = before.filter(|it| it.pipeline == command.pipeline);
                let piped: Vec<&[String]> = piped.map(|it| it.words.as_slice()).collect();
                runs.insert((unwrapped(&command.words), &command.stdin, &command.document, piped));
            }
        }
        let mut runs = runs.into_iter();
        let (words, ..) = runs.next().filter(|_| runs.next().is_none())?;
        let wanted = self.scanned.iter().flat_map(|command| self.wanted(command));
        let mut wanted: Vec<String> = wanted.collect::<Option<_>>()?;
        wanted.dedup();
        (!wanted.is_empty()).then(|| (words.to_vec(), wanted.join("\n")))
    }

    /// The texts that a command compares output with; `None` for one that the line does not show.
    fn wanted(&self, command: &ShellCommand) -> Vec<Option<String>> {
        let outputs: Vec<&String> = self.scanned.iter().flat_map(|it| &it.outputs).collect();
        match program(command) {
            "test" | "[" | "[[" => compared(command),
            "diff" | "cmp" => {
                let words = command.words.iter().skip(1).chain(&command.stdin);
                let files = words.filter(|it| !it.starts_with('-') && !outputs.contains(it));
                let files = files.filter_map(|it| plain(it));
                let texts = files.map(|it| self.text(&it).unwrap_or_else(|| smallest(&it)));
                texts.map(|it| Some(it.trim_end_matches('\n').to_owned())).collect()
            }
            _ => match grep(command) {
                Some(grep) if !grep.absent && grep.files.iter().all(|it| outputs.contains(&it)) => {
                    vec![Some(grep.text).filter(|text| !text.contains('$'))]
                }
                _ => Vec::new(),
            },
        }
    }

    /// The files of the program that the words start.
    fn programs(&self, words: &[String]) -> Vec<PathBuf> {
        let paths = words.iter().filter_map(|word| plain(word));
        let mut paths = paths.filter(|it| Language::of(it, self.text(it).as_deref()).is_some());
        if let Some(path) = paths.next() {
            return vec![path];
        }
        // Modules of code, classes, and programs: `import app`, `java -cp out a.Main`, `./app`.
        let names: BTreeSet<&str> = words
            .iter()
            .flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .collect();
        let is_named = |path: &Path| {
            path.file_stem().is_some_and(|it| it.to_str().is_some_and(|it| names.contains(it)))
        };
        let starts = |path: &Path, language: &Language| {
            self.text(path).is_some_and(|text| language.is_compiled_program(&text))
        };
        let sources = self.sources().filter(|(path, it)| is_named(path) || starts(path, it));
        let sources = sources.map(|(path, _)| path.clone());
        let (named, others): (Vec<_>, Vec<_>) = sources.partition(|path| is_named(path));
        let new = words.first().filter(|word| word.contains('/') && others.is_empty());
        let new = new.and_then(|word| plain(word));
        if named.is_empty() { others.into_iter().chain(new).collect() } else { named }
    }
}

/// The literals of `test ONE = OTHER`; `None` if both are made when the line runs.
fn compared(command: &ShellCommand) -> Vec<Option<String>> {
    if !["test", "[", "[["].contains(&program(command)) {
        return Vec::new();
    }
    let compared = command.words.windows(3).filter_map(|words| {
        // A wrong guess about the direction of `!=` is a cheat that fails.
        let is_comparison = ["=", "==", "-eq", "!=", "-ne"].contains(&words[1].as_str());
        let operands = [&words[0], &words[2]].into_iter();
        let (made, literals): (Vec<_>, Vec<_>) = operands.partition(|it| it.contains(['$', '`']));
        let is_output = made.first().is_some_and(|it| !["$#", "$?"].contains(&it.as_str()));
        (is_comparison && is_output).then(|| literals.first().copied().cloned())
    });
    compared.collect()
}
