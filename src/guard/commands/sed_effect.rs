//! What a `sed` program leaves of a file: its commands run on the text, so that one that would take
//! every line is found out.

use regex::{Captures, Regex, RegexBuilder};

/// Longest text that is tried, in bytes.
const MOST_TEXT: usize = 1024 * 1024;

/// The lines that a command is for.
enum Lines {
    All,
    /// From this one to that one.
    Range(usize, usize),
    Last,
    Matching(Regex),
}

/// A command that changes lines.
enum Change {
    Delete,
    Substitute {
        pattern: Regex,
        by: String,
        /// The first match that is replaced, and whether the later ones are, too.
        from: usize,
        all: bool,
    },
}

/// Does a program take every letter and digit of a text? `None` if the program has more than simple
/// commands. A text that is long or binary keeps something.
pub(super) fn leaves_nothing(program: &str, extended: bool, text: &[u8]) -> Option<bool> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= MOST_TEXT);
    let text = text.unwrap_or_default();
    let shows = |line: &str| line.chars().any(char::is_alphanumeric);
    if !shows(text) {
        return Some(false);
    }
    let commands = read(program, extended)?;
    let count = text.lines().count();
    let left = |(at, line): (usize, &str)| changed(&commands, at + 1, count, line);
    Some(!text.lines().enumerate().filter_map(left).any(|line| shows(&line)))
}

/// A line after the commands; `None` if one deletes it.
fn changed(commands: &[(Lines, Change)], at: usize, count: usize, line: &str) -> Option<String> {
    let mut line = line.to_owned();
    for (lines, change) in commands {
        let fits = match lines {
            Lines::All => true,
            Lines::Range(from, to) => (*from..=*to).contains(&at),
            Lines::Last => at == count,
            Lines::Matching(pattern) => pattern.is_match(&line),
        };
        match change {
            _ if !fits => {}
            Change::Delete => return None,
            Change::Substitute { pattern, by, from, all } => {
                let mut number = 0;
                let replaced = pattern.replace_all(&line, |found: &Captures<'_>| {
                    number += 1;
                    let is_meant = number == *from || *all && number > *from;
                    if is_meant { filled(by, found) } else { found[0].to_owned() }
                });
                line = replaced.into_owned();
            }
        }
    }
    Some(line)
}

/// A replacement with the parts of a match in it.
fn filled(by: &str, found: &Captures<'_>) -> String {
    let mut out = String::new();
    let mut letters = by.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => out.push_str(&found[0]),
            '\\' => match letters.next() {
                Some(digit) if digit.is_ascii_digit() => {
                    let group = digit.to_digit(10).and_then(|digit| found.get(digit as usize));
                    out.push_str(group.map_or("", |group| group.as_str()));
                }
                Some('n' | 't') => out.push(' '),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(letter),
        }
    }
    out
}

/// The commands of a program that change lines.
fn read(program: &str, extended: bool) -> Option<Vec<(Lines, Change)>> {
    let mut commands = Vec::new();
    let mut at = program.trim_start_matches([' ', ';']);
    while !at.is_empty() {
        let (lines, rest) = lines(at, extended)?;
        let command = rest.chars().next()?;
        let after = &rest[command.len_utf8()..];
        at = match command {
            'p' | '=' => after,
            'd' => {
                commands.push((lines, Change::Delete));
                after
            }
            's' => {
                let (change, after) = substitution(after, extended)?;
                commands.push((lines, change));
                after
            }
            _ => return None,
        };
        at = at.trim_start_matches([' ', ';']);
    }
    Some(commands)
}

fn lines(text: &str, extended: bool) -> Option<(Lines, &str)> {
    if let Some(rest) = text.strip_prefix('/') {
        let end = delimited(rest, '/')?;
        let pattern = pattern(&rest[..end], extended, false)?;
        let rest = rest[end + 1..].trim_start();
        // A range of patterns may reach from the first line to the last.
        return match rest.strip_prefix(',') {
            Some(second) => lines(second, extended).map(|(_, rest)| (Lines::All, rest)),
            None => Some((Lines::Matching(pattern), rest)),
        };
    }
    if let Some(rest) = text.strip_prefix('$') {
        return Some((Lines::Last, rest));
    }
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text[..digits].parse::<usize>().ok().map(|number| (number, digits))
    };
    let Some((from, digits)) = number(text) else { return Some((Lines::All, text)) };
    let rest = &text[digits..];
    let Some(second) = rest.strip_prefix(',') else {
        return Some((Lines::Range(from, from), rest));
    };
    match second.strip_prefix('$') {
        Some(rest) => Some((Lines::Range(from, usize::MAX), rest)),
        None => {
            let (to, digits) = number(second)?;
            Some((Lines::Range(from, to.max(from)), &second[digits..]))
        }
    }
}

