//! Choices a user makes by name.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};

/// The reaction to a criterion that used up its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OnStuck {
    /// End the run and leave everything for the human to look at.
    #[default]
    Stop,
    /// Put the branch back, keep the attempt under its ref, go on with the next criterion.
    Skip,
}

/// The reaction to a call that an agent without hooks ran unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum UnaskedCalls {
    /// End the run.
    #[default]
    Stop,
    /// Go on: the sandbox holds it.
    Allow,
}

/// The agent's model and effort in the last attempt at a criterion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EscalateKeys")]
pub struct Escalate {
    /// Another model.
    pub model: Option<String>,
    /// How much the model thinks, in the agent's words.
    pub effort: Option<String>,
}

/// The keys of [`Escalate`] as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EscalateKeys {
    model: Option<String>,
    effort: Option<String>,
}

impl TryFrom<EscalateKeys> for Escalate {
    type Error = String;

    fn try_from(EscalateKeys { model, effort }: EscalateKeys) -> Result<Self, String> {
        // Both become arguments of the agent.
        let is_name = |it: &&String| {
            !it.is_empty() && !it.starts_with('-') && !it.contains(char::is_whitespace)
        };
        let mut given = model.iter().chain(&effort).peekable();
        if given.peek().is_none() {
            return Err("`escalate` needs `model`, `effort`, or both".to_owned());
        }
        match given.find(|it| !is_name(it)) {
            Some(odd) => Err(format!("`escalate` takes names, and `{odd}` is none")),
            None => Ok(Self { model, effort }),
        }
    }
}

impl fmt::Display for Escalate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model.as_deref().unwrap_or("the same model");
        match &self.effort {
            Some(effort) => write!(f, "{model}, effort {effort}"),
            None => f.write_str(model),
        }
    }
}

/// Where checks prove something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ProofMode {
    /// In the proof room, after each iteration and at the end.
    #[default]
    Room,
    /// In the working tree after each iteration, and in a proof room at the end.
    End,
    /// In the working tree.
    Tree,
}

/// Where the agent may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WriteScope {
    /// Anywhere in the repository that is not protected.
    #[default]
    Workspace,
    /// Below the task's folder only: the seed's strict rule.
    Task,
}

/// How the Copilot CLI is driven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Via {
    /// As a server of the Agent Client Protocol: one process for the whole run.
    #[default]
    Acp,
    /// With `copilot -p`: one process for each iteration.
    Cli,
}

/// The kernel's limits on the agent's commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Tier {
    /// Nothing: only the guard decides.
    #[default]
    Off,
    /// Writes, reads of HOME, TCP and signals, as far as the kernel can without namespaces.
    Partial,
    /// Files, network and processes.
    Full,
}

impl Tier {
    /// Do shell commands run in a sandbox?
    pub fn is_sandboxed(self) -> bool {
        match self {
            Self::Full | Self::Partial => true,
            Self::Off => false,
        }
    }
}

/// Which tier a user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Sandbox {
    /// The best tier of this machine.
    #[default]
    #[serde(alias = "best-effort")]
    #[strum(to_string = "auto", serialize = "best-effort")]
    Auto,
    /// The best tier of this machine that is not `off`.
    Required,
    /// This tier, or no agent is started.
    Full,
    /// This tier, or no agent is started.
    Partial,
    /// No sandbox.
    Off,
}

impl Sandbox {
    /// The values that users write, with the older name of `auto` last.
    pub const WORDS: [&'static str; 6] =
        ["auto", "full", "partial", "off", "required", "best-effort"];
}

/// The cost of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Premium {
    /// One of GitHub's premium requests.
    Counted,
    /// None: the model is free, or the agent is not GitHub's, or it has a provider of the
    /// user's own.
    Free,
}

#[cfg(test)]
mod tests {
    use super::Escalate;

    /// Each becomes an argument of the agent.
    #[test]
    fn what_escalates_is_a_name() {
        let read = |text: &str| serde_json::from_str::<Escalate>(text).is_ok();
        assert!(read(r#"{"effort": "high"}"#) && read(r#"{"model": "gpt-5.2"}"#));
        for odd in ["{}", r#"{"model": ""}"#, r#"{"effort": "--yolo"}"#, r#"{"model": "a b"}"#] {
            assert!(!read(odd), "{odd}");
        }
    }
}
