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
