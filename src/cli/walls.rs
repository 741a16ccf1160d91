//! The sandboxes of a run, for the agent, its commands, and checks, from the paths of `view` and
//! the guard's policy.
//!
//! Invariant: an agent starts behind its walls or not at all.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::secret_files::SecretFiles;
use super::signing::KeyAgent;
use super::view::{
    Ground, agent_settings, credentials, git_folders, open_folder, protected_of, tokens,
    tokens_hidden, unreached, view,
};
use super::{agent_folders, audit, environment, holdout, openings, sandbox};
use crate::agent::{AgentCommand, AgentKind, Shells};
use crate::config::Settings;
use crate::guard::{Policy, Redactor, secret_name};
use crate::model::{ExitCode, Tier};
use crate::sandbox::{
    AgentFolders, Bind, Calls, LandlockRules, Network, Overlay, Programs, Room, Rooms,
    SandboxError, Secrets, StartOnline, View, Walls, around, as_it_is, full, make_caches, outer,
    partial, prepare, separate, socket, whole,
};
use crate::verify::{CheckOptions, GitRepo, PROGRESS, Preflight, Purpose, RoomPlace, TASK};

/// The parts that stay the same during a run.
pub(super) struct RunWalls {
    tier: Tier,
    programs: Programs,
    view: View,
    /// The task's folder, TASK.md and progress.md, in which an agent's own process ticks and
    /// writes.
    editable: [PathBuf; 3],
    redactor: Arc<Redactor>,
    /// The human's key agent, where the agent's commands may use it.
    keys: KeyAgent,
    /// Notices about the preparations.
    notice: Option<String>,
    number: AtomicU32,
}

/// Preparations that take longer are reported.
const SLOW: Duration = Duration::from_secs(1);

/// Separates files from those elsewhere that share their content. Returns a notice if that took
/// long.
fn separated(tree: &Path) -> Result<Option<String>, Failure> {
    let begun = Instant::now();
    let number = separate(tree).map_err(failed(tree))?;
    let took = begun.elapsed();
    Ok((number > 0 && took > SLOW).then(|| {
        format!(
            "copied {number} files that were hard links to files elsewhere, so that changes here \
             do not reach them ({:.1} s)",
            took.as_secs_f64()
        )
    }))
}

impl RunWalls {
    /// Gathers the files for a run's sandboxes, and prepares the working tree for an agent.
    /// `scratch` is the run's own folder.
    pub(super) fn new(
        at: &TaskContext,
        preflight: &Preflight,
        settings: &Settings,
        tier: (Tier, Programs),
        scratch: &Path,
        secrets: SecretFiles,
    ) -> Result<Self, Failure> {
        let mut walls = Self::of_checks(at, preflight, settings, tier, scratch, secrets)?;
        walls.make_ready(&at.place.repo)?;
        Ok(walls)
    }

    /// The same where no agent works, only checks. Nothing in the working tree changes.
    pub(super) fn of_checks(
        at: &TaskContext,
        preflight: &Preflight,
        settings: &Settings,
        (tier, programs): (Tier, Programs),
        scratch: &Path,
        secrets: SecretFiles,
    ) -> Result<Self, Failure> {
        let file = |name| at.place.root().join(at.layout.file(name));
        let ground = Ground {
            protected: protected_of(at, preflight),
            writable: vec![file(PROGRESS)],
            editable: [at.folder.dir.clone(), file(TASK), file(PROGRESS)],
        };
        Self::around(&at.place, ground, settings, (tier, programs), scratch, secrets)
    }

    /// The same for a session that belongs to no task.
    pub(super) fn of_session(
        place: &RepoContext,
        settings: &Settings,
        tier: (Tier, Programs),
        scratch: &Path,
        secrets: SecretFiles,
    ) -> Result<Self, Failure> {
        let root = place.root();
        let own = root.join(".ralph");
        let ground = Ground {
            protected: agent_settings(&place.repo).into_iter().chain([own]).collect(),
            writable: Vec::new(),
            editable: [root.to_owned(), root.to_owned(), root.to_owned()],
        };
        let mut walls = Self::around(place, ground, settings, tier, scratch, secrets)?;
        walls.make_ready(&place.repo)?;
        Ok(walls)
    }

