//! The options of a command line, by the options of its program that take a value.

use super::programs::lists;

/// How a program takes its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptionSyntax {
    /// Letters with a value: the rest of the word, or the next word.
    pub(super) valued: &'static str,
    /// Long names whose value may be the next word.
    pub(super) long: &'static str,
}

/// An option without its dashes, and its value.
pub(super) type Given<'w> = (&'w str, Option<&'w str>);

/// The options before the first operand, and the words from there on.
pub(super) fn leading<'w>(
    syntax: OptionSyntax,
    words: &'w [String],
) -> (Vec<Given<'w>>, &'w [String]) {
    let mut given = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(body) = word.strip_prefix('-').filter(|body| !body.is_empty()) else { break };
        at += 1;
        if body == "-" {
            break;
        }
        at += option(syntax, body, words.get(at).map(String::as_str), &mut given);
    }
    (given, words.get(at..).unwrap_or_default())
}

/// Reads the options of a word; returns how many of the words after it are values.
fn option<'w>(
    syntax: OptionSyntax,
    body: &'w str,
    next: Option<&'w str>,
    given: &mut Vec<Given<'w>>,
) -> usize {
    if let Some(long) = body.strip_prefix('-') {
        if let Some((name, value)) = long.split_once('=') {
            given.push((name, Some(value)));
            return 0;
        }
        let valued = lists(syntax.long, long);
        given.push((long, next.filter(|_| valued)));
        return usize::from(valued);
    }
    let mut used = 0;
    for (at, letter) in body.char_indices() {
        let end = at + letter.len_utf8();
        let (name, rest) = (&body[at..end], &body[end..]);
        let rest = Some(rest).filter(|rest| !rest.is_empty());
        if !syntax.valued.contains(letter) {
            given.push((name, None));
            continue;
        }
        if rest.is_some() {
            given.push((name, rest));
            break;
        }
        given.push((name, next));
        used = 1;
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNTAX: OptionSyntax = OptionSyntax { valued: "cf", long: "file" };

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn values_are_told_from_operands() {
        for (line, expected, rest) in [
            ("-sf a b", vec![("s", None), ("f", Some("a"))], "b"),
            ("-sfa b", vec![("s", None), ("f", Some("a"))], "b"),
            ("-j b", vec![("j", None)], "b"),
            ("-j --file=a b", vec![("j", None), ("file", Some("a"))], "b"),
            ("--file a --other b -x", vec![("file", Some("a")), ("other", None)], "b -x"),
            ("-c -- b", vec![("c", Some("--"))], "b"),
            ("-s -- -b", vec![("s", None)], "-b"),
            ("- b", vec![], "- b"),
            ("+x b", vec![], "+x b"),
        ] {
            let line = words(line);
            let (given, left) = leading(SYNTAX, &line);
            assert_eq!((given, left.join(" ")), (expected, rest.to_owned()), "{line:?}");
        }
    }
}
