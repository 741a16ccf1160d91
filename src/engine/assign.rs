//! What a run does with its workers: it starts them, gives them criteria, takes what they hand in, and
//! ends them.
//!
//! Invariant: what a worker hands in is kept under a ref before anything else happens to it. A worker
//! that dies takes nothing with it but its turn, and its tree is used again.

use std::path::Path;
use std::sync::Arc;

use tokio::time::{Duration, Instant, timeout};

use super::EngineError;
use super::crew::{AtWork, Delivery, Earlier, FromProcess, Heard, Process, Seat};
use super::decide::open_criteria;
use super::ledger::{Ledger, LedgerParts};
use super::lessons::LESSONS;
use super::run::Run;
use super::wire::Assignment;
use crate::model::{
    Criterion, CriterionKey, EventKind, Finding, FindingKind, HeldWork, Oid, PathChange,
    Record as _, Task, TaskState, Weight,
};
use crate::sys::{Durability, FileMode, atomic};
use crate::verify::{VerifyError, WorkerTree, clashes, save_work};

/// How often in a row a worker may die at one criterion.
const DEATHS: u32 = 3;
/// How long workers have to hand in what they did when the run is ended.
const LAST_WORDS: Duration = Duration::from_secs(4);

impl Run {
    /// Makes the workers' trees and starts their processes, so that all can begin at once.
    pub(super) async fn hire(&mut self, task: &Task) -> Result<(), EngineError> {
        let open = open_criteria(task, &self.ledger.state).filter(|it| it.recipe.is_none()).count();
        let hooks = self.ledger.parts.repo.commit_hooks()?;
        let head = self.ledger.parts.repo.checkpoint()?.head;
        let most = self.workers.as_ref().map_or(0, |it| it.jobs.most.get()).min(open);
        for number in 1..=most {
            let Some(rooms) = &mut self.ledger.rooms else { break };
            let mut tree = rooms.worker_tree(number, hooks.clone())?;
            let checks = Arc::clone(&self.ledger.parts.checks);
            let options = self.ledger.check_options(self.ledger.parts.repo.root());
            tree.begin(&head, (checks.as_ref(), &options)).await?;
            if number == 1 {
                self.ledger.notice(&disk(most, tree.disk_use()))?;
            }
            let process = Some(self.start_worker(number, &tree)?);
            let Some(workers) = &mut self.workers else { break };
            let fresh = Some(head.clone());
            workers.seats.push(Seat { tree, process, work: None, fresh });
        }
        Ok(())
    }

    fn start_worker(&mut self, number: usize, tree: &WorkerTree) -> Result<Process, EngineError> {
        let Some(workers) = &mut self.workers else {
            return Err(EngineError::Worker { number, how: "it cannot be started".to_owned() });
        };
        let keeps = (Arc::clone(&self.ledger.parts.repo), self.ledger.parts.layout.clone());
        let (work, events) = (tree.work().to_owned(), Arc::clone(&self.ledger.parts.events));
        let (process, reports) = workers.reports_of(number, work, keeps, events);
        Ok(Process { number: process, link: (workers.jobs.hire)(number, tree, reports)? })
    }

    /// Gives a criterion to a worker without work.
    pub(super) async fn assign(&mut self, criterion: &Criterion) -> Result<(), EngineError> {
        self.ledger.follow_human()?;
        self.ledger.ready()?;
        let key = criterion.key.clone();
        let base = self.ledger.parts.repo.checkpoint()?.head;
        let mut state = self.ledger.state.clone();
        let begin = self.ledger.beginning(criterion)?;
        if let Some(worked) = begin.as_ref().filter(|(_, worked)| *worked) {
            state.entry(&key).worked = Some(worked.0.clone());
        }
        let begin = begin.map_or_else(|| base.clone(), |(commit, _)| commit);
        let Some(workers) = &self.workers else { return Ok(()) };
        let free = workers.seats.iter().position(|seat| seat.work.is_none());
        let Some(at) = free else { return Ok(()) };
        let number = workers.seats[at].tree.number();
        self.ledger.parts.events.record(EventKind::WorkerStarted {
            worker: number,
            attempt: self.ledger.next_attempt(&key),
            criterion: key.clone(),
            line: criterion.line,
        })?;
        let Some(workers) = &mut self.workers else { return Ok(()) };
        let mut seat = workers.seats.remove(at);
        let given = self.give((number, &mut seat), &key, (&base, &begin), state).await;
        if let Some(workers) = &mut self.workers {
            workers.seats.insert(at, seat);
        }
        given
    }

