//! Splits texts into words.

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The words of a text.
///
/// ```
/// assert_eq!(words_core::words("a b").count(), 2);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(SEPARATORS).filter(|word| !word.is_empty())
}

/// How many words a text has.
pub fn count(text: &str) -> usize {
    words(text).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_text_has_no_words() {
        assert_eq!(count(" \n"), 0);
    }

    #[test]
    fn words_are_separated_by_blanks() {
        assert_eq!(count("one two\tthree"), 3);
    }

    #[test]
    #[ignore = "slow"]
    fn long_texts() {
        assert_eq!(count(&"a ".repeat(1000)), 1000);
    }
}
