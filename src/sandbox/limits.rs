//! The limits of a program where nothing can be mounted: plain data, for Landlock and for Seatbelt.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::network::Network;

/// The permissions of a process. Missing paths are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandlockRules {
    /// Paths that it may write, or write below. Devices without content, such as `/dev/null`, are
    /// always included.
    pub writable: Vec<PathBuf>,
    /// Paths that it may read and run, if not everything.
    pub readable: Option<Vec<PathBuf>>,
    /// The network that it may use. Landlock knows ports and no hosts: `Own` closes the ports
    /// below 1024, and leaves those that servers of tests use.
    pub network: Network,
    /// Ports below 1024 that it may connect to.
    pub ports: Vec<u16>,
    /// May it signal other processes?
    pub signals: bool,
}