    fn around(
        place: &RepoContext,
        ground: Ground,
        settings: &Settings,
        (tier, programs): (Tier, Programs),
        scratch: &Path,
        secrets: SecretFiles,
    ) -> Result<Self, Failure> {
        let Ground { protected, writable, editable } = ground;
        let mut view = View { protected, writable, ..view(place, scratch) };
        openings::open(&mut view, settings)?;
        view.hidden.extend(holdout::hidden(settings, &place.cwd));
        let shown = scratch.join("shown");
        view.replaced = secrets.replacements(&shown).map_err(failed(&shown))?;
        fs::write(&view.empty, "").map_err(failed(&view.empty))?;
        fs::create_dir_all(&view.var_tmp).map_err(failed(&view.var_tmp))?;
        let redactor = environment::redactor_of(secrets.values);
        if tier == Tier::Full {
            tokens_hidden();
        }
        let number = AtomicU32::new(0);
        let keys = KeyAgent::default();
        Ok(Self { tier, programs, view, editable, redactor, keys, notice: None, number })
    }

    /// The same, with a key agent that the agent's commands may use.
    pub(super) fn showing(self, keys: KeyAgent) -> Self {
        Self { keys, ..self }
    }

    /// Prepares the working tree for an agent.
    fn make_ready(&mut self, repo: &GitRepo) -> Result<(), Failure> {
        match self.tier {
            Tier::Off => {}
            Tier::Full | Tier::Partial => {
                self.notice = separated(&self.view.tree)?;
                git_folders(repo.common_dir()).map_err(failed(&self.view.tree))?;
            }
        }
        Ok(())
    }

    /// Notices about the preparations.
    pub(super) fn notice(&self) -> Option<String> {
        self.notice.clone()
    }

    /// The redaction of the run: it knows the values in files with secrets, too.
    pub(super) fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    /// Where the shell calls of the Copilot CLI run. Other agents have no hook to replace them.
    pub(super) fn shells(self: &Arc<Self>, kind: AgentKind) -> Result<Option<Shells>, Failure> {
        match (self.tier, kind) {
            (Tier::Off, _) | (_, AgentKind::Other) => return Ok(None),
            (Tier::Full | Tier::Partial, AgentKind::Copilot) => {}
        }
        let listens = socket(&self.view.scratch);
        let client = sandbox::client(&self.programs.ours, &listens);
        let calls = Calls::listen(&listens, &client.each_ref().map(String::as_str))?;
        let walls = Arc::clone(self);
        let (start, tier) = (Box::new(move |policy: &Policy| walls.start(policy)), self.tier);
        Ok(Some(Shells { calls, start, tier }))
    }

    /// The command that starts the agent behind its walls.
    pub(super) fn agent(&self, command: &AgentCommand) -> Result<AgentCommand, Failure> {
        let walls = match (self.tier, command.kind) {
            (Tier::Off, _) => return Ok(command.clone()),
            (Tier::Full, AgentKind::Copilot) => {
                let own = self.copilot(command);
                Walls::Namespaces(outer(&self.editable(), &own))
            }
            (Tier::Full, AgentKind::Other) => {
                let own = agent_folders::other(&self.view.home, &self.view.seen_at, command);
                let mut view = self.editable();
                view.visible.extend(own.readable.iter().cloned());
                view.network = Network::Host;
                let overlay = self.overlay("agent");
                self.prepare(&overlay)?;
                self.signing(Walls::Namespaces(whole(&view, overlay, &own)))
            }
            (Tier::Partial, AgentKind::Copilot) => {
                let own = self.copilot(command);
                let mut writable = vec![self.view.tree.clone(), self.view.tmp.clone()];
                writable.extend(self.view.git.iter().cloned().chain(own.writable));
                let (readable, ports) = (None, Vec::new());
                let network = Network::Host;
                Walls::Landlock(LandlockRules {
                    writable,
                    readable,
                    network,
                    ports,
                    signals: false,
                })
            }
            (Tier::Partial, AgentKind::Other) => {
                agent_folders::make(&self.view.home, command);
                let own = agent_folders::other(&self.view.home, &self.view.seen_at, command);
                let mut view = self.now();
                view.visible.extend(own.readable.iter().chain(&own.writable).cloned());
                view.network = Network::Host;
                let mut limits = self.limits(&view)?;
                limits.writable.extend(own.writable);
                self.signing(Walls::Landlock(limits))
            }
        };
        let inner = std::iter::once(command.program.clone().into_os_string())
            .chain(command.args.iter().map(OsString::from));
        let words = around(&self.programs, &walls, &self.view.seen_at, inner)
            .map_err(failed(&command.program))?;
        let text = |word: OsString| {
            word.into_string().map_err(|word| {
                let text = format!("{} is not UTF-8", Path::new(&word).display());
                Failure::new(ExitCode::Agent, text)
            })
        };
        let args = words.into_iter().map(text).collect::<Result<_, _>>()?;
        Ok(AgentCommand { program: self.programs.ours.clone(), args, kind: command.kind })
    }

