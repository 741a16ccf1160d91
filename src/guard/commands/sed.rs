//! `sed` programs that print, substitute, or delete single lines, and `awk` programs that print.

use std::sync::LazyLock;

use regex::Regex;

use super::options::unknown_option;
use super::sed_effect::{delimited, leaves_nothing};
use crate::guard::call_context::{COST_OF_AN_ENTRY, ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};

impl Judge<'_> {
    pub(super) fn sed(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        let mut in_place = false;
        let mut quiet = false;
        let mut whole = false;
        let mut extended = false;
        let mut programs = Vec::new();
        let mut files = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.text() {
                Some("-n" | "--quiet" | "--silent" | "-nE" | "-En" | "-nr") => quiet = true,
                Some("-E" | "-r" | "--regexp-extended") => extended = true,
                Some("-s" | "-u") => {}
                Some("-z") => whole = true,
                Some("-i" | "--in-place") => in_place = true,
                Some("-e" | "--expression") => programs.extend(rest.next()),
                Some("--") => {}
                Some(option) if option.starts_with('-') && option.len() > 1 => {
                    self.soften::<()>(Err(unknown_option("sed", option)))?;
                    in_place |= option.contains('i');
                }
                _ => files.push(arg),
            }
        }
        if programs.is_empty() && !files.is_empty() {
            programs.push(files.remove(0));
        }
        // With `-z`, a file is one line.
        if (quiet || whole) && in_place && !self.sandboxed {
            return Err(cuts());
        }
        let texts: Vec<&str> = programs.iter().filter_map(|program| program.text()).collect();
        let text = texts.join(";");
        let (mut lines_cut, mut erasing) = (0, 0);
        for program in programs {
            lines_cut += program.text().map_or(0, lines_deleted);
            erasing += program.text().map_or(0, erasers);
            let judged = match program {
                Arg::Text(text) => self.sed_program(text, in_place),
                Arg::Pattern(_) | Arg::Open { .. } => Err(not_understood("sed")),
            };
            self.soften(judged)?;
        }
        for file in files {
            let judged = self.reads(place, file, ReadKind::Content);
            self.soften(judged)?;
            if in_place {
                if !self.sandboxed && erasing > 0 {
                    self.erases_once(place, file, erasing)?;
                    self.keeps_lines(place, file, lines_cut)?;
                }
                if !self.sandboxed {
                    self.keeps_text(place, file, &text, extended)?;
                }
                let judged = self.writes(place, file, WriteKind::Change);
                self.soften(judged)?;
            }
        }
        Ok(())
    }

    /// Checks that a line takes from a file once: what several commands leave is not known.
    fn erases_once(&mut self, place: &Place, file: &Arg, erasing: usize) -> Result<(), Denial> {
        for path in self.paths(place, file)? {
            let real = self.cx.resolve(&path)?.path;
            let moved = self.landed.iter().any(|landed| real.starts_with(landed));
            if erasing > 1 || moved || self.cx.changed().contains(&real) {
                return Err(cuts());
            }
        }
        Ok(())
    }

    /// Checks that a file has more lines with text than a program deletes by their numbers.
    fn keeps_lines(&mut self, place: &Place, file: &Arg, deleted: usize) -> Result<(), Denial> {
        for path in self.paths(place, file)? {
            if self.cx.kind(&path) == FileKind::File && self.cx.lines(&path) <= deleted {
                return Err(cuts());
            }
        }
        Ok(())
    }

    /// Checks that a program, with extended patterns or plain ones, leaves a letter or a digit of a
    /// file that has some.
    fn keeps_text(
        &mut self,
        place: &Place,
        file: &Arg,
        program: &str,
        extended: bool,
    ) -> Result<(), Denial> {
        for path in self.paths(place, file)? {
            self.cx.spend(COST_OF_AN_ENTRY * 5)?;
            // One that cannot be tried may take everything.
            if leaves_nothing(program, extended, &self.cx.content(&path)).unwrap_or(true) {
                return Err(cuts());
            }
        }
        Ok(())
    }

    /// Reads a program of addresses with `p`, `d`, `q`, `=`, and `s`.
    fn sed_program(&self, program: &str, in_place: bool) -> Result<(), Denial> {
        let mut at = program;
        loop {
            at = at.trim_start_matches([' ', ';']);
            if at.is_empty() {
                return Ok(());
            }
            let (lines, rest) = address(at).ok_or_else(|| not_understood("sed"))?;
            let command = rest.chars().next().ok_or_else(|| not_understood("sed"))?;
            let after = &rest[command.len_utf8()..];
            at = match command {
                'p' | '=' => after,
                'q' if !in_place || self.sandboxed => after,
                'd' if !in_place || lines.is_narrow() || self.sandboxed => after,
                'd' | 'q' if in_place && !self.sandboxed => return Err(cuts()),
                's' if in_place && !self.sandboxed && takes_all(after) => return Err(cuts()),
                's' => substitution(after).ok_or_else(|| not_understood("sed"))?,
                _ => return Err(not_understood("sed")),
            };
            if !(at.is_empty() || at.starts_with([';', ' '])) {
                return Err(not_understood("sed"));
            }
        }
    }

    /// `awk` programs that print fields, counts and sums.
    pub(super) fn awk(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        let mut rest = args;
        while let [first, more @ ..] = rest
            && first.head().starts_with("-F")
        {
            rest = if first.head() == "-F" { more.get(1..).unwrap_or_default() } else { more };
        }
        let Some((program, files)) = rest.split_first() else { return Err(not_understood("awk")) };
        let understood = program.text().is_some_and(prints_only);
        if !understood {
            self.soften::<()>(Err(not_understood("awk")))?;
        }
        files.iter().try_for_each(|file| {
            let judged = if file.head().contains('=') {
                Err(not_understood("awk"))
            } else {
                self.reads(place, file, ReadKind::Content)
            };
            self.soften(judged).map(drop)
        })
    }
}

