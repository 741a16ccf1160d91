//! The text and the files of a grep in a line.
//!
//! Invariant: pure. The pattern is not compiled.

use crate::shell::ShellCommand;
use crate::shell::unwrapped;

/// A grep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grep {
    /// A text that it finds.
    pub(super) text: String,
    /// The text begins its line.
    pub(super) is_anchored: bool,
    /// The files it looks in.
    pub(super) files: Vec<String>,
    /// It looks through folders.
    pub(super) is_recursive: bool,
    /// It must find nothing: the files are to be without the text.
    pub(super) absent: bool,
}

/// The grep that a command is.
pub(super) fn grep(command: &ShellCommand) -> Option<Grep> {
    let words = unwrapped(&command.words);
    let is_git = words.first()? == "git";
    let (program, arguments) = words[usize::from(is_git)..].split_first()?;
    let program = program.rsplit('/').next()?;
    if !["grep", "egrep", "fgrep", "rg"].contains(&program) {
        return None;
    }
    let (mut letters, mut pattern, mut operands) = (String::new(), None, Vec::new());
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            Some("-") => operands.extend(rest.by_ref()),
            Some("A" | "B" | "C" | "m") => {
                rest.next();
            }
            Some(long) if long.starts_with('-') => match long {
                "-fixed-strings" => letters.push('F'),
                "-extended-regexp" | "-perl-regexp" => letters.push('E'),
                _ => {}
            },
            Some(short) if !short.is_empty() => {
                letters.push_str(short);
                if short.ends_with('e') {
                    pattern = pattern.or(rest.next());
                }
            }
            _ => operands.push(word),
        }
    }
    let mut operands = operands.into_iter();
    let pattern = pattern.or_else(|| operands.next())?;
    let has = |any: &str| letters.contains(|letter| any.contains(letter));
    let is_extended = ["egrep", "rg"].contains(&program) || has("EP");
    let text = match program == "fgrep" || has("F") {
        true => pattern.to_owned(),
        false => sample(pattern, is_extended),
    };
    let mut files: Vec<String> = operands.map(str::to_owned).collect();
    files.extend(command.stdin.iter().cloned());
    Some(Grep {
        is_anchored: has("x") || pattern.starts_with('^'),
        text,
        files,
        is_recursive: is_git || program == "rg" || has("rR"),
        absent: command.must_fail || has("Lv"),
    })
}

/// A text that a pattern finds. A wrong guess is a cheat that fails.
fn sample(pattern: &str, is_extended: bool) -> String {
    let mut text = String::new();
    let mut letters = pattern.chars();
    while let Some(first) = letters.next() {
        let is_escaped = first == '\\';
        let letter = if is_escaped { letters.next().unwrap_or(first) } else { first };
        let is_special = is_escaped != is_extended;
        match letter {
            // The first alternative is enough.
            '|' if is_special => letters.by_ref().take_while(|it| *it != ')').for_each(drop),
            '(' | ')' | '+' if is_special => {}
            '{' if is_special => letters.by_ref().take_while(|it| *it != '}').for_each(drop),
            '?' if is_special => drop(text.pop()),
            's' if is_escaped => text.push(' '),
            'd' if is_escaped => text.push('1'),
            'w' if is_escaped => text.push('x'),
            'b' | '<' | '>' if is_escaped => {}
            _ if is_escaped => text.push(letter),
            '^' | '$' => {}
            '*' => drop(text.pop()),
            '.' => text.push('x'),
            '[' => {
                let class: String = letters.by_ref().take_while(|it| *it != ']').collect();
                let is_named = class.starts_with("[:");
                let space = class.contains("space") || class.contains("blank");
                letters.by_ref().take(usize::from(is_named)).for_each(drop);
                text.push(match class.chars().next() {
                    Some('[') if is_named => {
                        if space {
                            ' '
                        } else {
                            '1'
                        }
                    }
                    Some('^') | None => 'x',
                    Some(first) => first,
                });
            }
            _ => text.push(letter),
        }
    }
    text
}