    /// Could an agent's own process read a gateway's token where its file lies? Landlock cannot hide
    /// a folder in one that may be read, and the Copilot CLI reads all of its home.
    pub(super) fn opens_tokens(&self, command: &AgentCommand) -> bool {
        match (self.tier, command.kind) {
            // There it is hidden, or nothing is.
            (Tier::Full | Tier::Off, _) => false,
            (Tier::Partial, AgentKind::Copilot) => true,
            (Tier::Partial, AgentKind::Other) => {
                let own = agent_folders::other(&self.view.home, &self.view.seen_at, command);
                let mut shown = own.writable.iter().chain(&own.readable).chain([&self.view.tree]);
                tokens().is_some_and(|folder| shown.any(|path| folder.starts_with(path)))
            }
        }
    }

    /// Folders of the Copilot CLI, and the audit, to which a project's own hooks add.
    fn copilot(&self, command: &AgentCommand) -> AgentFolders {
        let mut own = agent_folders::copilot(&self.view.home, &self.view.scratch, command);
        // Its home may have been made only now.
        tokens_hidden();
        own.writable.push(audit::folder(&self.view.tree, &self.view.tree));
        own
    }

    /// The view of a sandbox that is started now: sockets come and go.
    fn now(&self) -> View {
        View { unreached: unreached(&self.view.tree), ..self.view.clone() }
    }

    /// The view of an agent's own process.
    fn editable(&self) -> View {
        let mut view = self.now();
        view.protected.retain(|path| !self.editable.contains(path));
        let [folder, ..] = &self.editable;
        if *folder != view.tree {
            view.writable = vec![folder.clone()];
        }
        view
    }

