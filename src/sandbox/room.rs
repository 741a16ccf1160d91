//! One sandbox, seen from outside: started, asked to run calls, and ended with everything in it.
//!
//! Invariant: bubblewrap is started by a thread that lives as long as it does, since
//! `--die-with-parent` follows the thread. An end returns only when no process is left, or says
//! that one is.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::enter::Plan;
use super::profile::{Overlay, Walls};
use super::programs::{ENTER, Programs, words};
use super::server::{CONNECTION, LISTEN, READY, RUN, RUN_SH};
use super::wire::{Frame, receive, send};
use crate::sys::process::{ProcessHandle, count_below, end_below};
use crate::sys::remove_tree;

/// How long a sandbox may take to start.
const START: Duration = Duration::from_secs(20);
/// How long its processes may take to be gone after SIGKILL.
const GONE: Duration = Duration::from_secs(10);
/// The number of bytes of bubblewrap's error output that are repeated.
const SAID: usize = 2_000;

/// The reason why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SandboxError {
    #[error("cannot prepare the sandbox: {path}: {source}")]
    Prepare { path: PathBuf, source: io::Error },
    #[error("the sandbox did not start: {said}")]
    NotStarted { said: String },
    #[error("the sandbox has ended")]
    Ended,
    #[error("processes in the sandbox did not end")]
    Survived,
}

/// A running sandbox. Dropped, it is killed.
pub struct Room {
    shared: Arc<Shared>,
    home: Option<Overlay>,
    cleared: AtomicBool,
    /// The mounted files, by path.
    watched: Vec<(PathBuf, Option<FileIdentity>)>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Starting,
    Ready {
        control: Arc<UnixStream>,
        first: First,
        /// The started process, outside the namespaces that it created.
        started: i32,
    },
    Failed(String),
    Ended,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state() = state;
        self.changed.notify_all();
    }
}

impl Room {
    /// Starts a sandbox whose calls begin in `cwd`; `log` gets bubblewrap's output. Returns at
    /// once: the first call waits until the sandbox is ready.
    ///
    /// # Errors
    /// If the thread or the log cannot be made.
    pub fn start(
        programs: &Programs,
        walls: &Walls,
        cwd: &Path,
        log: &Path,
    ) -> Result<Self, SandboxError> {
        Self::of(programs, walls, log, &Plan::new(programs, walls, cwd))
    }

    /// Starts another sandbox that shows the folder mounted in the place of HOME by this one. It
    /// must end before this one does.
    ///
    /// # Errors
    /// As for [`Room::start`], and if this one did not start.
    pub fn start_beside(
        &self,
        programs: &Programs,
        walls: &Walls,
        cwd: &Path,
        log: &Path,
    ) -> Result<Self, SandboxError> {
        let beside = self.home.as_ref().map(|_| self.started()).transpose()?;
        let plan = Plan { beside, ..Plan::new(programs, walls, cwd) };
        Self::of(programs, walls, log, &plan)
    }

    fn of(
        programs: &Programs,
        walls: &Walls,
        log: &Path,
        plan: &Plan,
    ) -> Result<Self, SandboxError> {
        let prepare = |path: &Path, source| SandboxError::Prepare { path: path.to_owned(), source };
        let plan = plan.json().map_err(|error| prepare(&programs.ours, error))?;
        let output = File::create(log).map_err(|error| prepare(log, error))?;
        let (here, there) = UnixStream::pair().map_err(|error| prepare(log, error))?;
        let errors = output.try_clone().map_err(|error| prepare(log, error))?;
        let mut command = Command::new(&programs.ours);
        command.args(words(ENTER)).arg(plan).env_clear();
        command.stdin(OwnedFd::from(there)).stdout(output).stderr(errors);
        let shared = Arc::new(Shared::default());
        let keeper = Keeper {
            shared: Arc::clone(&shared),
            control: Arc::new(here),
            walls: walls.clone(),
            log: log.to_owned(),
        };
        thread::Builder::new()
            .name("sandbox".to_owned())
            .spawn(move || keeper.keep(command))
            .map_err(|error| prepare(log, error))?;
        let watched = walls.watched().iter().map(|path| (path.clone(), identity(path))).collect();
        Ok(Self { shared, home: walls.home().cloned(), cleared: AtomicBool::new(false), watched })
    }

    /// Are all mounted files still the ones at their paths?
    pub(super) fn is_current(&self) -> bool {
        self.watched.iter().all(|(path, mounted)| identity(path) == *mounted)
    }

