//! The next step of a run, and the consequence of a verdict. Pure functions over the task, its
//! state, the use so far and the limits.

use std::time::Duration;

use super::order::is_ready;
use crate::model::{
    Credits, Criterion, CriterionKey, CriterionState, FindingKind, Limit, OnStuck, Outcome, Task,
    TaskState, Usage, Verdict, VerdictResult, Weight,
};

/// Inconclusive verdicts in a row that end a run.
pub(super) const UNCLEAR: u32 = 3;

/// Criteria in a row of which the agent says that they cannot be met: these end a run.
const BLOCKED: u32 = 3;

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations.
    pub iterations: u32,
    /// Wall time.
    pub duration: Option<Duration>,
    /// Premium requests.
    pub premium_requests: Option<u32>,
    /// Tokens, if the agent reports them.
    pub tokens: Option<u64>,
    /// Thousandths of an AI credit.
    pub credits: Option<u64>,
    /// Attempts on one criterion.
    pub attempts: u32,
    /// The consequence for a criterion without attempts left.
    pub on_stuck: OnStuck,
    /// The consequence of a failure of unknown cause.
    pub on_fatal: OnFatal,
}

/// The consequence of a failure of unknown cause, such as an answer 400 of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFatal {
    /// The run ends.
    #[default]
    EndRun,
    /// The criterion counts as stuck.
    FailCriterion,
}

/// The use of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Iterations that counted.
    pub iterations: u32,
    /// Wall time.
    pub duration: Duration,
    /// Premium requests.
    pub premium_requests: u32,
    /// Tokens and credits, if the agent reported them.
    pub usage: Option<Usage>,
    /// What an iteration takes, by the median so far.
    pub typical: Typical,
    /// Inconclusive verdicts in a row on the criterion at hand.
    pub unclear: u32,
    /// Verdicts in a row that were `blocked`.
    pub blocked: u32,
}

/// What an iteration takes; nothing as long as too few have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Typical {
    duration: Duration,
    tokens: u64,
    credits: u64,
}

/// Iterations that a median needs.
const ENOUGH: usize = 3;

impl Typical {
    /// The medians of what the iterations took.
    pub(super) fn of(costs: &[(Duration, Usage)]) -> Self {
        fn median<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
            let mut values: Vec<T> = values.collect();
            values.sort_unstable();
            values.get(values.len().saturating_sub(1) / 2).copied()
        }
        if costs.len() < ENOUGH {
            return Self::default();
        }
        let usage = || costs.iter().map(|(_, usage)| usage);
        Self {
            duration: median(costs.iter().map(|(took, _)| *took)).unwrap_or_default(),
            tokens: median(usage().map(|it| it.total)).unwrap_or_default(),
            credits: median(usage().map(|it| Credits::counted(it.credits))).unwrap_or_default(),
        }
    }
}

/// The next step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep<'a> {
    /// Work on this criterion.
    Work(&'a Criterion),
    /// Nothing is left to work on: prove the ticked criteria.
    Prove,
    /// End the run.
    Stop(Outcome),
}

/// Chooses the next step.
pub fn next<'a>(task: &'a Task, state: &TaskState, spent: &Spent, limits: &Limits) -> NextStep<'a> {
    let Some(criterion) = next_ready(task, state) else { return NextStep::Prove };
    match too_near(spent, limits) {
        Some(limit) => NextStep::Stop(Outcome::LimitReached { limit }),
        None => NextStep::Work(criterion),
    }
}

/// The first open criterion that waits for nothing.
pub fn next_ready<'a>(task: &'a Task, state: &TaskState) -> Option<&'a Criterion> {
    ready(task, state).next()
}

/// The open criteria that wait for nothing, in the order of the file.
pub fn ready<'a>(task: &'a Task, state: &TaskState) -> impl Iterator<Item = &'a Criterion> {
    open_criteria(task, state).filter(|it| is_ready(it, task, state))
}

/// The next step of a run that works on one criterion alone.
pub(super) fn next_only<'a>(
    only: &CriterionKey,
    task: &'a Task,
    state: &TaskState,
    (spent, limits): (&Spent, &Limits),
) -> NextStep<'a> {
    if let Some(criterion) = ready(task, state).find(|it| it.key == *only) {
        return match too_near(spent, limits) {
            Some(limit) => NextStep::Stop(Outcome::LimitReached { limit }),
            None => NextStep::Work(criterion),
        };
    }
    let is_proven =
        task.criteria.iter().any(|it| it.key == *only && it.checked) && state.is_proven(only);
    NextStep::Stop(match is_proven {
        true => Outcome::Proven,
        false => Outcome::Stuck { reason: format!("{} is not proven.", only.quoted()) },
    })
}

