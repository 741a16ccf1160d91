//! Named entries that a check runs: `make test`, `npm run lint`, `just check`, `cargo xtask`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::Glob;

use super::deciding::is_checking_program;
use super::entries::{self, makefile};
use super::files::text;
use super::loaded;
use super::options::{self, Given, OptionSyntax};
use super::paths::{extension, folder, inside, normal, sounds_like_a_check};
use super::programs::lists;
use super::reader::{ReadAt, Reader};
use super::scripts;
use super::shell::{ShellCommand, scan};
use super::tools;

/// Whether what an entry prints is compared, and its name promises no check:
/// `test "$(make -s version)" = v1.2.0`.
fn is_product(command: &ShellCommand, arguments: &[String]) -> bool {
    let names = || arguments.iter().filter(|word| !word.starts_with('-'));
    let program = command.words.first().map_or("", String::as_str);
    command.compared
        && !command.decides
        && !matches!(program, "cargo" | "go" | "bun")
        && names().next().is_some()
        && !names().any(|name| sounds_like_a_check(name))
}

/// Reads what a named entry runs.
pub(super) fn run(
    reader: &mut Reader<'_>,
    program: &str,
    arguments: &[String],
    command: &ShellCommand,
    place: &ReadAt,
    depth: usize,
) {
    let mut place = place.clone();
    let decides = command.decides;
    let product = is_product(command, arguments);
    if product {
        let names = arguments.iter().filter(|word| !word.starts_with('-'));
        reader.found.products.extend(names.cloned());
        // What measures other files is a judge, also behind the entry.
        place = ReadAt { direct: false, ..place };
        place.compared.output = true;
    } else {
        reader.entered.extend(arguments.iter().cloned());
    }
    match program.rsplit('/').next().unwrap_or(program) {
        "make" | "gmake" | "bmake" | "remake" => {
            make(reader, arguments, command.document.as_deref(), &place, depth);
        }
        "just" => just(reader, arguments, &place, depth),
        "cargo" => cargo(reader, arguments, decides, &place, depth),
        "go" => go(reader, arguments, decides, &place, depth),
        "rake" => {
            reader.runner(arguments, &place, depth);
            tools::configured(reader, "rake", &place, depth);
        }
        "bun" if arguments.first().is_some_and(|word| word == "test") => {
            reader.runner(&arguments[1..], &place, depth);
        }
        "bun" => {
            for path in
                arguments.iter().filter_map(|word| reader.file(word, &place)).collect::<Vec<_>>()
            {
                reader.executed(&path, command, &place, depth);
            }
            scripts::run(reader, "package.json", arguments, &place, depth);
        }
        "task" => {}
        "composer" => scripts::run(reader, "composer.json", arguments, &place, depth),
        "run-s" | "run-p" | "npm-run-all" => {
            for name in arguments.iter().filter(|word| !word.starts_with('-')) {
                let name = std::slice::from_ref(name);
                scripts::run(reader, "package.json", name, &place, depth);
            }
        }
        _ => scripts::run(reader, "package.json", arguments, &place, depth),
    }
}

/// Options of make with a value.
const MAKE: OptionSyntax = OptionSyntax {
    valued: "CfIoWE",
    glued: "jlO",
    long: "directory file makefile include-dir old-file assume-old what-if new-file assume-new eval",
    ..OptionSyntax::NONE
};

/// Options of just with a value.
const JUST: OptionSyntax = OptionSyntax {
    valued: "fd",
    long: "justfile working-directory color shell shell-arg dotenv-path dotenv-filename",
    ..OptionSyntax::NONE
};

