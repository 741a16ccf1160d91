//! The result of resuming, for the run that follows.

use crate::model::{CriterionKey, Oid};

/// The findings and repairs of resuming.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// The last iteration number in the journals of earlier runs; numbers continue after it.
    pub iteration: u32,
    /// Criteria for which an iteration without a verdict left a commit that counts.
    pub worked: Vec<(CriterionKey, Oid)>,
    /// Messages for the human.
    pub notices: Vec<String>,
}
