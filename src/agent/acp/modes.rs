//! The modes of a session: in which of them the agent asks before it acts.

use agent_client_protocol::v1::schema::{SessionConfigKind, SessionConfigOption};

/// Does this mode let the agent act without asking?
pub(super) fn widens(mode: &str) -> bool {
    let mode = mode.to_lowercase();
    let name = mode.rsplit(['#', '/', ':']).next().unwrap_or_default();
    // `auto`, `autopilot`, `autoEdit`, `acceptEdits`: at least edits happen without asking.
    name.starts_with("auto")
        || name.starts_with("accept")
        || ["bypass", "yolo", "dontask", "dont-ask", "full-access", "allow-all", "allow_all"]
            .iter()
            .any(|word| name.contains(word))
}

/// Is this the ordinary mode, in which the agent asks before it acts?
pub(super) fn asks(mode: &str) -> bool {
    mode == "default" || mode == "agent" || mode.ends_with("#agent")
}

/// A session setting with which the agent does not ask, if one is on.
pub(super) fn widening_option(options: &[SessionConfigOption]) -> Option<String> {
    options.iter().find_map(|option| {
        let id = option.id.0.as_ref();
        let value = match &option.kind {
            SessionConfigKind::Select(select) => select.current_value.0.to_string(),
            SessionConfigKind::Boolean(flag) => flag.current_value.to_string(),
            // A kind of a later version, whose value is unknown.
            _ => return None,
        };
        let opens =
            ["allow_all", "allow-all", "yolo", "bypass"].iter().any(|word| id.contains(word));
        let all = opens && !matches!(value.as_str(), "off" | "false" | "no");
        let mode = id == "mode" && widens(&value);
        (all || mode).then(|| format!("setting `{id}` = `{value}`"))
    })
}
