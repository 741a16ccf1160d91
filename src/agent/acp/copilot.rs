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

/// What the new records end with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// An error after which the model said or did nothing more.
    Error(SessionError),
    /// The model's own words or deeds.
    Model,
    /// Neither; or there are no records, or they cannot be read.
    Nothing,
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

    /// What was recorded last since we looked.
    pub(super) async fn last(&mut self) -> Last {
        match self.fresh().await {
            Ok(bytes) => last(&bytes),
            Err(error) => {
                tracing::debug!(%error, path = %self.path.display(), "no records of the session");
                Last::Nothing
            }
        }
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

fn last(bytes: &[u8]) -> Last {
    let mut found = Last::Nothing;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { continue };
        match record.kind.as_str() {
            "session.error" => {
                found = Last::Error(serde_json::from_value(record.data).unwrap_or_default());
            }
            "assistant.message" | "tool.execution_complete" => found = Last::Model,
            // Of all other kinds there is nothing to learn here.
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str = r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"429","statusCode":429}}"#;
    const MESSAGE: &str = r#"{"type":"assistant.message","data":{}}"#;

    #[test]
    fn only_an_error_that_nothing_followed_counts() {
        let Last::Error(found) = last(format!("{MESSAGE}\n{ERROR}\nnot json\n").as_bytes()) else {
            panic!("no error");
        };
        assert_eq!((found.status_code, class_of(&found)), (Some(429), Some(FaultClass::RateLimit)));
        assert_eq!(last(format!("{ERROR}\n{MESSAGE}\n").as_bytes()), Last::Model);
        assert_eq!(last(b"{\"type\":\"session.start\"}\n"), Last::Nothing);
    }

    #[test]
    fn an_error_of_an_unknown_shape_is_one_all_the_same() {
        let record = br#"{"type":"session.error","data":[1]}"#;
        assert_eq!(last(record), Last::Error(SessionError::default()));
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
        assert_eq!(records.last().await, Last::Nothing);
        std::fs::write(&file, format!("{ERROR}\n{MESSAGE}\n")).expect("write");
        assert_eq!(records.last().await, Last::Model);
    }
}
