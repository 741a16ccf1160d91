//! Gemfiles: a gem of the start comes from where it came from. New gems stay.

use super::super::paths::folder;
use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};
use super::statements::{Syntax, statements};

const RUBY: Syntax = Syntax { comment: "#", quotes: &['"', '\''], long_strings: false };

/// Options that say where a gem comes from, or whether it is installed.
const SOURCES: [&str; 10] = [
    "path",
    "git",
    "github",
    "gitlab",
    "gist",
    "bitbucket",
    "source",
    "install_if",
    "platforms",
    "branch",
];

/// Puts back where gems come from.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    // Bundler reads `gems.rb` before `Gemfile`.
    let beside = ["Gemfile", "gems.rb"].map(|name| folder(around.path).join(name));
    if start.is_none() && beside.iter().any(|path| around.start.paths().contains_key(path)) {
        return Merged::Gone;
    }
    merged(&parts(start.unwrap_or_default()), parts(now))
}

/// Statements. A block that says where its gems come from, or whether they are installed, is one
/// part; a group is not.
fn parts(code: &str) -> Vec<Part> {
    let mut levels: Vec<(String, Option<Vec<Part>>)> = Vec::new();
    let mut parts = Vec::new();
    for statement in statements(code, RUBY) {
        let plain = statement.trim();
        let first = plain.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        let opens = plain.ends_with(" do")
            || plain.contains(" do |")
            || matches!(first, "if" | "unless" | "case" | "begin" | "def");
        if opens && first != "group" {
            levels.push((statement.clone(), Some(std::mem::take(&mut parts))));
            continue;
        }
        if opens {
            levels.push((statement.clone(), None));
        } else if first == "end"
            && let Some((head, Some(above))) = levels.pop()
        {
            let inner = std::mem::replace(&mut parts, above);
            parts.push(Part::block(&head, squeezed(&head), inner, &statement));
            continue;
        }
        parts.push(part(&statement, plain, first));
    }
    while let Some((head, above)) = levels.pop() {
        if let Some(above) = above {
            let inner = std::mem::replace(&mut parts, above);
            parts.push(Part::block(&head, squeezed(&head), inner, ""));
        }
    }
    parts
}

fn part(statement: &str, plain: &str, first: &str) -> Part {
    let fate = match first {
        _ if plain.is_empty() || plain.starts_with('#') => return Part::blank(statement),
        "gem" => return gem(statement, plain),
        "source" | "plugin" | "eval_gemfile" | "instance_eval" | "eval" | "exit" | "abort"
        | "git_source" => Fate::Fixed,
        "gemspec" => Fate::Kept,
        _ => Fate::Free,
    };
    Part::new(statement, plain, fate)
}

fn gem(statement: &str, plain: &str) -> Part {
    let name = plain.split(['"', '\'']).nth(1).unwrap_or("");
    let mut value: Vec<String> = Vec::new();
    let options: Vec<&str> = plain.split(',').skip(1).map(str::trim).collect();
    for option in options {
        let key = option.trim_start_matches(':');
        let end = key.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(key.len());
        if SOURCES.contains(&&key[..end]) {
            value.push(squeezed(option).replacen("=>", ":", 1).trim_start_matches(':').to_owned());
        }
    }
    if let Some((_, condition)) = plain.split_once(" if ").or_else(|| plain.split_once(" unless "))
    {
        value.push(condition.to_owned());
    }
    value.sort();
    Part::with_value(statement, format!("gem {name}"), value.join(","), Fate::Kept)
}
