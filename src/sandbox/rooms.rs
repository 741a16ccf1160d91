//! The sandboxes of one session: one for its commands, and one with the host's network, which is
//! started when a command needs it.
//!
//! Invariant: both show the same files. If an outside process replaced a file of git's settings,
//! its read-only mount is gone, and both are restarted before the next command. Until then a command
//! could write the new file, so a replacement counts as made outside only if nothing ran. Which
//! commands run with network is not decided here.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::network::Network;
use super::room::{FileIdentity, Room, SandboxError};

/// Starts the session's own sandbox.
pub type StartOwn = Box<dyn Fn() -> Result<Room, SandboxError> + Send + Sync>;
/// Starts the sandbox with network beside the session's own.
pub type StartOnline = Box<dyn Fn(&Room) -> Result<Room, SandboxError> + Send + Sync>;

/// The sandboxes of a session. Dropped, they are killed.
pub struct Rooms {
    running: Mutex<Running>,
    start: StartOwn,
    start_online: Option<StartOnline>,
}

struct Running {
    own: Arc<Room>,
    online: Option<Arc<Room>>,
    git: Settings,
    /// Why a command did not run, if the sandbox did not start in the end.
    failed: Option<String>,
}

/// How often a sandbox that did not start is started again: what it shows may come and go.
pub const RESTARTS: usize = 2;

/// Git's mounted settings, as of the last look.
#[derive(Default)]
struct Settings {
    seen: Vec<Option<FileIdentity>>,
    /// May a command have run since the last look at which none did?
    ran: bool,
    /// Was one of them replaced while a command may have run?
    doubtful: bool,
}

impl Rooms {
    /// Starts the sandbox of a session. Without `online`, it runs every command, whatever network
    /// it needs.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(start: StartOwn, online: Option<StartOnline>) -> Result<Self, SandboxError> {
        let mut running = Running {
            own: Arc::new(start()?),
            online: None,
            git: Settings::default(),
            failed: None,
        };
        running.look();
        Ok(Self { running: Mutex::new(running), start, start_online: online })
    }

    /// The sandbox for a command that needs this network.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn with(&self, network: Network) -> Result<Arc<Room>, SandboxError> {
        let mut running = self.running();
        running.look();
        if !running.own.is_current() {
            self.restart(&mut running)?;
        }
        for _ in 0..RESTARTS {
            match running.own.ready() {
                Err(SandboxError::NotStarted { .. }) => self.restart(&mut running)?,
                Err(_) | Ok(()) => break,
            }
        }
        if let Err(SandboxError::NotStarted { said }) = running.own.ready() {
            running.failed = Some(said);
        }
        running.git.ran = true;
        match (network, &self.start_online) {
            (Network::Own, _) | (Network::Host, None) => Ok(Arc::clone(&running.own)),
            (Network::Host, Some(start)) => {
                if let Some(room) = &running.online {
                    return Ok(Arc::clone(room));
                }
                let room = Arc::new(start(&running.own)?);
                running.online = Some(Arc::clone(&room));
                Ok(room)
            }
        }
    }

    fn restart(&self, running: &mut Running) -> Result<(), SandboxError> {
        running.end()?;
        running.own = Arc::new((self.start)()?);
        running.git.seen = running.own.at_mounts();
        Ok(())
    }

    /// A path that configures git and that was not there when the sandbox was started.
    pub(super) fn planted(&self) -> Option<PathBuf> {
        self.running().own.planted().map(Path::to_owned)
    }

    /// Did no command change git's mounted settings so far? If this is asked after each command, more
    /// changes are known to come from outside.
    pub(super) fn spared_git(&self) -> bool {
        let mut running = self.running();
        running.look();
        running.spared_git()
    }

    /// Ends everything in them. Returns whether no command changed git's mounted settings.
    ///
    /// # Errors
    /// If something did not end, or a command did not run because its sandbox did not start.
    pub(super) fn end(&self) -> Result<bool, SandboxError> {
        let mut running = self.running();
        running.end()?;
        match running.failed.take() {
            Some(said) => Err(SandboxError::NotStarted { said }),
            None => Ok(running.spared_git()),
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn look(&mut self) {
        // Before the files: a command that starts in between would be missed.
        let is_quiet = self.online.iter().chain([&self.own]).all(|room| room.is_quiet());
        let now = self.own.at_mounts();
        self.git.doubtful |= self.git.ran && now != self.git.seen;
        self.git.ran &= !is_quiet;
        self.git.seen = now;
    }

    fn spared_git(&self) -> bool {
        !self.git.seen.is_empty() && !self.git.doubtful
    }

    fn end(&mut self) -> Result<(), SandboxError> {
        self.look();
        let ended = self.online.take().map_or(Ok(()), |room| room.end());
        // Its files are removed with it, and the other one shows them, too.
        self.own.end().and(ended)?;
        self.look();
        Ok(())
    }
}