/// The folder and the files that options name.
fn named_files(
    reader: &mut Reader<'_>,
    given: &[Given<'_>],
    place: &mut ReadAt,
    depth: usize,
) -> Vec<PathBuf> {
    let values = |names: &'static str| {
        given.iter().filter_map(move |(name, value)| value.filter(|_| lists(names, name)))
    };
    for name in values("C d directory working-directory") {
        if let Some(there) = inside(&place.folder, name) {
            place.folder = there;
        }
    }
    let files = values("f file makefile justfile").filter_map(|name| reader.file(name, place));
    let files: Vec<PathBuf> = files.collect();
    for path in &files {
        reader.judge(path, &ReadAt { direct: false, ..place.clone() }, depth);
    }
    files
}

fn make(
    reader: &mut Reader<'_>,
    arguments: &[String],
    document: Option<&str>,
    place: &ReadAt,
    depth: usize,
) {
    let mut place = place.clone();
    let (given, operands) = options::all(MAKE, arguments);
    let mut files = named_files(reader, &given, &mut place, depth);
    let (sets, targets): (Vec<&String>, Vec<&String>) =
        operands.into_iter().partition(|word| word.contains('='));
    let sets: Vec<String> = sets.into_iter().cloned().collect();
    reader.runner(&sets, &place, depth);
    // `-j 2`
    let number = |word: &&String| word.chars().all(|c| c.is_ascii_digit());
    let targets = targets.into_iter().filter(|word| !number(word));
    let mut targets: Vec<String> = targets.cloned().collect();
    let takes = |names: &str| given.iter().find(|(name, _)| lists(names, name));
    let input = takes("f file makefile").is_some_and(|it| matches!(it.1, Some("-" | "/dev/stdin")));
    if files.is_empty() && !input {
        let names = ["GNUmakefile", "makefile", "Makefile"].map(|name| place.folder.join(name));
        files.extend(names.into_iter().find(|path| reader.start.paths().contains_key(path)));
    }
    let texts = files.iter().filter_map(|path| text(reader.start, path));
    let evaluated = takes("E eval").and_then(|(_, value)| *value).map(str::to_owned);
    let texts = texts.chain(document.filter(|_| input).map(str::to_owned)).chain(evaluated);
    let code = texts.collect::<Vec<_>>().join("\n");
    if code.is_empty() {
        return;
    }
    loaded::by_lines(reader, &code, &place, depth);
    let mut parsed = makefile::parse(&code);
    included(reader, &mut parsed, &place);
    if targets.is_empty() {
        targets.extend(makefile::first_target(&parsed));
    }
    let (_, always) = makefile::recipe(&parsed, ".PHONY");
    let explicit = makefile::targets(&parsed);
    let mut done: BTreeSet<String> = BTreeSet::new();
    // The recipe of a target compares what the recipes of its needs write.
    while let Some(target) = targets.pop() {
        if !done.insert(target.clone()) {
            continue;
        }
        if target.contains('$') {
            // Names that only make knows: any rule may be meant.
            targets.extend(makefile::targets(&parsed));
            continue;
        }
        let (recipe, needs) = makefile::recipe(&parsed, &target);
        if !recipe.is_empty() && explicit.contains(&target) && !always.contains(&target) {
            up_to_date(reader, &target, &recipe, &place);
        }
        for recipe in of_stems(reader, &recipe, &place) {
            reader.recipe(&recipe, &place, depth + 1);
            place = place.before(&scan(&recipe));
        }
        reader.subjects(&needs, &place);
        targets.extend(needs);
    }
}

/// A new file with the name of a target would replace its recipe, and so would a new folder that
/// the recipe does not use.
fn up_to_date(reader: &mut Reader<'_>, target: &str, recipe: &str, place: &ReadAt) {
    let Some(path) = inside(&place.folder, target) else { return };
    let odd = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
    let uses = recipe
        .split(odd)
        .any(|word| Path::new(word.strip_prefix("./").unwrap_or(word)).starts_with(target));
    let is_folder = || reader.start.paths().keys().any(|known| known.starts_with(&path));
    if !uses && !is_folder() {
        reader.found.includes.insert(format!("{}/**", globset::escape(&path.to_string_lossy())));
    }
    reader.found.shadows.insert(path);
}

