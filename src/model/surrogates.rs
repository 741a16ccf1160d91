//! Halves of letters in JSON.
//!
//! JavaScript writes a text that ends in the middle of a letter with an escape like `\ud83d`, which
//! is no letter without the other half.

/// The JSON with U+FFFD for each half that stands alone; none if there is no such half.
pub fn whole_letters(json: &[u8]) -> Option<Vec<u8>> {
    let mut whole = None::<Vec<u8>>;
    let mut at = 0;
    let escape = |from: usize| json.get(from..)?.iter().position(|byte| *byte == b'\\');
    while let Some(found) = escape(at) {
        at += found;
        at += match (half(json, at), half(json, at + 6)) {
            (Some(Half::First), Some(Half::Second)) => 12,
            (Some(_), _) => {
                let whole = whole.get_or_insert_with(|| json.to_vec());
                whole[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            (None, _) => 2,
        };
    }
    whole
}

/// Half of a letter.
enum Half {
    First,
    Second,
}

/// The half that is escaped here, if one is.
fn half(json: &[u8], at: usize) -> Option<Half> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    match u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_that_stand_alone_are_replaced() {
        let whole = |json: &str| {
            whole_letters(json.as_bytes()).map(|it| String::from_utf8(it).expect("text"))
        };
        for (json, want) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uDE00b""#, r#""\ufffdb""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
        ] {
            assert_eq!(whole(json).as_deref(), Some(want), "{json}");
        }
        for json in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9\n""#, r#""\ud8""#, "\\", ""] {
            assert_eq!(whole(json), None, "{json}");
        }
    }
}
