//! Whether a command is sure to print something that can be seen: a file that takes its output is
//! filled then, and not emptied.

use super::ast::{Compound, Piece, PipelinePart, Redirect, Simple, Word};

/// Does a command print text that stands in the line itself, to where it is started?
pub(super) fn feeds(command: &PipelinePart) -> bool {
    match command {
        PipelinePart::Simple(simple) => {
            gives_alone(simple) && simple.redirects.iter().all(leaves_output)
        }
        PipelinePart::Compound(compound, redirects) => {
            gives(compound) && redirects.iter().all(leaves_output)
        }
    }
}

/// The same for what stands in front of the redirections of a compound command.
pub(super) fn gives(compound: &Compound) -> bool {
    match compound {
        // Only the first command is sure to run.
        Compound::Group(script) | Compound::Subshell(script) => {
            let first = script.lists.first().and_then(|list| list.pipelines.first());
            matches!(first.map(Vec::as_slice), Some([command]) if feeds(command))
        }
        Compound::Branches(_) | Compound::For { .. } => false,
    }
}

/// Is a redirection sure to succeed?
pub(super) fn succeeds(redirect: &Redirect) -> bool {
    match redirect {
        Redirect::Data { .. } => true,
        Redirect::Read(word)
        | Redirect::Write(word)
        | Redirect::WriteOther(word)
        | Redirect::Append(word) => word.text() == Some("/dev/null"),
    }
}

/// Is it sure to succeed, and does the output go where it went before?
fn leaves_output(redirect: &Redirect) -> bool {
    let takes = matches!(redirect, Redirect::Write(_) | Redirect::Append(_));
    !takes && succeeds(redirect)
}

/// The same for a command without others in it.
pub(super) fn gives_alone(simple: &Simple) -> bool {
    let words = simple.words.get(1..).unwrap_or_default();
    let stops = |word: &Word| literal(word).contains("\\c");
    match simple.words.first().and_then(Word::text) {
        Some("echo") => {
            let text = words.iter().skip_while(|word| literal(word).starts_with('-'));
            !words.iter().any(stops) && text.into_iter().any(|word| shows(&literal(word)))
        }
        Some("printf") => {
            let Some((format, given)) = words.split_first() else { return false };
            let Some((fixed, takes)) = format.text().and_then(fixed_part) else { return false };
            !words.iter().any(stops)
                && (shows(&fixed) || takes && given.iter().any(|word| shows(&literal(word))))
        }
        Some("cat") if words.is_empty() => input(&simple.redirects) == Some(true),
        _ => false,
    }
}

/// Is the input text of the line itself with something in it? `None` without a redirection of it.
pub(super) fn input(redirects: &[Redirect]) -> Option<bool> {
    redirects.iter().rev().find_map(|redirect| match redirect {
        Redirect::Data { empty, .. } => Some(!empty),
        Redirect::Read(_) => Some(false),
        Redirect::Write(_) | Redirect::WriteOther(_) | Redirect::Append(_) => None,
    })
}

/// What of a word stands in the line itself.
fn literal(word: &Word) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Glob(text) => text.clone(),
        _ => " ".to_owned(),
    };
    word.pieces.iter().map(text).collect()
}

/// Is there a letter or a digit in it that is no part of an escape?
fn shows(text: &str) -> bool {
    let mut escaped = false;
    text.chars().any(|c| {
        escaped = c == '\\' || escaped && c.is_ascii_alphanumeric();
        !escaped && c.is_alphanumeric()
    })
}

/// What a format of `printf` prints by itself, and whether it prints all of its words, too. `None`
/// for a format that may end early.
fn fixed_part(format: &str) -> Option<(String, bool)> {
    if format.starts_with('-') {
        return None;
    }
    let mut parts = format.split('%');
    let mut fixed = parts.next().unwrap_or_default().to_owned();
    let mut takes = false;
    while let Some(part) = parts.next() {
        if part.is_empty() {
            // `%%` prints one.
            fixed.push_str(parts.next().unwrap_or_default());
            continue;
        }
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let letter = rest.chars().next().filter(|c| "sdiuxXbq".contains(*c))?;
        takes |= matches!(letter, 's' | 'b' | 'q');
        fixed.push(' ');
        fixed.push_str(&rest[1..]);
    }
    Some((fixed, takes))
}
