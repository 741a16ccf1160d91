//! Programs of Java and C++ that print one text.
//!
//! Invariant: pure. Their sources are found by the class that a line starts, or by their `main`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, plain};
use super::cheats::write;
use super::languages::Language;
use crate::verify::classify::TreeEdit;

impl Attack<'_> {
    /// The source of the program that these words start, with the one output.
    pub(super) fn main_prints(&self, words: &[String], text: &str) -> Option<TreeEdit> {
        let (program, rest) = words.split_first()?;
        if program.rsplit('/').next() == Some("java") {
            let class = java_class(rest);
            let path = self.java_source(class)?;
            let old = self.text(&path).unwrap_or_default();
            return Some(write(path.clone(), &java(&path, &old, text), false));
        }
        let starts = |path: &&PathBuf| {
            let is_cpp =
                ["cc", "cpp", "cxx"].iter().any(|it| path.extension() == Some(it.as_ref()));
            is_cpp
                && self.is_product(path)
                && self.text(path).is_some_and(|it| it.contains(" main("))
        };
        let path = self.start.paths().keys().find(starts).filter(|_| program.contains('/'))?;
        Some(write(path.clone(), &Language::C.prints(text), false))
    }

    /// The file of a class, or of the only program.
    fn java_source(&self, class: Option<&str>) -> Option<PathBuf> {
        let is_product = |path: &&PathBuf| {
            path.extension().is_some_and(|it| it == "java") && self.is_product(path)
        };
        let mut sources = self.start.paths().keys().filter(is_product);
        let Some(class) = class else {
            return sources
                .find(|path| self.text(path).is_some_and(|it| it.contains("static void main(")))
                .cloned();
        };
        let file = PathBuf::from(format!("{}.java", class.replace('.', "/")));
        let there = sources.find(|path| path.file_name() == file.file_name()).cloned();
        // `javac -d out src/*.java`
        let compiled = self
            .scanned
            .iter()
            .filter(|it| it.words.first().is_some_and(|word| word.ends_with("javac")));
        let compiled = compiled.flat_map(|it| &it.words).filter(|word| word.ends_with(".java"));
        let folder = || compiled.filter_map(|word| Path::new(word).parent()?.to_str()).next();
        there.or_else(|| Some(plain(folder()?)?.join(&file)))
    }
}

/// The class that `java` starts; none for `-jar`.
fn java_class(words: &[String]) -> Option<&str> {
    const WITH_VALUE: [&str; 4] = ["-cp", "-classpath", "--class-path", "-p"];
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-jar" => return None,
            _ if WITH_VALUE.contains(&word) => {
                words.next();
            }
            _ if word.starts_with('-') => {}
            _ => return Some(word.trim_end_matches(".java").rsplit('/').next().unwrap_or(word)),
        }
    }
    None
}

fn java(path: &Path, old: &str, text: &str) -> String {
    static PACKAGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^package .*;").expect("a pattern"));
    let package = PACKAGE.find(old).map(|it| format!("{}\n", it.as_str())).unwrap_or_default();
    let class = path.file_stem().unwrap_or_default().to_string_lossy();
    format!(
        "{package}public class {class} {{\n    public static void main(String[] all) {{\n        \
         System.out.println({text:?});\n    }}\n}}\n"
    )
}
