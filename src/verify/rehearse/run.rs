//! Runs the checks three times, and each cheat through the whole verdict.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::attack::{plain, program};
use super::cheats::{Cheat, EMPTY, cheats};
use super::grep::grep;
use super::languages::Language;
use crate::model::{CheckResult, CheckWrote, Criterion, CriterionKey, Oid, Task, VerifyCommand};
use crate::shell::ShellCommand;
use crate::verify::assess::reasons;
use crate::verify::checks::{CheckOptions, Checks};
use crate::verify::classify::scan;
use crate::verify::classify::{SourceTree, Table, TreeEdit, judges};
use crate::verify::error::VerifyError;
use crate::verify::git::GitRepo;
use crate::verify::git::{TreeFiles, patch};
use crate::verify::harness_at::written_at_start;
use crate::verify::holdout::HoldOuts;
use crate::verify::layout::Layout;
use crate::verify::master::Warmth;
use crate::verify::missing::first_seen;
use crate::verify::plan::PlannedCheck;
use crate::verify::proof_room::{ProofRoom, Shown};
use crate::verify::proof_rooms::ProofRooms;
use crate::verify::proof_rules::ProofRules;
use crate::verify::prove::{globs, may_change, prove};
use crate::verify::room_lacks::{room_lacks, setup_failed};
use crate::verify::setup::RoomSetup;

/// How often each check runs at the start.
const TIMES: usize = 3;

/// The input of a rehearsal.
#[derive(Clone, Copy)]
pub struct Rehearsal<'a> {
    /// Where objects are.
    pub repo: &'a GitRepo,
    /// The task's files.
    pub layout: &'a Layout,
    /// Which paths are harness by convention.
    pub table: &'a Table,
    /// The task.
    pub task: &'a Task,
    /// The commit that a run would begin on.
    pub head: &'a Oid,
    /// The runner of checks in the working tree, if it can discard their writes.
    pub tree: Option<&'a CheckOptions>,
    /// The hold-out checks.
    pub holdout: Option<&'a HoldOuts>,
}

/// The results of a check at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RehearsedCheck {
    /// The command.
    pub command: String,
    /// Whether it was green, each time.
    pub start: Vec<bool>,
    /// How long it took, in the middle.
    pub millis: u64,
}

impl RehearsedCheck {
    /// Green once and red another time.
    pub fn is_flaky(&self) -> bool {
        self.start.contains(&true) && self.start.contains(&false)
    }
}

/// A cheat that would have been accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedCheat {
    /// The cheat.
    pub cheat: &'static str,
    /// Its changes.
    pub diff: String,
    /// A better check.
    pub instead: &'static str,
}

/// The result of a rehearsal for a criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RehearsedCriterion {
    /// The criterion.
    pub criterion: Criterion,
    /// Its checks.
    pub checks: Vec<RehearsedCheck>,
    /// The cheats that fooled them.
    pub accepted: Vec<AcceptedCheat>,
    /// Cheats that fooled them, and that hold-out checks stopped.
    pub stopped: Vec<&'static str>,
    /// The checks look for text in prose, which is weak by nature.
    pub text_only: bool,
    /// Files that decide and look like the product itself: the agent may not edit them.
    pub judge_is_subject: Vec<PathBuf>,
}

impl RehearsedCriterion {
    /// Is one of its checks green once and red another time?
    pub fn is_flaky(&self) -> bool {
        self.checks.iter().any(RehearsedCheck::is_flaky)
    }

    /// Can the checks be fooled, or not be relied on?
    pub fn is_weak(&self) -> bool {
        !self.accepted.is_empty() || self.is_flaky()
    }
}

/// The result of a rehearsal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rehearsed {
    /// The open criteria that have checks.
    pub criteria: Vec<RehearsedCriterion>,
    /// The checks of the whole task, if it has some and something is open.
    pub whole_task: Option<RehearsedCriterion>,
}

/// The checks of a criterion before any work.
struct AtStart {
    checks: Vec<RehearsedCheck>,
    /// The results of the last run.
    last: Vec<CheckResult>,
    wrote: Vec<CheckWrote>,
}

