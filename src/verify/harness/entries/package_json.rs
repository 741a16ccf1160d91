//! `package.json`, `composer.json`, and `tsconfig.json`.

use std::collections::BTreeSet;

use super::super::deciding;
use super::super::files::{SourceTree, text};
use super::super::paths::{file_name, folder, inside};
use super::super::programs::is_tool;
use super::super::shell::scan;
use super::json_text::{get, keys, set, unquoted};
use super::manifests::{Manifests, Merged};

/// Keys of `package.json` that say how things run.
const RUNS: [&str; 24] = [
    "ava",
    "babel",
    "c8",
    "cypress",
    "eslintConfig",
    "eslintIgnore",
    "jest",
    "lint-staged",
    "mocha",
    "nx",
    "nyc",
    "overrides",
    "packageManager",
    "playwright",
    "pnpm",
    "prettier",
    "resolutions",
    "standard",
    "stylelint",
    "tap",
    "vitest",
    "volta",
    "wireit",
    "xo",
];

/// Scripts that run unasked when packages are installed.
const INSTALL: [&str; 9] = [
    "dependencies",
    "install",
    "postinstall",
    "postprepare",
    "preinstall",
    "prepare",
    "preprepare",
    "prepublish",
    "prepublishOnly",
];

const DEPENDENCIES: [&str; 4] =
    ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];

/// The lines of a script: one for a string, several for a list.
pub(in super::super) fn script(code: &str, name: &str) -> Vec<String> {
    let Some(value) = get(code, &["scripts", name]) else { return Vec::new() };
    if let Some(list) = value.strip_prefix('[') {
        return list.trim_end_matches(']').split("\",").map(|part| unquoted(part.trim())).collect();
    }
    vec![unquoted(value)]
}

/// Puts back how things run.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let old = start.unwrap_or("{}");
    let mut text = scripts(around, old, now);
    for key in RUNS {
        text = restore(&text, old, &[key]);
    }
    // Scripts read these values as variables; a new one is the product's.
    for name in keys(old, &["config"]) {
        text = restore(&text, old, &["config", &name]);
    }
    if let Some(members) = get(old, &["workspaces"])
        && let Some(current) = get(&text, &["workspaces"])
    {
        let lost = members.split('"').skip(1).step_by(2).any(|name| !current.contains(name));
        if lost {
            text = restore(&text, old, &["workspaces"]);
        }
    }
    for table in ["imports", "exports"] {
        for name in keys(old, &[table]) {
            if get(old, &[table, &name]).is_some_and(|targets| hold_helpers(around, targets)) {
                text = restore(&text, old, &[table, &name]);
            }
        }
    }
    for table in DEPENDENCIES {
        for name in keys(old, &[table]) {
            let was = get(old, &[table, &name]);
            let Some(was) = was else { continue };
            for other in DEPENDENCIES {
                let redirected = get(&text, &[other, &name])
                    .is_some_and(|spec| spec != was && is_redirected(&unquoted(spec)));
                if redirected {
                    text = set(&text, &[other, &name], Some(was));
                }
            }
            let gone = DEPENDENCIES.iter().all(|other| get(&text, &[other, &name]).is_none());
            if gone && table == "devDependencies" {
                text = set(&text, &[table, &name], Some(was));
            }
        }
    }
    if text == now { Merged::Same } else { Merged::Text(text) }
}

/// Whether one of the files that a name stands for is a helper of tests.
fn hold_helpers(around: &Manifests<'_>, targets: &str) -> bool {
    targets.split('"').filter_map(|target| inside(folder(around.path), target)).any(|path| {
        text(around.start, &path).is_some_and(|code| {
            deciding::is_test_code(&path, &code) || deciding::fails(&path, &code)
        })
    })
}

/// Packages that the manifests of the start depend on.
fn known_packages(start: &dyn SourceTree) -> BTreeSet<String> {
    let manifests = start.paths().keys().filter(|path| file_name(path) == "package.json");
    let codes = manifests.filter_map(|path| text(start, path));
    codes
        .flat_map(|code| DEPENDENCIES.iter().flat_map(|it| keys(&code, &[it])).collect::<Vec<_>>())
        .collect()
}

/// Whether a new package takes the name or a program of one that the start depends on.
pub(in super::super) fn takes_a_known_name(start: &dyn SourceTree, code: &str) -> bool {
    let known = known_packages(start);
    let name = get(code, &["name"]).map(unquoted);
    name.is_some_and(|name| known.contains(&name))
        || keys(code, &["bin"]).iter().any(|name| known.contains(name) || is_tool(name))
}

