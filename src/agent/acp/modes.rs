//! The modes of a session: which of them asks before the agent acts, and what to set where none
//! does.
//!
//! Invariant: a mode that asks is never left for one that may not. What modes say is no proof: a
//! call that runs unasked ends the session.

use agent_client_protocol::v1::schema::{
    SessionConfigKind, SessionConfigOption, SessionMode, SessionModeState,
};

use crate::agent::KnownAgent;
use crate::model::{Fault, FaultClass};

/// What a mode says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModePromise {
    /// The agent asks.
    Asks,
    /// It says neither.
    Nothing,
    /// At least some calls run unasked.
    Acts,
}

/// Modes in which agents ask, the best first. A plan mode is read-only as well, but no work gets
/// done in it.
const ASKS: [&str; 5] = ["ask", "approve", "default", "read-only", "manual"];
/// Words in the names of modes in which calls run unasked.
const ACTS: &str =
    "bypass, yolo, dontask, dont-ask, full-access, allow-all, smart-approve, autonomous";
/// The same in their descriptions.
const ACTS_TEXT: &str = "without asking, without approval, without confirm, without prompt, \
                         without permission, automatic, auto-a, bypass, never ask";
const ASKS_TEXT: &str = "ask, prompt, approval, confirm, permission";

/// Does a text have one of these words?
fn says(text: &str, words: &str) -> bool {
    words.split(", ").any(|word| text.contains(word))
}

/// An agent's row in the table of known ones.
pub(super) type Known = Option<&'static KnownAgent>;

/// The mode to switch to before the first prompt: none if the current one asks, or none does.
pub(super) fn better(modes: &SessionModeState, known: Known) -> Option<&SessionMode> {
    let all = &modes.available_modes;
    let listed = |id: &&str| all.iter().find(|mode| name_of(mode.id.0.as_ref()) == **id);
    let current = all.iter().find(|mode| mode.id == modes.current_mode_id);
    let asks = known.map_or(&[][..], |row| &row.asks);
    let best = match asks.iter().find_map(&listed) {
        Some(mode) => Some(mode),
        None if current.is_some_and(|mode| promise_of(mode) == ModePromise::Asks) => current,
        None => {
            let asks = |mode: &&SessionMode| promise_of(mode) == ModePromise::Asks;
            ASKS.iter().find_map(listed).or_else(|| all.iter().find(asks))
        }
    };
    best.filter(|mode| mode.id != modes.current_mode_id)
}

/// What the id, the name and the description of a mode say.
fn promise_of(mode: &SessionMode) -> ModePromise {
    let names = [promise(mode.id.0.as_ref()), promise(&mode.name)];
    let text = mode.description.as_deref().unwrap_or_default().to_lowercase();
    if names.contains(&ModePromise::Acts) || says(&text, ACTS_TEXT) {
        ModePromise::Acts
    } else if names.contains(&ModePromise::Asks) || says(&text, ASKS_TEXT) {
        ModePromise::Asks
    } else {
        ModePromise::Nothing
    }
}

/// What the id of a mode says.
pub(super) fn promise(mode: &str) -> ModePromise {
    let name = name_of(mode);
    // `auto`, `autopilot`, `autoEdit`, `acceptEdits`: at least edits happen without asking.
    let acts = name.starts_with("auto") || name.starts_with("accept") || says(&name, ACTS);
    // Copilot's `agent` has a URL; Codex has a mode of that name in which a model decides.
    let asks = ASKS.contains(&name.as_str()) || mode.ends_with("#agent");
    match (acts, asks) {
        (true, _) => ModePromise::Acts,
        (false, true) => ModePromise::Asks,
        (false, false) => ModePromise::Nothing,
    }
}

/// The last part of an id, in one spelling.
fn name_of(mode: &str) -> String {
    let name = mode.rsplit(['#', '/', ':']).next().unwrap_or_default();
    name.to_lowercase().replace(['_', ' '], "-")
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
        let opens = says(id, "allow_all, allow-all, yolo, bypass");
        let all = opens && !matches!(value.as_str(), "off" | "false" | "no");
        let mode = id == "mode" && promise(&value) == ModePromise::Acts;
        (all || mode).then(|| format!("setting `{id}` = `{value}`"))
    })
}

/// The failure of an agent that acts without asking, and what to set.
pub(super) fn unasked(what: &str, known: Known) -> Fault {
    let set = match known.map(|row| (row.set, row.asks.first())) {
        Some((Some((set, place)), _)) => format!("set `{set}` in {place}"),
        Some((None, Some(mode))) => format!("start it in its mode `{mode}`"),
        Some((None, None)) | None => {
            "set it to ask before it edits files and runs commands".to_owned()
        }
    };
    Fault::new(
        FaultClass::Unasked,
        format!("the agent does not ask for permission ({what}): {set}"),
    )
}