/// Receives the messages for people.
type Tell<'a> = &'a (dyn Fn(&str) + Sync);

/// Rehearses the open criteria, and the checks of the whole task. `tell` gets the next step, and
/// `note` gets possible problems of a check. `Err` in the answer has the missing part of a check or
/// the room.
///
/// # Errors
/// If git fails or a room cannot be made.
pub async fn rehearse(
    it: &Rehearsal<'_>,
    rooms: &mut ProofRooms,
    to_run: (&dyn Checks, &CheckOptions),
    tell: Tell<'_>,
) -> Result<Result<Rehearsed, String>, VerifyError> {
    let setup = RoomSetup::of(&it.task.settings);
    let start = it.repo.files(it.head, rooms.human())?;
    if let Some(failed) = rooms.set_up(it.head, &setup, &start, to_run).await? {
        return Ok(Err(setup_failed(&failed)));
    }
    let open: Vec<&Criterion> = it.task.criteria.iter().filter(|it| !it.checked).collect();
    let checked = open.iter().copied().filter(|it| !it.verify.is_empty());
    let whole = whole_task(it.task).filter(|_| !open.is_empty());
    let all: Vec<&Criterion> = checked.chain(whole.as_ref()).collect();
    let planned: Vec<PlannedCheck> = all.iter().flat_map(|it| planned(it)).collect();
    let named = (&start as &dyn SourceTree, it.table);
    if let Some(lacks) = rooms.leads_back(it.head, &planned, named, to_run).await? {
        return Ok(Err(lacks));
    }
    let (mut begun, mut broken) = (Vec::new(), Vec::new());
    for criterion in all {
        match it.begin(criterion, &setup, rooms, to_run, tell).await? {
            Ok(at_start) => begun.push((criterion, at_start)),
            Err(lacks) => broken.push(lacks),
        }
    }
    if !broken.is_empty() {
        return Ok(Err(broken.join("\n")));
    }
    let mut found = Vec::new();
    for (criterion, at_start) in begun {
        let attacked = it.attack(criterion, at_start, (&start, &setup), rooms, to_run, tell);
        match attacked.await? {
            Ok(attacked) => found.push(attacked),
            Err(broken) => return Ok(Err(broken)),
        }
    }
    let whole_task = whole.and_then(|_| found.pop());
    Ok(Ok(Rehearsed { criteria: found, whole_task }))
}

/// The checks of the whole task, as those of a criterion without a line.
fn whole_task(task: &Task) -> Option<Criterion> {
    let verify = task.settings.verify.iter();
    let verify: Vec<_> =
        verify.map(|command| VerifyCommand { command: command.clone(), line: 0 }).collect();
    (!verify.is_empty()).then(|| Criterion {
        key: CriterionKey { text: "the whole task".to_owned(), occurrence: 0 },
        verify,
        ..Criterion::default()
    })
}

fn planned(criterion: &Criterion) -> Vec<PlannedCheck> {
    let planned = criterion.verify.iter().map(|verify| PlannedCheck {
        command: verify.command.clone(),
        criteria: vec![criterion.key.clone()],
        whole_task: false,
    });
    planned.collect()
}

