//! The facts of a report, from the fold of its run and of the one before.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::events::{DenialRow, IterationRow, Rollup, RunStatus};
use crate::model::{
    CheckResult, CommitSeen, CriterionSummary, Oid, Outcome, RunSummary, Tier, VerdictResult,
};
use crate::report::format::{count, details};
use crate::report::summary::{self, standing};

/// The facts of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Night {
    /// The task.
    pub task: String,
    /// The run.
    pub run: String,
    /// The branch that it worked on.
    pub branch: String,
    /// The commit on which it began.
    pub start: String,
    /// The agent's command.
    pub agent: String,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The kernel's limits on the agent's commands.
    pub sandbox: Tier,
    /// When it began.
    pub began: DateTime<Utc>,
    /// When it ended, or was last heard of.
    pub ended: DateTime<Utc>,
    /// `ended`, `running`, `waiting`, or `died`.
    pub status: RunStatus,
    /// Why it ended, in words.
    pub outcome: String,
    /// The lines of that which follow the first.
    pub details: Vec<String>,
    /// A later run that did nothing, and why the task's newest run is not the one reported.
    pub later: Option<String>,
    /// Where its work is, if the current branch does not have it.
    pub elsewhere: Option<String>,
    /// Its exit code; none if it has not ended.
    pub exit_code: Option<u8>,
    /// How many criteria are proven, stuck, and so on, in words.
    pub counted: String,
    /// This run against the one before it; none if it is the task's first.
    pub changes: Option<Changes>,
    /// The criteria: those that wait for a human first.
    pub criteria: Vec<NightCriterion>,
    /// The iterations.
    pub iterations: Vec<IterationRow>,
    /// The guard's denials by rule.
    pub denials: Vec<DenialRow>,
    /// What it cost, in words.
    pub cost: String,
    /// The last commit of work that passed.
    pub head: Option<Oid>,
    /// The size of that work, in words.
    pub work: Option<String>,
    /// What was learned on its criteria.
    pub lessons: Vec<String>,
    /// What nothing has checked.
    pub unchecked: Vec<String>,
    /// What the run said besides.
    pub notices: Vec<String>,
    /// What to do next.
    pub next: Vec<String>,
}

/// A criterion in a report.
#[derive(Clone, Debug, Serialize)]
pub struct NightCriterion {
    /// Its text.
    pub text: String,
    /// Its 1-based line in TASK.md.
    pub line: usize,
    /// Whether its box is ticked.
    pub checked: bool,
    /// `proven`, `proven in the tree`, `committed`, `accepted`, `held`, `stuck`, `skipped`, `open`, or
    /// `ticked` without a proof.
    pub standing: &'static str,
    /// The same, with what there is to say about it.
    pub said: String,
    /// Failed attempts, of all runs.
    pub failed_attempts: u32,
    /// Why it is not done, or what its last verdict found.
    pub reason: Option<String>,
    /// What a human can do about it.
    pub next: Option<String>,
    /// The ref that keeps its work for review.
    pub held: Option<String>,
    /// The commits that its last verdict was about.
    pub commits: Vec<CommitSeen>,
    /// The checks of that verdict.
    pub checks: Vec<CheckResult>,
}

impl NightCriterion {
    /// Its standing in words, if they say more than the word for it.
    pub(super) fn more_said(&self) -> Option<&String> {
        Some(&self.said)
            .filter(|said| ![self.standing, "proven by its check"].contains(&said.as_str()))
    }

    /// Why it is not done, unless its standing says that.
    pub fn why(&self) -> Option<&String> {
        self.reason.as_ref().filter(|why| !self.said.contains(why.trim_end_matches('.')))
    }
}

/// A run against the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The run before.
    pub since: String,
    /// Did that run end by itself?
    pub ended: bool,
    /// Criteria that are done now, and were not.
    pub newly_done: Vec<String>,
    /// Criteria that were done, and are not any more.
    pub red_again: Vec<String>,
    /// Criteria that were stuck or held, and still are.
    pub still_stuck: Vec<String>,
}

