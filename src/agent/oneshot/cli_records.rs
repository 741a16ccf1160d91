//! Folds the records that one `copilot -p` prints. Pure.
//!
//! Records of unknown kinds count as signs of life and are otherwise ignored.

use serde_json::Value;

use crate::agent::arguments;
use crate::agent::call_log::{CallLog, LoggedCall};
use crate::agent::{LastWords, classify_json};
use crate::model::{CallStatus, Fault, FaultClass};

/// Bytes kept from the end of the agent's text.
const SAID: usize = 16 << 10;

/// A tool call as the CLI records it.
pub(super) type RecordedCall = LoggedCall<RecordDetails>;

/// The part of a call that only the CLI records.
#[derive(Clone, Debug)]
pub(super) struct RecordDetails {
    pub(super) tool: String,
    /// The `preToolUse` hook denied the call, so nothing else was asked.
    pub(super) by_hook: bool,
}

/// Everything recorded since the prompt.
#[derive(Debug, Default)]
pub(super) struct CliRecords {
    pub(super) records: u64,
    pub(super) log: CallLog<RecordDetails>,
    pub(super) said: String,
    /// The text after the last call.
    pub(super) words: LastWords,
    /// The model or a tool has started to work.
    pub(super) working: bool,
    /// A failure, if nothing followed it.
    pub(super) fault: Option<Fault>,
}

impl CliRecords {
    /// Reads one line; a line that is not a record is ignored.
    pub(super) fn take(&mut self, line: &[u8]) {
        // A tool's output may be cut inside a character; its call must still be tracked.
        let text = String::from_utf8_lossy(line);
        let Ok(mut record) = serde_json::from_str::<Value>(&text) else { return };
        let arguments = record.pointer_mut("/data/arguments").map(Value::take);
        let Some(kind) = record["type"].as_str() else { return };
        self.records += 1;
        let data = &record["data"];
        match kind {
            "assistant.turn_start" => self.working = true,
            "assistant.message" => {
                self.fault = None;
                if record.get("agentId").is_none() {
                    self.say(data["content"].as_str().unwrap_or_default());
                }
            }
            "tool.execution_start" => {
                let call = self.begin(data, record["agentId"].as_str());
                if let (Some(at), Some(input)) = (call, arguments) {
                    self.log.set_input(at, input, line.len());
                }
            }
            "tool.execution_complete" => self.end(data, record["agentId"].as_str()),
            "session.error" => {
                let unknown = || Fault::new(FaultClass::Fatal, "the CLI reports an error");
                self.fault = Some(classify_json(&record).unwrap_or_else(unknown));
            }
            // Other kinds of records carry nothing that is needed here.
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.words.say(text);
            self.words.say("\n");
            self.said.push_str(text);
            self.said.push('\n');
        }
        let keep = self.said.ceil_char_boundary(self.said.len().saturating_sub(SAID));
        self.said.drain(..keep);
    }

    fn begin(&mut self, data: &Value, asker: Option<&str>) -> Option<usize> {
        self.working = true;
        self.fault = None;
        self.words.clear();
        let text = |name: &str| data[name].as_str().unwrap_or_default();
        let details = RecordDetails { tool: text("toolName").to_owned(), by_hook: false };
        let at = self.log.begin(text("toolCallId"), details)?;
        let call = &mut self.log.calls[at];
        call.set_title(text("toolTitle"));
        call.asker = asker.map(str::to_owned);
        Some(at)
    }

    fn end(&mut self, data: &Value, asker: Option<&str>) {
        self.fault = None;
        let id = data["toolCallId"].as_str().unwrap_or_default();
        // If its start was never recorded, track it without arguments, so that it matches no
        // decision.
        let Some(at) = self.log.find(id).or_else(|| self.begin(data, asker)) else { return };
        let call = &mut self.log.calls[at];
        let error = &data["error"];
        call.status = match (data["success"].as_bool(), error["code"].as_str()) {
            (Some(true), _) => CallStatus::Completed,
            (_, Some("denied" | "rejected")) => CallStatus::Denied,
            (_, _) => CallStatus::Failed,
        };
        let words = error["message"].as_str().unwrap_or_default();
        call.details.by_hook = words.starts_with("Denied by preToolUse hook");
        call.exit = data["shellExecution"]["exitCode"].as_i64();
        self.log.count(at);
    }
}

/// ACP's kind for a tool, so that both adapters report calls alike.
pub(super) fn kind(tool: &str) -> &'static str {
    match tool {
        "bash" | "stop_bash" | "write_bash" => "execute",
        "create" | "edit" => "edit",
        "view" | "read_bash" | "list_bash" | "read_agent" | "list_agents" => "read",
        "grep" | "glob" => "search",
        _ => "other",
    }
}

