//! How far a plan has been carried out.

use super::order::predecessors;
use crate::model::{SubTask, TaskPlan};

/// The state of a sub-task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubTaskState {
    /// It has not started.
    Waiting,
    /// It has started.
    Running,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It never starts, because the sub-task with this id failed.
    Skipped(String),
}

/// A sub-task that will not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTask<'p> {
    /// Which.
    pub task: &'p SubTask,
    /// The sub-task that failed.
    pub because: &'p str,
}

/// Says which sub-task is next, until each has ended once.
#[derive(Debug)]
pub struct PlanExecution<'p> {
    plan: &'p TaskPlan,
    predecessors: Vec<Vec<usize>>,
    states: Vec<SubTaskState>,
}

impl<'p> PlanExecution<'p> {
    /// Nothing has started.
    pub fn new(plan: &'p TaskPlan) -> Self {
        let states = vec![SubTaskState::Waiting; plan.tasks.len()];
        Self { plan, predecessors: predecessors(plan), states }
    }

    /// Starts the first sub-task in the plan's order whose predecessors have all succeeded. `None`
    /// if no sub-task can start: the plan is complete, or a running one must end first.
    pub fn start_next(&mut self) -> Option<&'p SubTask> {
        let succeeded = |at: &usize| self.states[*at] == SubTaskState::Succeeded;
        let ready = |at: &usize| {
            self.states[*at] == SubTaskState::Waiting
                && self.predecessors[*at].iter().all(succeeded)
        };
        let at = (0..self.states.len()).find(ready)?;
        self.states[at] = SubTaskState::Running;
        Some(&self.plan.tasks[at])
    }

    /// Ends a sub-task that runs. Returns those that depend on it, directly or not, and are
    /// skipped now because it failed; one that was skipped before is not among them.
    pub fn finish(&mut self, id: &str, success: bool) -> Vec<SkippedTask<'p>> {
        let running =
            |at: &usize| self.plan.tasks[*at].id == id && self.states[*at] == SubTaskState::Running;
        let Some(at) = (0..self.states.len()).find(running) else { return Vec::new() };
        if success {
            self.states[at] = SubTaskState::Succeeded;
            return Vec::new();
        }
        self.states[at] = SubTaskState::Failed;
        let because = self.plan.tasks[at].id.as_str();
        let (mut skipped, mut lost) = (Vec::new(), vec![at]);
        while let Some(before) = lost.pop() {
            for at in 0..self.states.len() {
                let waiting = self.states[at] == SubTaskState::Waiting;
                if waiting && self.predecessors[at].contains(&before) {
                    self.states[at] = SubTaskState::Skipped(because.to_owned());
                    skipped.push(at);
                    lost.push(at);
                }
            }
        }
        skipped.sort_unstable();
        skipped.into_iter().map(|at| SkippedTask { task: &self.plan.tasks[at], because }).collect()
    }

    /// Each sub-task with its state, in the plan's order.
    pub fn states(&self) -> impl Iterator<Item = (&'p SubTask, &SubTaskState)> {
        self.plan.tasks.iter().zip(&self.states)
    }

    /// Has every sub-task succeeded?
    pub fn all_succeeded(&self) -> bool {
        self.states.iter().all(|state| *state == SubTaskState::Succeeded)
    }

    /// How many succeeded, were skipped, and failed.
    pub fn summary(&self) -> String {
        let count = |wanted: fn(&SubTaskState) -> bool| {
            self.states.iter().filter(|state| wanted(state)).count()
        };
        format!(
            "{}/{} tasks succeeded, {} skipped, {} failed",
            count(|state| *state == SubTaskState::Succeeded),
            self.states.len(),
            count(|state| matches!(state, SubTaskState::Skipped(_))),
            count(|state| *state == SubTaskState::Failed),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::model::Complexity;

    fn plan(edges: &[(&str, &[&str])]) -> TaskPlan {
        let tasks = edges.iter().map(|(id, _)| SubTask {
            id: (*id).to_owned(),
            description: "x".to_owned(),
            complexity: Complexity::M,
        });
        let dependencies = edges.iter().map(|(id, before)| {
            ((*id).to_owned(), before.iter().map(|it| (*it).to_owned()).collect())
        });
        TaskPlan { tasks: tasks.collect(), dependencies: dependencies.collect(), fallback: false }
    }

    #[test]
    fn a_child_of_two_failed_parents_is_skipped_once() {
        let plan = plan(&[("a", &[]), ("b", &[]), ("c", &["a", "b"]), ("d", &["c"]), ("e", &[])]);
        let mut execution = PlanExecution::new(&plan);
        let start =
            |execution: &mut PlanExecution<'_>| execution.start_next().map(|t| t.id.clone());
        assert_eq!(start(&mut execution).as_deref(), Some("a"));
        assert_eq!(start(&mut execution).as_deref(), Some("b"));
        let skipped = execution.finish("a", false);
        let skipped: Vec<_> = skipped.iter().map(|it| (it.task.id.as_str(), it.because)).collect();
        assert_eq!(skipped, [("c", "a"), ("d", "a")]);
        assert_eq!(execution.finish("b", false), []);
        assert_eq!(start(&mut execution).as_deref(), Some("e"));
        assert_eq!(execution.finish("e", true), []);
        assert_eq!(start(&mut execution), None);
        assert_eq!(execution.summary(), "1/5 tasks succeeded, 2 skipped, 2 failed");
        assert!(!execution.all_succeeded());
    }

    #[test]
    fn an_empty_plan_is_complete() {
        let plan = plan(&[]);
        let mut execution = PlanExecution::new(&plan);
        assert_eq!(execution.start_next(), None);
        assert_eq!(execution.summary(), "0/0 tasks succeeded, 0 skipped, 0 failed");
        assert!(execution.all_succeeded());
    }

    /// A plan whose dependencies name earlier tasks.
    fn any_plan() -> impl Strategy<Value = TaskPlan> {
        prop::collection::vec(prop::collection::vec(any::<Index>(), 0..4), 0..12).prop_map(|all| {
            let id = |at: usize| format!("t{at}");
            let tasks = (0..all.len()).map(|at| SubTask {
                id: id(at),
                description: "x".to_owned(),
                complexity: Complexity::M,
            });
            let mut dependencies = BTreeMap::new();
            for (at, before) in all.iter().enumerate().skip(1) {
                let before = before.iter().map(|index| id(index.index(at))).collect();
                dependencies.insert(id(at), before);
            }
            TaskPlan { tasks: tasks.collect(), dependencies, fallback: false }
        })
    }

    proptest! {
        #[test]
        fn each_sub_task_ends_once_and_starts_after_those_it_needs(
            plan in any_plan(),
            steps in prop::collection::vec((any::<Index>(), any::<bool>()), 64),
            jobs in 1_usize..4,
        ) {
            let mut execution = PlanExecution::new(&plan);
            let mut running: Vec<String> = Vec::new();
            let mut ended: BTreeMap<String, &str> = BTreeMap::new();
            let needs = |id: &str| plan.dependencies.get(id).cloned().unwrap_or_default();
            for (which, success) in steps {
                while running.len() < jobs && let Some(task) = execution.start_next() {
                    for before in needs(&task.id) {
                        prop_assert_eq!(ended.get(&before), Some(&"succeeded"));
                    }
                    prop_assert!(!running.contains(&task.id) && !ended.contains_key(&task.id));
                    running.push(task.id.clone());
                }
                if running.is_empty() {
                    break;
                }
                let id = running.remove(which.index(running.len()));
                for skipped in execution.finish(&id, success) {
                    prop_assert_eq!(skipped.because, &id);
                    prop_assert!(!success);
                    prop_assert!(ended.insert(skipped.task.id.clone(), "skipped").is_none());
                }
                let how = if success { "succeeded" } else { "failed" };
                prop_assert!(ended.insert(id, how).is_none());
            }
            prop_assert_eq!(ended.len(), plan.tasks.len());
            // A sub-task is skipped if one that it depends on did not succeed.
            for task in &plan.tasks {
                let lost = needs(&task.id).iter().any(|before| ended[before] != "succeeded");
                prop_assert_eq!(ended[&task.id] == "skipped", lost);
            }
        }
    }
}