impl Night {
    /// The report of a run, given the one before it. `now` are the standings of the task's criteria
    /// now; empty if those of the run's end are to be told.
    pub fn new(
        run: &Rollup,
        before: Option<&Rollup>,
        status: RunStatus,
        now: Vec<CriterionSummary>,
    ) -> Option<Self> {
        let view = &run.view;
        let start = view.start.as_ref()?;
        let end = view.end.as_ref();
        let at_end = summary_of(run);
        let last = view.last_event.map(|(_, at)| at);
        let mut summary = at_end;
        if !now.is_empty() {
            summary.criteria = now;
        }
        let changes = before.and_then(|before| changes(&summary, before));
        let criteria = criteria(&summary.criteria, run);
        let branch = &start.checkpoint.branch;
        let passed = |row: &&IterationRow| matches!(row.result, Some(VerdictResult::Pass(_)));
        let mut work = run.iterations.iter().rev().filter(passed);
        Some(Self {
            task: start.task.clone(),
            run: start.run.as_str().to_owned(),
            branch: branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned(),
            start: start.checkpoint.head.short().to_owned(),
            agent: start.agent.clone(),
            model: start.model.clone(),
            sandbox: run.sandbox,
            began: start.at,
            ended: end.map(|end| end.at).or(last).unwrap_or(start.at),
            status,
            outcome: outcome(run, status, &summary.criteria),
            details: end
                .map(|end| details(&end.outcome).map(str::to_owned).collect())
                .unwrap_or_default(),
            later: None,
            elsewhere: None,
            exit_code: end.map(|end| end.exit_code),
            counted: summary::counted(&summary.criteria),
            changes,
            unchecked: unchecked(run, &criteria),
            criteria,
            iterations: run.iterations.clone(),
            denials: run.denials.clone(),
            cost: summary::cost(&summary),
            head: work.find_map(|row| row.commits.last()).map(|commit| commit.id.clone()),
            work: None,
            lessons: Vec::new(),
            notices: run.notices.iter().chain(&run.damage).cloned().collect(),
            next: summary.next,
        })
    }
}

impl Night {
    /// The exit code, or what the run is at.
    pub(super) fn standing(&self) -> String {
        match (self.status, self.exit_code) {
            (RunStatus::Ended, Some(code)) => format!("exit code {code}"),
            (RunStatus::Ended | RunStatus::Running, _) => "running".to_owned(),
            (RunStatus::Waiting, _) => "waiting".to_owned(),
            (RunStatus::Died, _) => "died".to_owned(),
        }
    }

    /// Its criteria, cost, and the size of its work.
    pub(super) fn numbers(&self) -> String {
        let work = self.work.iter().map(|work| format!("; {work}")).collect::<String>();
        format!("{}; {}{work}", self.counted, self.cost)
    }

    /// What there is to say besides of the run as a whole.
    pub(super) fn besides(&self) -> impl Iterator<Item = &String> {
        self.details.iter().chain(&self.elsewhere).chain(&self.later)
    }
}

/// Why a run ended, or that it did not, and what a human changed since.
fn outcome(run: &Rollup, status: RunStatus, now: &[CriterionSummary]) -> String {
    let Some(end) = &run.view.end else {
        return match status {
            RunStatus::Died => "It died before it could say why.".to_owned(),
            RunStatus::Ended | RunStatus::Running | RunStatus::Waiting => {
                "It is still at work.".to_owned()
            }
        };
    };
    let stopped = matches!(
        end.outcome,
        Outcome::Landed { .. }
            | Outcome::LimitReached { .. }
            | Outcome::Stuck { .. }
            | Outcome::Interrupted { .. }
    );
    if stopped && all_done(now) && !all_done(&end.summary.criteria) {
        return format!("Done since: {}", summary::standings(now));
    }
    let ended = summary::ended(&end.outcome, &end.summary);
    let (then, now) = (summary::standings(&end.summary.criteria), summary::standings(now));
    if stopped && then != now {
        return format!("{} Changed since: {now}", ended.trim_end_matches('.').to_owned() + ".");
    }
    ended
}

/// Is nothing left to do?
fn all_done(criteria: &[CriterionSummary]) -> bool {
    !criteria.is_empty() && criteria.iter().all(|it| it.checked && it.proof.is_some())
}

/// The criteria of a report, those that wait for a human first.
pub fn criteria(standings: &[CriterionSummary], run: &Rollup) -> Vec<NightCriterion> {
    let mut criteria: Vec<_> = standings.iter().map(|it| criterion(it, run)).collect();
    criteria.sort_by_key(|it| match it.standing {
        "held" => 0,
        "stuck" | "blocked" => 1,
        "skipped" => 2,
        "ticked" => 3,
        "open" if it.failed_attempts > 0 => 4,
        "open" => 5,
        _ => 6,
    });
    criteria
}