fn cuts() -> Denial {
    Denial::new("program.delete", "sed would cut most of the file")
        .instead("change the file with the edit tool")
}

fn not_understood(program: &str) -> Denial {
    Denial::new(
        "program.option",
        format!("the {program} program does more than print and substitute"),
    )
    .instead("use `grep`, `cut`, `head`, or the edit tool")
}

/// Which lines a command is for.
#[derive(Clone, Copy, PartialEq)]
enum Lines {
    All,
    One,
    Range,
    /// Those that match this many letters and digits.
    Matching(usize),
}

impl Lines {
    /// Are most lines of a file left out?
    fn is_narrow(self) -> bool {
        match self {
            Self::All => false,
            Self::One | Self::Range => true,
            Self::Matching(letters) => letters >= 2,
        }
    }
}

/// An address, and the rest.
fn address(text: &str) -> Option<(Lines, &str)> {
    if let Some(rest) = text.strip_prefix('/') {
        let end = delimited(rest, '/')?;
        let empty = matches!(&rest[..end], "^$" | r"^\s*$");
        let letters = letters_of(&rest[..end]) + if empty { 3 } else { 0 };
        let rest = &rest[end + 1..];
        // A range of patterns may reach to the end.
        return match rest.strip_prefix(',') {
            Some(rest) => address(rest).map(|(_, rest)| (Lines::All, rest)),
            None => Some((Lines::Matching(letters), rest.trim_start_matches(' '))),
        };
    }
    if let Some(rest) = text.strip_prefix('$') {
        return Some((Lines::One, rest));
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    if first == 0 {
        return Some((Lines::All, text));
    }
    let rest = &text[first..];
    match rest.strip_prefix(',') {
        None => Some((Lines::One, rest)),
        Some(rest) if rest.starts_with('$') => Some((Lines::All, &rest[1..])),
        Some(rest) => match digits(rest) {
            0 => None,
            second => {
                // Files are short: from the first line on, more than a heading is most of one.
                let far = text[..first].trim_start_matches('0').len() <= 1
                    && text.starts_with(['0', '1'])
                    && rest[..second].parse().map_or(true, |last: u32| last > 20);
                Some((if far { Lines::All } else { Lines::Range }, &rest[second..]))
            }
        },
    }
}

/// Lines that the commands of a program delete by their numbers, at most.
fn lines_deleted(program: &str) -> usize {
    let each = |command: &str| {
        let lines = command.trim().strip_suffix('d')?;
        match lines.split_once(',') {
            Some((from, to)) => {
                Some((to.parse::<usize>().ok()? + 1).saturating_sub(from.parse().ok()?))
            }
            None => Some(usize::from(lines == "$" || lines.parse::<usize>().is_ok())),
        }
    };
    program.split(';').filter_map(each).sum()
}

/// Commands of a program that take lines away, or put nothing in the place of what they find. A
/// pattern with alternatives counts as several.
fn erasers(program: &str) -> usize {
    static ERASES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:^|[;\s/0-9$])d\s*(?:;|$)|s(?:/|\||#|,|:|@)[^;]*[/|#,:@][^\w&\\;]*[/|#,:@][a-z0-9]*\s*(?:;|$)").ok()
    });
    let erases = |part: &str| ERASES.as_ref().is_none_or(|it| it.is_match(part));
    let parts = program.split(';').filter(|part| erases(part));
    parts.map(|part| if part.contains('|') && part.ends_with('d') { 2 } else { 1 }).sum()
}