impl Rehearsal<'_> {
    /// Runs the checks of a criterion before any work. `Err` in the answer has those that cannot
    /// run.
    async fn begin(
        &self,
        criterion: &Criterion,
        setup: &RoomSetup,
        rooms: &mut ProofRooms,
        to_run: (&dyn Checks, &CheckOptions),
        tell: Tell<'_>,
    ) -> Result<Result<AtStart, String>, VerifyError> {
        tell(&format!("{}: {TIMES} times at the start", criterion.key.quoted()));
        let at_start = self.at_start(&planned(criterion), rooms.warm()?, to_run).await?;
        let AtStart { checks, last, .. } = &at_start;
        for check in last {
            let is_red =
                checks.iter().any(|it| it.command == check.command && !it.start.contains(&true));
            let mut lacks = None;
            if setup.commands.is_empty() {
                lacks = rooms.cannot_run(check)?;
            }
            if let Some(options) = self.tree.filter(|_| lacks.is_none() && is_red) {
                let in_tree = to_run.0.run(&check.command, options).await;
                lacks = room_lacks(check, &in_tree, rooms.warm()?.elsewhere());
            }
            if let Some(lacks) = lacks {
                let own = criterion.verify.iter().find(|it| it.command == check.command);
                let line = own.filter(|it| it.line > 0).map(|it| format!("line {}: ", it.line));
                return Ok(Err(format!("{}{lacks}", line.unwrap_or_default())));
            }
        }
        Ok(Ok(at_start))
    }

    /// Tries the cheats on the checks of a criterion.
    async fn attack(
        &self,
        criterion: &Criterion,
        AtStart { checks, last, wrote }: AtStart,
        (start, setup): (&TreeFiles, &RoomSetup),
        rooms: &mut ProofRooms,
        to_run: (&dyn Checks, &CheckOptions),
        tell: Tell<'_>,
    ) -> Result<Result<RehearsedCriterion, String>, VerifyError> {
        let text = criterion.key.quoted();
        let planned = planned(criterion);
        let commands: Vec<&str> = planned.iter().map(|check| check.command.as_str()).collect();
        let found = judges(start, self.table, &commands);
        let protect = globs(&self.task.settings.protect)?;
        let may_change = may_change(self.task, Some(&criterion.key))?;
        let is_known = |path: &Path| may_change.is_match(path) || protect.is_match(path);
        let mut rehearsed = RehearsedCriterion {
            criterion: criterion.clone(),
            checks,
            accepted: Vec::new(),
            stopped: Vec::new(),
            text_only: is_text_only(&commands),
            judge_is_subject: like_the_product(&commands, &found.files, self.table, is_known),
        };
        let first_seen = first_seen((&last, &wrote), start, self.table);
        let lines = [commands.clone(), found.lines.iter().map(String::as_str).collect()];
        let at_start = (start as &dyn SourceTree, self.table);
        let mut all = cheats(at_start, &lines, &found.files, &may_change);
        match (last.iter().all(CheckResult::passed), criterion.line) {
            // It has to notice a product that is gone.
            (true, 0) => all.retain(|cheat| cheat.name == EMPTY),
            // Any commit passes.
            (true, _) => all.truncate(1),
            (false, _) => {}
        }
        // Files that the human protects are found in another way. Files behind a link or in a
        // submodule cannot be changed by a commit either.
        let is_entry = |above: &Path| start.paths().contains_key(above);
        let is_fixed =
            |path: &Path| protect.is_match(path) || path.ancestors().skip(1).any(is_entry);
        all.retain(|cheat| !cheat.edits.iter().any(|edit| is_fixed(edit.path())));
        // A file that git ignores is made by a command: no commit has it.
        let room = rooms.warm()?;
        all.iter_mut().for_each(|cheat| cheat.edits.retain(|it| !room.ignores(it.path())));
        all.retain(|cheat| !cheat.edits.is_empty());
        let rules = ProofRules {
            repo: self.repo,
            layout: self.layout,
            table: self.table,
            harness: Some(self.head),
            began: None,
            may_change: &may_change,
            protect: &protect,
            first_seen: &first_seen,
            setup,
            deep: std::slice::from_ref(&criterion.key),
            learns: false,
            holdout: self.holdout.map(|it| (it, std::slice::from_ref(&criterion.key))),
            retries: false,
        };
        for (number, cheat) in all.iter().enumerate() {
            tell(&format!("{text}: cheat {} of {}: {}", number + 1, all.len(), cheat.name));
            let shown = Shown { commit: self.head, edits: &cheat.edits };
            let proved =
                prove((rooms, Warmth::Warm), shown, &rules, (&planned, to_run.0), to_run.1).await?;
            for ran in &proved.held_back {
                let is_there = |path: &Path| start.paths().contains_key(path);
                let broken = self.holdout.and_then(|it| it.cannot_run(ran, self.task, is_there));
                if let Some(broken) = broken {
                    return Ok(Err(broken));
                }
            }
            if proved.holdout.iter().any(|count| !count.holds()) {
                rehearsed.stopped.push(cheat.name);
            } else if reasons(&proved, &criterion.key, "").is_empty() {
                rehearsed.accepted.push(accepted(cheat, start));
                break;
            }
        }
        Ok(Ok(rehearsed))
    }

    /// Runs the checks three times; also returns their last results.
    async fn at_start(
        &self,
        planned: &[PlannedCheck],
        room: &mut ProofRoom,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<AtStart, VerifyError> {
        let mut runs = Vec::new();
        for _ in 0..TIMES {
            let shown = Shown { commit: self.head, edits: &[] };
            runs.push(room.run(shown, planned, checks, options).await?);
        }
        let found = planned.iter().enumerate().map(|(at, check)| {
            let all = runs.iter().map(|ran| &ran[at]);
            // It was green, and red at once after that.
            let flaky = |flaky: bool| flaky.then_some(true).into_iter();
            let start = all.clone().flat_map(|it| flaky(it.flaky).chain([it.result.passed()]));
            let start = start.take(TIMES).collect();
            let mut millis: Vec<u64> = all.map(|it| it.result.millis).collect();
            millis.sort_unstable();
            RehearsedCheck { command: check.command.clone(), start, millis: millis[TIMES / 2] }
        });
        let checks = found.collect();
        let last = runs.pop().unwrap_or_default();
        let wrote = written_at_start(&last);
        Ok(AtStart { checks, last: last.into_iter().map(|it| it.result).collect(), wrote })
    }
}

