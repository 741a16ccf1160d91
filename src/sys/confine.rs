//! This process may write below some folders only, and so may every process it becomes or
//! starts. For good: nothing takes it back.
//!
//! Invariant: either the kernel enforces it or the caller is told that it does not. Reading
//! is not confined. Linux has Landlock for this; elsewhere there is nothing of the kind.

use std::path::Path;

/// Why this process cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel has no Landlock, or it is switched off; or this is no Linux.
    #[error("this system cannot confine a process: {why}")]
    Unsupported {
        /// What is missing.
        why: String,
    },
}

/// Whether this system can confine a process at all.
///
/// # Errors
/// If it cannot.
pub fn can_confine() -> Result<(), ConfineError> {
    rules::supported()
}

/// Confines this process to writing below these folders and files; those that are not there
/// are passed over. Devices that a shell needs (`/dev/null`, terminals) stay writable.
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

    /// Every kernel that has Landlock knows this.
    const LEAST: ABI = ABI::V1;
    /// What is asked for where the kernel knows it: renames between folders, truncation.
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
