//! The place where a call's client asks for its command: one socket for a run, and the session's
//! current sandbox.
//!
//! Invariant: a command runs once, in the sandbox, and only while its session lasts. Without a
//! sandbox, nothing runs.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::call::CALL;
use super::network::Network;
use super::room::SandboxError;
use super::rooms::Rooms;
use super::server::REFUSED;
use super::wire::{receive, send};

/// Commands that were decided and wait for their client, and the sandbox that runs them.
pub struct Calls {
    /// The words that start a client, up to the call's id.
    client: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rooms: Option<Arc<Rooms>>,
    /// By id: the command, until its client asks for it.
    waiting: HashMap<String, Waiting>,
    /// By the id in its replacement: every command of this session.
    commands: HashMap<String, String>,
    next: u64,
}

struct Waiting {
    command: String,
    network: Network,
}

impl Calls {
    /// Listens on `socket`, in a folder that only this user can enter. `client` are the words
    /// that start a client, without the call's id.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn listen(socket: &Path, client: &[&str]) -> Result<Self, SandboxError> {
        let prepare = |source| SandboxError::Prepare { path: socket.to_owned(), source };
        let listener = UnixListener::bind(socket).map_err(prepare)?;
        let client = shlex::try_join(client.iter().copied())
            .map_err(|error| prepare(io::Error::other(error)))?;
        let state = Arc::<Mutex<State>>::default();
        let served = Arc::clone(&state);
        let serve = move || {
            for stream in listener.incoming() {
                let (Ok(stream), state) = (stream, Arc::clone(&served)) else { continue };
                thread::spawn(move || answer(&stream, &state));
            }
        };
        thread::Builder::new().name("calls".to_owned()).spawn(serve).map_err(prepare)?;
        Ok(Self { client, state })
    }

    /// Takes up a session's sandboxes; those of the session before must have ended.
    pub fn begin(&self, rooms: Rooms) {
        let mut state = self.state();
        *state = State { rooms: Some(Arc::new(rooms)), next: state.next, ..State::default() };
    }

    /// Ends the session's sandboxes and forgets its commands. Returns whether none of them can have
    /// changed git's settings that are mounted read-only.
    ///
    /// # Errors
    /// If something in it did not end.
    pub fn end(&self) -> Result<bool, SandboxError> {
        let rooms = {
            let mut state = self.state();
            state.waiting.clear();
            state.rooms.take()
        };
        rooms.map_or(Ok(false), |rooms| rooms.end())
    }

    /// The command line that stands in the place of `command`, which runs with this network.
    pub fn replace(&self, command: &str, network: Network) -> String {
        let mut state = self.state();
        state.next += 1;
        let id = format!("{}-{:016x}", state.next, random());
        let line = format!("exec {} {id}", self.client);
        state.waiting.insert(id, Waiting { command: command.to_owned(), network });
        state.commands.insert(line.clone(), command.to_owned());
        line
    }

    /// The command in whose place this line stands, if it is one of ours.
    pub fn replaced(&self, line: &str) -> Option<String> {
        self.state().commands.get(line).cloned()
    }

    /// A path that configures git and that a command of this session made. Until the agent is ended,
    /// whoever uses git in the repository does what it says.
    pub fn planted(&self) -> Option<PathBuf> {
        let rooms = self.state().rooms.clone();
        rooms.and_then(|rooms| rooms.planted())
    }

    /// The same as [`Calls::end`] returns, while the session lasts. To be asked after each command.
    pub fn spared_git(&self) -> bool {
        let rooms = self.state().rooms.clone();
        rooms.is_some_and(|rooms| rooms.spared_git())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    // Keyed at random for each value.
    std::hash::RandomState::new().build_hasher().finish()
}

/// Answers one client: its command runs in the sandbox, or it hears why not.
fn answer(client: &UnixStream, state: &Mutex<State>) {
    if let Err(why) = hand_over(client, state) {
        // A client that is gone needs no answer.
        drop(send(client, [REFUSED, &why], &[]));
    }
}

fn hand_over(client: &UnixStream, state: &Mutex<State>) -> Result<(), String> {
    let frame = receive(client).map_err(|error| error.to_string())?.ok_or("no call")?;
    if frame.text(0) != CALL {
        return Err("this is no call".to_owned());
    }
    let id = frame.text(1).to_owned();
    let (rooms, Waiting { command, network }) = {
        let mut state = locked(state);
        let rooms = state.rooms.clone().ok_or("its session is over")?;
        let waiting = state.waiting.remove(&id).ok_or("it was not decided, or has run already")?;
        (rooms, waiting)
    };
    let room = rooms.with(network).map_err(|error| error.to_string())?;
    let stdio: Result<[OwnedFd; 3], _> = frame.fds.try_into();
    let [input, output, errors] = stdio.map_err(|_| "its input and output are missing")?;
    let cwd: &OsString = frame.fields.get(2).ok_or("its folder is missing")?;
    let fds = [client.as_fd(), input.as_fd(), output.as_fd(), errors.as_fd()];
    let environment = frame.fields.get(3..).unwrap_or_default();
    room.run(cwd, command.as_ref(), environment, fds).map_err(|error| error.to_string())
}

/// Where the socket of a run's calls lies.
pub fn socket(scratch: &Path) -> PathBuf {
    scratch.join("calls.sock")
}
