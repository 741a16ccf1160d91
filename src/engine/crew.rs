//! The workers of a run with several jobs: child processes of this program, each with an agent and a
//! tree of its own.
//!
//! Invariant: what a worker handed in is in the queue, put off, or landed. Not in this file: what a
//! run does with them.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::EngineError;
use super::schedule::Crew;
use super::wire::{Assignment, HandedIn, WorkerAnswer, WorkerMessage};
use crate::events::Emitter;
use crate::model::{Activity, Answer, CriterionKey, EventKind, Oid, Outcome, Record as _, Usage};
use crate::verify::{GitRepo, Layout, SavedAttempt, VerifyError, WorkerTree};

/// The way to a worker's process.
pub trait WorkerLink: Send {
    /// Gives it an assignment.
    ///
    /// # Errors
    /// If it is gone.
    fn give<'l>(&'l mut self, order: &Assignment) -> BoxFuture<'l, io::Result<()>>;

    /// Tells it to end its turn, hand in, and go.
    fn dismiss(&mut self);

    /// Ends it.
    fn end(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// What comes from a worker's process.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerReport {
    /// A message.
    Said(WorkerMessage),
    /// The process ended.
    Ended {
        /// How, and its last words.
        how: String,
    },
}

/// Where the reports of a process go.
pub type WorkerReports = mpsc::UnboundedSender<WorkerReport>;

/// What a run hears of a process.
pub(super) struct FromProcess {
    /// The process's number.
    pub(super) process: usize,
    pub(super) heard: Heard,
}

/// What a run hears of a worker.
pub(super) enum Heard {
    /// Something that happened in its turn.
    Event(Box<EventKind>),
    /// Its work, and the ref that keeps it; none if nothing was done.
    Work(Box<HandedIn>, Option<SavedAttempt>),
    /// The criterion is not open in its tree.
    Obsolete,
    /// It cannot go on; its process ends soon.
    CannotGoOn(String),
    /// It is gone, or its work could not be kept: why.
    Gone(String),
}

/// Starts the process of a worker in a tree.
pub type Hire = Box<
    dyn FnMut(usize, &WorkerTree, WorkerReports) -> Result<Box<dyn WorkerLink>, EngineError> + Send,
>;

/// The workers of a run, before they are started.
pub struct Jobs {
    /// How many criteria are worked on at once.
    pub most: NonZeroUsize,
    /// Starts a worker.
    pub hire: Hire,
}

impl Jobs {
    /// No workers: what lands is from elsewhere.
    pub(super) fn none() -> Self {
        let nobody = "nobody works in this run".to_owned();
        let hire: Hire =
            Box::new(move |number, _, _| Err(EngineError::Worker { number, how: nobody.clone() }));
        Self { most: NonZeroUsize::MIN, hire }
    }
}

/// The workers, and what they handed in.
pub(super) struct Workers {
    pub(super) jobs: Jobs,
    pub(super) seats: Vec<Seat>,
    sender: mpsc::UnboundedSender<FromProcess>,
    pub(super) reports: mpsc::UnboundedReceiver<FromProcess>,
    /// The number of processes that were started.
    started: usize,
    pub(super) queue: Vec<Delivery>,
    /// Proven work that files of the human's keep from landing, with these files.
    pub(super) put_off: Vec<(Delivery, Vec<FileInTheWay>)>,
    pub(super) deaths: HashMap<CriterionKey, u32>,
    /// Some worker has handed in something.
    pub(super) answered: bool,
    pub(super) ending: Option<Outcome>,
    /// The milliseconds of the last turn that was handed in, and of the last landing.
    pub(super) took: (u64, u64),
}

/// A worker's place.
pub(super) struct Seat {
    pub(super) tree: WorkerTree,
    pub(super) process: Option<Process>,
    pub(super) work: Option<AtWork>,
    /// The commit that was put there, if nobody worked since.
    pub(super) fresh: Option<Oid>,
}

