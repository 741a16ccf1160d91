//! Whether a value in quotes is a secret that a person made up: a short one, or several words.
//! A message, a label of a form and code are not.

use super::lexicon::{ABOUT, FIELD_WORDS, PROSE, TECHNICAL, among};
use super::value;
use crate::guard::secrets::Says;

/// Endings of the names of secrets that people make up.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pass", "pwd"];

fn ends_with_any(name: &str, ends: &[&str]) -> bool {
    let lower = name.to_ascii_lowercase();
    ends.iter().any(|end| lower.ends_with(end))
}

/// Whether a quoted value that has blanks, or is very short, is a secret. `sign` is the sign
/// between the name and the value: behind a colon, a capitalized word is a label.
///
/// Also for a value that was cut before its closing quote.
pub(super) fn quoted_made_up(value: &str, name: &str, says: Says, sign: &str) -> bool {
    let code = ['(', '[', '{', '<', '=', '+'];
    let begins = |c: char| c.is_alphanumeric() || matches!(c, '!' | '@' | '#' | '%' | '^' | '&');
    let plain = value.trim_end_matches(|c: char| c.is_whitespace() || ".,;:!?…".contains(c));
    if says != Says::Secret
        || plain.is_empty()
        || value::stands_in(value, name)
        || value::stands_in(plain, name)
        || !value.starts_with(begins)
        || plain.ends_with(code)
    {
        return false;
    }
    let password = ends_with_any(name, PASSWORDS);
    let option = name.starts_with("--");
    if plain.contains(char::is_whitespace) {
        return words_made_up(plain, name, sign)
            || option && password && !plain.split_whitespace().any(is_about);
    }
    if plain.len() < value.len() && value::quoted_secret(plain, name, says) {
        return true;
    }
    // `"password": "Wort"` is a label of a form.
    let label = is_capitalized(plain);
    let field = among(FIELD_WORDS, plain);
    let assigned = value::is_assigned_name(name);
    option || password && !value::is_password(plain) && (assigned || !label && !field)
}

/// Whether several words are a secret that a person made up, and not a message or code.
pub(super) fn words_made_up(value: &str, name: &str, sign: &str) -> bool {
    let words = || value.split_whitespace();
    let code = value.contains(['\n', '\r', '{', '<', '(']);
    if code || words().count() < 2 || words().any(is_about) {
        return false;
    }
    let secret = ends_with_any(name, PASSWORDS) || ends_with_any(name, &["secret"]);
    secret && words().any(is_mixed) || are_plain_words(value, sign, secret)
}

/// Does a word mix letters with digits or signs, as people do in passwords?
fn is_mixed(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let inside = |c: char| matches!(c, '!' | '#' | '$' | '%' | '^' | '&' | '*' | '@');
    word.len() >= 4
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.contains(|c: char| c.is_ascii_digit() || inside(c))
        && !among(TECHNICAL, word)
        && !word.contains(['.', '/', '(', '='])
}

/// Are these plain words without a word of sentences or labels among them? A passphrase may
/// be long, other secrets are rarely made of more than three words.
fn are_plain_words(value: &str, sign: &str, passphrase: bool) -> bool {
    let words = || value.split_whitespace();
    let plain = |word: &str| {
        let bare = word.trim_matches(|c: char| matches!(c, '.' | ',' | '!' | '?' | '-' | '…'));
        !bare.is_empty()
            && bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '\'' | '_'))
            && !among(PROSE, bare)
            && !among(TECHNICAL, bare)
    };
    let label = sign.contains(':') && words().next().is_some_and(is_capitalized);
    let most = if passphrase { 12 } else { 3 };
    words().count() <= most
        && words().filter(|word| word.len() >= 3).count() >= 2
        && !label
        && words().all(plain)
}

fn is_capitalized(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.chars().skip(1).all(char::is_lowercase)
}

fn is_about(word: &str) -> bool {
    among(ABOUT, word.trim_matches(|c: char| !c.is_alphanumeric()))
}
