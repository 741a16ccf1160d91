//! Which implementation of amplihack's hooks is used, as `AMPLIHACK_HOOK_ENGINE` says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The variable.
pub const ENGINE_VARIABLE: &str = "AMPLIHACK_HOOK_ENGINE";

/// The program of the Rust engine.
const PROGRAM: &str = "amplihack-hooks";

/// What the variable may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEngine {
    /// The scripts below `.claude/tools/amplihack/hooks/`.
    Python,
    /// `amplihack-hooks` where it has the hook, else the script.
    Rust,
    /// Rust where its program is found, else Python.
    Auto,
}

/// The variable says something else.
#[derive(Debug, thiserror::Error)]
#[error("{ENGINE_VARIABLE}={0} is not known: it is python, rust or auto")]
pub struct HookEngineError(String);

impl HookEngine {
    /// Reads the variable's value, in any case; none, or an empty one, is `auto`.
    ///
    /// # Errors
    /// If it is another word.
    pub fn read(value: Option<&OsStr>) -> Result<Self, HookEngineError> {
        let value = value.unwrap_or_default().to_string_lossy();
        match value.trim().to_ascii_lowercase().as_str() {
            "python" => Ok(Self::Python),
            "rust" => Ok(Self::Rust),
            "auto" | "" => Ok(Self::Auto),
            _ => Err(HookEngineError(value.into_owned())),
        }
    }

    /// The engine's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Auto => "auto",
        }
    }
}

/// Where the Rust engine's program is, if it is anywhere: `which` looks in PATH.
pub fn find_engine(
    which: &dyn Fn(&str) -> Option<PathBuf>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    find_program(PROGRAM, which, home, &[".amplihack/bin", ".cargo/bin"])
}

/// Looks for a program in PATH, then in folders below the user's home.
pub fn find_program(
    name: &str,
    which: &dyn Fn(&str) -> Option<PathBuf>,
    home: Option<&Path>,
    folders: &[&str],
) -> Option<PathBuf> {
    which(name).or_else(|| {
        let home = home?;
        folders.iter().map(|folder| home.join(folder).join(name)).find(|path| path.is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_read_in_any_case() {
        for (value, engine) in [
            (None, HookEngine::Auto),
            (Some(""), HookEngine::Auto),
            (Some("AUTO"), HookEngine::Auto),
            (Some("Python"), HookEngine::Python),
            (Some("rUsT"), HookEngine::Rust),
        ] {
            assert_eq!(HookEngine::read(value.map(OsStr::new)).expect("known"), engine);
        }
        let error = HookEngine::read(Some(OsStr::new("ruby"))).expect_err("unknown");
        assert!(error.to_string().contains("ruby"), "{error}");
    }
}
