//! Files that a judge loads: sourced and imported files of the start.
//!
//! A judge often loads the product as well, to test it. A loaded file is harness if the table
//! knows it, if its name or its folder says that it checks, or if it holds functions that decide.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::Role;
use super::deciding;
use super::files::text;
use super::paths::{extension, file_name, folder, inside, normal, sounds_like_a_check};
use super::programs::{self, Program};
use super::reader::{ReadAt, Reader};
use super::search_path;
use super::shell::ShellCommand;
use super::started;

/// Reads what a judge's file loads.
pub(super) fn of_judge(reader: &mut Reader<'_>, path: &Path, place: &ReadAt, depth: usize) {
    let Some(code) = text(reader.start, path) else { return };
    let first = code.lines().next().unwrap_or_default();
    let shebang = first.strip_prefix("#!").unwrap_or_default();
    let language = match extension(path) {
        "sh" | "bash" | "zsh" | "ksh" | "bats" => "sh",
        "cmd" | "command" => "sh",
        "" if shebang.is_empty() || shebang.contains("sh") => "sh",
        "" => shebang,
        other => other,
    };
    let stopped = place.stops;
    let place = ReadAt {
        script: Some(path.to_owned()),
        direct: place.direct && language == "sh",
        stops: false,
        ..place.clone()
    };
    let stops = |option: &str| option.starts_with('-') && option.contains('e');
    let stops = stopped || shebang.split_whitespace().skip(1).any(stops);
    if language == "sh" && stops {
        reader.recipe(&code, &place, depth);
    } else if language == "sh" {
        reader.lines(&code, &place, depth);
    } else {
        of_code(reader, language, &code, &place, depth);
        started::of_code(reader, language, &code, &place, depth);
    }
}

/// Reads what code in another language than shell loads.
pub(super) fn of_code(
    reader: &mut Reader<'_>,
    language: &str,
    code: &str,
    place: &ReadAt,
    depth: usize,
) {
    reader.submodules_in(code);
    if language.contains("tcl") {
        tcl(reader, code, place, depth);
    }
    for candidates in imports(language, code, place) {
        let Some(at) = candidates.iter().position(|path| reader.start.paths().contains_key(path))
        else {
            continue;
        };
        let path = &candidates[at];
        if decides(reader, path) {
            reader.found.shadows.extend(candidates[..at].iter().cloned());
            let place = ReadAt { direct: false, ..place.clone() };
            reader.judge(path, &place, depth);
        }
    }
}

/// The files of the start that code loads.
pub(super) fn loaded(
    reader: &Reader<'_>,
    language: &str,
    code: &str,
    place: &ReadAt,
) -> Vec<PathBuf> {
    let exists = |path: &PathBuf| reader.start.paths().contains_key(path);
    let all = imports(language, code, place).into_iter();
    all.filter_map(|candidates| candidates.into_iter().find(exists)).collect()
}

/// `package require NAME` of Tcl: an index says which files are the package.
fn tcl(reader: &mut Reader<'_>, code: &str, place: &ReadAt, depth: usize) {
    static REQUIRE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\bpackage\s+require\s+(?:-exact\s+)?([\w:]+)").expect("valid")
    });
    let names: Vec<&str> =
        REQUIRE.captures_iter(code).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let paths = reader.start.paths().keys().filter(|path| file_name(path) == "pkgIndex.tcl");
    let provides = |index: &&PathBuf| {
        text(reader.start, index).is_some_and(|code| {
            names.iter().any(|name| code.contains(&format!("ifneeded {name} ")))
        })
    };
    for index in paths.filter(provides).cloned().collect::<Vec<_>>() {
        let beside = reader.start.paths().keys().filter(|path| folder(path) == folder(&index));
        let beside = beside.filter(|path| **path != index && decides(reader, path));
        let files: Vec<PathBuf> = beside.cloned().collect();
        for path in files.iter().chain(files.first().map(|_| &index)) {
            reader.judge(path, &ReadAt { direct: false, ..place.clone() }, depth);
        }
    }
}

/// Whether a loaded file belongs to the judge, not to the product.
fn decides(reader: &Reader<'_>, path: &Path) -> bool {
    static DECIDING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"AssertionError|\bunittest\b|\bpytest\b|node:assert|(?:def|function|sub|func)\s+(?:assert|expect|fail)",
        )
        .expect("valid")
    });
    let sounds = path.iter().any(|part| part.to_str().is_some_and(sounds_like_a_check));
    let role = reader.table.role(path);
    // A manifest is put back by its parts.
    if role == Some(Role::Manifest) {
        return false;
    }
    role.is_some()
        || sounds
        || text(reader.start, path).is_some_and(|code| {
            DECIDING.is_match(&code)
                || deciding::is_test_code(path, &code)
                || deciding::fails(path, &code)
        })
}