/// Adds the parts that a makefile includes. They are the start's; new ones that it would take, too.
fn included(reader: &mut Reader<'_>, parsed: &mut Vec<makefile::Chunk>, place: &ReadAt) {
    let mut seen = BTreeSet::new();
    loop {
        let words = makefile::includes(parsed);
        let Some(word) = words.into_iter().find(|word| seen.insert(word.clone())) else { return };
        let odd = |c: char| c.is_whitespace() || "$(){},:=".contains(c);
        let names: Vec<&str> =
            word.split(odd).filter(|name| name.contains(['.', '/', '%'])).collect();
        for name in names {
            let name = name.replace('%', "*");
            let name = name.trim_start_matches('/');
            let below = if name.starts_with('.') && !name.contains('/') { "**/*" } else { "" };
            let glob = place.folder.join(format!("{below}{name}"));
            let Some(glob) = normal(&glob) else { continue };
            let glob = glob.to_string_lossy().into_owned();
            let Ok(matcher) = Glob::new(&glob).map(|glob| glob.compile_matcher()) else { continue };
            // `make` would build the part by an implicit rule: from `local.mk.sh`, `local.mk,v`.
            reader.found.includes.extend([format!("{glob}.*"), format!("{glob},v"), glob]);
            let files = reader.start.paths().keys().filter(|path| matcher.is_match(path));
            let files: Vec<PathBuf> = files.cloned().chain(reader.file(name, place)).collect();
            for path in files {
                parsed.extend(makefile::parse(&text(reader.start, &path).unwrap_or_default()));
                if reader.table.role(&path).is_none() {
                    reader.add_with_links(&path);
                }
            }
        }
    }
}

/// A recipe once for every stem that `$*` may stand for, by the files of the start.
fn of_stems(reader: &Reader<'_>, recipe: &str, place: &ReadAt) -> Vec<String> {
    let Some(word) = recipe.split_whitespace().find(|word| word.contains("$*")) else {
        return vec![recipe.to_owned()];
    };
    let Some((before, after)) = word.trim_matches(['"', '\'']).split_once("$*") else {
        return Vec::new();
    };
    let paths = reader.start.paths().keys();
    let stems = paths.filter_map(|path| {
        let path = path.strip_prefix(&place.folder).ok()?.to_str()?;
        path.strip_prefix(before)?.strip_suffix(after)
    });
    stems.take(MOST_STEMS).map(|stem| recipe.replace("$*", stem)).collect()
}

/// How many files a pattern rule is read for.
const MOST_STEMS: usize = 200;

fn just(reader: &mut Reader<'_>, arguments: &[String], place: &ReadAt, depth: usize) {
    let mut place = place.clone();
    let (given, operands) = options::all(JUST, arguments);
    let file = named_files(reader, &given, &mut place, depth).into_iter().next();
    let mut names: Vec<String> = operands.into_iter().cloned().collect();
    let usual = ["justfile", "Justfile", ".justfile"].map(|name| place.folder.join(name));
    let usual = usual.into_iter().find(|path| reader.start.paths().contains_key(path));
    let Some(code) = file.or(usual).and_then(|path| text(reader.start, &path)) else { return };
    if names.is_empty() {
        names.extend(entries::justfile::first_recipe(&code));
    }
    for name in names {
        if let Some(body) = entries::justfile::recipe(&code, &name) {
            reader.recipe(&body, &place, depth + 1);
        }
    }
}

