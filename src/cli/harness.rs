//! The harness, with the additions of the settings.

use crate::config::Settings;
use crate::verify::{Table, VerifyError};

/// Which files are tests and configuration.
pub(super) fn harness_table(settings: &Settings) -> Result<Table, VerifyError> {
    let glob = || settings.harness.join(", ");
    Table::new(&settings.harness).map_err(|source| VerifyError::Glob { glob: glob(), source })
}
