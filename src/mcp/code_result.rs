//! The result of a code task as Markdown.

use crate::model::{CallStatus, ExecutedCall, SessionId, Turn, TurnEnd, one_line};

/// The agent's answer, its tool calls, and the statistics.
pub fn code_summary(session: &SessionId, turn: &Turn) -> String {
    let calls: Vec<String> =
        turn.calls.iter().map(|call| format!("- {}\n", call_line(call))).collect();
    let calls = if calls.is_empty() { "None.\n".to_owned() } else { calls.concat() };
    document(session, turn, &format!("## Tool calls\n\n{calls}"))
}

/// The same with a numbered log of the tool calls and their arguments.
pub fn code_log(session: &SessionId, turn: &Turn) -> String {
    let steps: Vec<String> = turn
        .calls
        .iter()
        .enumerate()
        .map(|(at, call)| format!("{}. {}\n   `{}`\n", at + 1, call_line(call), call.input))
        .collect();
    let steps = if steps.is_empty() { "No tool calls.\n".to_owned() } else { steps.concat() };
    document(session, turn, &format!("## Execution log\n\n{steps}"))
}

fn document(session: &SessionId, turn: &Turn, calls: &str) -> String {
    let said = if turn.said.trim().is_empty() { "(no text)" } else { turn.said.trim() };
    let tokens = match turn.usage {
        Some(usage) => format!("{} tokens", usage.total),
        None => "tokens unknown".to_owned(),
    };
    let ended = ended(turn).map(|how| format!("**{how}**\n\n")).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let seconds = turn.millis as f64 / 1000.0;
    format!(
        "{ended}{said}\n\n{calls}\n## Stats\n\n- {} tool calls, {} denied\n- {seconds:.1} s, {tokens}\n\
         - sessionId: `{}`\n",
        turn.calls.len(),
        turn.denied,
        session.as_str(),
    )
}

/// Did the turn come to its end without a fault? One that a denial cut off did.
pub fn went_well(turn: &Turn) -> bool {
    turn.fault.is_none() && matches!(turn.end, TurnEnd::EndTurn | TurnEnd::CutByDenial { .. })
}

/// How the turn ended, unless it ended well.
pub fn ended(turn: &Turn) -> Option<String> {
    if let Some(fault) = &turn.fault {
        return Some(format!("Failed: {}", fault.message));
    }
    match &turn.end {
        TurnEnd::EndTurn => None,
        TurnEnd::CutByDenial { reason } => Some(format!("Ended by a denial: {reason}")),
        TurnEnd::Lost => Some("Failed: the agent was lost".to_owned()),
        TurnEnd::Stuck(stuck) => Some(format!("Stopped: {stuck}")),
        TurnEnd::Interrupted => Some("Cancelled".to_owned()),
        TurnEnd::Other(reason) => Some(format!("Ended: {reason}")),
    }
}

/// A tool call that ended, as one line.
pub fn call_line(call: &ExecutedCall) -> String {
    let status = match call.status {
        CallStatus::Pending => "unfinished",
        CallStatus::Completed => "done",
        CallStatus::Failed => "failed",
        CallStatus::Denied => "denied",
    };
    let exit = call.exit.map(|code| format!(", exit {code}")).unwrap_or_default();
    // One line, even if the agent wrote several.
    let title = one_line(&call.title);
    format!("{}: {title} ({status}{exit})", call.kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_names_calls_numbers_and_session() {
        let call = ExecutedCall {
            id: "1".to_owned(),
            kind: "execute".to_owned(),
            title: "Run\nthe tests".to_owned(),
            input: json!({"command": "make test"}),
            status: CallStatus::Completed,
            exit: Some(2),
        };
        let turn = Turn {
            calls: vec![call],
            denied: 1,
            said: "Done.\n".to_owned(),
            millis: 1500,
            ..Turn::default()
        };
        let session = SessionId::new("s-1");
        assert_eq!(
            code_summary(&session, &turn),
            "Done.\n\n## Tool calls\n\n- execute: Run the tests (done, exit 2)\n\n## Stats\n\n\
             - 1 tool calls, 1 denied\n- 1.5 s, tokens unknown\n- sessionId: `s-1`\n"
        );
        let log = code_log(&session, &turn);
        assert!(
            log.contains(
                "1. execute: Run the tests (done, exit 2)\n   `{\"command\":\"make test\"}`"
            ),
            "{log}"
        );
    }

    #[test]
    fn a_turn_that_ended_badly_says_so_first() {
        let turn = Turn { end: TurnEnd::Interrupted, ..Turn::default() };
        assert!(
            code_summary(&SessionId::new("s"), &turn).starts_with("**Cancelled**\n\n(no text)")
        );
    }
}
