//! The format of a script: YAML, without unknown keys.
//!
//! Invariant: a script that parses can be played; errors name the line. `play` performs the
//! steps. `docs/scripted-agent.md` explains the format.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::agent::acp::serve::ServeError;

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentScript {
    /// The task's folder, relative to the session's; searched for if absent.
    pub task: Option<PathBuf>,
    /// The rules for prompts; the first that matches is played.
    pub turns: Vec<TurnScript>,
    /// Delay before each step in milliseconds, so that people can watch.
    pub pace: u64,
    /// The session mode that is reported, by its short name.
    pub mode: SessionMode,
    /// A line on stdout before anything else.
    pub banner: Option<String>,
    /// Answer `session/new` with this error.
    pub session_error: Option<ErrorReply>,
    /// Die outside a turn.
    pub die: Option<Death>,
    /// The signals that the agent ignores.
    pub ignore: Vec<Deaf>,
    /// A file that keeps the counts of `times` across processes, relative to the script.
    pub memory: Option<PathBuf>,
}

/// One rule: which prompts it matches, and its steps.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnScript {
    /// Matches only prompts whose criterion in focus contains exactly this text.
    #[serde(rename = "match")]
    pub matches: Option<String>,
    /// How many prompts it matches; unlimited if absent.
    pub times: Option<u32>,
    /// When permission is asked for.
    pub ask: Ask,
    /// The kinds of the options that are offered.
    pub options: Option<Vec<String>>,
    /// The effect of a denial on the turn.
    pub on_reject: OnReject,
    /// One id for all tool calls of the turn, instead of one each.
    pub call_id: Option<String>,
    /// The steps, in order.
    pub steps: Vec<ScriptStep>,
}

/// When permission is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Before the action, as agents should.
    #[default]
    Before,
    /// After the action.
    After,
    /// Not at all.
    Never,
    /// Before the action, twice with the same call id.
    Twice,
}

/// The effect of a denial on the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReject {
    /// Ends the turn, as Copilot does.
    #[default]
    End,
    /// Continues with the next step, as Claude's adapter does.
    Continue,
}

/// Session modes, as Copilot has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    /// The ordinary mode.
    #[default]
    Agent,
    /// Plans only.
    Plan,
    /// Allows everything.
    Autopilot,
}

/// Something that the agent ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deaf {
    /// `session/cancel`.
    Cancel,
    /// The end of stdin.
    Eof,
    /// SIGTERM.
    Term,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorReply {
    /// The code, as in -32000.
    pub code: i32,
    /// The error message.
    pub message: String,
    /// More details.
    #[serde(default)]
    pub data: Value,
}

/// A death outside a turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Death {
    /// When.
    pub at: DeathMoment,
    /// How.
    pub by: ProcessEnd,
    /// How many times; counted across processes if there is a `memory`.
    #[serde(default)]
    pub times: Option<u32>,
}

/// Moments between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathMoment {
    /// `initialize` has arrived and is not answered.
    Initialize,
    /// `initialize` is answered.
    Initialized,
    /// `session/new` has arrived and is not answered.
    SessionNew,
    /// `session/new` is answered.
    SessionReady,
    /// A prompt has arrived.
    Prompt,
    /// A prompt is answered.
    TurnEnded,
    /// `session/cancel` has arrived.
    Cancel,
}

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    /// It kills itself with SIGKILL.
    Kill,
    /// An orderly exit with this code.
    Exit(u8),
    /// It closes stdout and then only waits for the end of stdin.
    CloseStdout,
}

/// One step. The first group is normal behavior, the second is misbehavior.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStep {
    /// Says a text.
    Say(String),
    /// Thinks a text.
    Think(String),
    /// Shows a plan: one entry a line.
    Plan(Vec<String>),
    /// Reports tokens as used.
    Usage(Tokens),
    /// Waits for this many milliseconds.
    Sleep(u64),
    /// Reads a file.
    Read(String),
    /// Writes a whole file.
    Write(WriteFile),
    /// Replaces a text that occurs once in a file.
    Edit(EditFile),
    /// Runs a command with `sh -c`.
    Run(String),
    /// Ticks the box of a criterion in TASK.md.
    Tick(String),
    /// Appends a dated line to progress.md.
    Progress(String),
    /// Commits everything, with this change in the message.
    Commit(String),
    /// Performs several actions at once; each asks separately.
    Together(Vec<ScriptStep>),

    /// Announces an action and asks for it, without waiting for the answer or performing it.
    AskOnly(ActionStep),
    /// Never continues.
    Hang,
    /// Ends the process.
    Die(ProcessEnd),
    /// Sends a flood of text.
    Flood(Flood),
    /// Sends a raw line; the newline is added.
    Line(String),
    /// Sends a text without a newline.
    Raw(String),
    /// Sends bytes, written as `ff fe 0a`.
    Hex(Hex),
    /// Sends a line of this many opening brackets.
    Deep(u32),
    /// Sends a `session/update` with any content.
    Update(Value),
    /// Ends the turn with a JSON-RPC error.
    Error(ErrorReply),
    /// Ends the turn with this stop reason.
    Stop(String),
    /// Starts a process that outlives the turn.
    Spawn(Spawn),
}