    async fn give(
        &mut self,
        (number, seat): (usize, &mut Seat),
        key: &CriterionKey,
        (base, begin): (&Oid, &Oid),
        state: TaskState,
    ) -> Result<(), EngineError> {
        let checks = Arc::clone(&self.ledger.parts.checks);
        let options = self.ledger.check_options(self.ledger.parts.repo.root());
        if seat.fresh.take().as_ref() != Some(begin) {
            let begun = seat.tree.begin(begin, (checks.as_ref(), &options)).await;
            if let (Err(error), Some(rooms)) = (begun, &mut self.ledger.rooms) {
                // An agent can break its tree.
                tracing::warn!(%error, number, "the tree of a worker is made anew");
                if let Some(process) = seat.process.take() {
                    process.link.end().await;
                }
                seat.tree = rooms.worker_tree(number, self.ledger.parts.repo.commit_hooks()?)?;
                seat.tree.begin(begin, (checks.as_ref(), &options)).await?;
            }
        }
        self.ledger.lay_leftovers(seat.tree.work(), key, begin)?;
        let root = self.ledger.parts.repo.root();
        // A human may be editing TASK.md, and lessons are ignored by git.
        let files = self.ledger.parts.layout.state_files();
        for path in files.iter().map(|it| it.as_path()).chain([LESSONS.as_ref()]) {
            let to = seat.tree.work().join(path);
            let bytes = std::fs::read(root.join(path)).ok();
            let is_new = |it: &Vec<u8>| std::fs::read(&to).ok().as_ref() != Some(it);
            // An agent may have left a link there.
            if let Some(bytes) = bytes.filter(is_new).filter(|_| lies_in(seat.tree.work(), &to)) {
                atomic::write(&to, &bytes, Durability::Process, FileMode::Umask)?;
            }
        }
        let mut feedback = self.ledger.feedback.get(key).cloned().unwrap_or_default();
        feedback.extend(self.foreseen(key));
        let left = self.ledger.deadline().map(|end| end.duration_since(Instant::now()).as_secs());
        let [tokens, credits] = self.ledger.left();
        let order = Assignment {
            criterion: key.clone(),
            attempt: self.ledger.next_attempt(key),
            iteration: self.ledger.state.iteration.saturating_add(1),
            base: base.clone(),
            state,
            feedback,
            baseline: self.ledger.baseline.before(),
            commit_hooks: self.ledger.commit_hooks.clone(),
            commit_prefix: self.ledger.parts.layout.commit_prefix().to_owned(),
            seconds: left,
            tokens,
            credits,
        };
        let mut process = match seat.process.take() {
            Some(process) => process,
            None => self.start_worker(number, &seat.tree)?,
        };
        // One that is gone reports its end.
        if let Err(error) = process.link.give(&order).await {
            tracing::debug!(%error, number, "a worker is gone");
        }
        seat.process = Some(process);
        let (key, base, begun) = (key.clone(), base.clone(), Instant::now());
        seat.work = Some(AtWork { key, base, begun, events: Vec::new(), waiting: false });
        Ok(())
    }

    /// The files in which the earlier work on a criterion conflicts with work that is not on the
    /// branch yet.
    fn foreseen(&self, key: &CriterionKey) -> Vec<Finding> {
        let Some(workers) = &self.workers else { return Vec::new() };
        let Some(earlier) = self.ledger.attempts.get(key) else { return Vec::new() };
        let earlier = (&earlier.base, &earlier.commit);
        let at_work = workers.seats.iter().filter_map(|seat| {
            let AtWork { key, base, .. } = seat.work.as_ref()?;
            Some((key, seat.tree.work(), (base, None)))
        });
        let put_off = workers.put_off.iter().map(|(delivery, _)| delivery);
        let to_land =
            workers.queue.iter().chain(put_off).map(|it| {
                (&it.key, self.ledger.parts.repo.root(), (&it.base, Some(&it.work.kept)))
            });
        let told = at_work.chain(to_land).filter_map(|(with, root, work)| {
            let found = clashes(root, work, earlier, &self.ledger.parts.layout);
            let paths = found.inspect_err(|error| tracing::debug!(%error, "not compared"));
            let message = format!(
                "Work on {} is under way that changes the same places of {}. What lands second has \
                 to be done again, so change no more there than the criterion needs.",
                with.quoted(),
                paths.ok().flatten()?
            );
            Some(Finding { kind: FindingKind::Clash, weight: Weight::Unclear, message })
        });
        told.collect()
    }

    /// Takes the reports that are there.
    pub(super) async fn take_reports(&mut self) -> Result<(), EngineError> {
        while let Some(Ok(report)) = self.workers.as_mut().map(|workers| workers.reports.try_recv())
        {
            self.take(report).await?;
        }
        Ok(())
    }

