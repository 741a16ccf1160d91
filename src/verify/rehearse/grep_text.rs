//! A text that a pattern of grep finds.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How grep reads its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrepSyntax {
    /// Word for word: `-F`.
    Fixed,
    /// POSIX basic: `grep` alone.
    Basic,
    /// Extended or Perl's: `-E`, `-P`, `egrep`, `rg`.
    Extended,
}

/// A text that the pattern finds; none for a pattern that cannot be understood.
pub(super) fn matching(pattern: &str, how: GrepSyntax) -> Option<String> {
    let pattern = match how {
        GrepSyntax::Fixed => return Some(pattern.to_owned()),
        GrepSyntax::Basic => extended(pattern),
        GrepSyntax::Extended => pattern.to_owned(),
    };
    let mut text = String::new();
    sample(&regex_syntax::parse(&pattern).ok()?, &mut text)?;
    Some(text)
}

/// Converts a basic pattern into an extended one: the use of backslashes is reversed.
fn extended(basic: &str) -> String {
    let mut text = String::new();
    let mut chars = basic.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            '\\' => match chars.next() {
                Some(special @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => text.push(special),
                Some(other) => text.extend(['\\', other]),
                None => text.push_str("\\\\"),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => text.extend(['\\', next]),
            '*' if text.is_empty() || text == "^" => text.push_str("\\*"),
            _ => text.push(next),
        }
    }
    text
}

fn sample(hir: &Hir, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(of_class(class)?),
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min {
                sample(&repetition.sub, text)?;
            }
        }
        HirKind::Capture(capture) => sample(&capture.sub, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| sample(part, text))?,
        HirKind::Alternation(parts) => sample(parts.first()?, text)?,
    }
    Some(())
}

/// A character of a class, one that can be read if there is one.
fn of_class(class: &Class) -> Option<char> {
    const READABLE: [char; 6] = ['x', '1', 'X', ' ', '_', '-'];
    let in_class = |wanted: char| match class {
        Class::Unicode(class) => {
            class.iter().any(|range| range.start() <= wanted && wanted <= range.end())
        }
        Class::Bytes(class) => u8::try_from(wanted).is_ok_and(|wanted| {
            class.iter().any(|range| range.start() <= wanted && wanted <= range.end())
        }),
    };
    READABLE.into_iter().find(|wanted| in_class(*wanted)).or_else(|| match class {
        Class::Unicode(class) => class.iter().next().map(|range| range.start()),
        Class::Bytes(class) => class.iter().next().map(|range| char::from(range.start())),
    })
}