    /// The files at the paths of the mounted ones.
    pub(super) fn at_mounts(&self) -> Vec<Option<FileIdentity>> {
        let mounted = self.watched.iter().filter(|(_, mounted)| mounted.is_some());
        mounted.map(|(path, _)| identity(path)).collect()
    }

    /// Does no command run, nor anything that one has left? A sandbox that starts, or has ended, is
    /// quiet.
    pub(super) fn is_quiet(&self) -> bool {
        match &*self.shared.state() {
            State::Ready { first, .. } => first.is_alone(),
            State::Starting | State::Failed(_) | State::Ended => true,
        }
    }

    /// A path that configures git and that appeared while the sandbox runs. A missing path cannot be
    /// mounted.
    pub(super) fn planted(&self) -> Option<&Path> {
        let absent = self.watched.iter().filter(|(_, mounted)| mounted.is_none());
        absent.map(|(path, _)| path.as_path()).find(|path| identity(path).is_some())
    }

    /// Waits until the sandbox is ready.
    ///
    /// # Errors
    /// If it did not start, or has ended.
    pub fn ready(&self) -> Result<(), SandboxError> {
        self.control().map(drop)
    }

    fn control(&self) -> Result<Arc<UnixStream>, SandboxError> {
        self.when_ready(|control, _| Arc::clone(control))
    }

    fn started(&self) -> Result<i32, SandboxError> {
        self.when_ready(|_, started| started)
    }