/// The end of the run, or where it stands.
fn summary_of(run: &Rollup) -> RunSummary {
    if let Some(end) = &run.view.end {
        return end.summary.clone();
    }
    let known = run.view.criteria.iter().map(|it| CriterionSummary {
        key: it.key.clone(),
        line: it.line.unwrap_or_default(),
        checked: it.proof.is_some(),
        blocked: it.blocked,
        blocked_by: None,
        held: None,
        skipped: false,
        reason: it.finding.clone(),
        proof: it.proof,
        attempts: it.failed,
    });
    let (counters, start) = (&run.view.counters, run.view.start.as_ref());
    let last = run.view.last_event.map(|(_, at)| at);
    let millis = start.zip(last).map(|(start, last)| (last - start.at).num_milliseconds());
    RunSummary {
        criteria: known.collect(),
        iterations: run.view.iterations,
        millis: millis.and_then(|it| u64::try_from(it).ok()).unwrap_or_default(),
        premium_requests: counters.premium_requests,
        tokens: counters.tokens,
        unasked: false,
        cached: counters.cached,
        credits: counters.credits,
        next: Vec::new(),
    }
}

fn criterion(it: &CriterionSummary, run: &Rollup) -> NightCriterion {
    let last = run.iterations.iter().rev().find(|row| row.criterion == it.key);
    let known = run.view.criteria.iter().find(|known| known.key == it.key);
    let found = known.and_then(|known| known.finding.clone());
    let standing = word(it);
    let is_done = matches!(standing, "proven" | "committed" | "accepted");
    NightCriterion {
        text: it.key.text.clone(),
        line: it.line,
        checked: it.checked,
        standing,
        said: match it.attempts {
            0 => standing.to_owned(),
            some => format!("{standing}, {}", count(some.into(), "failed attempt")),
        },
        failed_attempts: it.attempts,
        reason: it.blocked_by.clone().or_else(|| it.reason.clone()).or(found.filter(|_| !is_done)),
        next: None,
        held: it.held.clone(),
        commits: last.map(|row| row.commits.clone()).unwrap_or_default(),
        checks: last.map(|row| row.checks.clone()).unwrap_or_default(),
    }
}

fn word(it: &CriterionSummary) -> &'static str {
    match standing(it).1 {
        "check" => "proven",
        "tree" => "proven in the tree",
        "none" => "ticked",
        other => other,
    }
}

fn changes(now: &RunSummary, before: &Rollup) -> Option<Changes> {
    let then = summary_of(before);
    let is_done = |it: &CriterionSummary| it.checked && it.proof.is_some();
    let waits = |it: &CriterionSummary| it.blocked || it.blocked_by.is_some() || it.held.is_some();
    let both = |is: &dyn Fn(&CriterionSummary, Option<&CriterionSummary>) -> bool| {
        let pairs = now
            .criteria
            .iter()
            .filter(|it| is(it, then.criteria.iter().find(|earlier| earlier.key == it.key)));
        pairs.map(|it| it.key.text.clone()).collect()
    };
    Some(Changes {
        since: before.view.start.as_ref()?.run.as_str().to_owned(),
        ended: before.view.end.is_some(),
        newly_done: both(&|now, then| is_done(now) && !then.is_some_and(is_done)),
        red_again: both(&|now, then| !is_done(now) && then.is_some_and(is_done)),
        still_stuck: both(&|now, then| waits(now) && then.is_some_and(waits)),
    })
}

/// What no check has confirmed. The report says so, because silence would look like proof.
fn unchecked(run: &Rollup, criteria: &[NightCriterion]) -> Vec<String> {
    let count = |standing: &str| criteria.iter().filter(|it| it.standing == standing).count();
    let mut said = Vec::new();
    let mut say = |number: usize, what: &str| {
        if number > 0 {
            said.push(format!("{number} of {} criteria {what}", criteria.len()));
        }
    };
    say(count("committed"), "rest on a commit alone: no check was red before it");
    say(count("accepted"), "were accepted by a human, against the verdict");
    say(count("ticked"), "are ticked, and nothing proves them");
    say(count("proven in the tree"), "passed in the working tree only, with the agent's own tests");
    if !run.sandbox.is_sandboxed() {
        said.push("No sandbox confined the agent's commands: only the guard decided".to_owned());
    }
    if run.view.end.is_none() {
        said.push("The proof at the end of the run was not made".to_owned());
    }
    said
}
