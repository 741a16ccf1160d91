//! A script as it is written: YAML, read once, every key known.
//!
//! Invariant: a script that parses can be played; what is wrong with it is said with its line.
//! What the steps do does NOT live here. The format is explained in `docs/scripted-agent.md`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::ScriptedError;

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentScript {
    /// The task's folder, relative to the session's; looked for if not said.
    pub task: Option<PathBuf>,
    /// What the agent does with a prompt: the first that fits is played.
    pub turns: Vec<TurnScript>,
    /// Milliseconds before each step, so that people can watch.
    pub pace: u64,
    /// The session mode that is reported, by its short name.
    pub mode: SessionMode,
    /// A line on stdout before anything else.
    pub banner: Option<String>,
    /// Answer `session/new` with this error.
    pub session_error: Option<ErrorReply>,
    /// Die outside of a turn.
    pub die: Option<Death>,
    /// What the agent does not listen to.
    pub ignore: Vec<Deaf>,
    /// A file that keeps the counts of `times` for the agent's next process; relative to the
    /// script.
    pub memory: Option<PathBuf>,
}

/// One rule: which prompts it is for, and what is done then.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnScript {
    /// Only for prompts whose criterion in focus contains this text, letter by letter.
    #[serde(rename = "match")]
    pub matches: Option<String>,
    /// Only for so many prompts; without end if not said.
    pub times: Option<u32>,
    /// When permission is asked for.
    pub ask: Ask,
    /// The kinds of the options that are offered.
    pub options: Option<Vec<String>>,
    /// What a denial does to the turn.
    pub on_reject: OnReject,
    /// One id for all tool calls of the turn, instead of one each.
    pub call_id: Option<String>,
    /// What is done, in order.
    pub steps: Vec<ScriptStep>,
}

/// When permission is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Before the action, as it should be.
    #[default]
    Before,
    /// When it is already done.
    After,
    /// Not at all.
    Never,
    /// Before the action, two times with the same call id.
    Twice,
}

/// What a denial does to the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReject {
    /// It ends, as with Copilot.
    #[default]
    End,
    /// It goes on with the next step, as with Claude's adapter.
    Continue,
}

/// Session modes, as Copilot has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    /// The ordinary one.
    #[default]
    Agent,
    /// Plans only.
    Plan,
    /// Allows everything.
    Autopilot,
}

/// What the agent does not listen to.
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
    /// Its code, as in -32000.
    pub code: i32,
    /// One sentence.
    pub message: String,
    /// Anything more.
    #[serde(default)]
    pub data: Value,
}

/// A death outside of a turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Death {
    /// When.
    pub at: DeathMoment,
    /// How.
    pub by: ProcessEnd,
    /// So many times only; counted across processes if there is a `memory`.
    #[serde(default)]
    pub times: Option<u32>,
}

/// Moments between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeathMoment {
    /// `initialize` has come and is not answered.
    Initialize,
    /// It is answered.
    Initialized,
    /// `session/new` has come and is not answered.
    SessionNew,
    /// It is answered.
    SessionReady,
    /// A prompt has come.
    Prompt,
    /// A prompt is answered.
    TurnEnded,
    /// `session/cancel` has come.
    Cancel,
}

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    /// SIGKILL, by its own hand.
    Kill,
    /// An orderly exit with this code.
    Exit(u8),
    /// It closes stdout and does nothing more until stdin ends.
    CloseStdout,
}

/// One thing to do. The first group is what agents do; the second is what they should not.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStep {
    /// Says a text.
    Say(String),
    /// Thinks a text.
    Think(String),
    /// Shows a plan: one entry a line.
    Plan(Vec<String>),
    /// Counts tokens as used.
    Usage(Tokens),
    /// Waits so many milliseconds.
    Sleep(u64),
    /// Looks into a file.
    Read(String),
    /// Writes a new file, or all of an old one.
    Write(WriteFile),
    /// Replaces a text that stands once in a file.
    Edit(EditFile),
    /// Runs a command with `sh -c`.
    Run(String),
    /// Ticks the box of a criterion in TASK.md.
    Tick(String),
    /// Appends a dated line to progress.md.
    Progress(String),
    /// Commits everything, with this change in the message.
    Commit(String),
    /// Does several actions at once; each asks for itself.
    Together(Vec<ScriptStep>),

    /// Announces an action and asks for it, but neither waits for the answer nor does it.
    AskOnly(ActionStep),
    /// Does nothing any more.
    Hang,
    /// Ends the process, one way or the other.
    Die(ProcessEnd),
    /// Sends very much text.
    Flood(Flood),
    /// Sends a line that is no frame of the SDK's; its newline is added.
    Line(String),
    /// Sends a text without a newline.
    Raw(String),
    /// Sends bytes, written as `ff fe 0a`.
    Hex(Hex),
    /// Sends a line of so many opening brackets.
    Deep(u32),
    /// Sends a `session/update` that holds anything at all.
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
    /// All of it.
    pub text: String,
}

/// A text to be replaced.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    /// Relative to the session's folder.
    pub path: String,
    /// What stands there, once.
    pub old: String,
    /// What shall stand there.
    pub new: String,
}

/// A flood of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// How many pieces.
    pub count: u64,
    /// Bytes of text in each.
    pub bytes: usize,
    /// Each piece is a message of its own; else all is one line that never ends.
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
                    .map_err(|_| format!("`{byte}` is no byte; write bytes as `ff fe 0a`"))
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
    /// In a process session of its own, by the program `setsid`.
    #[serde(default)]
    pub setsid: bool,
    /// With our stdout in its hands.
    #[serde(default)]
    pub hold_stdout: bool,
}

impl AgentScript {
    /// Reads a script from a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no script.
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

    /// Understands a script's text.
    ///
    /// # Errors
    /// With the line, if it is no script.
    pub fn parse(text: &str) -> Result<Self, Box<serde_saphyr::Error>> {
        serde_saphyr::from_str(text).map_err(Box::new)
    }
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
        assert!(message.starts_with("error: line 3 column 10: `zz` is no byte"), "{message}");
        let message = error("turns:\n- steps:\n  - ask_only: {say: a}\n");
        assert!(message.contains("line 3 column 15: only read, write"), "{message}");
        let message = error("turns:\n- steps:\n  - {say: a, think: b}\n");
        assert!(message.starts_with("error: line 3 column 14:"), "{message}");
    }

    #[test]
    fn a_memory_lies_beside_its_script() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("agent.yaml");
        std::fs::write(&path, "memory: seen.txt\n").expect("written");
        let script = AgentScript::load(&path).expect("a script");
        assert_eq!(script.memory, Some(folder.path().join("seen.txt")));
        let missing = AgentScript::load(Path::new("/not/there.yaml")).expect_err("not there");
        assert!(missing.to_string().starts_with("cannot read the script /not/there.yaml: "));
    }
}