/// Is this a call that the CLI makes by itself, without a hook, to show the rest of a background
/// shell's output?
pub(super) fn is_shell_echo(call: &RecordedCall) -> bool {
    call.details.tool == "read_bash" && arguments::is_shell_echo(&call.input)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(records: &[Value]) -> CliRecords {
        let mut seen = CliRecords::default();
        for record in records {
            seen.take(record.to_string().as_bytes());
        }
        seen
    }

    fn start(id: &str, command: &str) -> Value {
        json!({"type": "tool.execution_start", "data": {
            "toolCallId": id, "toolName": "bash", "arguments": {"command": command}}})
    }

    fn complete(id: &str, data: &Value) -> Value {
        let mut data = data.clone();
        data["toolCallId"] = json!(id);
        json!({"type": "tool.execution_complete", "data": data})
    }

    #[test]
    fn a_call_is_followed_to_its_end() {
        let denied =
            |words: &str| json!({"success": false, "error": {"code": "denied", "message": words}});
        let mut seen = seen(&[
            start("1", "ls"),
            complete("1", &json!({"success": true, "shellExecution": {"exitCode": 3}})),
            start("2", "rm x"),
            complete("2", &denied("Denied by preToolUse hook: no")),
            start("3", "rm y"),
            complete("3", &denied("Permission denied")),
            start("4", "cat"),
            complete("4", &json!({"success": false, "error": {"code": "failure"}})),
            start("5", "sleep"),
        ]);
        let calls: Vec<_> = seen.log.take_ended().into_iter().map(|(_, call)| call).collect();
        let told: Vec<_> =
            calls.iter().map(|it| (it.status, it.exit, it.details.by_hook)).collect();
        assert_eq!(
            told,
            [
                (CallStatus::Completed, Some(3), false),
                (CallStatus::Denied, None, true),
                (CallStatus::Denied, None, false),
                (CallStatus::Failed, None, false),
            ]
        );
        assert!(seen.log.pending() && seen.log.take_ended().is_empty());
        assert_eq!(seen.log.failing, Some(("cat".to_owned(), 1)));
    }

    #[test]
    fn a_call_that_ends_without_having_begun_is_one_that_nothing_vouches_for() {
        let mut seen = seen(&[complete("9", &json!({"success": true}))]);
        let (_, call) = seen.log.take_ended().pop().expect("a call");
        assert_eq!((call.status, call.input), (CallStatus::Completed, Value::Null));
        assert_eq!(seen.log.begun, 1);
    }

    #[test]
    fn only_an_error_that_nothing_followed_is_the_turn_s() {
        let error = json!({"type": "session.error", "data": {"errorType": "rate_limit", "message": "429", "statusCode": 429}});
        let message = json!({"type": "assistant.message", "data": {"content": "Done."}});
        let fault = seen(&[message.clone(), error.clone()]).fault.map(|fault| fault.class);
        assert_eq!(fault, Some(FaultClass::RateLimit));
        let after = seen(&[error, message]);
        assert_eq!((after.fault, after.said.as_str()), (None, "Done.\n"));
    }

    #[test]
    fn arguments_are_held_to_a_limit_and_let_go_of_with_their_call() {
        let mut seen = CliRecords::default();
        let argument = "x".repeat(13 << 20);
        for id in ["1", "2", "3", "4", "5"] {
            seen.take(start(id, &argument).to_string().as_bytes());
        }
        assert!(seen.log.held() <= 64 << 20, "{}", seen.log.held());
        assert!(seen.log.calls[4].input.is_null(), "what does not fit can be joined with nothing");
        for id in ["1", "2", "3", "4", "5"] {
            seen.take(complete(id, &json!({"success": true})).to_string().as_bytes());
        }
        assert_eq!(seen.log.take_ended().len(), 5);
        assert_eq!(seen.log.held(), 0);
    }

    #[test]
    fn bytes_that_are_no_text_hide_no_call() {
        let mut seen = seen(&[start("1", "cat a.bin")]);
        let end = complete("1", &json!({"success": true, "result": "BYTES"})).to_string();
        let (before, after) = end.split_once("BYTES").expect("in it");
        seen.take(&[before.as_bytes(), b"\xff\xc3", after.as_bytes()].concat());
        assert_eq!(seen.log.take_ended().len(), 1);
    }

    #[test]
    fn what_was_said_last_tells_of_a_limit_unless_a_call_follows() {
        let message = |text: &str| json!({"type": "assistant.message", "data": {"content": text}});
        let limit = message("You have hit your rate limit. Please try again in 58 hours.");
        let plain = |records: &[Value]| {
            seen(records).words.classify(true).is_some_and(|told| told.is_plain_limit())
        };
        assert!(plain(&[
            start("1", "ls"),
            complete("1", &json!({"success": true})),
            limit.clone()
        ]));
        assert!(!plain(&[limit.clone(), start("1", "ls")]));
        assert!(!plain(&[limit, message("I added a retry for that.")]));
    }

    #[test]
    fn text_that_is_no_record_is_nothing() {
        let mut seen = CliRecords::default();
        for line in ["", "Done.", "[1]", "{\"a\":1}", "{"] {
            seen.take(line.as_bytes());
        }
        assert_eq!((seen.records, seen.log.begun), (0, 0));
    }
}
