//! Brace expansion: `{a,b}` and `{1..3}`, before anything else is expanded.

use crate::guard::denial::Denial;

use super::ends::{
    MOST_DEPTH, backquote_end, backslash_quote_end, command_end, double_end, param_end,
};
use super::pieces::{too_deep, unclear};

/// Words that brace expansion makes of one; the word itself where it has none.
pub(super) fn braces(word: &str) -> Result<Vec<String>, Denial> {
    let mut out = Vec::new();
    expand_braces(word, &mut out)?;
    Ok(out)
}

/// Words that one word may become.
const MOST_WORDS: usize = 128;

fn expand_braces(word: &str, out: &mut Vec<String>) -> Result<(), Denial> {
    let Some((open, close, commas)) = brace(word)? else {
        if out.len() >= MOST_WORDS {
            return Err(Denial::new("shell.too-long", "the braces make too many words of one"));
        }
        out.push(word.to_owned());
        return Ok(());
    };
    let inside = &word[open + 1..close];
    let members: Vec<String> = if commas.is_empty() {
        range(inside).ok_or_else(|| unclear("a range in braces"))?
    } else {
        let mut starts = vec![open + 1];
        starts.extend(commas.iter().map(|comma| comma + 1));
        let ends = commas.iter().copied().chain([close]);
        starts.iter().zip(ends).map(|(from, to)| word[*from..to].to_owned()).collect()
    };
    for member in members {
        expand_braces(&format!("{}{member}{}", &word[..open], &word[close + 1..]), out)?;
    }
    Ok(())
}

fn range(inside: &str) -> Option<Vec<String>> {
    let (from, rest) = inside.split_once("..")?;
    let (to, step) = rest.split_once("..").unwrap_or((rest, "1"));
    if step != "1" {
        return None;
    }
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let count = usize::try_from(from.abs_diff(to)).ok().filter(|count| *count < MOST_WORDS)?;
        let step = if from <= to { 1 } else { -1 };
        return (0..=count)
            .map(|n| Some((from + step * i64::try_from(n).ok()?).to_string()))
            .collect();
    }
    match (from.as_bytes(), to.as_bytes()) {
        ([from], [to]) if from.is_ascii_alphabetic() && to.is_ascii_alphabetic() && from <= to => {
            Some((*from..=*to).map(|byte| char::from(byte).to_string()).collect())
        }
        _ => None,
    }
}

/// Where a brace expression begins and ends, and the commas between its members.
type Brace = (usize, usize, Vec<usize>);

/// The first brace expression: its braces and the commas between its members.
fn brace(word: &str) -> Result<Option<Brace>, Denial> {
    let bytes = word.as_bytes();
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut first: Option<Brace> = None;
    let open_quote = || unclear("an open quote");
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\'' => at += word[at + 1..].find('\'').ok_or_else(open_quote)? + 2,
            b'"' => at = double_end(word, at + 1, 0).ok_or_else(open_quote)? + 1,
            b'`' => at = backquote_end(bytes, at + 1).ok_or_else(open_quote)? + 1,
            b'$' if bytes.get(at + 1) == Some(&b'\'') => {
                at = backslash_quote_end(bytes, at + 2).ok_or_else(open_quote)? + 1
            }
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at = param_end(word, at + 2, 0).ok_or_else(open_quote)? + 1
            }
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                at = command_end(word, at + 2, 0).ok_or_else(open_quote)? + 1
            }
            b'{' => {
                if open.len() >= MOST_DEPTH {
                    return Err(too_deep());
                }
                open.push((at, Vec::new()));
                at += 1;
            }
            b',' => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
                at += 1;
            }
            b'}' => {
                if let Some((from, commas)) = open.pop() {
                    let inside = &word[from + 1..at];
                    let expands = !commas.is_empty() || is_range(inside);
                    // The outermost, and of those the first, is expanded first.
                    if expands && first.as_ref().is_none_or(|(known, _, _)| from < *known) {
                        first = Some((from, at, commas));
                    }
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    Ok(first)
}

fn is_range(inside: &str) -> bool {
    inside.split_once("..").is_some_and(|(from, to)| {
        let word = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+.".contains(&b))
        };
        word(from) && word(to)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_become_words() {
        assert_eq!(braces("src/{a,b}.rs").expect("expands"), ["src/a.rs", "src/b.rs"]);
        assert_eq!(braces("{1..3}").expect("expands"), ["1", "2", "3"]);
        assert_eq!(braces("a{b,c{d,e}}").expect("expands"), ["ab", "acd", "ace"]);
        assert_eq!(braces("'{a,b}'").expect("expands"), ["'{a,b}'"]);
        assert_eq!(braces("${x}").expect("expands"), ["${x}"]);
        assert_eq!(braces("{}").expect("expands"), ["{}"]);
    }
}
