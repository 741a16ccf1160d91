//! Confinement of this process and its descendants: they can write below some folders only.
//! It cannot be undone.
//!
//! Invariant: either the kernel enforces it or the caller gets an error. Reads are not confined.
//! Linux has Landlock for this; other systems are unsupported.

use std::path::Path;

/// This process cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel has no Landlock, or it is disabled, or this is not Linux.
    #[error("this system cannot confine a process: {why}")]
    Unsupported {
        /// The missing part.
        why: String,
    },
}

/// Checks that this system can confine a process.
///
/// # Errors
/// If it cannot.
pub fn can_confine() -> Result<(), ConfineError> {
    rules::supported()
}

/// Limits this process's writes to these folders and files; missing ones are skipped. Devices
/// that a shell needs (`/dev/null`, terminals) stay writable.
///
/// # Errors
/// If the kernel does not enforce it; then nothing is confined.
pub fn confine<P: AsRef<Path>>(writable: &[P]) -> Result<(), ConfineError> {
    rules::enforce(writable)
}

#[cfg(target_os = "linux")]
mod rules {
    use std::path::Path;

    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
        RulesetCreatedAttr as _, RulesetError, RulesetStatus, path_beneath_rules,
    };

    use super::ConfineError;

    /// Supported by every kernel with Landlock.
    const LEAST: ABI = ABI::V1;
    /// Requested where supported: renames between folders, truncation.
    const MOST: ABI = ABI::V3;

    fn refused(error: &RulesetError) -> ConfineError {
        ConfineError::Unsupported { why: format!("Landlock: {error}") }
    }

    fn ruleset() -> Result<RulesetCreated, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(LEAST))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_write(MOST))?
            .create()
    }

    pub(super) fn supported() -> Result<(), ConfineError> {
        ruleset().map(drop).map_err(|error| refused(&error))
    }

    pub(super) fn enforce<P: AsRef<Path>>(writable: &[P]) -> Result<(), ConfineError> {
        let all = AccessFs::from_write(MOST);
        let devices = AccessFs::WriteFile | AccessFs::Truncate;
        let status = ruleset()
            .and_then(|rules| rules.add_rules(path_beneath_rules(writable, all)))
            .and_then(|rules| rules.add_rules(path_beneath_rules(["/dev"], devices)))
            .and_then(RulesetCreated::restrict_self)
            .map_err(|error| refused(&error))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => {
                Err(ConfineError::Unsupported { why: "Landlock does not enforce it".to_owned() })
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod rules {
    use std::path::Path;

    use super::ConfineError;

    pub(super) fn supported() -> Result<(), ConfineError> {
        Err(ConfineError::Unsupported { why: "Landlock is part of Linux".to_owned() })
    }

    pub(super) fn enforce<P: AsRef<Path>>(_writable: &[P]) -> Result<(), ConfineError> {
        supported()
    }
}
