//! Names and tokens that cannot be guessed.

use std::io;

/// This many random bytes, as hex digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_length_and_is_another() {
        let (one, other) = (random_hex(16).expect("random"), random_hex(16).expect("random"));
        assert!(one.len() == 32 && one.chars().all(|digit| digit.is_ascii_hexdigit()), "{one}");
        assert_ne!(one, other);
    }
}