    /// Waits for a report or a signal.
    pub(super) async fn wait_for_workers(&mut self) -> Result<(), EngineError> {
        let stop = self.ledger.parts.stop.token().clone();
        let Some(workers) = &mut self.workers else { return Ok(()) };
        let report = tokio::select! {
            biased;
            report = workers.reports.recv() => report,
            () = stop.cancelled() => None,
        };
        match report {
            Some(report) => self.take(report).await,
            None => Ok(()),
        }
    }

    async fn take(
        &mut self,
        FromProcess { process, heard }: FromProcess,
    ) -> Result<(), EngineError> {
        let Some(workers) = &mut self.workers else { return Ok(()) };
        let is_its =
            |seat: &&mut Seat| seat.process.as_ref().is_some_and(|it| it.number == process);
        // Of one that was ended, nothing counts any more.
        let Some(seat) = workers.seats.iter_mut().find(is_its) else { return Ok(()) };
        let worker = seat.tree.number();
        match heard {
            Heard::Event(kind) => {
                let Some(work) = &mut seat.work else { return Ok(()) };
                work.waiting = matches!(*kind, EventKind::Waiting { .. });
                match *kind {
                    // Whoever looks wants to know of it now.
                    EventKind::Waiting { until, reason, fault, .. } => {
                        let worker = Some(worker);
                        let waits = EventKind::Waiting { until, reason, fault, worker };
                        self.ledger.parts.events.record(waits)?;
                    }
                    EventKind::Activity { .. } => {}
                    kind => work.events.push(kind),
                }
            }
            Heard::Work(work, kept) => {
                let Some(at) = seat.work.take() else { return Ok(()) };
                workers.deaths.remove(&at.key);
                workers.answered = true;
                let next = kept.as_ref().map_or(0, |saved| saved.number.saturating_add(1));
                self.ledger.state.attempt_refs = self.ledger.state.attempt_refs.max(next);
                let AtWork { key, base, events, .. } = at;
                let (work, counted, from_afar) = (*work, false, false);
                let delivery =
                    Delivery { worker, key, base, events, kept, from_afar, counted, work };
                workers.queue.push(delivery);
            }
            Heard::Obsolete => seat.work = None,
            Heard::CannotGoOn(reason) => {
                tracing::warn!(worker, reason, "a worker cannot go on");
                if let Some(process) = &mut seat.process {
                    process.link.dismiss();
                }
            }
            Heard::Gone(how) => self.lost(worker, &how).await?,
        }
        Ok(())
    }

    /// A worker's process is gone. Its criterion waits for another attempt, unless workers die at
    /// it again and again.
    async fn lost(&mut self, number: usize, how: &str) -> Result<(), EngineError> {
        let Some(workers) = &mut self.workers else { return Ok(()) };
        let Some(seat) = workers.seats.iter_mut().find(|it| it.tree.number() == number) else {
            return Ok(());
        };
        let (process, work) = (seat.process.take(), seat.work.take());
        if let Some(process) = process {
            process.link.end().await;
        }
        let Some(work) = work.filter(|_| self.ledger.parts.stop.signal().is_none()) else {
            return Ok(());
        };
        let deaths = workers.deaths.entry(work.key.clone()).or_default();
        *deaths += 1;
        let died = *deaths;
        if died >= DEATHS && !workers.answered {
            // No criterion is to blame.
            return Err(EngineError::Worker { number, how: how.to_owned() });
        }
        let LedgerParts { layout, preflight, .. } = &self.ledger.parts;
        let message = format!("{}[{}] - an attempt", layout.prefix(), work.key.text);
        let saved = save_work(&seat.tree, layout, &message, &preflight.human);
        let saved = saved.inspect_err(|error| tracing::warn!(%error, "only commits are kept"));
        let left = saved.ok().or_else(|| seat.tree.head());
        let left = left.map(|commit| (seat.tree.work().to_owned(), commit));
        let mut kept = None;
        if let Some((from, commit)) = left.filter(|(_, commit)| *commit != work.base) {
            let number = self.ledger.state.attempt_refs.max(1);
            let of = (&commit, &work.base);
            if let Ok(saved) =
                self.ledger.parts.repo.import(&from, of, &self.ledger.parts.layout, number)
            {
                self.ledger.state.attempt_refs = saved.number.saturating_add(1);
                kept = Some(saved.name);
            }
        }
        let what = work.key.quoted();
        let seconds = work.begun.elapsed().as_secs();
        let saved = kept.as_ref().map(|it| format!("; what it had done is kept in {it}"));
        let saved = saved.unwrap_or_default();
        self.ledger
            .notice(&format!("worker {number} died at {what} after {seconds} s: {how}{saved}"))?;
        self.ledger.record_lost(number, &work)?;
        if died < DEATHS {
            return Ok(());
        }
        let why = format!("workers died {died} times in a row; the last: {how}");
        let outcome =
            self.ledger.block_criterion(&work.key, self.ledger.state.iteration, &why, kept)?;
        self.ledger.commit_state()?;
        if let (Some(workers), Some(outcome)) = (&mut self.workers, outcome) {
            workers.ending.get_or_insert(outcome);
        }
        Ok(())
    }

