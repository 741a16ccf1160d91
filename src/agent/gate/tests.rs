use std::path::Path;

use serde_json::json;

use super::*;
use crate::guard::OsFiles;
use crate::model::SessionId;

/// Takes events down in memory.
#[derive(Default)]
struct Paper(Mutex<Vec<EventKind>>);

impl Record for Paper {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        self.0.lock().expect("paper").push(kind);
        Ok(())
    }
}

fn gate(root: &Path) -> (Gate, Arc<Paper>) {
    let paper = Arc::new(Paper::default());
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let gate = Gate::new(Arc::clone(&paper) as _, redactor, Box::new(OsFiles));
    let policy = Arc::new(Policy::new(root, root.join("tasks/demo")));
    gate.focus(Focus { iteration: 1, policy });
    (gate, paper)
}

fn asked(asked: Asked, input: Value) -> ToolRequest {
    ToolRequest {
        session: SessionId::new("s"),
        call: (asked == Asked::Permission).then(|| "1".to_owned()),
        tool: "bash".to_owned(),
        input,
        asked,
    }
}

#[test]
fn a_request_of_a_session_whose_hook_did_not_report_is_denied_and_recorded() {
    let folder = tempfile::tempdir().expect("folder");
    let (gate, paper) = gate(&folder.path().canonicalize().expect("canonical"));
    let request = asked(Asked::Permission, json!({ "command": "git status" }));
    assert!(gate.decide(&request).allowed(), "no hooks are served");
    gate.expect_hooks();
    assert_eq!(gate.decide(&request).rule, "guard.not-in-force");
    let last = paper.0.lock().expect("paper").last().cloned();
    assert!(
        matches!(last, Some(EventKind::ToolDecided { rule, .. }) if rule == "guard.not-in-force")
    );
    gate.greet("s");
    assert!(gate.decide(&request).allowed());
}
