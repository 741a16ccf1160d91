//! Where the audit of a command is, and how it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::Failure;
use super::paths::canonical;
use crate::events::{self, Audit, WithAudit};
use crate::guard::Redactor;
use crate::model::{EventKind, ExitCode, Record, RecordError};
use crate::sys::clock::Clock;

/// Names another folder than the repository's own.
const FOLDER: &str = "COPILOT_AUDIT_LOG_DIR";

/// The folder of the audit log, without links, so that a folder inside the repository is recognized
/// as such.
pub(super) fn folder(root: &Path, cwd: &Path) -> PathBuf {
    let named = std::env::var_os(FOLDER).filter(|named| !named.is_empty());
    let named = named.map(|named| cwd.join(named));
    canonical(&events::audit_folder(root, named.as_deref().map(Path::as_os_str)))
}

/// The audit of everything that is asked and answered from now on.
pub(super) fn open(
    folder: &Path,
    clock: Clock,
    redactor: &Arc<Redactor>,
) -> Result<Audit, RecordError> {
    Audit::open(folder, clock, Arc::clone(redactor) as _)
}

/// A session that belongs to no run has no journal: the audit alone tells of it.
struct NoJournal;

impl Record for NoJournal {
    fn record(&self, _: EventKind) -> Result<(), RecordError> {
        Ok(())
    }
}

/// The records of a session that belongs to no run.
pub(super) fn alone(
    folder: &Path,
    clock: Clock,
    redactor: &Arc<Redactor>,
) -> Result<Arc<dyn Record>, Failure> {
    beside(Arc::new(NoJournal), folder, clock, redactor)
}

/// The same with somewhere for its events.
pub(super) fn beside(
    events: Arc<dyn Record>,
    folder: &Path,
    clock: Clock,
    redactor: &Arc<Redactor>,
) -> Result<Arc<dyn Record>, Failure> {
    let audit = open(folder, clock, redactor).map_err(missing)?;
    Ok(Arc::new(WithAudit::new(events, audit)))
}

/// Nothing runs without one.
pub(super) fn missing(error: RecordError) -> Failure {
    Failure::new(ExitCode::Write, error)
        .hint(format!("a call that cannot be logged is denied; set {FOLDER} to use another folder"))
}

/// The folder's path in the repository, if it lies there. A run keeps the agent out of it,
/// which must have something left to work in.
pub(super) fn inside<'f>(folder: &'f Path, root: &Path) -> Result<Option<&'f str>, Failure> {
    let inside = folder.strip_prefix(root).ok().and_then(Path::to_str);
    if inside == Some("") {
        let message = format!("{FOLDER} is the repository itself");
        return Err(Failure::new(ExitCode::Invalid, message)
            .hint("set it to a folder of its own, or unset it to use .ralph/audit/"));
    }
    Ok(inside)
}
