//! Whether what follows in a shell text ends it with an error, or says that the check failed.
//!
//! Invariant: pure, and by the text alone.

use super::lexer::Token;

/// Whether the other side of a `||` only ends the line with an error.
pub(super) fn gives_up(tokens: &[Token]) -> bool {
    let mut words = words(tokens);
    match words.next() {
        Some("false") => true,
        Some("exit" | "return") => words.next() != Some("0"),
        Some("{") => {
            let body: Vec<&str> = words.take_while(|word| *word != "}").collect();
            body.iter().enumerate().any(|(at, word)| {
                *word == "exit" && body.get(at + 1).is_some_and(|code| *code != "0")
            })
        }
        Some(_) | None => false,
    }
}

/// Does a branch say that the check failed: `exit 1`, `bad=1`? It ends with one of these words.
pub(super) fn reports_failure(tokens: &[Token], ends: &[&str]) -> bool {
    let all = words(tokens);
    let in_braces = matches!(tokens.first(), Some(Token::Word { text, .. }) if text == "{");
    let is_end = |word: &&str| ends.contains(word) && (!in_braces || *word == "}");
    let words: Vec<&str> = all.take_while(|word| !is_end(word)).collect();
    words.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some((name, value)) => {
            let counts = ["bad", "rc", "ret", "err", "status", "fail", "result", "problem"];
            counts.iter().any(|it| name.starts_with(it)) && !["", "0"].contains(&value)
        }
        None if matches!(*word, "exit" | "return") => {
            words.get(at + 1).is_some_and(|code| !["0", ";", "\n"].contains(code))
        }
        None => *word == "false" && at == 0 || word.starts_with("fail") || *word == "die",
    })
}

/// The texts of tokens.
fn words(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.iter().map(|token| match token {
        Token::Word { text, .. } => text.as_str(),
        Token::Operator(operator) => operator,
        Token::Document(_) => "",
    })
}
