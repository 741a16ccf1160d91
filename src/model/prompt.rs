//! A prompt for the agent.

use serde::{Deserialize, Serialize};

/// A rendered prompt: bounded, redacted, and never beginning with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The parts that were cut to stay within the bound.
    pub cuts: Vec<Cut>,
}

/// A part that was shortened; the prompt says so at the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// `task`, `guardrails`, `progress`, `feedback`, `context` or `reason`.
    pub part: String,
    /// Bytes left out.
    pub bytes: usize,
}
