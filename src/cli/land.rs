//! `land`: lands what other machines handed in.
//!
//! Invariant: a bundle is untrusted. One that is refused keeps no other from landing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{LandArgs, RunArgs};
use super::ci::is_refused;
use super::command_names::quoted;
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::list::matrix;
use super::paths::own_program;
use super::print::{say, say_json};
use super::run::{BegunRun, begin, drive};
use super::told::{read_state, unreadable};
use crate::engine::{ForeignWork, criterion_name, ready};
use crate::events::{JOURNAL_FILE, replay};
use crate::model::{
    CommitSeen, Criterion, CriterionKey, Event, EventKind, ExitCode, Oid, Task, TaskState,
    VerdictResult,
};
use crate::report::message;
use crate::task::{self, task_names};
use crate::verify::{BundleLimits, COMMITS, STATE, TASK, VerifyError, take_bundle};

/// How large a bundle may be.
const LIMITS: BundleLimits = BundleLimits { file: 256 << 20, unpacked: 2 << 30 };
/// Most attempts in a bundle.
const ATTEMPTS: usize = 32;

/// A bundle whose objects are in the repository.
struct Bundle {
    file: PathBuf,
    /// The folder of its task's refs.
    task: String,
    /// The ref that names its work.
    name: String,
    tip: Oid,
    /// What was held there for review.
    held: Option<Oid>,
    attempts: Vec<Oid>,
}

/// What a bundle gives: none if nothing of it is new, or why it is refused.
type Given = Result<Option<ForeignWork>, String>;

/// What became of a bundle.
struct Told {
    file: PathBuf,
    criterion: Option<Criterion>,
    /// The number of its work, and the ref that keeps it.
    work: Option<(usize, String)>,
    /// Why nothing of it was used.
    refused: Option<String>,
}

/// Lands the bundles of one task.
pub(super) fn land(directory: Option<&Path>, args: &LandArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let (mut bundles, mut told) = (Vec::new(), Vec::new());
    for file in &args.files {
        match Bundle::take(&place, file) {
            Ok(bundle) => bundles.push(bundle),
            Err(error) => told.push(Told::refused(file, &error.to_string())),
        }
    }
    if let ([], Some(first), None) = (bundles.as_slice(), told.first(), &args.task) {
        let why = first.refused.clone().unwrap_or_default();
        return Err(Failure::new(ExitCode::Usage, why));
    }
    let at = task_of(directory, &place, args, &bundles)?;
    bundles.retain(|bundle| {
        let is_its = bundle.task == at.layout.refs();
        if !is_its {
            told.push(Told::refused(&bundle.file, "it is of another task"));
        }
        is_its
    });
    let mut heard = LandingStory::default();
    if !bundles.is_empty() {
        let mut run = RunArgs {
            task: Some(at.folder.task_file.display().to_string()),
            json: args.json,
            landing: true,
            ..RunArgs::default()
        };
        run.settings.for_landing(nobody()?, args.sandbox);
        let BegunRun::Run(runtime, mut assembled) = begin(directory, &run)? else {
            return Ok(ExitCode::Internal.number());
        };
        let mut works = Vec::new();
        for bundle in &bundles {
            let (criterion, given) = bundle.work(&at)?;
            let file = bundle.file.clone();
            let (given, refused) = given.map_or_else(|why| (None, Some(why)), |new| (new, None));
            let work = given.as_ref().map(|new| (works.len() + 1, new.kept.name.clone()));
            works.extend(given);
            told.push(Told { file, criterion, work, refused });
        }
        assembled.parts.handed_in = Some(works);
        let journal = assembled.guards.folder.join(JOURNAL_FILE);
        let code = runtime.block_on(drive(*assembled))?;
        let ends = [ExitCode::Proven, ExitCode::Limit, ExitCode::Stuck].map(ExitCode::number);
        if !ends.contains(&code) {
            return Ok(code);
        }
        heard = LandingStory::of(&journal)?;
    }
    finish(&at, &told, &heard, args)
}

