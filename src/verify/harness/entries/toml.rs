//! `Cargo.toml`, `.cargo/config.toml`, and `pyproject.toml`.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::super::deciding;
use super::super::files::{SourceTree, text};
use super::super::paths::{extension, file_name};
use super::super::programs::is_tool;
use super::manifests::{Manifests, Merged};

/// An alias of `.cargo/config.toml`, as words.
pub(in super::super) fn cargo_alias(code: &str, name: &str) -> Option<Vec<String>> {
    let document: DocumentMut = code.parse().ok()?;
    let alias = document.get("alias")?.get(name)?;
    if let Some(text) = alias.as_str() {
        return Some(text.split_whitespace().map(str::to_owned).collect());
    }
    let words = alias.as_array()?.iter().filter_map(|word| word.as_str());
    Some(words.map(str::to_owned).collect())
}

/// Whether a source belongs to a crate of the repository that other crates use for their tests only,
/// and asserts or compares.
pub(in super::super) fn is_crate_for_tests(
    start: &dyn SourceTree,
    path: &Path,
    code: &str,
) -> bool {
    let fails = code.contains("assert") || code.contains("panic!");
    if extension(path) != "rs" || !(fails || deciding::compares(code)) {
        return false;
    }
    let own = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let mut own = own.map(|above| above.join("Cargo.toml"));
    let Some(own) = own.find(|path| start.paths().contains_key(path)) else {
        return false;
    };
    let parsed = |path: &Path| text(start, path)?.parse::<DocumentMut>().ok();
    let name = parsed(&own)
        .and_then(|manifest| manifest.get("package")?.get("name")?.as_str().map(str::to_owned));
    let Some(name) = name else { return false };
    let manifests = start.paths().keys().filter(|path| file_name(path) == "Cargo.toml");
    let (mut by_tests, mut by_product) = (false, false);
    for manifest in manifests.filter_map(|path| parsed(path)) {
        let uses = |table: &str| {
            let table = manifest.get(table).and_then(Item::as_table_like);
            table.is_some_and(|table| {
                table.iter().any(|(key, item)| {
                    let package = item.get("package").and_then(Item::as_str).unwrap_or(key);
                    package == name && item.as_table_like().is_some()
                })
            })
        };
        by_tests |= uses("dev-dependencies");
        by_product |= uses("dependencies") || uses("build-dependencies");
    }
    by_tests && !by_product
}

/// Two documents, of which the second gets parts of the first.
struct Merge {
    old: DocumentMut,
    new: DocumentMut,
    changed: bool,
}

impl Merge {
    /// Both documents, or what to do without them.
    fn of(start: Option<&str>, now: &str) -> Result<Self, Merged> {
        let old: Result<DocumentMut, _> = start.unwrap_or_default().parse();
        let whole = || start.map_or(Merged::Same, |text| Merged::Text(text.to_owned()));
        let old = old.map_err(|_| whole())?;
        let new = now.parse().map_err(|_| whole())?;
        Ok(Self { old, new, changed: false })
    }

    fn result(self) -> Merged {
        if self.changed { Merged::Text(self.new.to_string()) } else { Merged::Same }
    }

    fn old(&self, path: &[&str]) -> Option<Item> {
        item(self.old.as_item(), path).cloned()
    }

    fn now(&self, path: &[&str]) -> Option<&Item> {
        item(self.new.as_item(), path)
    }

    fn keys(&self, path: &[&str]) -> (Vec<String>, Vec<String>) {
        (keys(item(self.old.as_item(), path)), keys(self.now(path)))
    }

    /// Makes one value the start's.
    fn restore(&mut self, path: &[&str]) {
        let was = self.old(path);
        if plain(was.as_ref()) == plain(self.now(path)) {
            return;
        }
        self.changed = true;
        let Some((key, above)) = path.split_last() else { return };
        let mut at = self.new.as_item_mut();
        for part in above {
            let Some(table) = at.as_table_like_mut() else { return };
            if table.get(part).is_none() {
                if was.is_none() {
                    return;
                }
                let mut fresh = Table::new();
                fresh.set_implicit(true);
                table.insert(part, Item::Table(fresh));
            }
            let Some(next) = table.get_mut(part) else { return };
            at = next;
        }
        let Some(table) = at.as_table_like_mut() else { return };
        match was {
            Some(was) => {
                table.insert(key, was);
            }
            None => {
                table.remove(key);
            }
        }
    }
}

fn item<'i>(root: &'i Item, path: &[&str]) -> Option<&'i Item> {
    path.iter().try_fold(root, |item, key| item.as_table_like()?.get(key))
}

fn keys(item: Option<&Item>) -> Vec<String> {
    let table = item.and_then(Item::as_table_like);
    let table: Option<&dyn TableLike> = table;
    table.map(|table| table.iter().map(|(key, _)| key.to_owned()).collect()).unwrap_or_default()
}