/// A worker's process.
pub(super) struct Process {
    pub(super) number: usize,
    pub(super) link: Box<dyn WorkerLink>,
}

/// An assignment that a worker has.
pub(super) struct AtWork {
    pub(super) key: CriterionKey,
    pub(super) base: Oid,
    pub(super) begun: Instant,
    pub(super) events: Vec<EventKind>,
    pub(super) waiting: bool,
}

/// A file in the way of work, as it was when that was tried last.
#[derive(Clone, Debug)]
pub(super) struct FileInTheWay {
    /// Relative to the repository.
    pub(super) path: PathBuf,
    at: PathBuf,
    was: Option<(u64, SystemTime)>,
}

impl FileInTheWay {
    pub(super) fn of(root: &Path, path: &Path) -> Self {
        let at = root.join(path);
        Self { path: path.to_owned(), was: Self::look(&at), at }
    }

    fn is_as_it_was(&self) -> bool {
        Self::look(&self.at) == self.was
    }

    fn look(path: &Path) -> Option<(u64, SystemTime)> {
        let meta = std::fs::symlink_metadata(path).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    }
}

/// Work that was handed in.
pub(super) struct Delivery {
    pub(super) worker: usize,
    pub(super) key: CriterionKey,
    /// The branch when the work began.
    pub(super) base: Oid,
    pub(super) events: Vec<EventKind>,
    /// Where it is kept; none if nothing was done.
    pub(super) kept: Option<SavedAttempt>,
    /// It is from another machine, so that only its commits count as evidence.
    pub(super) from_afar: bool,
    /// Its iteration was counted.
    pub(super) counted: bool,
    pub(super) work: HandedIn,
}

impl Delivery {
    /// What its turns used, where the agent reported it.
    pub(super) fn usage(&self) -> Option<Usage> {
        let used = self.events.iter().filter_map(|event| match event {
            EventKind::TurnEnded { turn, .. } => turn.usage,
            _ => None,
        });
        used.reduce(Usage::plus)
    }

    /// The ref that keeps it, or the commit.
    pub(super) fn kept_as(&self) -> &str {
        self.kept.as_ref().map_or(self.work.head.as_str(), |kept| &kept.name)
    }
}

/// Records what a worker does now. The events of its turn follow when its work lands.
fn tell_activity(events: &Emitter, worker: usize, kind: &EventKind) {
    let activity = match kind {
        EventKind::ToolDecided { answer: Answer::Allow, call, tool, input, .. } => Activity::Call {
            call: call.clone(),
            tool: tool.clone(),
            input: ["command", "path", "file_path", "fileName"]
                .into_iter()
                .find_map(|key| Some(json!({ key: input.get(key)? })))
                .unwrap_or_default(),
        },
        EventKind::ToolFinished { call, .. } => Activity::CallEnded { call: call.id.clone() },
        EventKind::Activity { activity, .. } => activity.clone(),
        EventKind::PromptSent { .. } | EventKind::StopChecked { .. } => {
            Activity::Alive { context: None }
        }
        _ => return,
    };
    if let Err(error) = events.record(EventKind::Activity { worker: Some(worker), activity }) {
        tracing::warn!(%error, "cannot record what a worker does");
    }
}

/// The work of another machine on a criterion.
#[derive(Clone, Debug)]
pub struct ForeignWork {
    /// The criterion.
    pub key: CriterionKey,
    /// Where it left the branch.
    pub base: Oid,
    /// Its last commit that is more than records.
    pub head: Oid,
    /// The ref that keeps it here, with that machine's records.
    pub kept: SavedAttempt,
    /// The machine says that it is done.
    pub done: bool,
    /// Attempts that failed there.
    pub attempts: u32,
}

/// Keeps what a worker did, if it did something.
fn keep(
    tree: &Path,
    repo: &GitRepo,
    layout: &Layout,
    work: &HandedIn,
) -> Result<Option<SavedAttempt>, VerifyError> {
    match work.did_something() {
        true => repo.import(tree, (&work.kept, &work.base), layout, 1).map(Some),
        false => Ok(None),
    }
}