/// A file that shell text sources. It belongs to the judge, unless it is a library of a script
/// that asserts by itself, and neither compares arguments nor ends the shell, or all that is called of it are functions whose output is
/// compared.
pub(super) fn sourced(
    reader: &mut Reader<'_>,
    name: &str,
    all: &[ShellCommand],
    place: &ReadAt,
    depth: usize,
) {
    static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^[ \t]*(?:function[ \t]+)?([A-Za-z_][\w-]*)[ \t]*\([ \t]*\)")
            .expect("valid")
    });
    let Some(path) = reader.file(name, place) else { return };
    let code = text(reader.start, &path).unwrap_or_default();
    let functions: Vec<&str> =
        FUNCTION.captures_iter(&code).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let called = |command: &&ShellCommand| {
        command.words.first().is_some_and(|word| functions.contains(&word.as_str()))
    };
    let calls: Vec<&ShellCommand> = all.iter().filter(called).collect();
    let known = reader.table.role(&path).is_some()
        || path.iter().any(|part| part.to_str().is_some_and(sounds_like_a_check));
    // `is_even 4 && ! is_even 3`
    let both_ways = |it: &ShellCommand| {
        let same = calls.iter().filter(|other| other.words.first() == it.words.first());
        same.into_iter().any(|other| other.must_fail != it.must_fail)
    };
    let is_product = match calls.is_empty() {
        true => {
            place.direct && place.script.is_none() && compares_variable(&code, all)
                || calls_unwritten(&code, all)
        }
        false => calls.iter().all(|command| command.compared || both_ways(command)),
    };
    let asserts = |it: &ShellCommand| {
        let word = it.words.first().map_or("", String::as_str);
        ["test", "[", "[[", "cmp", "diff", "grep"].contains(&word)
    };
    let is_library = place.script.is_some()
        && !functions.is_empty()
        && !deciding::decides_in_shell(&code)
        && all.iter().any(asserts);
    if known || !(is_product || is_library) {
        reader.judge(&path, place, depth);
    } else {
        reader.found.subjects.insert(path);
    }
}

/// Whether commands compare what a function prints that no code defines yet, and the sourced code
/// neither asserts nor ends the shell.
fn calls_unwritten(code: &str, all: &[ShellCommand]) -> bool {
    let is_unwritten = |it: &&ShellCommand| {
        it.words.first().is_some_and(|word| {
            word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
                && programs::program(word) == Program::Other
                && !search_path::is_known_command(word)
                && !all.iter().any(|other| other.function.as_deref() == Some(word))
        })
    };
    let mut unwritten = all.iter().filter(is_unwritten).peekable();
    unwritten.peek().is_some()
        && unwritten.all(|it| it.compared)
        && !code.contains("exit")
        && !code.contains("assert")
}

/// Whether commands compare a variable that sourced code sets: `. ./env.sh && test "$APP" = prod`.
fn compares_variable(code: &str, all: &[ShellCommand]) -> bool {
    static SETS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=").expect("valid")
    });
    SETS.captures_iter(code).any(|set| {
        let value = [format!("${}", &set[1]), format!("${{{}}}", &set[1])];
        let is_test = |it: &&ShellCommand| {
            it.words.first().is_some_and(|word| ["test", "[", "[["].contains(&word.as_str()))
        };
        all.iter().filter(is_test).any(|it| it.words.iter().any(|word| value.contains(word)))
    })
}

/// The files that code loads, each with the paths to try in order.
fn imports(language: &str, code: &str, place: &ReadAt) -> Vec<Vec<PathBuf>> {
    let own = place.script.as_deref().map_or(place.folder.as_path(), folder);
    let roots = [own, place.folder.as_path(), Path::new("")];
    if language.contains("py") {
        python(code, own, &roots)
    } else if language.contains("node")
        || matches!(language, "js" | "mjs" | "cjs" | "ts" | "mts" | "tsx" | "jsx" | "bun" | "deno")
    {
        node(code, own)
    } else if language.contains("perl") || matches!(language, "pl" | "pm" | "t") {
        let mut found = quoted(language, code, own, &roots);
        found.extend(perl(code, &roots));
        found
    } else {
        quoted(language, code, own, &roots)
    }
}

fn python(code: &str, own: &Path, roots: &[&Path]) -> Vec<Vec<PathBuf>> {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|;)[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^\n#;]+)|import[ \t]+([^\n#;]+))")
            .expect("valid")
    });
    let mut modules: Vec<String> = Vec::new();
    let plain = |name: &str| name.split_whitespace().next().unwrap_or("").to_owned();
    for found in IMPORT.captures_iter(code) {
        if let (Some(from), Some(names)) = (found.get(1), found.get(2)) {
            modules.push(from.as_str().to_owned());
            let dot = if from.as_str().ends_with('.') { "" } else { "." };
            let names = names.as_str().trim_matches(['(', ')', ' ']).split(',').map(plain);
            modules.extend(names.map(|name| format!("{}{dot}{name}", from.as_str())));
        }
        if let Some(names) = found.get(3) {
            modules.extend(names.as_str().split(',').map(plain));
        }
    }
    modules
        .iter()
        .map(|module| {
            let dots = module.chars().take_while(|c| *c == '.').count();
            let rest = module.trim_start_matches('.').replace('.', "/");
            let up = "../".repeat(dots.saturating_sub(1));
            let folders: Vec<&Path> = if dots > 0 { vec![own] } else { roots.to_vec() };
            let names = [format!("{up}{rest}/__init__.py"), format!("{up}{rest}.py")];
            folders.iter().flat_map(|at| names.iter().filter_map(|name| inside(at, name))).collect()
        })
        .collect()
}