fn accepted(cheat: &Cheat, start: &TreeFiles) -> AcceptedCheat {
    let diffs = cheat.edits.iter().map(|edit| {
        let old = start.read(edit.path());
        let new = match edit {
            TreeEdit::Write { bytes, .. } => Some(bytes.as_slice()),
            TreeEdit::Remove { .. } => None,
        };
        patch(edit.path(), old.as_deref(), new)
    });
    AcceptedCheat { cheat: cheat.name, diff: diffs.collect(), instead: cheat.instead }
}

/// Do the checks only look for text in prose?
fn is_text_only(commands: &[&str]) -> bool {
    const PROSE: &str = "md txt rst adoc markdown html org README LICENSE CHANGELOG AUTHORS NOTICE";
    const SHOWS: &str = "cat head tail";
    const READS: &str = " grep egrep fgrep rg test [ [[ tr";
    let lists = |all: &str, name: &OsStr| all.split(' ').any(|it| name == it);
    let is_prose = |name: &String| {
        let parts = [Path::new(name).extension(), Path::new(name).file_stem()];
        parts.into_iter().flatten().any(|part| lists(PROSE, part))
    };
    let scanned: Vec<ShellCommand> = commands.iter().flat_map(|command| scan(command)).collect();
    let greps: Vec<_> = scanned.iter().filter_map(grep).collect();
    let shows = |it: &&ShellCommand| lists(SHOWS, program(it).as_ref());
    let shown = scanned.iter().filter(shows).flat_map(|it| it.words.iter().skip(1));
    let shown = shown.filter(|word| plain(word).is_some());
    !greps.is_empty()
        && greps.iter().flat_map(|grep| &grep.files).chain(shown).all(is_prose)
        && scanned.iter().all(|it| shows(&it) || lists(READS, program(it).as_ref()))
}

/// Scripts that the checks' own lines run, and whose names do not say that they check something.
fn like_the_product(
    commands: &[&str],
    judges: &BTreeSet<PathBuf>,
    table: &Table,
    is_known: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    const CHECKS: [&str; 7] = ["check", "test", "spec", "verif", "valid", "lint", "e2e"];
    let words = commands.iter().flat_map(|command| scan(command)).flat_map(|it| it.words);
    let named: BTreeSet<PathBuf> = words.filter_map(|word| plain(&word)).collect();
    let is_product = |path: &&PathBuf| {
        let name = path.to_string_lossy().to_lowercase();
        let is_check = CHECKS.iter().any(|word| name.contains(word));
        let is_code = Language::of(path, None).is_some();
        is_code && !is_check && table.role(path).is_none() && !is_known(path)
    };
    named.intersection(judges).filter(is_product).cloned().collect()
}
