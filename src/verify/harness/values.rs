//! Values of words of shell, as far as a text gives them: `$f`, `${f%.in}.out`.

use std::path::Path;

use globset::GlobBuilder;

use super::expand::globbed;
use super::files::SourceTree;
use super::paths::normal;
use super::shell::ShellCommand;

/// How many values of a word are followed.
const MOST: usize = 200;
/// How many variables a word may have.
const MOST_VARIABLES: usize = 6;

/// What a text assigns.
pub(super) struct Assigned<'a> {
    pub(super) start: &'a dyn SourceTree,
    pub(super) folder: &'a Path,
    pub(super) commands: &'a [ShellCommand],
    /// The arguments of the script.
    pub(super) arguments: &'a [String],
}

impl Assigned<'_> {
    /// The values of a word. A variable that is not known stays.
    pub(super) fn values(&self, word: &str) -> Vec<String> {
        let mut words = vec![word.to_owned()];
        for _ in 0..MOST_VARIABLES {
            let mut more = Vec::new();
            for word in &words {
                match self.expanded(word) {
                    Some(values) => more.extend(values),
                    None => more.push(word.clone()),
                }
            }
            more.truncate(MOST);
            if more == words {
                break;
            }
            words = more;
        }
        words
    }

    /// The files of the start that a word with unknown parts may name.
    pub(super) fn matching(&self, word: &str) -> Vec<String> {
        let mut glob = String::new();
        let mut rest = word;
        while let Some((before, _, _, after)) = variable(rest) {
            glob.push_str(before);
            glob.push('*');
            rest = after;
        }
        glob.push_str(rest);
        let known = glob.chars().filter(|c| c.is_alphanumeric()).count();
        let path = normal(&self.folder.join(glob.trim_start_matches("*/")));
        let Some(path) = path.filter(|_| known > 1) else { return Vec::new() };
        let glob = GlobBuilder::new(&path.to_string_lossy()).build();
        let Ok(glob) = glob.map(|glob| glob.compile_matcher()) else { return Vec::new() };
        let files = self.start.paths().keys().filter(|path| glob.is_match(path)).take(MOST);
        let up = "../".repeat(self.folder.components().count());
        files.map(|path| format!("{up}{}", path.display())).collect()
    }

    /// A word once for every value of its first variable with known ones.
    fn expanded(&self, word: &str) -> Option<Vec<String>> {
        let mut at = 0;
        while let Some((before, name, change, after)) = variable(&word[at..]) {
            let values = self.literals(name);
            if !values.is_empty() {
                let before = &word[..at + before.len()];
                let with = |value: &String| format!("{before}{}{after}", changed(value, change));
                return Some(values.iter().map(with).collect());
            }
            at = word.len() - after.len();
        }
        None
    }

    /// The texts that a variable is set to.
    fn literals(&self, name: &str) -> Vec<String> {
        if let Ok(number) = name.parse::<usize>() {
            return self.arguments.get(number.wrapping_sub(1)).cloned().into_iter().collect();
        }
        let mut found = Vec::new();
        for command in self.commands {
            let own = command.assignments.iter().filter(|(to, _)| to == name);
            let own = own.map(|(_, value)| value.as_str());
            let declared = command.words.iter().filter_map(|word| word.split_once('='));
            let declared = declared.filter(|(to, _)| *to == name).map(|(_, value)| value);
            // A substitution leaves its sign.
            for value in own.chain(declared).filter(|it| !it.ends_with('$') && !it.is_empty()) {
                let names = globbed(self.start, self.folder, value);
                found.extend(names.unwrap_or_else(|| vec![value.to_owned()]));
            }
        }
        found
    }
}

/// The first variable of a word: what is before it, its name, its change, and what is after it.
pub(super) fn variable(word: &str) -> Option<(&str, &str, &str, &str)> {
    let at = word.find('$')?;
    let (before, rest) = (&word[..at], &word[at + 1..]);
    let name_end = |text: &str| {
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        end.unwrap_or(text.len())
    };
    if let Some(inner) = rest.strip_prefix('{') {
        let (body, after) = inner.split_once('}').unwrap_or((inner, ""));
        let end = name_end(body);
        return Some((before, &body[..end], &body[end..], after));
    }
    let end = match rest.chars().next() {
        Some(c) if c.is_ascii_digit() => 1,
        _ => name_end(rest),
    };
    Some((before, &rest[..end], "", &rest[end..]))
}

/// A value after `%.in`, `##*/`, and the like.
fn changed(value: &str, change: &str) -> String {
    let cut = |at: Option<usize>| at.map_or(value, |at| &value[..at]).to_owned();
    let (sign, pattern) =
        change.split_at(change.len() - change.trim_start_matches(['%', '#']).len());
    match (sign, pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        ("%", Some(start), _) if !start.is_empty() => cut(value.rfind(start)),
        ("%%", Some(start), _) if !start.is_empty() => cut(value.find(start)),
        ("%" | "%%", None, _) => value.strip_suffix(pattern).unwrap_or(value).to_owned(),
        ("##", _, Some(end)) if !end.is_empty() => {
            value.rsplit_once(end).map_or(value, |(_, rest)| rest).to_owned()
        }
        ("#", _, Some(end)) if !end.is_empty() => {
            value.split_once(end).map_or(value, |(_, rest)| rest).to_owned()
        }
        ("#" | "##", _, None) => value.strip_prefix(pattern).unwrap_or(value).to_owned(),
        _ => match pattern.trim_start_matches('/').split_once('/') {
            Some((from, to)) if pattern.starts_with('/') => value.replacen(from, to, 1),
            _ => value.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_value() {
        for (change, expected) in [
            ("", "a/b.c.in"),
            ("%.in", "a/b.c"),
            ("%.*", "a/b.c"),
            ("%%.*", "a/b"),
            ("##*/", "b.c.in"),
            ("#a/", "b.c.in"),
            ("/.in/.out", "a/b.c.out"),
            (":-x", "a/b.c.in"),
        ] {
            assert_eq!(changed("a/b.c.in", change), expected, "{change}");
        }
    }
}
