//! `sed` programs that print, substitute, or delete single lines, and `awk` programs that print.

use std::sync::LazyLock;

use regex::Regex;

use super::options::unknown_option;
use crate::guard::call_context::{ReadKind, WriteKind};
use crate::guard::denial::Denial;
use crate::guard::line::{Arg, Judge, Place};

impl Judge<'_> {
    pub(super) fn sed(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        let mut in_place = false;
        let mut quiet = false;
        let mut programs = Vec::new();
        let mut files = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.text() {
                // With `-z`, a file is one line.
                Some("-n" | "--quiet" | "--silent" | "-nE" | "-En" | "-nr" | "-z") => quiet = true,
                Some("-E" | "-r" | "--regexp-extended" | "-s" | "-u") => {}
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
        let cuts_none = in_place && !self.sandboxed;
        if quiet && cuts_none {
            return Err(cuts());
        }
        for program in programs {
            let judged = match program {
                Arg::Text(text) => sed_program(text, cuts_none),
                Arg::Pattern(_) | Arg::Open { .. } => Err(not_understood("sed")),
            };
            self.soften(judged)?;
        }
        for file in files {
            let judged = self.reads(place, file, ReadKind::Content);
            self.soften(judged)?;
            if in_place {
                let judged = self.writes(place, file, WriteKind::Change);
                self.soften(judged)?;
            }
        }
        Ok(())
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

fn not_understood(program: &str) -> Denial {
    Denial::new(
        "program.option",
        format!("the {program} program does more than print and substitute"),
    )
    .instead("use `grep`, `cut`, `head`, or the edit tool")
}

fn cuts() -> Denial {
    Denial::new("program.delete", "sed would cut most of the file")
        .instead("change the file with the edit tool")
}

/// Reads a program of addresses with `p`, `d`, `q`, `=`, and `s`. With `cuts_none`, it must not take
/// all of a file.
fn sed_program(program: &str, cuts_none: bool) -> Result<(), Denial> {
    let mut at = program;
    loop {
        at = at.trim_start_matches([' ', ';']);
        if at.is_empty() {
            return Ok(());
        }
        let (addressed, rest) = address(at).ok_or_else(|| not_understood("sed"))?;
        let command = rest.chars().next().ok_or_else(|| not_understood("sed"))?;
        let after = &rest[command.len_utf8()..];
        at = match command {
            'q' if cuts_none => return Err(cuts()),
            'd' if cuts_none && !addressed => return Err(cuts()),
            'p' | '=' | 'q' | 'd' => after,
            's' => substitution(after).ok_or_else(|| not_understood("sed"))?,
            _ => return Err(not_understood("sed")),
        };
        if !(at.is_empty() || at.starts_with([';', ' '])) {
            return Err(not_understood("sed"));
        }
    }
}

/// Is there an address, and what is behind it?
fn address(text: &str) -> Option<(bool, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match text.chars().next()? {
        '/' => {
            let end = delimited(&text[1..], '/')?;
            &text[end + 2..]
        }
        '$' => &text[1..],
        _ => match digits(text) {
            0 => return Some((false, text)),
            first => &text[first..],
        },
    };
    match rest.strip_prefix(',') {
        Some(rest) => address(rest).filter(|(is_there, _)| *is_there),
        None => Some((true, rest.trim_start_matches(' '))),
    }
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

/// Where a part that this character ends is over.
fn delimited(text: &str, end: char) -> Option<usize> {
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
