//! Why a layer of settings cannot be read.

use std::path::PathBuf;

/// A layer of settings that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a valid configuration.
    #[error("{path}: {source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// The value of a variable is invalid.
    #[error("{name}={value}: {why}")]
    Variable {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
        /// The expected form.
        why: String,
    },
    /// A variable that is probably a misspelled setting.
    #[error("unknown variable {name}")]
    Unknown {
        /// Its name.
        name: String,
        /// The most similar name of a setting.
        nearest: String,
    },
}

impl ConfigError {
    /// The hint for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } => {
                Some(format!("did you mean {nearest}? docs/configuration.md lists all variables"))
            }
            Self::Read { .. } | Self::Parse { .. } | Self::Variable { .. } => None,
        }
    }
}