/// The criteria that are left to work on: unchecked, and not waiting for a human.
pub(super) fn open_criteria<'a>(
    task: &'a Task,
    state: &TaskState,
) -> impl Iterator<Item = &'a Criterion> {
    task.criteria.iter().filter(|criterion| {
        !criterion.checked && !state.find(&criterion.key).is_some_and(CriterionState::waits)
    })
}

/// The criteria that are ticked although no proof is recorded.
pub fn ticked_without_proof<'a>(
    task: &'a Task,
    state: &TaskState,
) -> impl Iterator<Item = &'a Criterion> {
    task.criteria.iter().filter(|criterion| {
        criterion.checked && state.find(&criterion.key).is_none_or(|entry| entry.proof.is_none())
    })
}

/// The limit that is used up, or that a usual iteration would exceed, if there is one.
pub(super) fn too_near(spent: &Spent, limits: &Limits) -> Option<Limit> {
    let (usage, typical) = (spent.usage.unwrap_or_default(), spent.typical);
    let exceeds = |spent: u64, more: u64, limit: Option<u64>| {
        limit.is_some_and(|limit| spent.saturating_add(more) > limit)
    };
    let duration = limits.duration.filter(|limit| spent.duration + typical.duration > *limit);
    reached(spent, limits)
        .or(duration.map(|_| Limit::Duration))
        .or(exceeds(usage.total, typical.tokens, limits.tokens).then_some(Limit::Tokens))
        .or(exceeds(Credits::counted(usage.credits), typical.credits, limits.credits)
            .then_some(Limit::AiCredits))
}

/// The limit that is used up, if one is.
pub(super) fn reached(spent: &Spent, limits: &Limits) -> Option<Limit> {
    if spent.iterations >= limits.iterations {
        return Some(Limit::Iterations);
    }
    if limits.duration.is_some_and(|limit| spent.duration >= limit) {
        return Some(Limit::Duration);
    }
    if limits.premium_requests.is_some_and(|limit| spent.premium_requests >= limit) {
        return Some(Limit::PremiumRequests);
    }
    let usage = spent.usage.unwrap_or_default();
    if limits.tokens.is_some_and(|limit| usage.total >= limit) {
        return Some(Limit::Tokens);
    }
    if limits.credits.is_some_and(|limit| Credits::counted(usage.credits) >= limit) {
        return Some(Limit::AiCredits);
    }
    None
}

/// The consequence of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// Continue.
    Continue,
    /// The criterion used up its attempts.
    Block(OnStuck),
    /// End the run.
    Stop(Outcome),
}

