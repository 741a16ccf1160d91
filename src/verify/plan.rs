//! Which verify commands run when.
//!
//! Invariant: pure; a plan contains each command once, with all criteria that it belongs to.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{Criterion, CriterionKey, Task};

/// The default total time for the other criteria's commands in an iteration.
pub const OTHERS: Duration = Duration::from_secs(30);

/// When commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPhase<'a> {
    /// Before any work: every command.
    Baseline,
    /// After a turn: those of the criterion in focus and of the task. Those of ticked criteria take
    /// turns: at least one runs, and more while they take no longer than these.
    Iteration {
        /// The criterion in focus.
        focus: &'a CriterionKey,
        /// The maximum total time for the other criteria's commands.
        others: Duration,
        /// The number of the iteration: another ticked criterion is the first in each.
        turn: u32,
    },
    /// Before work lands that began on an earlier commit: those of the criterion in focus, of the
    /// task, and of the criteria that landed since.
    Landing {
        /// The criterion in focus.
        focus: &'a CriterionKey,
        /// The criteria that landed since.
        since: &'a [CriterionKey],
    },
    /// At the end of a run: the task's and those of every ticked criterion.
    End,
}

/// One command that is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCheck {
    /// For `sh -c`, as written.
    pub command: String,
    /// The criteria that have it as their own.
    pub criteria: Vec<CriterionKey>,
    /// Whether the task as a whole asks for it.
    pub whole_task: bool,
}

/// The commands to run, the most important first. `millis` has the time that each took last; a
/// command that never ran counts as free.
pub fn plan(
    task: &Task,
    phase: CheckPhase<'_>,
    millis: &BTreeMap<String, u64>,
) -> Vec<PlannedCheck> {
    let mut planned = Vec::new();
    if let CheckPhase::Iteration { focus, .. } | CheckPhase::Landing { focus, .. } = phase {
        for criterion in task.criteria.iter().filter(|criterion| criterion.key == *focus) {
            for verify in &criterion.verify {
                add(&mut planned, task, &verify.command);
            }
        }
    }
    for command in &task.settings.verify {
        add(&mut planned, task, command);
    }
    let is_wanted = |criterion: &&Criterion| match phase {
        CheckPhase::Baseline => true,
        CheckPhase::Iteration { .. } | CheckPhase::End => criterion.checked,
        CheckPhase::Landing { since, .. } => criterion.checked && since.contains(&criterion.key),
    };
    let mut others: Vec<&Criterion> = task.criteria.iter().filter(is_wanted).collect();
    let cost = |command: &str| millis.get(command).copied().unwrap_or(0);
    // Checks of a moment count alike, so that the same ones run each time.
    let seconds = |command: &str| cost(command).div_ceil(1000).max(1);
    let (mut left, mut budget, mut is_first) = (u64::MAX, u64::MAX, false);
    if let CheckPhase::Iteration { others: most, turn, .. } = phase {
        budget = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        left = planned.iter().map(|check: &PlannedCheck| seconds(&check.command)).sum();
        is_first = true;
        let first = usize::try_from(turn).unwrap_or(0) % others.len().max(1);
        others.rotate_left(first);
    }
    for command in others.iter().flat_map(|it| &it.verify).map(|verify| &verify.command) {
        let is_cheap = cost(command) <= budget && (is_first || seconds(command) <= left);
        if is_cheap && !planned.iter().any(|check| check.command == *command) {
            left = left.saturating_sub(seconds(command));
            budget -= cost(command);
            is_first = false;
            add(&mut planned, task, command);
        }
    }
    planned
}

