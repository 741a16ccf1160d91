//! `meson.build`: how tests are declared. Targets and sources may change.

use super::super::paths::{folder, inside};
use super::cmake::target;
use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};
use super::statements::{Syntax, statements};

const MESON: Syntax = Syntax { comment: "#", quotes: &['\''], long_strings: false };

/// Puts back how tests are declared.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let parts = |code: &str| nested(around, &statements(code, MESON));
    merged(&parts(start.unwrap_or_default()), parts(now))
}

/// The statements of a file.
pub(in super::super) fn parsed(code: &str) -> Vec<String> {
    statements(code, MESON)
}

/// Parts, with what is inside of `if` and `foreach` in blocks.
fn nested(around: &Manifests<'_>, statements: &[String]) -> Vec<Part> {
    let mut levels: Vec<(String, String, Vec<Part>)> = Vec::new();
    let mut parts = Vec::new();
    for text in statements {
        let plain = text.trim();
        match plain.split([' ', '(']).next().unwrap_or("") {
            "if" | "foreach" => {
                levels.push((text.clone(), squeezed(text), std::mem::take(&mut parts)));
            }
            "elif" | "else" => {
                if let Some((head, key, above)) = levels.pop() {
                    let inner = std::mem::replace(&mut parts, above);
                    parts.push(Part::block(&head, key.clone(), inner, ""));
                    let next = format!("{key}/{}", squeezed(text));
                    levels.push((text.clone(), next, std::mem::take(&mut parts)));
                }
            }
            "endif" | "endforeach" => {
                if let Some((head, key, above)) = levels.pop() {
                    let inner = std::mem::replace(&mut parts, above);
                    parts.push(Part::block(&head, key, inner, text));
                }
            }
            _ => parts.push(part(around, text, plain)),
        }
    }
    while let Some((head, key, above)) = levels.pop() {
        let inner = std::mem::replace(&mut parts, above);
        parts.push(Part::block(&head, key, inner, ""));
    }
    parts
}

fn part(around: &Manifests<'_>, text: &str, plain: &str) -> Part {
    if plain.is_empty() || plain.starts_with('#') {
        return Part::blank(text);
    }
    let call = plain.split_once('(').map_or("", |(call, _)| call);
    let call = call.rsplit('=').next().unwrap_or(call).trim();
    let words: Vec<String> = plain.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
    let name = words.first().map_or("", String::as_str);
    let key = format!("{call} {name}");
    let fate = match call {
        "test" | "benchmark" => Fate::Kept,
        "add_test_setup" | "subdir_done" | "meson.override_find_program" => Fate::Fixed,
        "subdir" => {
            let build = inside(folder(around.path), name).map(|path| path.join("meson.build"));
            let there = build.is_some_and(|path| {
                around.now.paths().contains_key(&path) || around.table.role(&path).is_some()
            });
            if there { Fate::Kept } else { Fate::Free }
        }
        "executable" | "library" | "static_library" | "shared_library" | "files" => {
            return target(around, text, key, &words);
        }
        _ if text.contains("NDEBUG") || text.contains("b_ndebug") => Fate::Fixed,
        _ => Fate::Free,
    };
    Part::new(text, key, fate)
}
