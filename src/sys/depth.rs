//! The nesting depth of launches, passed on in the environment, with a limit.
//!
//! Invariant: every child that can start this program again gets the next depth, and an
//! unreadable depth is an error.

use std::ffi::OsStr;

/// Variable with the number of launches around this one.
pub const DEPTH_VARIABLE: &str = "RALPH_COPILOT_DEPTH";

/// Depth at which a launch is refused.
pub const MAX_DEPTH: u32 = 3;

/// The number of launches around this one; 0 for one that a person typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth(u32);

/// Launches are nested too deep, or to an unknown depth.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DepthError {
    /// The limit is reached.
    #[error(
        "launches are nested {0} deep and the limit is {MAX_DEPTH}: a recipe seems to launch itself"
    )]
    TooDeep(u32),
    /// The variable does not hold a number.
    #[error("{DEPTH_VARIABLE} is `{0}` and should be a number")]
    Unknown(String),
}

impl Depth {
    /// Reads the variable's value; without one this is the outermost launch.
    ///
    /// # Errors
    /// If another launch would be too deep.
    pub fn read(value: Option<&OsStr>) -> Result<Self, DepthError> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(Self(0)) };
        let text = value.to_string_lossy();
        let depth = text.parse().map_err(|_| DepthError::Unknown(text.into_owned()))?;
        if depth >= MAX_DEPTH { Err(DepthError::TooDeep(depth)) } else { Ok(Self(depth)) }
    }

    /// The depth of this process.
    ///
    /// # Errors
    /// If another launch would be too deep.
    pub fn current() -> Result<Self, DepthError> {
        Self::read(std::env::var_os(DEPTH_VARIABLE).as_deref())
    }

    /// The number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The variable's value for processes that are launched from here.
    pub fn next(self) -> String {
        (self.0 + 1).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_launches_deep_is_too_deep() {
        let read = |text: &str| Depth::read(Some(OsStr::new(text)));
        assert_eq!(Depth::read(None).map(Depth::next), Ok("1".to_owned()));
        assert_eq!(read("").map(Depth::next), Ok("1".to_owned()));
        assert_eq!(read("0").map(Depth::next), Ok("1".to_owned()));
        assert_eq!(read("2").map(Depth::next), Ok("3".to_owned()));
        assert_eq!(read("3"), Err(DepthError::TooDeep(3)));
        assert_eq!(read("9"), Err(DepthError::TooDeep(9)));
        for odd in ["-1", "x", "1.5", " 1", "99999999999"] {
            assert_eq!(read(odd), Err(DepthError::Unknown(odd.to_owned())));
        }
    }
}
