//! Reads the Copilot CLI's own records of a session.
//!
//! Over ACP, a turn whose model call failed ends like a finished one. So the CLI's record of
//! it (`session-state/<id>/events.jsonl`) is read after the turn. An unreadable record is not
//! an error: the CLI's hook reports and its text remain.

use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, SeekFrom};

use super::prices;
use crate::agent::{TurnLimits, classify_json, reset_in};
use crate::model::{Credits, Fault, FaultClass, Reset, Usage};

/// Bytes read from the end of the CLI's log.
const LOG: u64 = 256 << 10;
/// Bytes of the records read at a time.
const READ: u64 = 4 << 20;

/// How the CLI refuses a call of a tool, and one of a model, at its own limit of credits.
const SPENT: [&str; 2] = ["session limits were reached", "Session limit reached"];

/// How the new records end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Last {
    /// With an error after which the model did nothing more.
    Error(Fault),
    /// With the model's own text or tool calls.
    Model,
    /// With neither, or without readable records.
    #[default]
    Nothing,
}

/// The CLI's records of one session, read incrementally.
pub(super) struct SessionRecords {
    path: PathBuf,
    read: u64,
    last: Last,
    tokens: Usage,
    /// The CLI refuses tools, or models, since the credits of the session are used up.
    spent: bool,
}

impl SessionRecords {
    /// The records below the CLI's home.
    pub(super) fn of(home: &Path, session: &str) -> Self {
        let path = home.join("session-state").join(session).join("events.jsonl");
        Self { path, read: 0, last: Last::Nothing, tokens: Usage::default(), spent: false }
    }

    /// How the records end that were written since the last call.
    pub(super) async fn last(&mut self) -> Last {
        self.look().await;
        std::mem::take(&mut self.last)
    }

    /// The tokens of the whole session so far.
    pub(super) async fn tokens(&mut self) -> Usage {
        self.look().await;
        self.tokens
    }

    /// Does the CLI say that the limit of credits that it was given is reached?
    pub(super) async fn spent(records: &mut Option<Self>, limits: &TurnLimits) -> bool {
        let (Some(records), Some(_)) = (records, limits.credits) else { return false };
        records.look().await;
        records.spent
    }

    /// Reads everything new; a skipped record would be tokens not counted.
    async fn look(&mut self) {
        loop {
            match self.fresh().await {
                Ok(bytes) if bytes.is_empty() => return,
                Ok(bytes) => self.take(&bytes),
                Err(error) => {
                    let path = self.path.display();
                    return tracing::debug!(%error, %path, "no records of the session");
                }
            }
        }
    }

    /// The next complete lines, or part of a line that is too long to be useful.
    async fn fresh(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = tokio::fs::File::open(&self.path).await?;
        file.seek(SeekFrom::Start(self.read)).await?;
        let mut bytes = Vec::new();
        let read = file.take(READ).read_to_end(&mut bytes).await? as u64;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => bytes.truncate(at + 1),
            None if read == READ => {}
            None => bytes.clear(),
        }
        self.read += bytes.len() as u64;
        Ok(bytes)
    }

    fn take(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
            match value["type"].as_str().unwrap_or_default() {
                "session.error" => {
                    self.spent |= says_spent(&value["data"]);
                    let unknown = || Fault::new(FaultClass::Fatal, "the CLI reports an error");
                    self.last = Last::Error(classify_json(&value).unwrap_or_else(unknown));
                }
                "assistant.message" => self.last = Last::Model,
                "tool.execution_complete" => {
                    self.spent |= says_spent(&value["data"]["error"]);
                    self.last = Last::Model;
                }
                "session.usage_record" => {
                    let usage = &value["data"]["usage"];
                    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
                    let Usage { input, output, total, cached, credits } = &mut self.tokens;
                    *credits = Credits::add(*credits, prices::credits(usage));
                    *cached = cached.saturating_add(count("cacheReadTokens"));
                    *input = input.saturating_add(count("inputTokens"));
                    *output = output.saturating_add(count("outputTokens"));
                    *total = input.saturating_add(*output);
                }
                // Other kinds of records carry nothing that is needed here.
                _ => {}
            }
        }
    }
}