    fn when_ready<T>(
        &self,
        take: impl FnOnce(&Arc<UnixStream>, i32) -> T,
    ) -> Result<T, SandboxError> {
        let waiting = |state: &mut State| matches!(state, State::Starting);
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, START, waiting);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Ready { control, started, .. } => Ok(take(control, *started)),
            State::Starting => {
                Err(SandboxError::NotStarted { said: format!("no answer within {START:?}") })
            }
            State::Failed(said) => Err(SandboxError::NotStarted { said: said.clone() }),
            State::Ended => Err(SandboxError::Ended),
        }
    }

    /// Runs `command` in `cwd` with these variables (`NAME=VALUE`). `client` hears how it ended.
    /// The other file descriptors are its standard input, output and error.
    ///
    /// # Errors
    /// If the sandbox did not start or has ended.
    pub(super) fn run(
        &self,
        cwd: &OsStr,
        command: &OsStr,
        environment: &[OsString],
        fds: [BorrowedFd<'_>; 4],
    ) -> Result<(), SandboxError> {
        self.ask(RUN, cwd, command, environment, fds)
    }

    /// The same, with `sh`.
    pub(super) fn run_sh(
        &self,
        cwd: &OsStr,
        command: &OsStr,
        environment: &[OsString],
        fds: [BorrowedFd<'_>; 4],
    ) -> Result<(), SandboxError> {
        self.ask(RUN_SH, cwd, command, environment, fds)
    }

    fn ask(
        &self,
        what: &str,
        cwd: &OsStr,
        command: &OsStr,
        environment: &[OsString],
        fds: [BorrowedFd<'_>; 4],
    ) -> Result<(), SandboxError> {
        let control = self.control()?;
        let fields = [OsStr::new(what), cwd, command].into_iter();
        let fields = fields.chain(environment.iter().map(OsString::as_os_str));
        send(&control, fields, &fds).map_err(|_| SandboxError::Ended)
    }

    /// Keeps the writes in HOME for a later sandbox.
    pub fn keep_home(&self) {
        self.cleared.store(true, Ordering::SeqCst);
    }

    /// Ends everything in the sandbox, and returns when it is gone.
    ///
    /// # Errors
    /// If something did not end.
    pub fn end(&self) -> Result<(), SandboxError> {
        let state = std::mem::replace(&mut *self.shared.state(), State::Ended);
        self.shared.changed.notify_all();
        let gone = match state {
            State::Ready { control, first, .. } => first.end(&control),
            State::Starting | State::Failed(_) | State::Ended => Ok(()),
        };
        // A sandbox that follows uses the same folders.
        if let (Some(home), false) = (&self.home, self.cleared.swap(true, Ordering::SeqCst)) {
            clear(home);
        }
        gone
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// The process whose end is the end of all others in a sandbox.
struct First {
    process: ProcessHandle,
    number: u32,
    /// The kernel does not end the others with it: it is their subreaper.
    is_reaper: bool,
}

impl First {
    /// In a namespace, only the server runs beside it.
    fn is_alone(&self) -> bool {
        !self.is_reaper && count_below(self.number) <= 1
    }

    fn end(&self, control: &UnixStream) -> Result<(), SandboxError> {
        let all = !self.is_reaper || end_below(self.number);
        drop(control.shutdown(Shutdown::Both));
        // In a namespace the kernel ends all others, and only then reports this one's end.
        let gone = self.process.kill(GONE);
        if gone && all { Ok(()) } else { Err(SandboxError::Survived) }
    }
}

/// Removes the writes in HOME. Files that cannot be removed are removed with the run's own folder.
fn clear(home: &Overlay) {
    for folder in [&home.work, &home.upper, &home.merged] {
        drop(remove_tree(folder));
    }
}

/// Input for the thread that starts bubblewrap.
struct Keeper {
    shared: Arc<Shared>,
    control: Arc<UnixStream>,
    walls: Walls,
    log: PathBuf,
}

impl Keeper {
    fn keep(self, mut command: Command) {
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return self.shared.set(State::Failed(error.to_string())),
        };
        // Its own copy of the other end would keep the connection open.
        drop(command);
        let ready = receive(&self.control);
        let is_ready = matches!(&ready, Ok(Some(frame)) if frame.text(0) == READY);
        match is_ready.then(|| self.first_process(child.id())).flatten() {
            Some(first) => self.serve(first, child.id().cast_signed()),
            None => self.shared.set(State::Failed(self.said())),
        }
        // However it came to that, nothing of it is left running.
        drop(child.kill());
        drop(child.wait());
        let mut state = self.shared.state();
        if !matches!(*state, State::Failed(_)) {
            *state = State::Ended;
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    fn serve(&self, first: First, started: i32) {
        {
            let mut state = self.shared.state();
            match *state {
                // It was ended while it started.
                State::Ended => {
                    drop(state);
                    drop(first.end(&self.control));
                    return;
                }
                _ => *state = State::Ready { control: Arc::clone(&self.control), first, started },
            }
        }
        self.shared.changed.notify_all();
        for port in self.walls.forwarded() {
            if send(&self.control, [LISTEN, &port.to_string()], &[]).is_err() {
                return;
            }
        }
        while let Ok(Some(frame)) = receive(&self.control) {
            if frame.text(0) == CONNECTION {
                self.connect(frame);
            }
        }
    }

    /// Connects a connection made in the sandbox to the host's loopback, if the port is one that
    /// the task names. The sandbox may say anything.
    fn connect(&self, frame: Frame) {
        let port = frame.text(1).parse().ok().filter(|port| self.walls.forwarded().contains(port));
        let (Some(port), Some(inside)) = (port, frame.fds.into_iter().next()) else { return };
        let inside = TcpStream::from(inside);
        thread::spawn(move || {
            let outside = TcpStream::connect(("127.0.0.1", port))
                .or_else(|_| TcpStream::connect(("::1", port)));
            if let Ok(outside) = outside {
                join(&inside, &outside);
            }
        });
    }

    /// The first process in the namespace that bubblewrap made, or the one that limited itself.
    fn first_process(&self, started: u32) -> Option<First> {
        let (number, is_reaper) = match self.walls {
            Walls::Namespaces(_) => (child_of(started)?, false),
            Walls::Landlock(_) => (started, true),
        };
        Some(First { process: ProcessHandle::open(number)?, number, is_reaper })
    }

    /// The end of bubblewrap's output.
    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let from = text.floor_char_boundary(text.len().saturating_sub(SAID));
        let text = text[from..].trim();
        if text.is_empty() { "it ended without an answer".to_owned() } else { text.to_owned() }
    }
}

/// Device and inode of a file, and when it was made: the number of a removed one is given again.
pub(super) type FileIdentity = (u64, u64, Option<SystemTime>);

/// The file at a path, if there is one.
fn identity(path: &Path) -> Option<FileIdentity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.created().ok()))
}

/// The child of a process that has one thread and one child.
fn child_of(process: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    children.ok()?.split_whitespace().next()?.parse().ok()
}

/// Copies both ways until both ends are closed.
fn join(a: &TcpStream, b: &TcpStream) {
    thread::scope(|scope| {
        scope.spawn(|| copy(a, b));
        copy(b, a);
    });
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // A connection that breaks is closed on the other side too.
    drop(io::copy(&mut from, &mut to));
    drop(to.shutdown(Shutdown::Write));
}