/// A step that can be asked for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ScriptStep")]
pub struct ActionStep(pub Box<ScriptStep>);

impl TryFrom<ScriptStep> for ActionStep {
    type Error = &'static str;

    fn try_from(step: ScriptStep) -> Result<Self, Self::Error> {
        let asked_for = matches!(
            step,
            ScriptStep::Read(_)
                | ScriptStep::Write(_)
                | ScriptStep::Edit(_)
                | ScriptStep::Run(_)
                | ScriptStep::Tick(_)
                | ScriptStep::Progress(_)
                | ScriptStep::Commit(_)
        );
        if asked_for {
            Ok(Self(Box::new(step)))
        } else {
            Err("only read, write, edit, run, tick, progress and commit are asked for")
        }
    }
}

/// Tokens of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Sent to the model.
    pub input: u64,
    /// Written by it.
    pub output: u64,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Relative to the session's folder.
    pub path: String,
    /// The file's contents.
    pub text: String,
}

/// A text to be replaced.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    /// Relative to the session's folder.
    pub path: String,
    /// The text to replace; it must occur exactly once.
    pub old: String,
    /// The replacement.
    pub new: String,
}

/// A flood of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// Number of pieces.
    pub count: u64,
    /// Bytes of text in each piece.
    pub bytes: usize,
    /// Sends each piece as its own message, instead of one endless line.
    #[serde(default = "yes")]
    pub lines: bool,
}

fn yes() -> bool {
    true
}

/// Bytes, written in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Hex(pub Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.split_whitespace()
            .map(|byte| {
                u8::from_str_radix(byte, 16)
                    .map_err(|_| format!("`{byte}` is not a byte; write bytes as `ff fe 0a`"))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A process that outlives the turn.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// For `sh -c`.
    pub command: String,
    /// Starts it in a new process session with the program `setsid`.
    #[serde(default)]
    pub setsid: bool,
    /// Lets it inherit our stdout.
    #[serde(default)]
    pub hold_stdout: bool,
}

impl AgentScript {
    /// Reads a script from a file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid script.
    pub fn load(path: &Path) -> Result<Self, ScriptedError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptedError::Read { path: path.to_owned(), source })?;
        let mut script = Self::parse(&text)
            .map_err(|source| ScriptedError::Parse { path: path.to_owned(), source })?;
        if let (Some(memory), Some(folder)) = (&mut script.memory, path.parent()) {
            *memory = folder.join(&memory);
        }
        Ok(script)
    }

    /// Parses a script.
    ///
    /// # Errors
    /// With the line, if the script is invalid.
    pub fn parse(text: &str) -> Result<Self, Box<serde_saphyr::Error>> {
        serde_saphyr::from_str(text).map_err(Box::new)
    }
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ScriptedError {
    #[error("cannot read the script {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot understand the script {path}\n{source}")]
    Parse { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error("cannot use the memory {path}: {source}")]
    Memory { path: PathBuf, source: std::io::Error },
    #[error("cannot ignore SIGTERM: {0}")]
    Signal(std::io::Error),
    #[error("a turn broke off: {0}")]
    Turn(tokio::task::JoinError),
    /// The client went away.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// How the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentExit {
    /// The client closed its side.
    HungUp,
    /// The script wants the process to end with this code.
    Exit(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        AgentScript::parse(text).expect_err("no script").to_string()
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line() {
        let message = error("turns:\n- steps: []\n  match: a\n  when: b\n");
        assert!(message.starts_with("error: line 4 column 3: unknown field `when`"), "{message}");
        let message = error("turns:\n- steps:\n  - say: a\n  - shout: b\n");
        assert!(
            message.starts_with("error: line 4 column 5: unknown variant `shout`"),
            "{message}"
        );
        let message = error("turns:\n- steps:\n  - flood: {count: 1, bytes: 2, line: no}\n");
        assert!(message.starts_with("error: line 3 column 33: unknown field `line`"), "{message}");
    }

    #[test]
    fn a_step_that_makes_no_sense_is_an_error_with_its_line() {
        let message = error("turns:\n- steps:\n  - hex: ff zz\n");
        assert!(message.starts_with("error: line 3 column 10: `zz` is not a byte"), "{message}");
        let message = error("turns:\n- steps:\n  - ask_only: {say: a}\n");
        assert!(message.contains("line 3 column 15: only read, write"), "{message}");
        let message = error("turns:\n- steps:\n  - {say: a, think: b}\n");
        assert!(message.starts_with("error: line 3 column 14:"), "{message}");
    }
}
