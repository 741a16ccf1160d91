//! Variables by which programs load code unasked: `NODE_OPTIONS=--require ./x.js`, `BASH_ENV`.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::files::text;
use super::paths::{file_name, inside};
use super::reader::{ReadAt, Reader};

/// Variables whose value is a file, or options that name files.
const LOADING: [&str; 24] = [
    "BASH_ENV",
    "BUN_OPTIONS",
    "DYLD_INSERT_LIBRARIES",
    "ENV",
    "GOFLAGS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_AUDIT",
    "LD_PRELOAD",
    "MAKEFILES",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
];

/// Whether a variable makes programs load code.
pub(super) fn is_loading(name: &str) -> bool {
    LOADING.contains(&name)
        || matches!(
            name,
            "npm_config_node_options" | "npm_config_script_shell" | "PHP_INI_SCAN_DIR"
        )
        || (name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER"))
}

/// Whether a variable loads code by itself. A search path alone does not.
pub(super) fn loads_code(name: &str) -> bool {
    const PATHS: [&str; 7] =
        ["ENV", "GOFLAGS", "NODE_PATH", "PERL5LIB", "PYTHONHOME", "PYTHONPATH", "RUBYLIB"];
    is_loading(name) && !PATHS.contains(&name)
}

/// Judges the files that assignments name.
pub(super) fn by_variables<'w>(
    reader: &mut Reader<'_>,
    assignments: impl Iterator<Item = (&'w str, &'w str)>,
    place: &ReadAt,
    depth: usize,
) {
    for (name, value) in assignments.filter(|(name, _)| is_loading(name)) {
        let odd = |c: char| c.is_whitespace() || "=:,;\"'".contains(c);
        for word in value.split(odd).filter(|word| !word.is_empty()) {
            let glued = ["-r", "-M", "-I"].iter().find_map(|option| word.strip_prefix(option));
            let word = glued.filter(|rest| !rest.is_empty()).unwrap_or(word);
            let module = word.replace("::", "/");
            let dotted = word.replace('.', "/");
            let endings = ["", ".js", ".cjs", ".mjs", ".ts", ".rb", ".py"];
            let names = endings.iter().map(|ending| format!("{word}{ending}"));
            let names = names.chain([format!("{module}.pm"), format!("{dotted}.py")]);
            let found: Vec<_> = names.filter_map(|name| reader.file(&name, place)).collect();
            if let Some(path) = found.first() {
                reader.judge(path, &ReadAt { direct: false, ..place.clone() }, depth);
            }
            if name == "PERL5OPT" || name == "RUBYOPT" {
                let ends = [format!("{module}.pm"), format!("{word}.rb")];
                let elsewhere = reader.start.paths().keys();
                let elsewhere = elsewhere.filter(|path| ends.iter().any(|end| path.ends_with(end)));
                for path in elsewhere.cloned().collect::<Vec<_>>() {
                    reader.judge(&path, &ReadAt { direct: false, ..place.clone() }, depth);
                }
            }
        }
    }
}

/// The variables that lines of a Makefile or of an `.env` set.
pub(super) fn by_lines(reader: &mut Reader<'_>, code: &str, place: &ReadAt, depth: usize) {
    let sets = assignments(code);
    by_variables(reader, sets.iter().map(|(name, value)| (*name, *value)), place, depth);
}

fn assignments(code: &str) -> Vec<(&str, &str)> {
    static SET: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^[ \t]*(?:[\w./%-]+\s*:\s*)?(?:export\s+)?(\w+)\s*[:?+]{0,2}=[ \t]*(.*)$")
            .expect("valid")
    });
    let sets = SET.captures_iter(code);
    sets.filter_map(|it| Some((it.get(1)?.as_str(), it.get(2)?.as_str()))).collect()
}

/// Files that tools load beside the check: `.env`, `.npmrc`.
pub(super) fn by_files(reader: &mut Reader<'_>, program: &str, place: &ReadAt, depth: usize) {
    for name in [".env", ".envrc", ".env.test"] {
        if let Some(code) = inside(&place.folder, name).and_then(|path| text(reader.start, &path)) {
            by_lines(reader, &code, place, depth);
        }
    }
    if !matches!(file_name(Path::new(program)), "npm" | "npx" | "pnpm" | "yarn") {
        return;
    }
    let Some(code) = inside(&place.folder, ".npmrc").and_then(|path| text(reader.start, &path))
    else {
        return;
    };
    for (name, value) in code.lines().filter_map(|line| line.split_once('=')) {
        let known = match name.trim() {
            "node-options" => "NODE_OPTIONS",
            "script-shell" | "shell" => "BASH_ENV",
            _ => continue,
        };
        by_variables(reader, std::iter::once((known, value.trim())), place, depth);
    }
}
