//! A plan: a goal as sub-tasks that depend on each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The sub-tasks of a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskPlan {
    /// In the planner's order.
    pub tasks: Vec<SubTask>,
    /// For the id of a sub-task, the ids of those that must succeed before it.
    pub dependencies: BTreeMap<String, Vec<String>>,
    /// Is it the goal as one sub-task, because the planner gave no usable plan?
    pub fallback: bool,
}

/// One part of a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubTask {
    /// Its name in the plan.
    pub id: String,
    /// The work to do.
    pub description: String,
    /// How much work it seems to be.
    #[serde(rename = "estimatedComplexity")]
    pub complexity: Complexity,
    /// Commands that fail until it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
}

/// How much work a sub-task seems to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Complexity {
    /// Small.
    S,
    /// Medium.
    #[default]
    M,
    /// Large.
    L,
}
