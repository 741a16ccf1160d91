//! The next step of a run with several jobs: a pure function of the task, its state, and the workers.
//!
//! Invariant: a criterion is with one worker at a time, or in the queue; no more iterations begin
//! than the run has left; the run ends only when nothing is at work and nothing waits to land.

use std::collections::BTreeSet;

use super::decide::{Limits, Spent, open_criteria, too_near};
use super::order::is_ready;
use crate::model::{Criterion, CriterionKey, Outcome, Task, TaskState};

/// What the workers do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crew<'a> {
    /// Criteria with a worker, and those whose work waits to land.
    pub(super) busy: &'a BTreeSet<CriterionKey>,
    /// Workers with an assignment.
    pub(super) working: usize,
    /// Workers without one.
    pub(super) idle: usize,
    /// Work that waits to land.
    pub(super) queued: usize,
    /// A worker waits for a rate limit or an outage.
    pub(super) waiting: bool,
    /// Landing what waits takes longer than a turn: a turn that began before it would begin on an
    /// old tip, and all that landed meanwhile would be checked with its work.
    pub(super) land_first: bool,
    /// Why the run ends, once everything has landed.
    pub(super) ending: Option<&'a Outcome>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<'t> {
    /// Give this criterion to a worker.
    Start(&'t Criterion),
    /// Work on this criterion in the run's own tree, while no worker does anything.
    Alone(&'t Criterion),
    /// Judge the work that was handed in first.
    Land,
    /// Wait for a worker.
    Wait,
    /// Nothing is left to work on: prove the ticked criteria.
    Prove,
    /// End the run.
    Stop(Outcome),
}

/// Chooses the next step.
pub(super) fn schedule<'t>(
    task: &'t Task,
    state: &TaskState,
    (spent, limits): (&Spent, &Limits),
    crew: Crew<'_>,
) -> Step<'t> {
    let at_rest = crew.working == 0 && crew.queued == 0;
    let rest = || if crew.queued > 0 { Step::Land } else { Step::Wait };
    if let Some(outcome) = crew.ending {
        return if at_rest { Step::Stop(outcome.clone()) } else { rest() };
    }
    if crew.land_first && crew.queued > 0 {
        return Step::Land;
    }
    let mut ready = open_criteria(task, state)
        .filter(|it| !crew.busy.contains(&it.key) && is_ready(it, task, state));
    // What is at work and in the queue counts as begun.
    let begun = u32::try_from(crew.working + crew.queued).unwrap_or(u32::MAX);
    let leased = Spent { iterations: spent.iterations.saturating_add(begun), ..*spent };
    let limit = too_near(&leased, limits);
    match ready.next() {
        Some(_) if let Some(limit) = limit => {
            if at_rest {
                Step::Stop(Outcome::LimitReached { limit })
            } else {
                rest()
            }
        }
        // A recipe runs in the run's own tree.
        Some(criterion) if criterion.recipe.is_some() => {
            let other = ready.find(|it| it.recipe.is_none());
            match other {
                Some(other) if crew.idle > 0 && !crew.waiting => Step::Start(other),
                _ if at_rest => Step::Alone(criterion),
                _ => rest(),
            }
        }
        Some(criterion) if crew.idle > 0 && !crew.waiting => Step::Start(criterion),
        Some(_) => rest(),
        None if at_rest => Step::Prove,
        None => rest(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide::OnFatal;
    use super::*;
    use crate::model::{CriterionKey, OnStuck, Proof};

    const LIMITS: Limits = Limits {
        iterations: 1000,
        duration: None,
        premium_requests: None,
        tokens: None,
        credits: None,
        attempts: 3,
        on_stuck: OnStuck::Skip,
        on_fatal: OnFatal::EndRun,
    };

    /// A generator of numbers that a seed repeats.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, most: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % most as u64).expect("small")
        }
    }

    /// A task whose later criteria wait for some of the earlier ones.
    fn graph(dice: &mut Dice) -> String {
        let count = 5 + dice.below(8);
        let mut text = String::new();
        for number in 0..count {
            text.push_str(&format!("- [ ] c{number}\n  - id: c{number}\n"));
            let before: Vec<String> = (0..number)
                .filter(|_| dice.below(4) == 0)
                .map(|earlier| format!("c{earlier}"))
                .collect();
            if !before.is_empty() {
                text.push_str(&format!("  - after: {}\n", before.join(", ")));
            }
        }
        text
    }

    /// What becomes of a criterion, whoever works on it: proven at this attempt, or never.
    type Fates = Vec<Option<u32>>;

    /// A run of the pure parts: workers hand in at random, work lands or fails, as its fate says.
    fn play(text: &str, fates: &Fates, jobs: usize, dice: &mut Dice) -> Vec<String> {
        let (mut task, mut state) =
            (crate::task::parse("t", text.as_bytes()), TaskState::default());
        let (mut working, mut queue) = (Vec::<CriterionKey>::new(), Vec::<CriterionKey>::new());
        for _ in 0..1000 {
            let busy: BTreeSet<CriterionKey> = working.iter().chain(&queue).cloned().collect();
            assert_eq!(busy.len(), working.len() + queue.len(), "one at a time");
            let crew = Crew {
                busy: &busy,
                working: working.len(),
                idle: jobs - working.len(),
                queued: queue.len(),
                waiting: false,
                land_first: dice.below(2) == 0,
                ending: None,
            };
            match schedule(&task, &state, (&Spent::default(), &LIMITS), crew) {
                Step::Start(criterion) => {
                    assert!(working.len() < jobs);
                    assert!(is_ready(criterion, &task, &state), "{}", criterion.key.text);
                    working.push(criterion.key.clone());
                }
                Step::Land => {
                    let key = queue.remove(0);
                    let number: usize = key.text[1..].parse().expect("a number");
                    let entry = state.entry(&key);
                    entry.attempts += 1;
                    if fates[number].is_some_and(|at| entry.attempts >= at) {
                        entry.proof = Some(Proof::Check);
                        task.criteria[number].checked = true;
                    } else if entry.attempts >= LIMITS.attempts {
                        entry.blocked = true;
                    }
                }
                Step::Wait => {
                    let at = dice.below(working.len());
                    queue.push(working.swap_remove(at));
                }
                Step::Prove => {
                    assert!(working.is_empty() && queue.is_empty());
                    let proven = state.criteria.iter().filter(|it| it.proof.is_some());
                    let mut proven: Vec<_> = proven.map(|it| it.key.text.clone()).collect();
                    proven.sort();
                    return proven;
                }
                step @ (Step::Alone(_) | Step::Stop(_)) => panic!("{step:?}"),
            }
        }
        panic!("it never ended");
    }

    #[test]
    fn many_workers_prove_what_one_proves_in_every_order() {
        for seed in 1..=1000 {
            let mut dice = Dice(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15) | 1);
            let text = graph(&mut dice);
            let fates: Fates =
                (0..20).map(|_| [Some(1), Some(1), Some(2), None][dice.below(4)]).collect();
            let one = play(&text, &fates, 1, &mut dice);
            let jobs = 2 + dice.below(7);
            assert_eq!(play(&text, &fates, jobs, &mut dice), one, "seed {seed}: {text}");
        }
    }

    fn busy(names: &[&str]) -> BTreeSet<CriterionKey> {
        names.iter().map(|it| CriterionKey { text: (*it).to_owned(), occurrence: 0 }).collect()
    }

    fn crew<'a>(busy: &'a BTreeSet<CriterionKey>, working: usize, idle: usize) -> Crew<'a> {
        let queued = busy.len() - working;
        Crew { busy, working, idle, queued, waiting: false, land_first: false, ending: None }
    }

    #[test]
    fn what_is_at_work_counts_against_the_limit_and_still_lands() {
        let task = crate::task::parse("t", b"- [ ] a\n- [ ] b\n- [ ] c\n");
        let state = TaskState::default();
        let two = Limits { iterations: 2, ..LIMITS };
        let step = |spent: u32, crew: Crew<'_>| {
            let spent = Spent { iterations: spent, ..Spent::default() };
            match schedule(&task, &state, (&spent, &two), crew) {
                Step::Start(criterion) => format!("start {}", criterion.key.text),
                other => {
                    format!("{other:?}").split(['(', ' ']).next().unwrap_or_default().to_owned()
                }
            }
        };
        let (none, a, ab) = (busy(&[]), busy(&["a"]), busy(&["a", "b"]));
        assert_eq!(step(0, crew(&none, 0, 3)), "start a");
        assert_eq!(step(0, crew(&a, 1, 2)), "start b");
        assert_eq!(step(0, crew(&ab, 2, 1)), "Wait");
        assert_eq!(step(0, crew(&ab, 1, 2)), "Land");
        assert_eq!(step(2, crew(&none, 0, 3)), "Stop");
    }

    #[test]
    fn nothing_starts_while_a_worker_waits_or_the_run_ends() {
        let task = crate::task::parse("t", b"- [ ] a\n- [ ] b\n");
        let state = TaskState::default();
        let a = busy(&["a"]);
        let next = |crew| schedule(&task, &state, (&Spent::default(), &LIMITS), crew);
        assert!(matches!(next(crew(&a, 1, 1)), Step::Start(_)));
        assert_eq!(next(Crew { waiting: true, ..crew(&a, 1, 1) }), Step::Wait);
        assert!(matches!(next(crew(&a, 0, 2)), Step::Start(_)));
        assert_eq!(next(Crew { land_first: true, ..crew(&a, 0, 2) }), Step::Land);
        assert!(matches!(next(Crew { land_first: true, ..crew(&a, 1, 1) }), Step::Start(_)));
        let outcome = Outcome::Stuck { reason: "a".to_owned() };
        let ending = Some(&outcome);
        assert_eq!(next(Crew { ending, ..crew(&a, 1, 1) }), Step::Wait);
        assert_eq!(next(Crew { ending, ..crew(&a, 0, 2) }), Step::Land);
        let none = busy(&[]);
        assert_eq!(next(Crew { ending, ..crew(&none, 0, 2) }), Step::Stop(outcome.clone()));
    }

    #[test]
    fn a_recipe_waits_until_nobody_works() {
        let task = crate::task::parse("t", b"- [ ] a\n  - recipe: r\n- [ ] b\n");
        let state = TaskState::default();
        let next = |crew| schedule(&task, &state, (&Spent::default(), &LIMITS), crew);
        let (none, b) = (busy(&[]), busy(&["b"]));
        assert!(matches!(next(crew(&none, 0, 2)), Step::Start(it) if it.key.text == "b"));
        assert_eq!(next(crew(&b, 1, 1)), Step::Wait);
        assert_eq!(next(crew(&b, 0, 2)), Step::Land);
        let task = crate::task::parse("t", b"- [ ] a\n  - recipe: r\n- [x] b\n");
        let next = schedule(&task, &state, (&Spent::default(), &LIMITS), crew(&none, 0, 2));
        assert!(matches!(next, Step::Alone(it) if it.key.text == "a"));
    }
}