/// A value as text, without its layout.
fn plain(item: Option<&Item>) -> Option<String> {
    let item = item?;
    if let Some(table) = item.as_table_like() {
        let mut parts: Vec<String> = table
            .iter()
            .filter_map(|(key, value)| Some(format!("{key}={}", plain(Some(value))?)))
            .collect();
        parts.sort();
        return Some(format!("{{{}}}", parts.join(",")));
    }
    Some(item.to_string().split_whitespace().collect())
}

/// `Cargo.toml`.
pub(super) fn cargo(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let mut merge = match Merge::of(start, now) {
        Ok(merge) => merge,
        Err(merged) => return merged,
    };
    for path in [
        &["patch"][..],
        &["replace"],
        &["lints"],
        &["test"],
        &["profile"],
        &["package", "autotests"],
        &["package", "autobenches"],
        &["package", "autobins"],
        &["package", "autoexamples"],
        &["lib", "test"],
        &["lib", "doctest"],
        &["lib", "harness"],
        &["workspace", "lints"],
        &["workspace", "default-members"],
        &["workspace", "metadata"],
    ] {
        merge.restore(path);
    }
    members(around, &mut merge);
    programs(around, &mut merge, "bin", "src/bin");
    programs(around, &mut merge, "example", "examples");
    let mut tables: Vec<Vec<String>> = Vec::new();
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    tables.extend(kinds.iter().map(|kind| vec![(*kind).to_owned()]));
    tables.push(vec!["workspace".to_owned(), "dependencies".to_owned()]);
    for target in merge.keys(&["target"]).0 {
        let of = |kind: &&str| vec!["target".to_owned(), target.clone(), (*kind).to_owned()];
        tables.extend(kinds.iter().map(of));
    }
    for table in &tables {
        let path: Vec<&str> = table.iter().map(String::as_str).collect();
        dependencies(&mut merge, &path);
    }
    merge.result()
}