/// `composer.json`.
pub(super) fn put_back_composer(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let Some(old) = start else { return Merged::Same };
    let mut text = scripts(around, old, now);
    for key in ["repositories", "config", "autoload-dev", "minimum-stability"] {
        text = restore(&text, old, &[key]);
    }
    for spaces in ["psr-4", "psr-0"] {
        let new = keys(now, &["autoload", spaces]);
        let frameworks = ["PHPUnit", "Pest", "Mockery", "Codeception", "Behat", "Prophecy"];
        for name in new.iter().filter(|name| frameworks.iter().any(|it| name.starts_with(it))) {
            text = restore(&text, old, &["autoload", spaces, name]);
        }
    }
    for name in keys(old, &["require-dev"]) {
        text = restore(&text, old, &["require-dev", &name]);
    }
    if text == now { Merged::Same } else { Merged::Text(text) }
}

/// `tsconfig.json`: how strict it is, and what it leaves out. Sources and paths may change.
pub(super) fn put_back_tsconfig(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let Some(old) = start else { return Merged::Same };
    let mut text = now.to_owned();
    let known = known_packages(around.start);
    for name in keys(now, &["compilerOptions", "paths"]) {
        if known.contains(name.trim_end_matches("/*")) {
            text = restore(&text, old, &["compilerOptions", "paths", &name]);
        }
    }
    for key in ["exclude", "extends"] {
        text = restore(&text, old, &[key]);
    }
    let options = "compilerOptions";
    let all = keys(old, &[options]).into_iter().chain(keys(now, &[options]));
    for key in all {
        let free = [
            "lib",
            "types",
            "jsx",
            "paths",
            "baseUrl",
            "module",
            "moduleResolution",
            "target",
            "outDir",
            "rootDir",
            "typeRoots",
            "declaration",
            "sourceMap",
            "resolveJsonModule",
            "esModuleInterop",
            "jsxImportSource",
            "composite",
            "incremental",
        ];
        if !free.contains(&key.as_str()) {
            text = restore(&text, old, &[options, &key]);
        }
    }
    let same: fn(&str) -> String = |text| text.split_whitespace().collect();
    if same(&text) == same(now) { Merged::Same } else { Merged::Text(text) }
}

/// Makes one value the start's.
fn restore(text: &str, old: &str, path: &[&str]) -> String {
    let plain = |value: Option<&str>| {
        value.map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let was = get(old, path);
    if plain(was) == plain(get(text, path)) { text.to_owned() } else { set(text, path, was) }
}

/// Restores scripts. A new one stays if a check, or a script that stays, names it.
fn scripts(around: &Manifests<'_>, old: &str, now: &str) -> String {
    let (was, is) = (keys(old, &["scripts"]), keys(now, &["scripts"]));
    let mut text = now.to_owned();
    for name in was.iter().filter(|name| !around.products.contains(*name)) {
        text = restore(&text, old, &["scripts", name]);
    }
    let hooks = |name: &str| {
        let of = name.strip_prefix("pre").or_else(|| name.strip_prefix("post"));
        INSTALL.contains(&name)
            || of.is_some_and(|of| was.iter().chain(&is).any(|other| other == of) || of == "test")
    };
    let mut wanted = around.names.clone();
    let mut kept: Vec<&String> = Vec::new();
    loop {
        let before = kept.len();
        for name in is.iter().filter(|name| !was.contains(name) && !hooks(name)) {
            if wanted.contains(name) && !kept.contains(&name) {
                kept.push(name);
                for line in script(now, name) {
                    wanted.extend(scan(&line).into_iter().flat_map(|command| command.words));
                }
            }
        }
        if kept.len() == before {
            break;
        }
    }
    for name in is.iter().filter(|name| !was.contains(name) && !kept.contains(name)) {
        text = set(&text, &["scripts", name], None);
    }
    text
}

/// A path, an address, or another package in place of a version.
fn is_redirected(spec: &str) -> bool {
    let marks = ["file:", "link:", "portal:", "npm:", "git", "http", "./", "../", "/", "patch:"];
    marks.iter().any(|mark| spec.starts_with(mark)) || (spec.contains('/') && !spec.contains(' '))
}
