//! Tokens: who knows one may connect.

use subtle::ConstantTimeEq as _;

use super::error::GatewayError;
use crate::sys::random_hex;

/// A token: `ptk-` and 32 hex digits.
#[derive(Clone)]
pub struct GatewayToken(String);

impl GatewayToken {
    /// A new one, which cannot be guessed.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn generate() -> Result<Self, GatewayError> {
        let digits = random_hex(16).map_err(|error| GatewayError::Random(error.to_string()))?;
        Ok(Self(format!("ptk-{digits}")))
    }

    /// Compares whole, in a time that tells nothing of where they differ.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// The text, for the programs that may know it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for GatewayToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_compared_whole() {
        let (one, other) =
            (GatewayToken::generate().expect("random"), GatewayToken::generate().expect("random"));
        let text = one.expose();
        assert_eq!(text.len(), 36);
        let digits = text.strip_prefix("ptk-").expect("the prefix");
        assert!(digits.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{text}");
        assert!(one.is(text) && !other.is(text));
        for near in
            [&text[..35], &format!("{text}\n"), &format!(" {text}"), &text.to_uppercase(), ""]
        {
            assert!(!one.is(near), "{near:?}");
        }
        assert!(!format!("{one:?}").contains(digits));
    }
}