/// Adds a command once, with everything it belongs to.
fn add(planned: &mut Vec<PlannedCheck>, task: &Task, command: &str) {
    if planned.iter().any(|check| check.command == command) {
        return;
    }
    let owns = |criterion: &&crate::model::Criterion| {
        criterion.verify.iter().any(|verify| verify.command == command)
    };
    planned.push(PlannedCheck {
        command: command.to_owned(),
        criteria: task.criteria.iter().filter(owns).map(|c| c.key.clone()).collect(),
        whole_task: task.settings.verify.iter().any(|own| own == command),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TaskSettings, VerifyCommand};

    fn key(text: &str) -> CriterionKey {
        CriterionKey { text: text.into(), occurrence: 0 }
    }

    fn criterion(text: &str, checked: bool, verify: &[&str]) -> Criterion {
        let verify = verify
            .iter()
            .map(|&command| VerifyCommand { command: command.into(), line: 1 })
            .collect();
        Criterion { key: key(text), checked, verify, ..Criterion::default() }
    }

    fn task() -> Task {
        Task {
            name: "demo".into(),
            criteria: vec![
                criterion("a", true, &["slow", "both"]),
                criterion("b", true, &["quick"]),
                criterion("c", false, &["mine", "both"]),
                criterion("d", false, &["later"]),
            ],
            settings: TaskSettings {
                verify: vec!["all".into(), "quick".into()],
                ..TaskSettings::default()
            },
            ..Task::default()
        }
    }

    fn commands(phase: CheckPhase<'_>, millis: &[(&str, u64)]) -> Vec<String> {
        let millis = millis.iter().map(|&(command, cost)| (command.to_owned(), cost)).collect();
        plan(&task(), phase, &millis).into_iter().map(|check| check.command).collect()
    }

    #[test]
    fn the_baseline_takes_each_command_once() {
        assert_eq!(
            commands(CheckPhase::Baseline, &[("slow", 900_000)]),
            ["all", "quick", "slow", "both", "mine", "later"]
        );
    }

    #[test]
    fn an_iteration_takes_its_own_first_and_others_in_turn_while_cheap() {
        let focus = key("c");
        let phase =
            |turn| CheckPhase::Iteration { focus: &focus, others: Duration::from_secs(30), turn };
        let own = ["mine", "both", "all", "quick"];
        let with_slow = ["mine", "both", "all", "quick", "slow"];
        assert_eq!(commands(phase(0), &[]), with_slow);
        assert_eq!(commands(phase(0), &[("slow", 30_000)]), with_slow, "one always runs");
        assert_eq!(commands(phase(0), &[("slow", 30_001)]), own);
        // Its own may take any time.
        assert_eq!(commands(phase(0), &[("mine", 90_000), ("slow", 1)]).len(), 5);
    }

    #[test]
    fn checks_of_ticked_criteria_take_turns() {
        let mut task = task();
        task.settings.verify.clear();
        task.criteria = ["a", "b", "c", "d"].map(|it| criterion(it, it != "d", &[it])).to_vec();
        let focus = key("d");
        let planned = |turn, own: u64| {
            let phase =
                CheckPhase::Iteration { focus: &focus, others: Duration::from_secs(30), turn };
            let millis = ["a", "b", "c"].map(|it| (it.to_owned(), 2000));
            let millis = millis.into_iter().chain([("d".to_owned(), own)]).collect();
            let planned = plan(&task, phase, &millis);
            planned.into_iter().map(|check| check.command).collect::<Vec<_>>().join("")
        };
        let alone = [0, 1, 2, 3].map(|turn| planned(turn, 900));
        assert_eq!(alone, ["da", "db", "dc", "da"]);
        assert_eq!(planned(1, 4000), "dbc");
        assert_eq!(planned(1, 6000), "dbca");
    }

    #[test]
    fn the_end_takes_all_that_is_ticked() {
        assert_eq!(
            commands(CheckPhase::End, &[("slow", 900_000)]),
            ["all", "quick", "slow", "both"]
        );
    }

    #[test]
    fn a_shared_command_names_all_it_belongs_to() {
        let focus = key("c");
        let phase = CheckPhase::Iteration { focus: &focus, others: Duration::ZERO, turn: 0 };
        let planned = plan(&task(), phase, &BTreeMap::new());
        let both = planned.iter().find(|check| check.command == "both").expect("planned");
        assert_eq!(both.criteria, [key("a"), key("c")]);
        assert!(!both.whole_task);
        let quick = planned.iter().find(|check| check.command == "quick").expect("planned");
        assert_eq!((quick.criteria.as_slice(), quick.whole_task), ([key("b")].as_slice(), true));
    }
}