    /// Ends the workers. After a signal, each is asked for what it has first.
    pub(super) async fn dismiss_workers(&mut self) -> Result<(), EngineError> {
        let Some(workers) = &mut self.workers else { return Ok(()) };
        for process in workers.seats.iter_mut().filter_map(|seat| seat.process.as_mut()) {
            process.link.dismiss();
        }
        let until = Instant::now() + LAST_WORDS;
        let mut heard = Ok(());
        loop {
            let Some(workers) = &mut self.workers else { return Ok(()) };
            if workers.seats.iter().all(|seat| seat.work.is_none()) {
                break;
            }
            let Ok(Some(report)) =
                timeout(until.duration_since(Instant::now()), workers.reports.recv()).await
            else {
                break;
            };
            // The others are heard, too.
            heard = heard.and(self.take(report).await);
        }
        let Some(workers) = &mut self.workers else { return Ok(()) };
        let processes = workers.seats.iter_mut().filter_map(|seat| seat.process.take());
        futures::future::join_all(processes.map(|process| process.link.end())).await;
        let put_off = workers.put_off.drain(..).map(|(delivery, _)| delivery);
        let left: Vec<Delivery> =
            std::mem::take(&mut workers.queue).into_iter().chain(put_off).collect();
        left.iter().try_for_each(|delivery| self.ledger.tell_kept(delivery, "unfinished"))?;
        heard
    }
}

impl Ledger {
    /// The commit on which the next attempt begins, with the work of the last one, if that fits;
    /// and whether that counts as work.
    fn beginning(&self, criterion: &Criterion) -> Result<Option<(Oid, bool)>, EngineError> {
        let earlier = self.attempts.get(&criterion.key).cloned();
        let Some(Earlier { base: since, commit, worked, .. }) = earlier else { return Ok(None) };
        if commit == since || !self.parts.repo.reaches(&since)? {
            return Ok(None);
        }
        let (name, reason) = (String::new(), String::new());
        let held = HeldWork { name, commit, base: since, reason };
        match self.parts.repo.merged(&held, criterion.line, &self.parts.layout) {
            Ok(commit) => Ok(Some((commit, worked))),
            Err(VerifyError::Conflicts { .. } | VerifyError::NotFetched { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what the last attempt left uncommitted into a tree, where it fits: committed by nobody,
    /// as it was.
    fn lay_leftovers(
        &self,
        tree: &Path,
        key: &CriterionKey,
        begin: &Oid,
    ) -> Result<(), EngineError> {
        let earlier = self.attempts.get(key);
        let Some(Earlier { commit, kept, .. }) = earlier else { return Ok(()) };
        let repo = self.parts.repo.as_ref();
        for PathChange { path, .. } in repo.between(commit, kept)? {
            let to = tree.join(&path);
            let fits = repo.held(begin, &path)? == repo.held(commit, &path)?;
            if !fits || self.parts.layout.is_state_file(&path) || !lies_in(tree, &to) {
                continue;
            }
            match repo.held(kept, &path)? {
                Some(bytes) => atomic::write(&to, &bytes, Durability::Process, FileMode::Umask)?,
                None => drop(std::fs::remove_file(&to)),
            }
        }
        Ok(())
    }
}

/// What so many trees of this size take.
fn disk(workers: usize, each: u64) -> String {
    let size = |bytes: u64| match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
    };
    if workers == 1 {
        return format!("1 worker; its tree takes about {}", size(each));
    }
    let all = size(each.saturating_mul(workers as u64));
    format!("{workers} workers; their trees take about {all} ({workers} × {})", size(each))
}

/// Is a path to be written in this tree, and not where a link leads? Makes its folder.
fn lies_in(tree: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
    let real = above.and_then(|above| above.canonicalize().ok());
    let is_inside =
        tree.canonicalize().is_ok_and(|tree| real.is_some_and(|it| it.starts_with(tree)));
    is_inside && path.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok())
}

#[cfg(test)]
mod tests {
    use super::disk;

    #[test]
    fn the_disk_space_of_workers_is_told_as_people_say_it() {
        let all = "3 workers; their trees take about 1.2 GB (3 × 400 MB)";
        assert_eq!(disk(3, 400_000_000), all);
        assert_eq!(disk(2, 36_864), "2 workers; their trees take about 74 kB (2 × 37 kB)");
        assert_eq!(disk(1, 2_345_678_901), "1 worker; its tree takes about 2.3 GB");
    }
}