/// A member of the workspace must not vanish while it is there; new ones stay.
fn members(around: &Manifests<'_>, merge: &mut Merge) {
    let list = |item: Option<&Item>| -> Vec<String> {
        let values = item.and_then(Item::as_array).into_iter().flatten();
        values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let was = list(merge.old(&["workspace", "members"]).as_ref());
    let is = list(merge.now(&["workspace", "members"]));
    let there = |member: &String| {
        let manifest = super::super::paths::folder(around.path).join(member).join("Cargo.toml");
        member.contains('*') || around.now.paths().contains_key(&manifest)
    };
    if was.iter().any(|member| !is.contains(member) && there(member)) {
        merge.restore(&["workspace", "members"]);
    }
    let was = list(merge.old(&["workspace", "exclude"]).as_ref());
    let is = list(merge.now(&["workspace", "exclude"]));
    if is.iter().any(|member| !was.contains(member)) {
        merge.restore(&["workspace", "exclude"]);
    }
}

/// A program of the start keeps its source: the one of its entry, or `src/bin/NAME.rs`.
fn programs(around: &Manifests<'_>, merge: &mut Merge, kind: &str, folder: &str) {
    let sources = |item: Option<&Item>| -> Vec<(String, String)> {
        let entries = item.and_then(Item::as_array_of_tables).into_iter().flatten();
        let text = |table: &Table, key: &str| table.get(key)?.as_str().map(str::to_owned);
        let named = entries.filter_map(|table| Some((text(table, "name")?, text(table, "path"))));
        named
            .map(|(name, path)| (name.clone(), path.unwrap_or(format!("{folder}/{name}.rs"))))
            .collect()
    };
    let was = sources(merge.old(&[kind]).as_ref());
    let moved = |(name, path): &(String, String)| match was.iter().find(|(other, _)| other == name)
    {
        Some((_, other)) => other != path,
        None => {
            let usual = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")];
            let above = super::super::paths::folder(around.path);
            let there = |usual: &&String| around.start.paths().contains_key(&above.join(usual));
            usual.iter().any(|usual| usual != path && there(&usual))
        }
    };
    if sources(merge.now(&[kind])).iter().any(moved) {
        merge.restore(&[kind]);
    }
}

/// An existing dependency must not point elsewhere, and one for tests must not vanish.
fn dependencies(merge: &mut Merge, table: &[&str]) {
    for name in merge.keys(table).0 {
        let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
        let source = |item: Option<&Item>| -> Vec<Option<String>> {
            let keys = ["path", "git", "registry", "package", "branch", "rev", "tag"];
            keys.iter().map(|key| plain(item.and_then(|item| item.get(key)))).collect()
        };
        let was = merge.old(&path);
        let is = merge.now(&path);
        let redirected = is.is_some() && source(is) != source(was.as_ref());
        let gone = is.is_none() && table.contains(&"dev-dependencies");
        if redirected || gone {
            merge.restore(&path);
        }
    }
}

/// `.cargo/config.toml`: a new alias stays if a check names it.
pub(super) fn cargo_config(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let mut merge = match Merge::of(start, now) {
        Ok(merge) => merge,
        Err(merged) => return merged,
    };
    let (old, new) = merge.keys(&[]);
    for key in old.iter().chain(&new).filter(|key| *key != "alias") {
        merge.restore(&[key]);
    }
    entries(around, &mut merge, &["alias"]);
    merge.result()
}

/// Restores the entries of a table; a new one stays if a check names it.
fn entries(around: &Manifests<'_>, merge: &mut Merge, table: &[&str]) {
    let (old, new) = merge.keys(table);
    let unnamed = new.iter().filter(|name| !old.contains(name) && !around.names.contains(*name));
    for name in old.iter().chain(unnamed) {
        let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
        merge.restore(&path);
    }
}

/// Tools of `pyproject.toml` that say how things run.
const TOOLS: [&str; 20] = [
    "bandit",
    "basedpyright",
    "black",
    "cibuildwheel",
    "coverage",
    "flake8",
    "hatch",
    "isort",
    "mutmut",
    "mypy",
    "nox",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "tox",
    "towncrier",
    "ty",
    "unittest",
    "vulture",
];

/// `pyproject.toml`.
pub(super) fn pyproject(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let Some(start) = start else { return Merged::Same };
    let mut merge = match Merge::of(Some(start), now) {
        Ok(merge) => merge,
        Err(merged) => return merged,
    };
    for tool in TOOLS {
        if tool == "hatch" {
            merge.restore(&["tool", "hatch", "envs"]);
        } else {
            merge.restore(&["tool", tool]);
        }
    }
    merge.restore(&["project", "entry-points", "pytest11"]);
    merge.restore(&["tool", "poetry", "plugins", "pytest11"]);
    for table in [&["project", "scripts"][..], &["tool", "poetry", "scripts"]] {
        for name in merge.keys(table).1.iter().filter(|name| is_tool(name)) {
            let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
            merge.restore(&path);
        }
    }
    merge.restore(&["build-system", "backend-path"]);
    merge.restore(&["tool", "uv", "override-dependencies"]);
    for table in [
        &["tool", "poe", "tasks"][..],
        &["tool", "pdm", "scripts"],
        &["tool", "rye", "scripts"],
        &["tool", "pixi", "tasks"],
        &["tool", "taskipy", "tasks"],
    ] {
        entries(around, &mut merge, table);
    }
    redirected(&mut merge);
    merge.result()
}

/// `[tool.uv.sources]` and Poetry's tables: an existing dependency must not point elsewhere.
fn redirected(merge: &mut Merge) {
    dependencies(merge, &["tool", "poetry", "dependencies"]);
    dependencies(merge, &["tool", "poetry", "dev-dependencies"]);
    for group in merge.keys(&["tool", "poetry", "group"]).0 {
        dependencies(merge, &["tool", "poetry", "group", &group, "dependencies"]);
    }
    let known = requirements(merge.old(&["project", "dependencies"]).as_ref())
        .into_iter()
        .chain(requirements(merge.old(&["project", "optional-dependencies"]).as_ref()))
        .chain(requirements(merge.old(&["dependency-groups"]).as_ref()));
    let known: Vec<String> = known.collect();
    let (old, new) = merge.keys(&["tool", "uv", "sources"]);
    let moved = new.iter().filter(|name| known.contains(&normal(name)));
    for name in old.iter().chain(moved) {
        merge.restore(&["tool", "uv", "sources", name]);
    }
    for table in [
        &["project", "dependencies"][..],
        &["project", "optional-dependencies"],
        &["dependency-groups"],
    ] {
        let text = plain(merge.now(table)).unwrap_or_default();
        let text = text.to_lowercase().replace(['_', '.'], "-").replace('\'', "\"");
        if known.iter().any(|name| text.contains(&format!("\"{name}@"))) {
            merge.restore(table);
        }
    }
}

/// Packages that `pyproject.toml` depends on.
pub(in super::super) fn python_requirements(code: &str) -> Vec<String> {
    let Ok(document) = code.parse::<DocumentMut>() else { return Vec::new() };
    let root = document.as_item();
    let lists = [
        &["project", "dependencies"][..],
        &["project", "optional-dependencies"],
        &["dependency-groups"],
    ];
    let listed = lists.iter().flat_map(|path| requirements(item(root, path)));
    listed.chain(keys(item(root, &["tool", "poetry", "dependencies"]))).collect()
}

/// Names of the requirements in a list, or in the lists of a table.
fn requirements(item: Option<&Item>) -> Vec<String> {
    let Some(item) = item else { return Vec::new() };
    if let Some(table) = item.as_table_like() {
        return table.iter().flat_map(|(_, item)| requirements(Some(item))).collect();
    }
    let values = item.as_array().into_iter().flatten().filter_map(|value| value.as_str());
    values
        .map(|text| {
            let end = text.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
            normal(&text[..end.unwrap_or(text.len())])
        })
        .collect()
}

fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}
