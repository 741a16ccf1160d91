//! What a program may do where nothing can be mounted: plain data, for Landlock and for Seatbelt.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::network::Network;

/// What a process may do. Missing paths are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandlockRules {
    /// What it may write, or write below. Devices that hold nothing, such as
    /// `/dev/null`, are always among it.
    pub writable: Vec<PathBuf>,
    /// What it may read and run, if not everything.
    pub readable: Option<Vec<PathBuf>>,
    /// The network that it may use. Landlock knows ports and no hosts: `Own` closes the ports
    /// below 1024, and leaves those that servers of tests use.
    pub network: Network,
    /// Ports below 1024 that it may connect to.
    pub ports: Vec<u16>,
    /// May it signal other processes?
    pub signals: bool,
}
