//! Justfiles: everything is the start's, except for new recipes that a check names, and their
//! dependencies.

use std::collections::BTreeSet;

use super::manifests::{Manifests, Merged};

/// A recipe or another part, with the name and the needs of a recipe.
struct Part {
    text: String,
    recipe: Option<(String, Vec<String>)>,
}

fn parse(code: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in code.lines() {
        let indented = line.starts_with([' ', '\t']) || line.trim().is_empty();
        if indented && let Some(last) = parts.last_mut() {
            last.text.push('\n');
            last.text.push_str(line);
            continue;
        }
        parts.push(Part { text: line.to_owned(), recipe: header(line) });
    }
    parts
}

fn header(line: &str) -> Option<(String, Vec<String>)> {
    let (head, needs) = line.split_once(':')?;
    let setting = ["set ", "alias ", "export ", "import ", "mod ", "#", "["];
    if needs.starts_with('=') || setting.iter().any(|word| line.starts_with(word)) {
        return None;
    }
    let name = head.split_whitespace().next()?.trim_start_matches('@').to_owned();
    let needs = needs.split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
    Some((name, needs.filter(|word| !word.is_empty()).map(str::to_owned).collect()))
}

/// The recipe of a plain `just`.
pub(in super::super) fn first_recipe(code: &str) -> Option<String> {
    parse(code).into_iter().find_map(|part| Some(part.recipe?.0))
}

/// The body of a recipe, with those of all recipes that it needs.
pub(in super::super) fn recipe(code: &str, wanted: &str) -> Option<String> {
    let parts = parse(code);
    let mut wanted = vec![wanted.to_owned()];
    let mut bodies = Vec::new();
    let mut at = 0;
    while let Some(name) = wanted.get(at).cloned() {
        at += 1;
        let of_name = |part: &&Part| matches!(&part.recipe, Some((own, _)) if *own == name);
        for part in parts.iter().filter(of_name) {
            let lines = part.text.lines().skip(1);
            bodies.extend(lines.map(|line| line.trim().trim_start_matches(['@', '-'])));
            let needs = part.recipe.iter().flat_map(|(_, needs)| needs);
            let new: Vec<String> = needs.filter(|need| !wanted.contains(need)).cloned().collect();
            wanted.extend(new);
        }
    }
    (!bodies.is_empty()).then(|| bodies.join("\n"))
}

/// Puts back how things run.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let Some(start) = start else { return Merged::Same };
    let (old, new) = (parse(start), parse(now));
    let known: BTreeSet<&String> =
        old.iter().filter_map(|part| Some(&part.recipe.as_ref()?.0)).collect();
    let mut wanted = around.names.clone();
    let mut added: BTreeSet<usize> = BTreeSet::new();
    loop {
        let before = added.len();
        for (at, part) in new.iter().enumerate() {
            if let Some((name, needs)) = &part.recipe
                && !known.contains(name)
                && wanted.contains(name)
                && added.insert(at)
            {
                wanted.extend(needs.iter().cloned());
            }
        }
        if added.len() == before {
            break;
        }
    }
    let extra: Vec<&str> = added.iter().map(|at| new[*at].text.trim_end()).collect();
    let ordered = |parts: &mut Vec<String>| {
        parts.retain(|part| !part.is_empty() && !part.starts_with('#'));
        parts.sort();
    };
    let mut current: Vec<String> = new.iter().map(|part| part.text.trim_end().to_owned()).collect();
    let mut merged: Vec<String> = old
        .iter()
        .map(|part| part.text.trim_end().to_owned())
        .chain(extra.iter().map(|text| (*text).to_owned()))
        .collect();
    ordered(&mut current);
    ordered(&mut merged);
    if current == merged {
        return Merged::Same;
    }
    let mut text = start.trim_end().to_owned() + "\n";
    for part in extra {
        text.push('\n');
        text.push_str(part);
        text.push('\n');
    }
    Merged::Text(text)
}