/// Prints what landed, what did not, and what can start now.
fn finish(
    at: &TaskContext,
    told: &[Told],
    heard: &LandingStory,
    args: &LandArgs,
) -> Result<u8, Failure> {
    let (task, state) = (at.load()?, read_state(at)?);
    let mut all = true;
    let mut bundles = Vec::new();
    for Told { file, criterion, work, refused } in told {
        let key = criterion.as_ref().map(|it| &it.key);
        let why = match (refused, key) {
            (None, Some(key)) => heard.why(&state, key, work.as_ref().map(|it| it.0)),
            (Some(why), _) => Some(why.clone()),
            (None, None) => Some("nothing is known of it".to_owned()),
        };
        let landed = why.is_none();
        all &= landed;
        let is_new = work.is_some();
        if args.json {
            bundles.push(json!({
                "file": file, "criterion": criterion.as_ref().map(criterion_name),
                "text": key.map(|key| &key.text), "landed": landed, "new": is_new, "reason": why,
                "kept": work.as_ref().filter(|_| !landed).map(|it| &it.1),
            }));
            continue;
        }
        let what = key.map_or_else(|| file.display().to_string(), CriterionKey::quoted);
        say(&match why {
            None if is_new => format!("landed  {what}"),
            None => format!("nothing new  {what}: it landed before"),
            Some(why) => format!("not landed  {what}: {}", message(&why)),
        });
    }
    if args.json {
        let tip = at.place.repo.checkpoint()?.head;
        say_json(&json!({
            "task": task.name, "tip": tip, "bundles": bundles, "next": matrix(&task, &state),
        }));
    } else {
        let count = ready(&task, &state).count();
        let name = quoted(&task.name);
        say(&format!("\n{count} can start now: `ralph-copilot list --ready {name}`"));
    }
    Ok(if all { ExitCode::Proven.number() } else { ExitCode::Stuck.number() })
}

/// An agent that is never asked: this program itself.
fn nobody() -> Result<String, Failure> {
    let own = own_program()?;
    Ok(format!("{} agent none", quoted(&own.to_string_lossy())))
}

/// The task that is named, or that all bundles are of.
fn task_of(
    directory: Option<&Path>,
    place: &RepoContext,
    args: &LandArgs,
    bundles: &[Bundle],
) -> Result<TaskContext, Failure> {
    if let Some(name) = &args.task {
        return TaskContext::find(directory, name);
    }
    let mut found = bundles.iter().map(|bundle| &bundle.task);
    let first = found.next();
    if found.any(|other| Some(other) != first) {
        return Err(Failure::new(ExitCode::Usage, "the bundles are of several tasks")
            .hint("name the one to land with --task"));
    }
    for name in task_names(place.root(), &place.cwd)? {
        let at = TaskContext::find(directory, &name)?;
        if Some(&at.layout.refs()) == first {
            return Ok(at);
        }
    }
    Err(Failure::new(ExitCode::Usage, "no bundle is of a task of this repository")
        .hint("name the task with --task to see why each bundle is refused"))
}

impl Bundle {
    /// Reads a bundle; its objects come into the repository, and no ref.
    fn take(place: &RepoContext, file: &Path) -> Result<Self, VerifyError> {
        let refused =
            |why: &str| VerifyError::Bundle { path: file.to_owned(), why: why.to_owned() };
        let is_ours = |name: &str| Part::of(name).is_some();
        let refs = take_bundle(place.repo.common_dir(), file, LIMITS, &is_ours)?;
        let (mut tips, mut held, mut attempts) = (Vec::new(), Vec::new(), Vec::new());
        let mut tasks = Vec::new();
        for (name, id) in refs {
            let Some((task, part)) = Part::of(&name) else { continue };
            tasks.push(task.to_owned());
            match part {
                Part::HandedIn => tips.push((name, id)),
                Part::Held => held.push(id),
                Part::Attempt => attempts.push(id),
            }
        }
        tasks.dedup();
        match (<[_; 1]>::try_from(tips), <[_; 1]>::try_from(tasks)) {
            (Ok([(name, tip)]), Ok([task])) if held.len() <= 1 && attempts.len() <= ATTEMPTS => {
                let (file, held) = (file.to_owned(), held.pop());
                Ok(Self { file, task, name, tip, held, attempts })
            }
            _ => Err(refused("it does not have the work on one criterion")),
        }
    }