fn node(code: &str, own: &Path) -> Vec<Vec<PathBuf>> {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?:require|import)\s*\(\s*["'](\.[^"']*)["']|(?:from|import)\s+["'](\.[^"']*)["']"#,
        )
        .expect("valid")
    });
    let names = IMPORT.captures_iter(code);
    names
        .filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str().to_owned()))
        .map(|name| {
            let endings = [
                "",
                ".js",
                ".json",
                ".node",
                ".mjs",
                ".cjs",
                ".ts",
                ".tsx",
                "/index.js",
                "/index.ts",
            ];
            endings.iter().filter_map(|ending| inside(own, &format!("{name}{ending}"))).collect()
        })
        .collect()
}

/// `use Gate;`, from the folders that the code or a check names.
fn perl(code: &str, roots: &[&Path]) -> Vec<Vec<PathBuf>> {
    static USES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|;)[ \t]*(?:use|require)[ \t]+([A-Z][\w:]*)").expect("valid")
    });
    static LIB: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\buse[ \t]+lib\b([^;\n]+)").expect("valid"));
    let odd = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
    let lists = LIB.captures_iter(code).filter_map(|found| Some(found.get(1)?.as_str()));
    let named: Vec<&str> = lists.flat_map(|list| list.split(odd)).collect();
    let folders: Vec<&str> = named.into_iter().chain(["", "lib", "t", "t/lib"]).collect();
    let modules = USES.captures_iter(code).filter_map(|found| Some(found.get(1)?.as_str()));
    let files = modules.map(|module| format!("{}.pm", module.replace("::", "/")));
    let below = |file: String| {
        let names = folders.iter().map(move |at| Path::new(at).join(&file));
        let paths = names.flat_map(|name| roots.iter().map(move |root| root.join(&name)));
        paths.filter_map(|path| normal(&path)).collect()
    };
    files.map(below).collect()
}

/// Ruby, Perl, PHP, and others: quoted paths after a word that loads.
fn quoted(language: &str, code: &str, own: &Path, roots: &[&Path]) -> Vec<Vec<PathBuf>> {
    static LOADS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?:require_relative|require_once|include_once|require|include|load|do|source|use lib)\b[^"'\n]*["']([^"'\n]+)["']|#\s*include\s*<([^>\n]+)>"#)
            .expect("valid")
    });
    let ending = if language.contains("rb") || language.contains("ruby") { ".rb" } else { "" };
    LOADS
        .captures_iter(code)
        .filter_map(|found| found.get(1).or(found.get(2)))
        .map(|found| {
            let name = found.as_str().trim_start_matches('/').to_owned();
            let names = [name.clone(), format!("{name}{ending}")];
            let mut folders = roots.to_vec();
            folders.insert(0, own);
            folders.iter().flat_map(|at| names.iter().filter_map(|name| inside(at, name))).collect()
        })
        .collect()
}

/// Whether code loads a file of the repository.
pub(super) fn loads_something(files: &dyn super::files::SourceTree, from: &Path) -> bool {
    let place = ReadAt { script: Some(from.to_owned()), ..ReadAt::default() };
    let code = text(files, from).unwrap_or_default();
    loads_any(files, extension(from), &code, &place)
}

/// Whether code in a check's own line loads a file of the repository.
pub(super) fn line_loads_something(
    files: &dyn super::files::SourceTree,
    program: &str,
    code: &str,
) -> bool {
    loads_any(files, program, code, &ReadAt::default())
}

fn loads_any(
    files: &dyn super::files::SourceTree,
    language: &str,
    code: &str,
    place: &ReadAt,
) -> bool {
    let loaded = imports(language, code, place);
    loaded.iter().flatten().any(|path| files.paths().contains_key(path))
}

/// Whether a file of the start loads another one, by what it imports or sources.
pub(super) fn loads(files: &dyn super::files::SourceTree, from: &Path, path: &Path) -> bool {
    let Some(code) = text(files, from) else { return false };
    let place = ReadAt { script: Some(from.to_owned()), ..ReadAt::default() };
    if extension(from) == "sh" || extension(from) == "bats" {
        return code.contains(file_name(path));
    }
    imports(extension(from), &code, &place)
        .iter()
        .any(|candidates| candidates.iter().any(|candidate| candidate == path))
}