/// The consequence of a verdict. `entry` and `spent` already count it.
pub fn after(
    verdict: &Verdict,
    entry: &CriterionState,
    spent: &Spent,
    limits: &Limits,
) -> Consequence {
    if let Some(finding) =
        verdict.findings.iter().find(|finding| finding.weight == Weight::Tampering)
    {
        return Consequence::Stop(Outcome::Tampered { reason: finding.message.clone() });
    }
    match &verdict.result {
        VerdictResult::Pass(_) | VerdictResult::Held => Consequence::Continue,
        VerdictResult::Blocked if limits.on_stuck == OnStuck::Stop || spent.blocked >= BLOCKED => {
            let in_a_row = match spent.blocked {
                times @ BLOCKED.. => format!("{times} criteria in a row are blocked; the last: "),
                _ => String::new(),
            };
            let why = entry.blocked_by.as_ref().map(ToString::to_string).unwrap_or_default();
            let reason = format!("{in_a_row}{} is blocked ({why})", entry.key.quoted());
            Consequence::Stop(Outcome::Stuck { reason })
        }
        VerdictResult::Blocked => Consequence::Continue,
        VerdictResult::Inconclusive
            if spent.unclear >= UNCLEAR
                && verdict.findings.iter().any(|it| it.kind == FindingKind::Flaky) =>
        {
            Consequence::Block(limits.on_stuck)
        }
        VerdictResult::Inconclusive if spent.unclear >= UNCLEAR => {
            let why = verdict
                .findings
                .iter()
                .find(|finding| finding.weight == Weight::Unclear)
                .map_or("no verdict was possible", |finding| finding.message.as_str());
            let reason = format!("{UNCLEAR} iterations in a row were inconclusive: {why}");
            Consequence::Stop(Outcome::Stuck { reason })
        }
        VerdictResult::Inconclusive => Consequence::Continue,
        VerdictResult::Fail if entry.attempts >= limits.attempts => {
            Consequence::Block(limits.on_stuck)
        }
        VerdictResult::Fail => Consequence::Continue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Finding, Proof};

    fn usage(total: u64, credits: Option<Credits>) -> Option<Usage> {
        Some(Usage { total, credits, ..Usage::default() })
    }

    #[test]
    fn nothing_begins_that_would_usually_exceed_a_limit() {
        let second = |seconds| Duration::from_secs(seconds);
        let cost = |seconds, total, milli| {
            (second(seconds), usage(total, Some(Credits::Milli(milli))).expect("a usage"))
        };
        let costs = [cost(10, 100, 300), cost(99, 999, 2999), cost(20, 200, 400)];
        assert_eq!(Typical::of(&costs[..2]), Typical::default(), "two are too few");
        let typical = Typical::of(&costs);
        let spent = |seconds, total, milli| Spent {
            duration: second(seconds),
            usage: usage(total, Some(Credits::Milli(milli))),
            typical,
            ..Spent::default()
        };
        for (spent, limit) in [
            (spent(80, 800, 2600), None),
            (spent(81, 800, 2600), Some(Limit::Duration)),
            (spent(80, 801, 2600), Some(Limit::Tokens)),
            (spent(80, 800, 2601), Some(Limit::AiCredits)),
        ] {
            assert_eq!(too_near(&spent, &LIMITS), limit);
            assert_eq!(reached(&spent, &LIMITS), None, "it may end what it began");
        }
        let free = Limits { duration: None, tokens: None, credits: None, ..LIMITS };
        assert_eq!(too_near(&spent(999, 9999, 9999), &free), None);
    }

    const LIMITS: Limits = Limits {
        iterations: 5,
        duration: Some(Duration::from_secs(100)),
        premium_requests: Some(10),
        tokens: Some(1000),
        credits: Some(3000),
        attempts: 3,
        on_stuck: OnStuck::Skip,
        on_fatal: OnFatal::EndRun,
    };

    fn key(text: &str) -> CriterionKey {
        CriterionKey { text: text.to_owned(), occurrence: 0 }
    }

    fn task(criteria: &[(&str, bool)]) -> Task {
        let criteria = criteria.iter().enumerate().map(|(at, (text, checked))| Criterion {
            key: key(text),
            line: at + 1,
            column: 3,
            checked: *checked,
            ..Criterion::default()
        });
        Task { name: "demo".into(), criteria: criteria.collect(), ..Task::default() }
    }

    fn verdict(result: VerdictResult, weight: Weight) -> Verdict {
        let finding =
            Finding { kind: FindingKind::NoCommit, weight, message: "nothing was done".into() };
        Verdict { result, findings: vec![finding], repairs: Vec::new() }
    }

    fn entry(attempts: u32) -> CriterionState {
        CriterionState { key: key("a"), attempts, ..CriterionState::default() }
    }

    #[test]
    fn each_limit_stops_only_while_there_is_work() {
        let spent = [
            (Spent { iterations: 5, ..Spent::default() }, Limit::Iterations),
            (Spent { duration: Duration::from_secs(100), ..Spent::default() }, Limit::Duration),
            (Spent { premium_requests: 10, ..Spent::default() }, Limit::PremiumRequests),
            (Spent { usage: usage(1000, None), ..Spent::default() }, Limit::Tokens),
            (
                Spent { usage: usage(0, Some(Credits::Milli(3000))), ..Spent::default() },
                Limit::AiCredits,
            ),
            (
                Spent { usage: usage(0, Some(Credits::Unknown)), ..Spent::default() },
                Limit::AiCredits,
            ),
        ];
        for (spent, limit) in spent {
            let open = task(&[("a", false)]);
            let stop = NextStep::Stop(Outcome::LimitReached { limit });
            assert_eq!(next(&open, &TaskState::default(), &spent, &LIMITS), stop);
            let done = task(&[("a", true)]);
            assert_eq!(next(&done, &TaskState::default(), &spent, &LIMITS), NextStep::Prove);
        }
    }

    #[test]
    fn tampering_stops_even_a_pass() {
        let pass = verdict(VerdictResult::Pass(Proof::Commit), Weight::Tampering);
        let stop = Consequence::Stop(Outcome::Tampered { reason: "nothing was done".into() });
        assert_eq!(after(&pass, &entry(0), &Spent::default(), &LIMITS), stop);
    }
}