    /// The criterion and its work, kept under a ref here.
    fn work(&self, at: &TaskContext) -> Result<(Option<Criterion>, Given), Failure> {
        let (repo, layout, task) = (&at.place.repo, &at.layout, at.usable()?);
        let is_its = |it: &&Criterion| layout.handed_in_ref(&criterion_name(it)) == self.name;
        let refused = |why: &str| Err(why.to_owned());
        let Some(criterion) = task.criteria.iter().find(is_its).cloned() else {
            return Ok((None, refused("TASK.md has no criterion of this name")));
        };
        let tip = self.held.as_ref().unwrap_or(&self.tip);
        for (commit, name) in [(&self.tip, STATE), (tip, TASK)] {
            let bytes = repo.held(commit, &layout.file(name))?.unwrap_or_default();
            if bytes.len() as u64 > Task::MOST_BYTES {
                return Ok((Some(criterion), refused("a file of its task is too large")));
            }
        }
        let refs = repo.refs_below(&layout.refs())?;
        let state = read_state(at)?;
        // The clone that made a bundle keeps its work under a number that was not judged yet.
        let is_old = |name: &str| {
            let number = name.strip_prefix(&format!("{}/attempts/", layout.refs()));
            number.and_then(|it| it.parse::<u32>().ok()).is_none_or(|it| it < state.attempt_refs)
        };
        let is_known = |id: &Oid| refs.iter().any(|(name, known)| known == id && is_old(name));
        if repo.reaches(tip)? || is_known(tip) {
            return Ok((Some(criterion), Ok(None)));
        }
        for earlier in &self.attempts {
            if let Err(why) = new_commits(at, earlier)? {
                return Ok((Some(criterion), Err(format!("an earlier attempt: {why}"))));
            }
        }
        let (base, commits) = match new_commits(at, tip)? {
            Ok(found) => found,
            Err(why) => return Ok((Some(criterion), Err(why))),
        };
        // What that machine's runner committed after the work stays there.
        let is_work = |it: &&CommitSeen| it.paths.iter().any(|it| !layout.is_state_file(&it.path));
        let key = &criterion.key;
        let is_proven = state.is_proven(key);
        let last = commits.iter().rfind(is_work);
        // What landed before is on the branch, without what that machine's runner committed last.
        if is_proven && last.is_none() {
            return Ok((Some(criterion), Ok(None)));
        }
        let head = last.map_or(tip, |last| &last.id).clone();
        let held = |commit: &Oid, name: &str| repo.held(commit, &layout.file(name));
        let attempts = |commit: &Oid| -> Result<u32, Failure> {
            let state = held(commit, STATE)?.unwrap_or_default();
            let state = serde_json::from_slice::<TaskState>(&state).unwrap_or_default();
            Ok(state.find(key).map_or(0, |entry| entry.attempts))
        };
        let attempts = attempts(&self.tip)?.saturating_sub(attempts(&base)?);
        let there = task::parse(layout.task(), &held(tip, TASK)?.unwrap_or_default());
        let is_ticked = task::find(&there, key).is_some_and(|it| it.checked);
        // Others have the numbers before it, even if this clone does not have their refs.
        let number = state.attempt_refs.max(1);
        for earlier in self.attempts.iter().filter(|id| !is_known(id)) {
            repo.keep_attempt(layout, number, earlier)?;
        }
        let kept = repo.keep_attempt(layout, number, tip)?;
        let (key, done) = (key.clone(), is_ticked || self.held.is_some());
        let work = ForeignWork { key, base, head, kept, done, attempts };
        Ok((Some(criterion), Ok(Some(work))))
    }
}

