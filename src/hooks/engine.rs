//! The implementation of amplihack's hooks, as `AMPLIHACK_HOOK_ENGINE` chooses it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The variable.
pub const ENGINE_VARIABLE: &str = "AMPLIHACK_HOOK_ENGINE";

/// The program of the Rust engine.
const PROGRAM: &str = "amplihack-hooks";

/// Folders below the user's home in which the Rust engine is installed.
const FOLDERS: [&str; 2] = [".amplihack/bin", ".cargo/bin"];

/// A value of the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEngine {
    /// The scripts below `.claude/tools/amplihack/hooks/`.
    Python,
    /// `amplihack-hooks`, and the scripts for hooks that it does not have.
    Rust,
    /// Rust if its program is found, else Python.
    Auto,
}

/// An engine that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HookEngineError {
    /// The variable has another value.
    #[error("{ENGINE_VARIABLE}={0} is unknown: use python, rust or auto")]
    Unknown(String),
    /// The Rust engine is chosen and not installed.
    #[error(
        "{ENGINE_VARIABLE}=rust, but `{PROGRAM}` was not found in PATH, ~/{}, or ~/{}",
        FOLDERS[0], FOLDERS[1]
    )]
    Missing,
}

impl HookEngineError {
    /// A next step for the user, if there is one to name.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            // The message names the values.
            Self::Unknown(_) => None,
            Self::Missing => Some("install it, or use AMPLIHACK_HOOK_ENGINE=python or auto"),
        }
    }
}

impl HookEngine {
    /// Reads the variable's value in any case; unset or empty means `auto`.
    ///
    /// # Errors
    /// [`HookEngineError::Unknown`] for any other word.
    pub fn read(value: Option<&OsStr>) -> Result<Self, HookEngineError> {
        let value = value.unwrap_or_default().to_string_lossy();
        match value.trim().to_ascii_lowercase().as_str() {
            "python" => Ok(Self::Python),
            "rust" => Ok(Self::Rust),
            "auto" | "" => Ok(Self::Auto),
            _ => Err(HookEngineError::Unknown(value.into_owned())),
        }
    }

    /// The engine to stage on a machine where [`find_engine`] found `program`.
    ///
    /// # Errors
    /// [`HookEngineError::Missing`] if the Rust engine is chosen and was not found.
    pub fn resolve(self, program: Option<&Path>) -> Result<Self, HookEngineError> {
        match (self, program) {
            (Self::Auto | Self::Rust, Some(_)) => Ok(Self::Rust),
            (Self::Python, _) | (Self::Auto, None) => Ok(Self::Python),
            (Self::Rust, None) => Err(HookEngineError::Missing),
        }
    }

    /// The word for the variable.
    pub fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Auto => "auto",
        }
    }
}

/// Finds the Rust engine's program; `which` looks in PATH.
pub fn find_engine(
    which: &dyn Fn(&str) -> Option<PathBuf>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    find_program(PROGRAM, which, home, &FOLDERS)
}

/// Finds a program in PATH or, failing that, in folders below the user's home.
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
