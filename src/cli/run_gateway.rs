//! The gateway inside a run: one session for all of it, its events in the journal, and the
//! provider programs of the user's own configuration.
//!
//! Invariant: providers never end a run. The token goes to the token file and to the programs
//! that are started here, and nowhere else. Without `--gateway` nothing of this is made.

mod budget;
mod feed;
mod output;
mod programs;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::programs::{Provided, ProviderPrograms};
use super::failure::Failure;
use super::gateway::{gateway_on, not_listening};
use super::launch::copilot_home;
use super::run_tools::ProviderSource;
use super::second_signal::SecondSignal;
use crate::engine::{InjectedEvent, Providers};
use crate::events::Emitter;
use crate::gateway::{
    DEFAULT_PORT, Gateway, GatewayError, GatewayEvent, GatewayToken, Listeners, SHUTDOWN_TIME,
    SessionHandle, SessionInfo, TokenFiles, direct_route, serve, token_folder,
};
use crate::guard::Redactor;
use crate::model::{EventKind, ExitCode, GatewayUse, RecordError, RunId};
use crate::sys::shutdown::Shutdown;

pub(super) use self::feed::Feed;

/// How long the gateway may take for something that it does at once.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How long the last events may take to be recorded.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// The purpose of a gateway.
pub(super) struct GatewayStart<'s> {
    /// The port that it listens on.
    pub(super) listeners: Listeners,
    /// Commands that start providers.
    pub(super) programs: &'s [String],
    /// The run, which is the session's id.
    pub(super) run: &'s RunId,
    /// The task's name.
    pub(super) task: &'s str,
    /// The repository.
    pub(super) cwd: &'s Path,
    /// The run's own folder.
    pub(super) folder: &'s Path,
    /// Could the agent's own process read the token file?
    pub(super) is_open: bool,
    pub(super) events: Arc<Emitter>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) stop: Shutdown,
    pub(super) second: Arc<SecondSignal>,
}

/// The gateway of a run.
pub(super) struct RunGateway {
    gateway: Gateway,
    /// The id of its one session.
    session: String,
    /// The session's tools.
    handle: SessionHandle,
    token: GatewayToken,
    port: u16,
    cwd: PathBuf,
    folder: PathBuf,
    commands: Vec<String>,
    feed: Arc<Feed>,
    stop: Shutdown,
    second: Arc<SecondSignal>,
    /// Not served before the journal has begun.
    waiting: Mutex<Option<(Listeners, mpsc::Receiver<GatewayEvent>)>>,
    files: Mutex<Option<TokenFiles>>,
    ending: Mutex<Option<oneshot::Receiver<()>>>,
    recorder: Mutex<Option<JoinHandle<()>>>,
    programs: Mutex<Option<ProviderPrograms>>,
}

impl RunGateway {
    /// Creates the gateway with the run as its session, and returns its notices. Providers can
    /// connect once the run opens it.
    pub(super) async fn new(
        start: GatewayStart<'_>,
    ) -> Result<(Arc<Self>, Option<String>), Failure> {
        let GatewayStart { listeners, programs, run, task, cwd, folder, is_open, .. } = start;
        let token = GatewayToken::generate()?;
        let port = listeners.port();
        let (files, notice) = token_files(&token, port, is_open)?;
        if let Some(files) = &files {
            start.second.removes(files.paths());
        }
        let (gateway, events) = Gateway::start(token.clone());
        let session = run.as_str().to_owned();
        let info = SessionInfo {
            id: session.clone(),
            label: task.to_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
        };
        let handle = gateway.open(info).await.ok_or_else(|| {
            Failure::new(ExitCode::Internal, "the gateway ended before the run began")
        })?;
        let this = Self {
            gateway,
            session,
            handle,
            token,
            port,
            cwd: cwd.to_owned(),
            folder: folder.to_owned(),
            commands: programs.to_vec(),
            feed: Arc::new(Feed::new(start.events, start.redactor)),
            stop: start.stop,
            second: start.second,
            waiting: Mutex::new(Some((listeners, events))),
            files: Mutex::new(files),
            ending: Mutex::default(),
            recorder: Mutex::default(),
            programs: Mutex::default(),
        };
        Ok((Arc::new(this), notice))
    }

    /// Its tools, for the agent.
    pub(super) fn source(&self) -> ProviderSource {
        ProviderSource {
            gateway: self.gateway.clone(),
            session: self.session.clone(),
            handle: self.handle.clone(),
        }
    }