/// Letters and digits of a pattern that stand for themselves.
fn letters_of(pattern: &str) -> usize {
    let (mut escaped, mut bracket, mut letters) = (false, false, 0);
    for c in pattern.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => bracket = true,
            ']' => bracket = false,
            _ => letters += usize::from(c.is_alphanumeric() && !bracket),
        }
    }
    letters
}

/// Does a substitution, from its first delimiter on, fit any text at all?
fn takes_all(text: &str) -> bool {
    let mut letters = text.chars();
    let end = letters.next();
    let (mut any, mut escaped) = (false, false);
    let pattern: String = letters.take_while(|letter| Some(*letter) != end).collect();
    // Blanks and numbers may go; any other class may fit whole lines.
    let pattern = ["[[:space:]]", "[[:blank:]]", "[[:digit:]]", "[ ]", "[0-9]"]
        .iter()
        .fold(pattern, |pattern, class| pattern.replace(class, ""));
    any |= pattern.contains('[');
    let pattern =
        pattern.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    let pattern: Vec<&str> = pattern.collect();
    for letter in pattern.concat().chars() {
        if escaped {
            any |= "wWSD".contains(letter);
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == '.' {
            any = true;
        } else if !"*+?^$()|[]{} ".contains(letter) {
            return false;
        }
    }
    any
}

/// Reads what follows an `s`, and returns the rest if it does nothing but substitute.
fn substitution(text: &str) -> Option<&str> {
    let end = text
        .chars()
        .next()
        .filter(|c| matches!(c, '/' | '|' | '#' | ',' | ':' | '@' | '!' | '%' | '+' | '~' | '_'))?;
    let text = &text[1..];
    let pattern = delimited(text, end)?;
    let text = &text[pattern + 1..];
    let mut escaped = false;
    let at = text.char_indices().find_map(|(at, c)| match c {
        '\n' => Some(None),
        _ if escaped => {
            escaped = false;
            None
        }
        '\\' => {
            escaped = true;
            None
        }
        _ => (c == end).then_some(Some(at)),
    })??;
    Some(
        text[at + 1..]
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'I' | 'i')),
    )
}

/// Fields and plain texts, and rules that print them, count, or sum up.
const AWK_ITEM: &str = r#"(?:\$\d+|\$NF|\$\(NF-\d\)|NR|NF|"[\w :,.=/()%-]*")"#;

static PRINTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let test = r"(?:/[\w .:,^$=-]+/|N[RF] ?(?:==|>=|<=|>|<) ?\d+(?: ?&& ?NR ?<=? ?\d+)?)";
    let print = format!(r"\{{ ?print(?: {AWK_ITEM}(?: ?,? ?{AWK_ITEM})*)? ?;?\}}");
    let sum =
        r"\{ ?[a-z]+ ?(?:\+= ?\$(?:\d+|NF)|\+\+) ?;? ?\} ?END ?\{ ?print [a-z]+(?: ?/ ?NR)? ?\}";
    Regex::new(&format!(
        r"^ ?(?:{test}|{test}? ?{print}|{test}? ?{sum}|END ?{print}|!\w+\[\$\d\]\+\+) ?$"
    ))
    .ok()
});

/// Is it one rule that prints fields, prints every line once, or counts or sums up and prints that?
fn prints_only(program: &str) -> bool {
    PRINTS.as_ref().is_some_and(|prints| prints.is_match(program))
}