/// An attempt that the next one goes on from.
#[derive(Clone)]
pub(super) struct Earlier {
    pub(super) base: Oid,
    /// Its last commit.
    pub(super) commit: Oid,
    /// The same with everything that was not committed.
    pub(super) kept: Oid,
    /// It has a commit that counts as work.
    pub(super) worked: bool,
}

impl Workers {
    pub(super) fn new(jobs: Jobs) -> Self {
        let (sender, reports) = mpsc::unbounded_channel();
        Self {
            jobs,
            seats: Vec::new(),
            sender,
            reports,
            started: 0,
            queue: Vec::new(),
            put_off: Vec::new(),
            deaths: HashMap::new(),
            answered: false,
            ending: None,
            took: (0, 0),
        }
    }

    /// Where a worker's process sends its reports. What it hands in is kept at once, whatever the run
    /// is doing.
    pub(super) fn reports_of(
        &mut self,
        worker: usize,
        tree: PathBuf,
        (repo, layout): (Arc<GitRepo>, Layout),
        events: Arc<Emitter>,
    ) -> (usize, WorkerReports) {
        let (sender, mut reports) = mpsc::unbounded_channel();
        self.started += 1;
        let process = self.started;
        let forward = self.sender.clone();
        tokio::spawn(async move {
            while let Some(report) = reports.recv().await {
                let heard = match report {
                    WorkerReport::Said(WorkerMessage::Event(kind)) => {
                        tell_activity(&events, worker, &kind);
                        Heard::Event(kind)
                    }
                    WorkerReport::Said(WorkerMessage::Answer(answer)) => match answer {
                        WorkerAnswer::HandedIn(work) => {
                            let criterion = work.criterion.clone();
                            let kept = keep(&tree, repo.as_ref(), &layout, &work);
                            let told = kept.map_err(EngineError::from).and_then(|kept| {
                                events.record(EventKind::WorkerHandedIn { worker, criterion })?;
                                Ok(kept)
                            });
                            match told {
                                Ok(kept) => Heard::Work(work, kept),
                                Err(error) => Heard::Gone(error.to_string()),
                            }
                        }
                        WorkerAnswer::Obsolete => Heard::Obsolete,
                        WorkerAnswer::Failed { reason } => Heard::CannotGoOn(reason),
                    },
                    WorkerReport::Ended { how } => Heard::Gone(how),
                };
                if forward.send(FromProcess { process, heard }).is_err() {
                    break;
                }
            }
        });
        (process, sender)
    }

    /// Criteria with a worker, or in the queue.
    pub(super) fn busy(&self) -> BTreeSet<CriterionKey> {
        let working = self.seats.iter().filter_map(|seat| seat.work.as_ref());
        let working = working.map(|work| work.key.clone());
        let put_off = self.put_off.iter().map(|(delivery, _)| delivery);
        let waiting = self.queue.iter().chain(put_off);
        working.chain(waiting.map(|it| it.key.clone())).collect()
    }

    /// Puts work back into the queue whose way has changed since it was put off.
    pub(super) fn try_again(&mut self) {
        let waiting = std::mem::take(&mut self.put_off);
        for (delivery, files) in waiting {
            if files.iter().all(FileInTheWay::is_as_it_was) {
                self.put_off.push((delivery, files));
            } else {
                self.queue.push(delivery);
            }
        }
    }

    /// What they do.
    pub(super) fn crew<'a>(&'a self, busy: &'a BTreeSet<CriterionKey>) -> Crew<'a> {
        let working = self.seats.iter().filter(|seat| seat.work.is_some()).count();
        Crew {
            busy,
            working,
            idle: self.seats.len() - working,
            queued: self.queue.len(),
            waiting: self.seats.iter().any(|it| it.work.as_ref().is_some_and(|it| it.waiting)),
            ending: self.ending.as_ref(),
            land_first: self.took.1.saturating_mul(self.queue.len() as u64) > self.took.0,
        }
    }
}
