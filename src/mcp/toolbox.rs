//! Several sets of tools as one.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::tools::{Call, Tool, ToolAnswer, Tools};

/// The tools of all sets. At most one of the sets may change.
pub struct Toolbox(Vec<Arc<dyn Tools>>);

impl Toolbox {
    /// Joins sets whose names differ.
    pub fn new(sets: Vec<Arc<dyn Tools>>) -> Self {
        Self(sets)
    }
}

#[async_trait]
impl Tools for Toolbox {
    fn list(&self) -> Vec<Tool> {
        self.0.iter().flat_map(|set| set.list()).collect()
    }

    async fn call(&self, call: Call) -> Option<ToolAnswer> {
        let has = |set: &&Arc<dyn Tools>| set.list().iter().any(|tool| tool.name == call.name);
        self.0.iter().find(has)?.call(call).await
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        self.0.iter().find_map(|set| set.changed())
    }
}