/// What follows an `s`, and the rest.
fn substitution(text: &str, extended: bool) -> Option<(Change, &str)> {
    let end = text.chars().next()?;
    let text = &text[end.len_utf8()..];
    let middle = delimited(text, end)?;
    let behind = &text[middle + end.len_utf8()..];
    let mut escaped = false;
    let ends = |letter: char| {
        let is_end = letter == end && !escaped;
        escaped = letter == '\\' && !escaped;
        is_end
    };
    let last = behind.find(ends)?;
    let rest = &behind[last + end.len_utf8()..];
    let is_flag = |c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'I' | 'i');
    let after = rest.trim_start_matches(is_flag);
    let flags = &rest[..rest.len() - after.len()];
    let from: String = flags.chars().filter(char::is_ascii_digit).collect();
    let change = Change::Substitute {
        pattern: pattern(&text[..middle], extended, flags.contains(['i', 'I']))?,
        by: behind[..last].to_owned(),
        from: from.parse().unwrap_or(1),
        all: flags.contains('g'),
    };
    Some((change, after))
}

/// Where a part that this character ends is over.
pub(super) fn delimited(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    let mut bracket = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // Within brackets programs differ about what ends the part.
            '[' => bracket = true,
            ']' => bracket = false,
            _ if c == end && bracket => return None,
            _ if c == end => return Some(at),
            _ => {}
        }
    }
    None
}

/// A pattern of `sed` as one of this crate's.
fn pattern(text: &str, extended: bool, any_case: bool) -> Option<Regex> {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '[' => bracket(&mut letters, &mut out)?,
            '\\' => match letters.next()? {
                special @ ('(' | ')' | '{' | '}' | '|' | '+' | '?') if !extended => {
                    out.push(special);
                }
                '<' | '>' => out.push_str("\\b"),
                class @ ('w' | 'W' | 's' | 'S' | 'b' | 'n' | 't') => out.extend(['\\', class]),
                other if other.is_alphanumeric() => return None,
                other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' if !extended => out.extend(['\\', letter]),
            '*' if !extended && (out.is_empty() || out == "^") => out.push_str("\\*"),
            '^' if !(extended || out.is_empty() || out.ends_with(['(', '|'])) => {
                out.push_str("\\^");
            }
            '$' if !extended && !matches!(letters.peek(), None | Some('\\')) => {
                out.push_str("\\$");
            }
            _ => out.push(letter),
        }
    }
    RegexBuilder::new(&out).case_insensitive(any_case).size_limit(1 << 20).build().ok()
}

/// A set of characters, behind its first bracket.
fn bracket(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if letters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut is_first = true;
    loop {
        match letters.next()? {
            ']' if !is_first => break,
            '[' if letters.peek() == Some(&':') => {
                out.push('[');
                for letter in letters.by_ref() {
                    out.push(letter);
                    if letter == ']' {
                        break;
                    }
                }
            }
            special @ ('[' | ']' | '&' | '~' | '\\' | '^') => out.extend(['\\', special]),
            other => out.push(other),
        }
        is_first = false;
    }
    out.push(']');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_takes_every_line_is_found_out() {
        for (program, extended, text) in [
            ("/line/d", false, "a line\nline two\n"),
            (r"/\(line\)/d", false, "a line\nline two\n"),
            ("s/v1//", false, "v1\n"),
            ("s/^line.*//", false, "line one\nline two\n"),
            ("s/(note|one)//g", true, "note one\n"),
            ("s/NOTE.*//I", false, "note one\n"),
            ("/fn /d", false, "fn a() {\n}\n"),
            ("s/a/b/;/b/d", false, "a\nb\n"),
            ("1,3d", false, "a\nb\n"),
            ("s/[a-z]*//", false, "abc\n"),
            ("s/x*b*a/-/", false, "a\n"),
        ] {
            assert_eq!(leaves_nothing(program, extended, text.as_bytes()), Some(true), "{program}");
        }
        for (program, extended, text) in [
            ("/line/d", false, "a line\nb\n"),
            ("s/note//", false, "note note\n"),
            ("s/note//2", false, "note note\n"),
            ("s/.*(a).*/\\1/", true, "xax\n"),
            ("s/a/&b/", false, "a\n"),
            ("s/a+//", false, "a\n"),
            ("s/*//", false, "a*\n"),
            ("s/a$b//", false, "ab\n"),
            ("/a/,/b/s/x//", false, "xa\n"),
            ("s/[a]/[/", false, "ab\n"),
            ("$d", false, "a\nb\n"),
            ("/x/d", false, "\n"),
        ] {
            let judged = leaves_nothing(program, extended, text.as_bytes());
            assert_eq!(judged, Some(false), "{program}");
        }
        assert_eq!(leaves_nothing(r"s/\(a\)\1//", false, b"aa\n"), None, "a reference back");
        assert_eq!(leaves_nothing("/a/d", false, b"a\xff\n"), Some(false), "no text");
    }
}