    /// Starts the sandboxes of the next session.
    fn start(self: &Arc<Self>, policy: &Policy) -> Result<Rooms, SandboxError> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let mut view = self.view.clone();
        view.protected.extend(policy.protect_paths.iter().cloned());
        view.protected.extend(policy.human.iter().cloned());
        open_folder(&mut view);
        let overlay = self.overlay(&format!("room-{number}"));
        let log = view.scratch.join(format!("room-{number}.log"));
        let online = match view.network {
            Network::Own => Some(self.start_online(view.clone(), overlay.clone(), &log)),
            Network::Host => None,
        };
        let run = Arc::clone(self);
        let start = move || {
            if run.tier == Tier::Full {
                run.prepare(&overlay)?;
            }
            let view = View { unreached: unreached(&view.tree), ..view.clone() };
            let walls = run.session(&view, &overlay)?;
            Room::start(&run.programs, &walls, &view.seen_at, &log)
        };
        Rooms::start(Box::new(start), online)
    }

    /// Starts the sandbox with network beside a session's own.
    fn start_online(self: &Arc<Self>, view: View, overlay: Overlay, log: &Path) -> StartOnline {
        let (run, log) = (Arc::clone(self), log.with_extension("online.log"));
        Box::new(move |room: &Room| {
            let walls = run.session(&view, &overlay)?.online();
            room.start_beside(&run.programs, &walls, &view.seen_at, &log)
        })
    }

    /// The sandboxes for the commands of a session.
    fn session(&self, view: &View, home: &Overlay) -> Result<Walls, SandboxError> {
        Ok(self.signing(match self.tier {
            Tier::Full => Walls::Namespaces(full(view, home.clone())),
            Tier::Partial | Tier::Off => Walls::Landlock(self.limits(view)?),
        }))
    }

    /// Shows the key agent. Where it is gone, no sandbox starts, and no attempt is charged.
    fn signing(&self, mut walls: Walls) -> Walls {
        let KeyAgent { shown, folder, .. } = &self.keys;
        match &mut walls {
            Walls::Namespaces(profile) => {
                let shown = shown.iter().cloned();
                profile.mounts.extend(shown.map(|(from, at)| Bind::ReadOnly { from, at }));
                profile.mounts.extend(folder.iter().map(Bind::writable));
            }
            Walls::Landlock(limits) => {
                let shown = shown.iter().map(|(from, _)| from);
                limits.readable.iter_mut().for_each(|all| all.extend(shown.clone().cloned()));
                limits.writable.extend(folder.clone());
            }
        }
        walls
    }

    /// Starts the sandbox of one check in a proof room. HOME keeps the writes of earlier checks of
    /// the room.
    pub(super) fn proof(
        &self,
        place: &RoomPlace,
        options: &CheckOptions,
    ) -> Result<Room, SandboxError> {
        let purpose = options.purpose;
        let mut view = self.now();
        let (online, trusted) = match purpose {
            Purpose::Check | Purpose::Preflight => (false, view.network == Network::Own),
            Purpose::HoldOut => {
                // The code under test is the agent's: it could send away what it sees.
                (view.network, view.ports, view.sockets) = Default::default();
                view.devices.retain(|device| !device.starts_with("/dev/shm"));
                (false, true)
            }
            Purpose::FirstSetup => (true, true),
            Purpose::Setup { network } => (network, false),
        };
        if online {
            view.network = Network::Host;
        }
        // A check sees the human's own files with secrets, unless it could send them away.
        if trusted {
            view.replaced.clear();
        }
        view.git = vec![place.work.join(".git")];
        view.tree.clone_from(&place.work);
        view.tmp = place.folder.join("tmp");
        view.var_tmp = place.folder.join("var-tmp");
        // It may write everything except the files that decide.
        view.protected = options.fixed.iter().map(|path| place.work.join(path)).collect();
        view.writable.clear();
        for folder in [&view.tmp, &view.var_tmp] {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        let log = place.folder.join("sandbox.log");
        let walls = match self.tier {
            Tier::Full => {
                let overlay = Overlay::below(&place.folder.join("home"), self.view.home.clone());
                if !overlay.merged.exists() {
                    self.prepare(&overlay)?;
                }
                let mut profile = full(&view, overlay);
                if purpose == Purpose::FirstSetup {
                    profile.mounts.extend(credentials(&self.view.home));
                }
                let borrowed = place.borrowed.iter().cloned();
                profile.mounts.extend(borrowed.map(|(from, at)| Bind::ReadOnly { from, at }));
                for path in &place.shared {
                    let (from, at) = (self.view.tree.join(path), place.seen_at.join(path));
                    let target = place.work.join(path);
                    fs::create_dir_all(&target).map_err(failed(&target))?;
                    profile.mounts.push(Bind::ReadOnly { from, at });
                }
                Walls::Namespaces(profile)
            }
            Tier::Partial | Tier::Off => {
                view.visible.push(place.work.clone());
                view.visible.extend(place.borrowed.iter().map(|(from, _)| from.clone()));
                view.visible.push(place.folder.join("objects"));
                view.visible.extend(place.shared.iter().map(|path| self.view.tree.join(path)));
                view.hidden.push(self.view.tree.clone());
                let mut limits = self.limits(&view)?;
                if purpose == Purpose::HoldOut {
                    limits.writable.retain(|path| path.starts_with(&place.folder));
                }
                Walls::Landlock(limits)
            }
        };
        Room::start(&self.programs, &walls, &place.seen_at, &log)
    }

    /// Starts the sandbox of one check on the human's own tree. It still sees the writes of earlier
    /// ones.
    pub(super) fn preflight(&self) -> Result<Room, SandboxError> {
        let folder = self.view.scratch.join("preflight");
        let overlay = Overlay::below(&folder, self.view.tree.clone());
        for folder in [&overlay.upper, &overlay.work, &overlay.merged] {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        let walls = Walls::Namespaces(as_it_is(&self.view.tree, overlay));
        Room::start(&self.programs, &walls, &self.view.tree, &folder.join("sandbox.log"))
    }

    /// The working tree.
    pub(super) fn tree(&self) -> &Path {
        &self.view.tree
    }

    /// The temporary folder of a check.
    pub(super) fn proof_tmp(&self, place: &RoomPlace) -> PathBuf {
        match self.tier {
            Tier::Full => "/tmp".into(),
            Tier::Partial | Tier::Off => place.folder.join("tmp"),
        }
    }

    fn limits(&self, view: &View) -> Result<LandlockRules, SandboxError> {
        make_caches(&view.home, &|tool| which::which(tool).is_ok());
        self.with_secrets(|secrets| partial(view, secrets)).map_err(failed(&view.home))
    }

    /// A HOME whose changes are thrown away.
    fn overlay(&self, name: &str) -> Overlay {
        Overlay::below(&self.view.scratch.join(name), self.view.home.clone())
    }

    fn prepare(&self, overlay: &Overlay) -> Result<(), SandboxError> {
        self.with_secrets(|secrets| prepare(overlay, &self.view.tools, secrets))
            .map_err(failed(&self.view.home))
    }

    fn with_secrets<T>(&self, use_them: impl FnOnce(&Secrets<'_>) -> T) -> T {
        use_them(&Secrets {
            is_secret: &secret_name,
            scrub: &|text| self.redactor.redact_str(text).into_owned(),
        })
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::Prepare { path, source }
}