/// What the branch does not have of the history of a commit, and where that begins; or in words why
/// it is refused.
fn new_commits(
    at: &TaskContext,
    tip: &Oid,
) -> Result<Result<(Oid, Vec<CommitSeen>), String>, Failure> {
    let (repo, layout) = (&at.place.repo, &at.layout);
    let Some(base) = repo.fork(tip, &repo.checkpoint()?.head)? else {
        return Ok(Err("it shares no commit with the branch".to_owned()));
    };
    let commits = repo.commits((&base, tip), layout)?;
    if commits.len() >= COMMITS {
        return Ok(Err("it has too many commits".to_owned()));
    }
    let mut paths = commits.iter().flat_map(|it| &it.paths).map(|it| it.path.as_path());
    Ok(match paths.find(|it| !layout.is_state_file(it) && is_refused(it)) {
        Some(path) => Err(format!("it changes {}, which only a human may change", path.display())),
        None => Ok((base, commits)),
    })
}

/// What a ref of a bundle names.
enum Part {
    HandedIn,
    Held,
    Attempt,
}

impl Part {
    /// The folder of the task's refs, and the part.
    fn of(name: &str) -> Option<(&str, Self)> {
        let (folder, last) = name.rsplit_once('/')?;
        let (task, part) = folder.rsplit_once('/')?;
        let is_task = task.strip_prefix("refs/ralph/").is_some_and(|it| !it.contains('/'));
        let part = match part {
            "handed-in" => Self::HandedIn,
            "held" => Self::Held,
            "attempts" if last.parse::<u32>().is_ok() => Self::Attempt,
            _ => return None,
        };
        is_task.then_some((task, part))
    }
}

impl Told {
    fn refused(file: &Path, why: &str) -> Self {
        let (file, refused) = (file.to_owned(), Some(why.to_owned()));
        Self { file, criterion: None, work: None, refused }
    }
}

/// What the journal of a landing says.
#[derive(Debug, Default)]
struct LandingStory {
    /// Why work is not proven, by its number; nothing where it is.
    judged: HashMap<usize, Option<String>>,
    /// Criteria that were proven, and are not any more.
    reopened: HashMap<CriterionKey, String>,
}

impl LandingStory {
    fn of(journal: &Path) -> Result<Self, Failure> {
        let (mut heard, mut work) = (Self::default(), None);
        let hear = |event: &Event| {
            if let EventKind::IterationStarted { worker, .. } = &event.kind {
                work = *worker;
            } else if let EventKind::VerdictReached { verdict, .. } = &event.kind {
                let is_pass = matches!(verdict.result, VerdictResult::Pass(_));
                let why = verdict.findings.first().map(|it| it.message.clone());
                let why = (!is_pass).then(|| why.unwrap_or_default());
                heard.judged.extend(work.map(|work| (work, why)));
            } else if let EventKind::CriterionReopened { criterion, reason } = &event.kind {
                heard.reopened.insert(criterion.clone(), reason.clone());
            }
        };
        replay(journal, hear).map_err(unreadable)?;
        Ok(heard)
    }

    /// Why the work of this number on a criterion did not land; without one, why there was none.
    fn why(&self, state: &TaskState, key: &CriterionKey, work: Option<usize>) -> Option<String> {
        let is_proven = state.is_proven(key);
        match work.map(|work| self.judged.get(&work)) {
            Some(None) if is_proven => Some("other work on it landed first".to_owned()),
            Some(None) => Some("it was not finished there".to_owned()),
            Some(Some(Some(why))) => Some(why.clone()),
            Some(Some(None)) | None if is_proven => None,
            Some(Some(None)) => self.reopened.get(key).cloned(),
            None => Some("it was handed in before".to_owned()),
        }
    }
}
