//! Scripts of `package.json` and `composer.json` that a check runs, also in workspaces.

use std::path::PathBuf;

use super::entries::json_text::{get, unquoted};
use super::entries::package_json;
use super::files::text;
use super::paths::{file_name, folder, inside};
use super::reader::{ReadAt, Reader};

/// Which packages a command is for.
enum Packages {
    Here,
    All,
    Named(String),
}

/// Reads what a script runs.
pub(super) fn run(
    reader: &mut Reader<'_>,
    manifest: &str,
    arguments: &[String],
    place: &ReadAt,
    depth: usize,
) {
    let mut place = place.clone();
    let mut names: Vec<String> = Vec::new();
    let mut packages = Packages::Here;
    let arguments: Vec<&str> = arguments
        .iter()
        .flat_map(|word| match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => vec![option, value],
            Some(_) | None => vec![word.as_str()],
        })
        .collect();
    let mut rest = arguments.into_iter();
    while let Some(word) = rest.next() {
        match word {
            "--prefix" | "-C" | "--cwd" | "--dir" => {
                let there = rest.next().and_then(|name| inside(&place.folder, name));
                place.folder = there.unwrap_or(place.folder);
            }
            "-r" | "--recursive" | "-ws" | "--workspaces" | "workspaces" => {
                packages = Packages::All;
            }
            "--filter" | "-F" | "-w" | "--workspace" | "workspace" => {
                packages = Packages::Named(rest.next().unwrap_or_default().to_owned());
            }
            "--" => break,
            "run" | "run-script" | "--run" | "foreach" => {}
            "t" | "tst" => names.push("test".to_owned()),
            _ if word.starts_with('-') => {}
            _ => names.push(word.to_owned()),
        }
    }
    let Some(name) = names.first() else { return };
    for path in manifests(reader, manifest, &packages, &place) {
        let Some(code) = text(reader.start, &path) else { continue };
        let place = ReadAt { folder: folder(&path).to_owned(), ..place.clone() };
        for name in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            for line in package_json::script(&code, &name) {
                let line = match line.strip_prefix('@') {
                    Some(other) if !package_json::script(&code, other).is_empty() => {
                        format!("composer {other}")
                    }
                    Some(rest) => rest.to_owned(),
                    None => line,
                };
                reader.lines(&line, &place, depth + 1);
            }
        }
    }
}

/// The manifests of the packages.
fn manifests(
    reader: &Reader<'_>,
    manifest: &str,
    packages: &Packages,
    place: &ReadAt,
) -> Vec<PathBuf> {
    let all = || {
        let paths = reader.start.paths().keys();
        paths.filter(|path| file_name(path) == manifest && path.starts_with(&place.folder))
    };
    match packages {
        Packages::Here => vec![place.folder.join(manifest)],
        Packages::All => all().cloned().collect(),
        Packages::Named(name) => {
            let name = name.trim_matches(['.', '/', '{', '}']);
            let wanted = |path: &&PathBuf| {
                let code = text(reader.start, path).unwrap_or_default();
                name.contains('*')
                    || folder(path).ends_with(name)
                    || get(&code, &["name"]).is_some_and(|own| unquoted(own) == name)
            };
            all().filter(wanted).cloned().collect()
        }
    }
}