    /// Waits for the providers' goodbye, until a signal or the deadline.
    async fn goodbyes(&self) {
        let Some(over) = take(&self.ending) else { return };
        let skip = CancellationToken::new();
        self.second.skips(skip.clone());
        // After a first signal it takes a second one.
        let first = self.stop.token().is_cancelled().then(CancellationToken::new);
        let first = first.unwrap_or_else(|| self.stop.token().clone());
        let told = async {
            tokio::time::sleep(AT_ONCE).await;
            let who = self.feed.bound();
            if !who.is_empty() {
                let wait = SHUTDOWN_TIME.as_secs();
                self.feed.notice(format!(
                    "waiting up to {wait} s for providers to say goodbye ({}); Ctrl-C skips that",
                    who.join(", ")
                ));
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = over => {}
            () = skip.cancelled() => {}
            () = first.cancelled() => {}
            // The gateway itself ends the wait at the deadline.
            () = tokio::time::sleep(SHUTDOWN_TIME + AT_ONCE) => {}
            () = told => {}
        }
        self.second.skips_nothing();
    }
}

#[async_trait]
impl Providers for RunGateway {
    fn open(&self) -> Result<(), RecordError> {
        let Some((listeners, events)) = take(&self.waiting) else { return Ok(()) };
        let token_file = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let token_file = token_file.as_ref().map(|files| files.token().display().to_string());
        self.feed.record(EventKind::GatewayStarted { port: self.port, token_file })?;
        let feed = Arc::clone(&self.feed);
        // Redaction of many large events takes time that others need.
        let recorder = tokio::task::spawn_blocking(move || feed.record_all(events));
        *self.recorder.lock().unwrap_or_else(PoisonError::into_inner) = Some(recorder);
        let others = direct_route(self.gateway.clone(), self.token.clone());
        serve(&self.gateway, listeners, others);
        let programs = ProviderPrograms::start(
            &self.commands,
            &Provided {
                token: self.token.clone(),
                port: self.port,
                run: self.session.clone(),
                cwd: self.cwd.clone(),
                folder: self.folder.clone(),
            },
            &self.feed,
        );
        *self.programs.lock().unwrap_or_else(PoisonError::into_inner) = Some(programs);
        Ok(())
    }

    fn begin_iteration(&self) {
        self.feed.begin_iteration();
        self.gateway.start_iteration(&self.session);
    }

    async fn idle(&self) {
        // A gateway that has much to do tells its providers a little later.
        drop(tokio::time::timeout(AT_ONCE, self.gateway.idle(&self.session)).await);
    }

    fn take_events(&self) -> Vec<InjectedEvent> {
        self.feed.take_events()
    }

    fn put_back(&self, events: Vec<InjectedEvent>) {
        self.feed.put_back(events);
    }

    fn broken(&self) -> Option<RecordError> {
        self.feed.broken()
    }

    async fn end(&self) {
        if let Some(programs) =
            self.programs.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        {
            programs.restart_no_more();
        }
        let ending = self.gateway.end(&self.session, SHUTDOWN_TIME);
        let ending = tokio::time::timeout(AT_ONCE, ending).await.ok().flatten();
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = ending;
    }

    async fn gone(&self) -> Vec<String> {
        self.goodbyes().await;
        let programs = take(&self.programs);
        let ended = async {
            if let Some(programs) = programs {
                programs.end().await;
            }
        };
        tokio::join!(self.gateway.stop(), ended);
        drop(take(&self.files));
        self.second.removes_nothing();
        if let Some(recorder) = take(&self.recorder) {
            drop(tokio::time::timeout(LAST_EVENTS, recorder).await);
        }
        self.feed.close()
    }
}

/// Writes the token file, unless another gateway that lives has it, or the agent would.
fn token_files(
    token: &GatewayToken,
    port: u16,
    is_open: bool,
) -> Result<(Option<TokenFiles>, Option<String>), Failure> {
    let only = "the token goes only to programs that this run starts";
    if is_open {
        let why = "this sandbox cannot hide a token file from the agent, so none is written";
        return Ok((None, Some(format!("{why}: {only}"))));
    }
    let Some(home) = copilot_home() else {
        return Ok((None, Some(format!("no home directory for the token file: {only}"))));
    };
    match TokenFiles::write(token_folder(&home), token, None, port) {
        Ok(files) => Ok((Some(files), None)),
        Err(error @ GatewayError::Owned { .. }) => Ok((None, Some(format!("{error}: {only}")))),
        Err(error) => Err(error.into()),
    }
}

fn take<T>(from: &Mutex<Option<T>>) -> Option<T> {
    from.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The result of taking the port.
pub(in crate::cli) enum ReservedPort {
    /// No gateway, with the notice to people.
    None(Option<String>),
    /// It listens.
    Listening(Listeners),
}

/// Takes the port that the settings name. The default port may be taken by another program.
pub(in crate::cli) async fn reserve(gateway: GatewayUse) -> Result<ReservedPort, Failure> {
    let (port, named) = match gateway {
        GatewayUse::Off => return Ok(ReservedPort::None(None)),
        GatewayUse::On => (DEFAULT_PORT, false),
        GatewayUse::Port(port) => (port, true),
    };
    match Listeners::bind(port).await {
        Ok(listeners) => Ok(ReservedPort::Listening(listeners)),
        Err(GatewayError::Listen { source, .. })
            if !named && source.kind() == ErrorKind::AddrInUse =>
        {
            let who = gateway_on(port).unwrap_or_else(|| "another program".to_owned());
            Ok(ReservedPort::None(Some(format!(
                "{who} is using port {port}, so this run has no gateway; choose another port with \
                 `--gateway=PORT`"
            ))))
        }
        Err(error) => Err(not_listening(error, port)),
    }
}
