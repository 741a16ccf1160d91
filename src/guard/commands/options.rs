//! A program's words → options and operands, by the table. An option that is not listed is denied.

use crate::guard::denial::Denial;
use crate::guard::line::Arg;
use crate::guard::programs::table::{Entry, Kind, Takes};

/// The words of a program, told apart.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Names of the options that were given.
    pub(super) names: Vec<String>,
    /// Values of options, what they are, and the options' names.
    pub(super) values: Vec<(Kind, Arg, String)>,
    pub(super) operands: Vec<Arg>,
}

impl Parsed {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.names.iter().any(|name| names.contains(&name.as_str()))
    }
}

/// The denial of an option that is not listed.
pub(super) fn unknown_option(program: &str, option: &str) -> Denial {
    not_known(program, option).instead(format!("leave `{option}` out"))
}

/// The same with an alternative that is still to be named.
pub(super) fn not_known(program: &str, word: &str) -> Denial {
    Denial::new("program.option", format!("`{program}` with `{word}` is not known to be safe"))
}

/// The denial of code that is not a file of the project.
pub(super) fn inline(name: &str) -> Denial {
    Denial::new(
        "program.inline-code",
        format!("`{name}` runs code that is not a file of the project"),
    )
    .instead(
        "write a script into the workspace with the create tool, and run it in a call of its own",
    )
}

/// Is a value a number, as far as it is known?
pub(super) fn number(value: &Arg) -> bool {
    if let Arg::Open { head, quoted } = value {
        // It begins with a digit, so it is no option.
        return *quoted && !head.is_empty() && head.bytes().all(|b| b.is_ascii_digit());
    }
    value.text().is_some_and(|text| {
        let digits = text.trim_start_matches(['+', '-']);
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | ',' | ':'))
            || matches!(text, "auto" | "infinity")
    })
}

/// Tells options and operands apart.
///
/// # Errors
/// The first option that is not listed, or a value that is missing.
pub(super) fn parse(program: &str, args: &[Arg], entry: &Entry) -> Result<Parsed, Denial> {
    let mut parsed = Parsed::default();
    if entry.raw {
        parsed.operands = args.to_vec();
        return Ok(parsed);
    }
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let head = arg.head().to_owned();
        let option = head.len() > 1 && head.starts_with('-');
        let to_the_end = entry.posix
            || entry
                .operands
                .iter()
                .any(|kind| matches!(kind, Kind::Command | Kind::Subcommand | Kind::Script));
        if head == "--" && arg.text().is_some() {
            if entry.through {
                continue;
            }
            parsed.operands.extend(rest.cloned());
            break;
        }
        // What is not known may be an option.
        let hidden = match arg {
            Arg::Open { head, quoted } => !quoted || head.is_empty(),
            Arg::Text(_) | Arg::Pattern(_) => false,
        };
        if hidden {
            return Err(Denial::new(
                "shell.unknown-word",
                format!("`{program}` has a word that is known at run time only"),
            )
            .instead("write the word itself"));
        }
        if !option {
            parsed.operands.push(arg.clone());
            if to_the_end {
                parsed.operands.extend(rest.cloned());
                break;
            }
            continue;
        }
        let unknown = || unknown_option(program, &head);
        let mut value = |kind: Kind, name: &str, parsed: &mut Parsed| {
            let count = if kind == Kind::TwoTexts { 2 } else { 1 };
            for _ in 0..count {
                let value = rest.next().ok_or_else(unknown)?;
                parsed.values.push((kind, value.clone(), name.to_owned()));
            }
            Ok::<(), Denial>(())
        };
        // Options, unlike their values, are known to the letter.
        let whole = arg.text().and_then(|text| entry.option(text));
        if let Some(takes) = whole {
            if let Takes::Value(kind) = takes {
                value(kind, &head, &mut parsed)?;
            }
            parsed.names.push(head.clone());
            continue;
        }
        let long = head.starts_with("--") || entry.one_dash;
        if let Some((name, _)) = head.split_once('=').filter(|_| long)
            && let Some(Takes::Value(kind) | Takes::Attached(kind)) = entry.option(name)
        {
            parsed.names.push(name.to_owned());
            parsed.values.push((kind, arg.tail(name.len() + 1), name.to_owned()));
            continue;
        }
        let numeric = head.len() > 1 && head[1..].bytes().all(|b| b.is_ascii_digit());
        if numeric && entry.option("-#").is_some() && arg.text().is_some() {
            continue;
        }
        if head.starts_with("--") || matches!(arg, Arg::Pattern(_)) {
            return Err(unknown());
        }
        cluster(arg, entry, &mut parsed, &mut value).ok_or_else(unknown)??;
    }
    Ok(parsed)
}

/// Short options in one word: `-la`, `-n5`, `-vk EXPR`.
fn cluster(
    arg: &Arg,
    entry: &Entry,
    parsed: &mut Parsed,
    value: &mut dyn FnMut(Kind, &str, &mut Parsed) -> Result<(), Denial>,
) -> Option<Result<(), Denial>> {
    let head = arg.head();
    for (at, letter) in head.char_indices().skip(1) {
        let end = at + letter.len_utf8();
        let name = format!("-{letter}");
        let takes = entry.option(&name)?;
        parsed.names.push(name.clone());
        match takes {
            // Where long options have one dash, letters are not joined.
            Takes::Nothing if entry.one_dash => return None,
            Takes::Nothing => {}
            // There, `-overlay` is an option of its own.
            Takes::Value(_) if entry.apart && end < head.len() => return None,
            Takes::Value(kind) | Takes::Attached(kind) if end < head.len() => {
                parsed.values.push((kind, arg.tail(end), name));
                return Some(Ok(()));
            }
            Takes::Value(kind) => return Some(value(kind, &name, parsed)),
            Takes::Attached(_) => {}
        }
    }
    arg.text().map(|_| Ok(()))
}
