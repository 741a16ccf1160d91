//! Texts of providers without control sequences for a terminal, or characters that hide text from a
//! reader.

/// The text without control characters other than line breaks and tabs, and without characters that
/// turn the order of letters around.
pub fn plain_text(text: &str) -> String {
    text.chars().filter(|letter| !is_hidden(*letter)).collect()
}

/// Does the text have no such characters?
pub(super) fn is_plain(text: &str) -> bool {
    !text.chars().any(is_hidden)
}

fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_taken_out_and_text_stays() {
        let told = "a\x1b[31mb\x1b]0;title\x07\u{9b}2J\u{202e}c\u{2066}\r\n\td\0é";
        assert_eq!(plain_text(told), "a[31mb]0;title2Jc\n\tdé");
    }
}