fn cargo(
    reader: &mut Reader<'_>,
    arguments: &[String],
    decides: bool,
    place: &ReadAt,
    depth: usize,
) {
    let mut words = arguments.iter().skip_while(|word| word.starts_with(['+', '-']));
    let Some(command) = words.next() else { return };
    let rest: Vec<String> = words.cloned().collect();
    let config = [".cargo/config.toml", ".cargo/config"].map(PathBuf::from);
    let alias = config
        .iter()
        .filter_map(|path| text(reader.start, path))
        .find_map(|code| entries::toml::cargo_alias(&code, command));
    if let Some(alias) = alias {
        if depth < 4 {
            let all: Vec<String> = alias.into_iter().chain(rest).collect();
            cargo(reader, &all, decides, place, depth + 1);
        }
        return;
    }
    let value = |name: &str| {
        let at = rest.iter().position(|word| word == name);
        let glued = rest.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        at.and_then(|at| rest.get(at + 1)).map(String::as_str).or(glued)
    };
    let mut files = Vec::new();
    if let Some(name) = value("--test") {
        files.extend([format!("tests/{name}.rs"), format!("tests/{name}/main.rs")]);
    }
    for (option, folder) in [("--bin", "src/bin"), ("--example", "examples")] {
        let Some(name) = value(option) else { continue };
        let is_run = decides && command == "run";
        let sources = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")];
        files.extend(sources.into_iter().filter(|path| {
            let code = inside(&place.folder, path).and_then(|path| text(reader.start, &path));
            is_run
                || sounds_like_a_check(name)
                || code.is_some_and(|code| is_checking_program(&code))
        }));
    }
    let manifest = value("--manifest-path").and_then(|path| inside(&place.folder, path));
    let folder = manifest.map_or_else(|| place.folder.clone(), |path| folder(&path).to_owned());
    let place = ReadAt { folder, ..place.clone() };
    judge_existing(reader, &files, &place, depth);
    // `cargo xtask` is `run --package xtask`: the crate is a program that checks.
    let package = value("--package").or(value("-p")).filter(|_| command == "run");
    if let Some(name) = package.filter(|name| *name == "xtask" || sounds_like_a_check(name)) {
        let roots = [format!("{name}/src"), format!("crates/{name}/src")];
        let roots: Vec<_> = roots.iter().filter_map(|root| inside(&place.folder, root)).collect();
        let files = reader.start.paths().keys();
        let files = files.filter(|path| roots.iter().any(|root| path.starts_with(root)));
        for path in files.cloned().collect::<Vec<_>>() {
            reader.judge(&path, &place, depth);
        }
    }
}

fn go(reader: &mut Reader<'_>, arguments: &[String], decides: bool, place: &ReadAt, depth: usize) {
    const GO: OptionSyntax = OptionSyntax {
        long: "C tags ldflags gcflags asmflags mod modfile exec o p overlay pgo",
        valued: "Cop",
        words: true,
        ..OptionSyntax::NONE
    };
    let (given, operands) = options::all(GO, arguments);
    let Some((verb, operands)) = operands.split_first() else { return };
    // A program that is built to check runs later.
    let decides = decides && *verb == "run";
    if !matches!(verb.as_str(), "run" | "build" | "install") {
        return;
    }
    let mut place = place.clone();
    named_files(reader, &given, &mut place, depth);
    let place = &place;
    let Some(what) = operands.first() else { return };
    // The folder of the product itself.
    let is_root = place.folder.as_os_str().is_empty() && matches!(what.as_str(), "." | "./");
    let sounds = decides && !is_root || sounds_like_a_check(what);
    let Some(what) = normal(&place.folder.join(what)) else { return };
    let checks = |path: &PathBuf| {
        sounds || text(reader.start, path).is_some_and(|code| is_checking_program(&code))
    };
    let inside: Vec<PathBuf> = reader
        .start
        .paths()
        .keys()
        .filter(|path| **path == what || path.parent() == Some(&what))
        .filter(|path| extension(path) == "go" && checks(path))
        .cloned()
        .collect();
    for path in inside {
        reader.judge(&path, place, depth);
    }
}

fn judge_existing(reader: &mut Reader<'_>, files: &[String], place: &ReadAt, depth: usize) {
    for name in files {
        if let Some(path) = inside(&place.folder, name)
            && reader.start.paths().contains_key(Path::new(&path))
        {
            reader.judge(&path, place, depth);
        }
    }
}
