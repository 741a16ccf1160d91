//! `CMakeLists.txt` and `*.cmake`: how tests are declared and run. Targets and sources may change.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::conventions::Role;
use super::super::files::text;
use super::super::paths::{extension, file_name, folder, inside, sounds_like_a_check};
use super::super::programs::lists;
use super::super::standard::HEADERS;
use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};
use super::statements::{Syntax, statements};

const CMAKE: Syntax = Syntax { comment: "#", quotes: &['"'], long_strings: true };

/// Puts back how tests are declared.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let gone = targets_of_new_tests(around, now);
    let parts = |code: &str| {
        let leaf = |text: &String| {
            let part = statement(around, text);
            match command(text) {
                Some((_, words)) if words.iter().take(4).any(|word| gone.contains(word)) => {
                    Part { fate: Fate::Fixed, ..part }
                }
                Some(_) | None => part,
            }
        };
        nested(statements(code, CMAKE).iter().map(leaf).collect())
    };
    merged(&parts(start.unwrap_or_default()), parts(now))
}

/// Targets that the start does not have and whose sources are new tests: these go, so that the rest
/// can be built.
fn targets_of_new_tests(around: &Manifests<'_>, now: &str) -> BTreeSet<String> {
    let is_new = |word: &String| {
        inside(folder(around.path), word).is_some_and(|path| is_new_test(around, &path))
    };
    let targets = statements(now, CMAKE).into_iter().filter_map(|text| {
        let (name, words) = command(&text)?;
        let (target, sources) = words.split_first()?;
        let builds = matches!(name.as_str(), "add_executable" | "add_library");
        (builds && sources.iter().any(is_new)).then(|| target.clone())
    });
    let start = text(around.start, around.path).unwrap_or_default();
    let had: BTreeSet<String> = statements(&start, CMAKE)
        .iter()
        .filter_map(|text| command(text)?.1.into_iter().next())
        .collect();
    targets.filter(|target| !had.contains(target)).collect()
}

/// Is it a test that was not there at the start, so that it goes?
fn is_new_test(around: &Manifests<'_>, path: &Path) -> bool {
    around.now.paths().contains_key(path)
        && !around.start.paths().contains_key(path)
        && around.table.role(path).is_some_and(|role| role != Role::Manifest)
}

/// The statements of a file.
pub(in super::super) fn parsed(code: &str) -> Vec<String> {
    statements(code, CMAKE)
}

/// The command of a statement in small letters, and its words.
pub(in super::super) fn command(text: &str) -> Option<(String, Vec<String>)> {
    let lines = text.lines().map(|line| match line.find('#') {
        Some(at) if line[..at].matches('"').count() % 2 == 0 => &line[..at],
        Some(_) | None => line,
    });
    let plain = lines.collect::<Vec<_>>().join("\n");
    let (name, rest) = plain.split_once('(')?;
    let arguments = rest.rsplit_once(')').map_or(rest, |(inner, _)| inner);
    let words = arguments.split(|c: char| c.is_whitespace() || c == ';');
    let words = words.map(|word| word.trim_matches('"').to_owned());
    Some((name.trim().to_lowercase(), words.filter(|word| !word.is_empty()).collect()))
}

/// The part of one statement.
fn statement(around: &Manifests<'_>, text: &str) -> Part {
    let Some((name, words)) = command(text) else { return Part::blank(text) };
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let named = match word(0) {
        "NAME" => word(1),
        first => first,
    };
    let key = format!("{name} {named}");
    let about_tests = ["GTest", "Catch", "doctest", "googletest", "CTest", "GoogleTest"];
    let fate = match name.as_str() {
        "add_test"
        | "gtest_discover_tests"
        | "catch_discover_tests"
        | "gtest_add_tests"
        | "doctest_discover_tests"
        | "enable_testing" => Fate::Kept,
        "include" | "find_package" | "fetchcontent_declare" | "fetchcontent_makeavailable"
            if about_tests.iter().any(|about| word(0).starts_with(about)) =>
        {
            Fate::Kept
        }
        // A text that is no manifest is not put back by its parts.
        "include" if !word(0).ends_with(".cmake") && word(0).contains(['.', '$']) => Fate::Fixed,
        "cmake_language" => Fate::Fixed,
        "file" | "configure_file" | "execute_process" | "add_custom_command"
            if words.iter().any(|word| HEADERS.contains(&file_name(Path::new(word)))) =>
        {
            Fate::Fixed
        }
        "add_subdirectory" => subdirectory(around, word(0)),
        "set_tests_properties" | "return" => Fate::Fixed,
        "set_property" if words.iter().any(|word| word == "TEST") => Fate::Fixed,
        "set_directory_properties" if text.contains("TEST_INCLUDE") => Fate::Fixed,
        "set" | "option" | "unset" | "list" if is_test_variable(&name, &words) => Fate::Fixed,
        "add_custom_target" if matches!(word(0), "test" | "check") => Fate::Fixed,
        "add_custom_command" if sounds_like_a_check(&squeezed(text)) => Fate::Kept,
        "target_compile_definitions" | "target_compile_options" | "target_precompile_headers"
            if sounds_like_a_check(word(0)) =>
        {
            Fate::Fixed
        }
        "add_executable" | "add_library" | "target_sources" => {
            return target(around, text, key, &words);
        }
        _ if text.contains("NDEBUG") => Fate::Fixed,
        _ if text.contains("-Werror") || text.contains("/WX") => {
            return Part::with_value(text, key, "errors".to_owned(), Fate::Kept);
        }
        _ => Fate::Free,
    };
    Part::with_value(text, key, words.join(" "), fate)
}

