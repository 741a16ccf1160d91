//! What is particular to the Copilot CLI: its own records of a session.
//!
//! A failed model call ends a turn like a finished one, so the CLI's record of it
//! (`session-state/<id>/events.jsonl`) is read after the turn. What cannot be read
//! there is not an error: the CLI's hook reports and words remain.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, SeekFrom};

use crate::agent::{classify_code, classify_text};
use crate::model::FaultClass;

/// Most that is read of the records after one turn: their end.
const READ: u64 = 4 << 20;

/// A `session.error` record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SessionError {
    pub(super) error_type: String,
    pub(super) message: String,
    pub(super) status_code: Option<u64>,
}

/// The class of a recorded error.
pub(super) fn class_of(error: &SessionError) -> Option<FaultClass> {
    classify_code(error.status_code, &error.error_type).or_else(|| classify_text(&error.message))
}

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: serde_json::Value,
}

/// The CLI's records of one session, read from where we stopped.
pub(super) struct SessionRecords {
    path: PathBuf,
    read: u64,
}

impl SessionRecords {
    /// The records below the CLI's home.
    pub(super) fn of(home: &Path, session: &str) -> Self {
        Self { path: home.join("session-state").join(session).join("events.jsonl"), read: 0 }
    }

    /// The error that the new records end with: one after which the model said or did
    /// nothing more.
    pub(super) async fn last_error(&mut self) -> Option<SessionError> {
        let bytes = self.fresh().await.ok()?;
        last_error(&bytes)
    }

    async fn fresh(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = tokio::fs::File::open(&self.path).await?;
        let length = file.metadata().await?.len();
        let from = self.read.max(length.saturating_sub(READ));
        file.seek(SeekFrom::Start(from)).await?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes).await?;
        self.read = length;
        Ok(bytes)
    }
}

fn last_error(bytes: &[u8]) -> Option<SessionError> {
    let mut found = None;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { continue };
        match record.kind.as_str() {
            "session.error" => found = serde_json::from_value(record.data).ok(),
            "assistant.message" | "tool.execution_complete" => found = None,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_that_nothing_followed_counts() {
        let error = r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"429","statusCode":429}}"#;
        let message = r#"{"type":"assistant.message","data":{}}"#;
        let found =
            last_error(format!("{message}\n{error}\nnot json\n").as_bytes()).expect("an error");
        assert_eq!((found.status_code, class_of(&found)), (Some(429), Some(FaultClass::RateLimit)));
        assert_eq!(last_error(format!("{error}\n{message}\n").as_bytes()), None);
    }
}
