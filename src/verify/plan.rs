//! Which verify commands run when.
//!
//! Invariant: pure; a plan contains each command once, with all criteria that it belongs to.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{CriterionKey, Task};

/// The default total time for the other criteria's commands in an iteration.
pub const OTHERS: Duration = Duration::from_secs(30);

/// When commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPhase<'a> {
    /// Before any work: every command.
    Baseline,
    /// After a turn: those of the criterion in focus and of the task, and those of ticked
    /// criteria while they are cheap.
    Iteration {
        /// The criterion in focus.
        focus: &'a CriterionKey,
        /// The total time for the other criteria's commands.
        others: Duration,
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
    if let CheckPhase::Iteration { focus, .. } = phase {
        for criterion in task.criteria.iter().filter(|criterion| criterion.key == *focus) {
            for verify in &criterion.verify {
                add(&mut planned, task, &verify.command);
            }
        }
    }
    for command in &task.settings.verify {
        add(&mut planned, task, command);
    }
    let mut left = match phase {
        CheckPhase::Iteration { others, .. } => {
            u64::try_from(others.as_millis()).unwrap_or(u64::MAX)
        }
        CheckPhase::Baseline | CheckPhase::End => u64::MAX,
    };
    for criterion in &task.criteria {
        let wanted = match phase {
            CheckPhase::Baseline => true,
            CheckPhase::Iteration { .. } | CheckPhase::End => criterion.checked,
        };
        for verify in criterion.verify.iter().filter(|_| wanted) {
            if planned.iter().any(|check: &PlannedCheck| check.command == verify.command) {
                continue;
            }
            let cost = millis.get(&verify.command).copied().unwrap_or(0);
            if cost <= left {
                left -= cost;
                add(&mut planned, task, &verify.command);
            }
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
    use crate::model::{Criterion, TaskSettings, VerifyCommand};

    fn key(text: &str) -> CriterionKey {
        CriterionKey { text: text.into(), occurrence: 0 }
    }

    fn criterion(text: &str, checked: bool, verify: &[&str]) -> Criterion {
        let verify = verify
            .iter()
            .map(|&command| VerifyCommand { command: command.into(), line: 1 })
            .collect();
        Criterion {
            key: key(text),
            line: 1,
            column: 1,
            checked,
            mark: 0,
            verify,
            recipe: None,
            may_change: Vec::new(),
            id: None,
            after: Vec::new(),
        }
    }

    fn task() -> Task {
        Task {
            name: "demo".into(),
            title: None,
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
            source: String::new(),
            diagnostics: Vec::new(),
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
    fn an_iteration_takes_its_own_first_and_others_while_cheap() {
        let focus = key("c");
        let phase = CheckPhase::Iteration { focus: &focus, others: Duration::from_secs(30) };
        assert_eq!(commands(phase, &[]), ["mine", "both", "all", "quick", "slow"]);
        assert_eq!(commands(phase, &[("slow", 30_000)]), ["mine", "both", "all", "quick", "slow"]);
        assert_eq!(commands(phase, &[("slow", 30_001)]), ["mine", "both", "all", "quick"]);
        // Its own may take any time.
        assert_eq!(commands(phase, &[("mine", 90_000), ("slow", 1)]).len(), 5);
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
        let phase = CheckPhase::Iteration { focus: &focus, others: Duration::ZERO };
        let planned = plan(&task(), phase, &BTreeMap::new());
        let both = planned.iter().find(|check| check.command == "both").expect("planned");
        assert_eq!(both.criteria, [key("a"), key("c")]);
        assert!(!both.whole_task);
        let quick = planned.iter().find(|check| check.command == "quick").expect("planned");
        assert_eq!((quick.criteria.as_slice(), quick.whole_task), ([key("b")].as_slice(), true));
    }
}
