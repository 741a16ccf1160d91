//! `requirements*.txt`: a package of the start comes from where it came from. New ones stay.

use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged};

/// Puts back where packages come from.
pub(super) fn put_back(_: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    merged(&parts(start.unwrap_or_default()), parts(now))
}

fn parts(code: &str) -> Vec<Part> {
    let mut lines: Vec<String> = Vec::new();
    for line in code.split_inclusive('\n') {
        match lines.last_mut() {
            Some(last) if last.trim_end().ends_with('\\') => last.push_str(line),
            Some(_) | None => lines.push(line.to_owned()),
        }
    }
    lines.iter().map(|line| part(line)).collect()
}

fn part(line: &str) -> Part {
    let plain = line.trim();
    let plain = if plain.starts_with('#') { "" } else { plain };
    let plain = plain.split(" #").next().unwrap_or("").trim();
    if plain.is_empty() {
        return Part::blank(line);
    }
    let editable = plain.strip_prefix("-e").or_else(|| plain.strip_prefix("--editable"));
    let place = editable.map(|rest| rest.trim_start_matches(['=', ' ']));
    if place.is_none() && plain.starts_with('-') {
        let listed = plain.starts_with("-r") || plain.starts_with("--requirement");
        let fate = if listed { Fate::Kept } else { Fate::Fixed };
        return Part::new(line, plain, fate);
    }
    let is_place = plain.starts_with(['.', '/'])
        || (plain.contains('/') && !plain.contains('@'))
        || plain.find("://").is_some_and(|at| !plain[..at].contains('@'));
    if let Some(place) = place.or(is_place.then_some(plain)) {
        let name = name_of_place(place);
        return Part::with_value(line, format!("package {name}"), place.to_owned(), Fate::Kept);
    }
    let end = plain.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    let (name, rest) = plain.split_at(end.unwrap_or(plain.len()));
    let source = rest.find('@').map_or("", |at| &rest[at..]);
    let marker = rest.find(';').map_or("", |at| &rest[at..]);
    let marker = marker.split(" --hash").next().unwrap_or("").trim_end_matches(['\\', ' ']);
    let value = format!("{source}{marker}");
    Part::with_value(line, format!("package {}", normal(name)), value, Fate::Kept)
}

/// The package of a path or an address: `#egg=NAME`, or its last part.
fn name_of_place(place: &str) -> String {
    if let Some((_, egg)) = place.split_once("#egg=") {
        let end = egg.find(['&', '[', ' ']).unwrap_or(egg.len());
        return normal(&egg[..end]);
    }
    let place = place.split(['#', '?', ';']).next().unwrap_or(place);
    let last = place.trim_end_matches('/').rsplit('/').next().unwrap_or(place);
    let is_archive = [".whl", ".tar.gz", ".zip"].iter().any(|end| last.ends_with(end));
    let last = if is_archive { last.split('-').next().unwrap_or(last) } else { last };
    let last = last.trim_end_matches(".git");
    normal(last.split('@').next().unwrap_or(last))
}

fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}
