//! The order of a plan's sub-tasks.

use std::collections::HashMap;

use crate::model::TaskPlan;

/// For each sub-task, by its place in the plan, the places of those that must succeed before it,
/// each once.
pub(super) fn predecessors(plan: &TaskPlan) -> Vec<Vec<usize>> {
    let places: HashMap<&str, usize> =
        plan.tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let of = |id: &str| {
        let named = plan.dependencies.get(id).into_iter().flatten();
        let mut found: Vec<usize> =
            named.filter_map(|id| places.get(id.as_str()).copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    plan.tasks.iter().map(|task| of(&task.id)).collect()
}

/// The places of the sub-tasks in waves: each wave needs nothing but earlier ones, and keeps the
/// plan's order. None if dependencies lead in a circle.
pub fn waves(plan: &TaskPlan) -> Option<Vec<Vec<usize>>> {
    let mut missing = predecessors(plan);
    let mut left: Vec<usize> = (0..plan.tasks.len()).collect();
    let mut waves = Vec::new();
    while !left.is_empty() {
        let (free, waiting): (Vec<usize>, Vec<usize>) =
            left.into_iter().partition(|at| missing[*at].is_empty());
        if free.is_empty() {
            return None;
        }
        for at in &waiting {
            missing[*at].retain(|before| !free.contains(before));
        }
        waves.push(free);
        left = waiting;
    }
    Some(waves)
}

/// The ids on a way along dependencies back to where it began, in a plan that has no waves.
pub(super) fn circle(plan: &TaskPlan) -> Vec<String> {
    let before = predecessors(plan);
    // Every way from a sub-task that nothing leads out of ends in a circle.
    let mut out: Vec<bool> = vec![false; before.len()];
    while let Some(at) =
        (0..out.len()).find(|at| !out[*at] && before[*at].iter().all(|it| out[*it]))
    {
        out[at] = true;
    }
    let mut way: Vec<usize> = Vec::new();
    let mut next = out.iter().position(|out| !out);
    while let Some(at) = next {
        let again = way.iter().position(|seen| *seen == at);
        way.push(at);
        if let Some(from) = again {
            way.drain(..from);
            break;
        }
        next = before[at].iter().copied().find(|it| !out[*it]);
    }
    way.into_iter().map(|at| plan.tasks[at].id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::repair;

    #[test]
    fn a_wave_needs_only_earlier_ones_and_keeps_the_order() {
        let answer = r#"{"tasks": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"},
            {"id": "c", "description": "c"}, {"id": "d", "description": "d"}],
            "dependencies": {"a": ["c"], "d": ["a", "b", "a"]}}"#;
        let plan = repair("goal", answer);
        assert_eq!(waves(&plan), Some(vec![vec![1, 2], vec![0], vec![3]]));
    }
}