fn says_spent(error: &Value) -> bool {
    let message = error["message"].as_str().unwrap_or_default();
    SPENT.iter().any(|words| message.contains(words))
}

/// When the last rate limit in the CLI's newest log ends.
pub(super) async fn reset_in_logs(folder: &Path) -> Option<Reset> {
    let folder = folder.to_owned();
    let found = tokio::task::spawn_blocking(move || {
        let files = std::fs::read_dir(folder)?.filter_map(Result::ok);
        let dated = files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file)));
        let Some((_, newest)) = dated.max_by_key(|(time, _)| *time) else { return Ok(None) };
        let mut file = std::fs::File::open(newest.path())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG)))?;
        let mut bytes = Vec::new();
        file.take(LOG).read_to_end(&mut bytes)?;
        Ok(reset_in_log(&String::from_utf8_lossy(&bytes)))
    });
    match found.await {
        Ok(Ok(reset)) => reset,
        Ok(Err(error)) => {
            let error: std::io::Error = error;
            tracing::debug!(%error, "the CLI's log cannot be read");
            None
        }
        Err(error) => {
            tracing::debug!(%error, "the CLI's log was not read");
            None
        }
    }
}

/// `2026-11-22T00:51:13.803Z [WARNING] … {"http_status":429,…,"retry_after_ms":3600000}`
fn reset_in_log(text: &str) -> Option<Reset> {
    let limited = |line: &&str| line.contains("\"http_status\":429");
    let line = text.lines().rfind(limited)?;
    let (time, rest) = line.split_once(' ')?;
    let Reset::After(seconds) = reset_in(rest)? else { return None };
    let told: DateTime<Utc> = time.parse().ok()?;
    let wait = TimeDelta::try_seconds(i64::try_from(seconds).ok()?)?;
    Some(Reset::At(told.checked_add_signed(wait)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str = r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"429","statusCode":429}}"#;
    const MESSAGE: &str = r#"{"type":"assistant.message","data":{}}"#;

    fn last(records: &str) -> Last {
        let mut read = SessionRecords::of(Path::new("/"), "s");
        read.take(records.as_bytes());
        read.last
    }

    #[test]
    fn only_an_error_that_nothing_followed_counts() {
        let Last::Error(found) = last(&format!("{MESSAGE}\n{ERROR}\nnot json\n")) else {
            panic!("no error");
        };
        assert_eq!(found, Fault::new(FaultClass::RateLimit, "429"));
        assert_eq!(last(&format!("{ERROR}\n{MESSAGE}\n")), Last::Model);
        assert_eq!(last("{\"type\":\"session.start\"}\n"), Last::Nothing);
    }

    #[test]
    fn an_error_of_an_unknown_shape_is_one_all_the_same() {
        let Last::Error(found) = last(r#"{"type":"session.error","data":[1]}"#) else {
            panic!("no error");
        };
        assert_eq!(found.class, FaultClass::Fatal);
    }

    #[test]
    fn the_log_tells_when_a_rate_limit_passes() {
        let log = "2026-11-22T00:51:13.803Z [WARNING] [rust:model_events::producer] Model provider request failed {\"stage\":\"inference\",\"http_status\":429,\"failure_kind\":\"http_error\",\"retry_after_ms\":3600000}\n2026-11-22T00:51:14.000Z [INFO] idle\n";
        let passes = "2026-11-22T01:51:13.803Z".parse().expect("a time");
        assert_eq!(reset_in_log(log), Some(Reset::At(passes)));
        let unsaid = log.replace(",\"retry_after_ms\":3600000", "");
        assert_eq!(reset_in_log(&unsaid), None);
        assert_eq!(reset_in_log(""), None);
    }

    #[tokio::test]
    async fn tokens_add_up_while_a_turn_goes_on_and_half_a_line_waits_for_its_end() {
        let home = tempfile::tempdir().expect("home");
        let folder = home.path().join("session-state/s");
        std::fs::create_dir_all(&folder).expect("folder");
        let line = r#"{"type":"session.usage_record","data":{"usage":{"inputTokens":100,"outputTokens":10}}}"#;
        let mut records = SessionRecords::of(home.path(), "s");
        let file = folder.join("events.jsonl");
        std::fs::write(&file, format!("{line}\n{}", &line[..30])).expect("write");
        assert_eq!(records.tokens().await.total, 110);
        std::fs::write(&file, format!("{line}\n{line}\n")).expect("write");
        assert_eq!(records.tokens().await.total, 220);
        assert_eq!(records.last().await, Last::Nothing);
    }

    #[tokio::test]
    async fn credits_follow_from_the_model_of_each_call_and_one_unknown_makes_the_sum_unknown() {
        let home = tempfile::tempdir().expect("home");
        let folder = home.path().join("session-state/s");
        std::fs::create_dir_all(&folder).expect("folder");
        let call = |model: &str| {
            let usage = serde_json::json!({"model": model, "inputTokens": 10_000,
                "outputTokens": 1000, "cacheReadTokens": 4000, "isByok": model == "own"});
            serde_json::json!({"type": "session.usage_record", "data": {"usage": usage}})
        };
        let file = folder.join("events.jsonl");
        let mut records = SessionRecords::of(home.path(), "s");
        let mut text = String::new();
        for (model, cached, credits) in [
            ("own", 4000, None),
            ("gpt-5-mini", 8000, Some(Credits::Milli(360))),
            ("claude-haiku-4.5", 12_000, Some(Credits::Milli(1500))),
            ("claude-next", 16_000, Some(Credits::Unknown)),
            ("gpt-5-mini", 20_000, Some(Credits::Unknown)),
        ] {
            text += &format!("{}\n", call(model));
            std::fs::write(&file, &text).expect("write");
            let all = records.tokens().await;
            assert_eq!((all.cached, all.credits), (cached, credits), "{model}");
        }
    }

    #[tokio::test]
    async fn every_token_counts_however_much_is_recorded_between_two_looks() {
        let home = tempfile::tempdir().expect("home");
        let folder = home.path().join("session-state/s");
        std::fs::create_dir_all(&folder).expect("folder");
        let count = |tokens: u64| {
            let usage = serde_json::json!({"inputTokens": tokens, "outputTokens": 0});
            let line =
                serde_json::json!({"type": "session.usage_record", "data": {"usage": usage}});
            line.to_string() + "\n"
        };
        let other = format!("{{\"type\":\"{}\"}}\n", "x".repeat(100_000));
        let huge = format!("{{\"type\":\"{}\"}}\n", "x".repeat(9 << 20));
        let text = [count(1), other.repeat(60), count(2), huge, count(4)].concat();
        std::fs::write(folder.join("events.jsonl"), text).expect("write");
        let mut records = SessionRecords::of(home.path(), "s");
        assert_eq!(records.tokens().await.total, 7);
        let more = count(u64::MAX) + &count(1);
        let mut file =
            std::fs::File::options().append(true).open(folder.join("events.jsonl")).expect("file");
        std::io::Write::write_all(&mut file, more.as_bytes()).expect("write");
        assert_eq!(
            records.tokens().await.total,
            u64::MAX,
            "a number that is too large does not wrap around"
        );
    }

    #[tokio::test]
    async fn each_turn_reads_only_what_is_new() {
        let home = tempfile::tempdir().expect("home");
        let folder = home.path().join("session-state/s");
        std::fs::create_dir_all(&folder).expect("folder");
        let file = folder.join("events.jsonl");
        let mut records = SessionRecords::of(home.path(), "s");
        assert_eq!(records.last().await, Last::Nothing);
        std::fs::write(&file, format!("{ERROR}\n")).expect("write");
        assert!(matches!(records.last().await, Last::Error(_)));
        assert_eq!(records.last().await, Last::Nothing, "it is told once");
        std::fs::write(&file, format!("{ERROR}\n{MESSAGE}\n")).expect("write");
        assert_eq!(records.last().await, Last::Model);
    }
}
