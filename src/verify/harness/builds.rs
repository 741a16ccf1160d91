//! Tests that a build declares: `add_test` of CMake, and `test` of Meson.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::claims::is_claim;
use super::entries::{cmake_command, cmake_statements, meson_statements};
use super::files::text;
use super::paths::{extension, file_name, inside};
use super::reader::{ReadAt, Reader};

/// Reads the commands that the tests of a build run, if a command runs them.
pub(super) fn run(
    reader: &mut Reader<'_>,
    program: &str,
    arguments: &[String],
    place: &ReadAt,
    depth: usize,
) {
    let tests = || {
        let names = ["test", "check", "tests", "RUN_TESTS"];
        arguments.iter().any(|word| names.contains(&word.as_str()))
    };
    match program {
        "ctest" => cmake(reader, place, depth),
        "cmake" => {
            if let Some(at) = arguments.iter().position(|word| word == "-P")
                && let Some(path) = arguments.get(at + 1).and_then(|name| reader.file(name, place))
            {
                reader.judge(&path, place, depth);
            }
            if tests() || arguments.iter().any(|word| word.starts_with("--workflow")) {
                cmake(reader, place, depth);
            }
        }
        "ninja" | "make" | "gmake" if tests() => {
            cmake(reader, place, depth);
            meson(reader, place, depth);
        }
        "meson" if tests() => meson(reader, place, depth),
        _ => {}
    }
}

fn named(reader: &Reader<'_>, is_one: impl Fn(&PathBuf) -> bool) -> Vec<PathBuf> {
    reader.start.paths().keys().filter(|path| is_one(path)).cloned().collect()
}

fn cmake(reader: &mut Reader<'_>, place: &ReadAt, depth: usize) {
    let files =
        named(reader, |path| file_name(path) == "CMakeLists.txt" || extension(path) == "cmake");
    for file in files {
        let code = text(reader.start, &file).unwrap_or_default();
        let all: Vec<_> =
            cmake_statements(&code).iter().filter_map(|text| cmake_command(text)).collect();
        let place = ReadAt { script: Some(file), direct: false, ..place.clone() };
        for (name, words) in &all {
            let (test, command) = match name.as_str() {
                "add_test" => test_command(words),
                "add_custom_target"
                    if words.first().is_some_and(|it| matches!(it.as_str(), "test" | "check")) =>
                {
                    test_command(words)
                }
                _ => continue,
            };
            let line = command.join(" ");
            let expects = |(name, words): &&(String, Vec<String>)| {
                let at = words.iter().position(|word| word == "PASS_REGULAR_EXPRESSION");
                name == "set_tests_properties"
                    && words.iter().any(|word| word == test)
                    && at.is_some_and(|at| !is_claim(&words[at + 1..].join(" ")))
            };
            let line = match all.iter().find(expects) {
                Some(_) => format!("test \"$({line})\" = compared"),
                None => line,
            };
            reader.recipe(&line, &place, depth + 1);
        }
    }
}

/// The name of a test, and its command as words of shell.
fn test_command(words: &[String]) -> (&str, Vec<String>) {
    const ENDS: [&str; 8] = [
        "WORKING_DIRECTORY",
        "CONFIGURATIONS",
        "COMMAND_EXPAND_LISTS",
        "DEPENDS",
        "COMMENT",
        "VERBATIM",
        "USES_TERMINAL",
        "SOURCES",
    ];
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let name = if word(0) == "NAME" { word(1) } else { word(0) };
    let from = words.iter().position(|word| word == "COMMAND").map_or(1, |at| at + 1);
    let command = words.iter().skip(from).take_while(|word| !ENDS.contains(&word.as_str()));
    (name, command.map(|word| program(word)).collect())
}

/// A variable that holds an interpreter, as its name.
fn program(word: &str) -> String {
    let lower = word.to_lowercase();
    let is_variable = word.starts_with("${") && word.ends_with('}');
    let names =
        [("python", "python3"), ("bash", "bash"), ("sh_", "sh"), ("{sh}", "sh"), ("node", "node")];
    let known = names.iter().find(|(part, _)| is_variable && lower.contains(part));
    match known {
        Some((_, program)) => (*program).to_owned(),
        None if lower == "${cmake_command}" => "cmake".to_owned(),
        None if word == "COMMAND" => "&&".to_owned(),
        None => word.replace("$<", "$X").replace(['>', '<'], ""),
    }
}

fn meson(reader: &mut Reader<'_>, place: &ReadAt, depth: usize) {
    static SET: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(\w+)\s*=\s*([^=].*)$").expect("valid"));
    static RUNS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"find_program|find_installation|\bfiles\s*\(|^\s*\[?\s*'").expect("valid")
    });
    for file in named(reader, |path| file_name(path) == "meson.build") {
        let code = text(reader.start, &file).unwrap_or_default();
        let statements = meson_statements(&code);
        let flat: Vec<String> = statements
            .iter()
            .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let sets: Vec<(String, String)> = flat
            .iter()
            .filter_map(|text| SET.captures(text))
            .filter(|found| RUNS.is_match(&found[2]))
            .map(|found| (found[1].to_owned(), found[2].to_owned()))
            .collect();
        let place = ReadAt { script: Some(file), direct: false, ..place.clone() };
        for test in flat.iter().filter(|it| it.starts_with("test(") || it.starts_with("benchmark("))
        {
            let Some((_, arguments)) = test.split_once(',') else { continue };
            let words = meson_words(arguments, &sets);
            let Some(first) = words.first() else { continue };
            let own =
                place.script.as_deref().and_then(|it| inside(super::paths::folder(it), first));
            let is_file = own.is_some_and(|path| reader.start.paths().contains_key(&path));
            let line = words.join(" ");
            let line = if is_file { format!("./{line}") } else { line };
            reader.recipe(&line, &place, depth + 1);
        }
    }
}

/// The words that a test runs; none if its program is built.
fn meson_words(arguments: &str, sets: &[(String, String)]) -> Vec<String> {
    static PART: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"'([^']*)'|(\w+)\s*(:|\()?").expect("valid"));
    let mut words = Vec::new();
    for found in PART.captures_iter(arguments) {
        if let Some(text) = found.get(1) {
            words.push(text.as_str().to_owned());
            continue;
        }
        let name = &found[2];
        match found.get(3).map(|it| it.as_str()) {
            Some(":") if name != "args" => break,
            Some(_) => {}
            None => match sets.iter().find(|(set, _)| set == name) {
                Some((_, value)) if value.contains("find_installation") => {
                    words.push("python3".to_owned());
                }
                Some((_, value)) => {
                    words.extend(value.split('\'').skip(1).step_by(2).map(str::to_owned));
                }
                // A program that is built.
                None if words.is_empty() => return words,
                None => {}
            },
        }
    }
    words
}
