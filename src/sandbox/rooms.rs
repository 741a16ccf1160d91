//! The sandboxes of one session: one for its commands, and one with the host's network, which is
//! started when a command needs it.
//!
//! Invariant: both show the same files. Which commands run with network is not decided here.

use std::sync::{Arc, Mutex, PoisonError};

use super::network::Network;
use super::room::{Room, SandboxError};

/// Starts the sandbox with network beside the session's own.
pub type StartOnline = Box<dyn Fn(&Room) -> Result<Room, SandboxError> + Send + Sync>;

/// The sandboxes of a session. Dropped, they are killed.
pub struct Rooms {
    own: Arc<Room>,
    online: Mutex<Option<Arc<Room>>>,
    start: Option<StartOnline>,
}

impl Rooms {
    /// The sandbox of a session. Without `start` it runs every command, whatever network it
    /// needs.
    pub fn new(own: Room, start: Option<StartOnline>) -> Self {
        Self { own: Arc::new(own), online: Mutex::default(), start }
    }

    /// The sandbox for a command that needs this network.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn with(&self, network: Network) -> Result<Arc<Room>, SandboxError> {
        match (network, &self.start) {
            (Network::Own, _) | (Network::Host, None) => Ok(Arc::clone(&self.own)),
            (Network::Host, Some(start)) => {
                let mut online = self.online.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(room) = online.as_ref() {
                    return Ok(Arc::clone(room));
                }
                let room = Arc::new(start(&self.own)?);
                *online = Some(Arc::clone(&room));
                Ok(room)
            }
        }
    }

    /// Ends everything in them.
    ///
    /// # Errors
    /// If something did not end.
    pub(super) fn end(&self) -> Result<(), SandboxError> {
        let online = self.online.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = online.map_or(Ok(()), |room| room.end());
        // Its files are removed with it, and the other one shows them, too.
        self.own.end().and(ended)
    }
}