/// A target: its harness sources must not vanish, others may change.
pub(super) fn target(around: &Manifests<'_>, text: &str, key: String, words: &[String]) -> Part {
    let sources = harness_sources(around, words);
    let fate = if sources.is_empty() { Fate::Free } else { Fate::Kept };
    Part::with_value(text, key, sources, fate)
}

/// Variables that decide whether and how tests run, and whether `assert` does anything.
fn is_test_variable(command: &str, words: &[String]) -> bool {
    let at = usize::from(command == "list");
    let name = words.get(at).map_or("", String::as_str);
    ["BUILD_TESTING", "CMAKE_BUILD_TYPE", "CMAKE_CROSSCOMPILING_EMULATOR", "CMAKE_TEST_LAUNCHER"]
        .contains(&name)
        || name.starts_with("CTEST_")
        || words.iter().any(|word| word.contains("NDEBUG"))
}

/// A folder with tests stays in the build while it is there.
fn subdirectory(around: &Manifests<'_>, name: &str) -> Fate {
    let Some(path) = inside(folder(around.path), name).map(|path| path.join("CMakeLists.txt"))
    else {
        return Fate::Free;
    };
    if is_new_test(around, &path) {
        return Fate::Fixed;
    }
    let there = around.now.paths().contains_key(&path)
        || (around.start.paths().contains_key(&path) && around.table.role(&path).is_some());
    if there { Fate::Kept } else { Fate::Free }
}

/// Sources of a target that are harness, in an order of their own.
fn harness_sources(around: &Manifests<'_>, words: &[String]) -> String {
    let endings = ["c", "cc", "cpp", "cxx", "cu", "m", "mm"];
    let mut found: Vec<&str> = words
        .iter()
        .filter(|word| {
            inside(folder(around.path), word).is_some_and(|path| {
                endings.contains(&extension(&path))
                    && !file_name(&path).is_empty()
                    && around.table.role(&path).is_some()
                    && (around.start.paths().contains_key(&path) || is_new_test(around, &path))
            })
        })
        .map(String::as_str)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.join(" ")
}

/// Puts what is inside of `if`, `function`, and the like into blocks.
fn nested(leaves: Vec<Part>) -> Vec<Part> {
    let mut levels: Vec<(Part, Vec<Part>)> = Vec::new();
    let mut parts = Vec::new();
    for leaf in leaves {
        let name = leaf.key.split(' ').next().unwrap_or("");
        match name {
            "if" | "foreach" | "while" | "function" | "macro" | "block" => {
                levels.push((leaf, std::mem::take(&mut parts)));
            }
            "elseif" | "else" => {
                if let Some((head, above)) = levels.pop() {
                    let key = format!("{}/{}", block_key(&head), leaf.value);
                    let inner = std::mem::replace(&mut parts, above);
                    parts.push(Part::block(&head.text, block_key(&head), inner, ""));
                    let next = Part { key, value: String::new(), ..leaf };
                    levels.push((next, std::mem::take(&mut parts)));
                }
            }
            "endif" | "endforeach" | "endwhile" | "endfunction" | "endmacro" | "endblock" => {
                if let Some((head, above)) = levels.pop() {
                    let inner = std::mem::replace(&mut parts, above);
                    let block = Part::block(&head.text, block_key(&head), inner, &leaf.text);
                    let replaces = replaces_a_command(&head);
                    parts.push(if replaces { block.as_one(Fate::Fixed) } else { block });
                } else {
                    parts.push(leaf);
                }
            }
            _ => parts.push(leaf),
        }
    }
    while let Some((head, above)) = levels.pop() {
        let inner = std::mem::replace(&mut parts, above);
        parts.push(Part::block(&head.text, block_key(&head), inner, ""));
    }
    parts
}

/// Whether a function or a macro has the name of a command that declares targets and tests.
fn replaces_a_command(head: &Part) -> bool {
    const COMMANDS: &str = "
        add_custom_command add_custom_target add_executable add_library add_subdirectory add_test
        catch_discover_tests doctest_discover_tests enable_testing gtest_add_tests
        gtest_discover_tests include message project set set_property set_tests_properties
        target_compile_definitions target_compile_options target_link_libraries target_sources
    ";
    let name = head.key.strip_prefix("function ").or(head.key.strip_prefix("macro "));
    name.is_some_and(|name| lists(COMMANDS, &name.to_lowercase()))
}

/// A block is known by its whole first line.
fn block_key(head: &Part) -> String {
    if head.value.is_empty() { head.key.clone() } else { head.value.clone() }
}
