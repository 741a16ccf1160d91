//! What a provider says reaches people and the agent without what a terminal would obey.

use std::path::PathBuf;

use super::*;
use crate::gateway::{CallFailure, FailureCode};
use crate::model::{Event, RunId};
use crate::sys::clock::Clock;

const TOLD: &str = "a\u{1b}[31mb\u{1b}]0;title\u{7}\r\n\tc\u{202e}d";
const PLAIN: &str = "a[31mb]0;title\n\tcd";

struct Bench {
    feed: Feed,
    journal: PathBuf,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = folder.path().join("events.jsonl");
        let (run, redactor) = (RunId::new("r1"), Arc::new(Redactor::default()));
        let redact = Arc::clone(&redactor) as Arc<dyn crate::model::Redact>;
        let events = Emitter::create(&journal, run, Clock::system(), redact, Vec::new());
        let feed = Feed::new(Arc::new(events.expect("a journal")), redactor);
        Self { feed, journal, _folder: folder }
    }

    /// Lets a provider push this text; returns the text in the journal.
    fn push(&self, level: EventLevel) -> String {
        self.push_to(TOLD.to_owned(), level);
        match self.last() {
            EventKind::EventPushed { text, .. } => text,
            other => panic!("{other:?}"),
        }
    }

    fn push_to(&self, stream: String, level: EventLevel) {
        self.feed.take(GatewayEvent::Pushed(PushedEvent {
            session: "s".to_owned(),
            provider: "p".to_owned(),
            level,
            text: TOLD.to_owned(),
            stream,
            metadata: None,
            injected: (level == EventLevel::Inject).then(|| TOLD.to_owned()),
        }));
    }

    fn last(&self) -> EventKind {
        let text = std::fs::read_to_string(&self.journal).expect("a journal");
        let line = text.lines().last().expect("an event");
        serde_json::from_str::<Event>(line).expect("an event").kind
    }
}

#[tokio::test]
async fn events_for_people_and_the_agent_are_cleaned_and_kept_ones_are_data() {
    let bench = Bench::new();
    assert_eq!(bench.push(EventLevel::Keep), TOLD);
    assert_eq!(bench.push(EventLevel::Surface), PLAIN);
    assert_eq!(bench.feed.take_events(), []);
    assert_eq!(bench.push(EventLevel::Inject), PLAIN);
    let [event] = bench.feed.take_events().try_into().expect("one event");
    assert_eq!((event.text.as_str(), event.stream.as_str()), (PLAIN, PLAIN));
}

#[tokio::test]
async fn the_name_of_a_stream_counts_like_a_text() {
    let bench = Bench::new();
    bench.push_to("s".repeat(17 << 20), EventLevel::Keep);
    let EventKind::Notice { message } = bench.last() else { panic!("it was kept") };
    assert!(message.contains("more than a run keeps"), "{message}");
}

#[tokio::test]
async fn the_error_of_a_call_is_cleaned() {
    let bench = Bench::new();
    let failure = CallFailure { code: FailureCode::Internal, message: TOLD.to_owned() };
    bench.feed.take(GatewayEvent::Ended {
        id: Some("c1".to_owned()),
        label: None,
        tool: "greet".to_owned(),
        outcome: Err(failure),
    });
    let EventKind::ProviderCalled { error, .. } = bench.last() else { panic!("another event") };
    assert_eq!(error, Some(format!("INTERNAL: {PLAIN}")));
}
