//! Why a gateway cannot start.

use std::io;
use std::path::PathBuf;

use crate::sys::SysError;

/// A gateway that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The port cannot be listened to.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address with its port.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// Another gateway that lives has its token file in this folder.
    #[error("{holder} has its token file in {folder}")]
    Owned {
        /// The folder.
        folder: PathBuf,
        /// The other gateway, as in `process 17`.
        holder: String,
    },
    /// The folder of the token file cannot be made, or is not private.
    #[error("cannot {operation} {path}: {source}")]
    Folder {
        /// The operation, as a verb.
        operation: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file of the gateway cannot be written.
    #[error(transparent)]
    File(#[from] SysError),
    /// The system has no random numbers for a token.
    #[error("cannot make a token: {0}")]
    Random(String),
}
