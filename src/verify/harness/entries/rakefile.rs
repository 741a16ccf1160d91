//! Rakefiles: tasks and their helpers are the start's. A new task is kept if a check names it.

use super::super::paths::{file_name, folder};
use super::manifests::{Manifests, Merged};
use super::parts::{Fate, Part, merged, squeezed};
use super::statements::{Syntax, statements};

const RUBY: Syntax = Syntax { comment: "#", quotes: &['"', '\''], long_strings: false };

/// Puts back tasks.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let names = ["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"];
    let beside = |name: &&str| around.start.paths().contains_key(&folder(around.path).join(name));
    let is_one = names.contains(&file_name(around.path));
    if start.is_none() && is_one && names.iter().any(beside) {
        return Merged::Gone;
    }
    merged(&parts(around, start.unwrap_or_default()), parts(around, now))
}

/// Top-level statements, each with its whole block; `namespace` and conditions are blocks.
fn parts(around: &Manifests<'_>, code: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut block: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    for text in statements(code, RUBY) {
        let plain = text.trim();
        depth += usize::from(opens(plain));
        if plain == "end" || plain.starts_with("end ") || plain.starts_with("end.") {
            depth = depth.saturating_sub(1);
        }
        block.push(text);
        if depth == 0 {
            let all = std::mem::take(&mut block);
            parts.push(part(around, &all));
        }
    }
    parts.extend((!block.is_empty()).then(|| part(around, &block)));
    parts
}

fn opens(plain: &str) -> bool {
    let first = plain.split([' ', '(']).next().unwrap_or("");
    let plain = plain.split(" #").next().unwrap_or(plain).trim_end();
    let is_do = plain.ends_with(" do") || (plain.contains(" do |") && plain.ends_with('|'));
    let closed = plain.ends_with(" end");
    let blocks = ["if", "unless", "case", "begin", "def", "class", "module", "while", "until"];
    !closed && (is_do || blocks.contains(&first))
}

fn part(around: &Manifests<'_>, statements: &[String]) -> Part {
    let text = statements.concat();
    let head = statements.first().map_or("", |head| head.trim());
    let first = head.split([' ', '(']).next().unwrap_or("");
    if head.is_empty() || head.starts_with('#') || first == "desc" {
        return Part::blank(&text);
    }
    if let [open, inner @ .., end] = statements
        && matches!(first, "namespace" | "if" | "unless")
    {
        return Part::block(open, squeezed(head), parts(around, &inner.concat()), end);
    }
    let is_task =
        matches!(first, "task" | "multitask" | "file" | "rule") || head.contains("Task.new");
    if is_task {
        let name = head[first.len()..].trim_start_matches([' ', '(', ':', '"', '\'', '{', '|']);
        let odd = |c: char| !(c.is_alphanumeric() || "_-./:".contains(c));
        let name = name.split(odd).next().unwrap_or(name).trim_end_matches(':');
        let asked = around.names.iter().any(|word| word.rsplit(':').next() == Some(name));
        let fate = if asked { Fate::Kept } else { Fate::Fixed };
        let key = if head.contains("Task.new") { squeezed(head) } else { format!("task {name}") };
        return Part::new(&text, key, fate);
    }
    let reaches = ["Rake::", "ENV[", "ENV.", "exit", "abort", "module ", "class ", "alias"];
    let name = head.split(['=', '(']).next().unwrap_or(head).trim();
    let is_assignment = head.contains('=') && !head.contains("==");
    let key = if is_assignment { name.to_owned() } else { squeezed(head) };
    let fate =
        if reaches.iter().any(|word| text.contains(word)) { Fate::Fixed } else { Fate::Kept };
    Part::new(&text, key, fate)
}
