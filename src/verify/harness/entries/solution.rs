//! `*.sln`: projects of the start stay in the solution, and in its builds.

use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged};

/// Puts back projects.
pub(super) fn put_back(_: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    merged(&parts(start.unwrap_or_default()), parts(now))
}

fn parts(code: &str) -> Vec<Part> {
    let lines: Vec<&str> = code.split_inclusive('\n').collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let plain = line.trim();
        if plain.starts_with("Project(") {
            let is = |word: &'static str| move |line: &&str| line.trim().starts_with(word);
            let rest = &lines[at + 1..];
            let end = rest.iter().position(is("EndProject"));
            let next = rest.iter().position(is("Project(")).unwrap_or(rest.len());
            let count = end.filter(|end| *end < next).map_or(1, |end| end + 2);
            let text = lines[at..at + count].concat();
            let name = plain.split('=').nth(1).and_then(|rest| rest.split(',').next());
            let key = format!("project {}", name.unwrap_or(plain).trim());
            parts.push(Part::with_value(&text, key, plain.to_owned(), Fate::Kept));
            at += count;
        } else if plain.starts_with("GlobalSection(") {
            let is_end = |line: &&str| line.trim() == "EndGlobalSection";
            let rest = &lines[at + 1..];
            let count = rest.iter().position(is_end).unwrap_or(rest.len());
            let inner = rest[..count].iter().map(|line| setting(line)).collect();
            let end = rest.get(count).copied().unwrap_or("");
            parts.push(Part::block(line, plain, inner, end));
            at += count + 2;
        } else {
            parts.push(Part::new(line, plain, Fate::Free));
            at += 1;
        }
    }
    parts
}

/// Which configuration of a project is built.
fn setting(line: &str) -> Part {
    let (name, _) = line.split_once('=').unwrap_or((line, ""));
    let builds = name.contains(".Build.") || name.contains(".ActiveCfg");
    Part::new(line, name.trim(), if builds { Fate::Kept } else { Fate::Free })
}
