//! Why a gateway cannot start.

use std::io;
use std::path::PathBuf;

use crate::sys::SysError;

/// A gateway that cannot start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum GatewayError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error("{holder} has its token file in {folder}")]
    Owned { folder: PathBuf, holder: String },
    #[error("cannot {operation} {path}: {source}")]
    Folder { operation: &'static str, path: PathBuf, source: io::Error },
    /// A file of the gateway cannot be written.
    #[error(transparent)]
    File(#[from] SysError),
    #[error("cannot make a token: {0}")]
    Random(String),
}
