//! state.json: the state that must outlive the machine. Committed with the state update.

use serde::{Deserialize, Serialize};

use super::{CriterionKey, Oid, Proof};

/// The committed memory of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// Format of this file; 1.
    pub version: u32,
    /// The last iteration number used; numbers only grow, across runs.
    pub iteration: u32,
    /// The next number for `refs/ralph/<task>/attempts/<n>`.
    #[serde(default)]
    pub attempt_refs: u32,
    /// One entry for every criterion that was ever in focus.
    pub criteria: Vec<CriterionState>,
}

/// The memory of a criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionState {
    /// The criterion.
    #[serde(flatten)]
    pub key: CriterionKey,
    /// Failed attempts since the last `retry`.
    #[serde(default)]
    pub attempts: u32,
    /// Used up its attempts: not selected until `retry`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// An attempt left this commit with work in it: a later one, of another run or on another
    /// machine, needs no other as long as the branch has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<Oid>,
    /// The proof of its pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The iteration that proved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
}

impl TaskState {
    /// The memory of a criterion, if there is any.
    pub fn find(&self, key: &CriterionKey) -> Option<&CriterionState> {
        self.criteria.iter().find(|entry| entry.key == *key)
    }

    /// The entry of a criterion, made on first use.
    pub fn entry(&mut self, key: &CriterionKey) -> &mut CriterionState {
        let at = self.criteria.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
            self.criteria.push(CriterionState {
                key: key.clone(),
                attempts: 0,
                blocked: false,
                worked: None,
                proof: None,
                iteration: None,
            });
            self.criteria.len() - 1
        });
        &mut self.criteria[at]
    }
}
