//! Lines about the gateway and the tool providers of a run.

use super::format::{count, sentence};
use crate::model::EventKind;

/// The line for people at a terminal; none for events that only a log is for.
pub(super) fn for_people(kind: &EventKind) -> Option<String> {
    if let EventKind::GatewayStarted { port, token_file } = kind {
        let token = token_file
            .as_ref()
            .map_or_else(String::new, |file| format!(", token in {}", sentence(file)));
        Some(format!("gateway: ws://127.0.0.1:{port}{token}"))
    } else if let EventKind::ProviderBound { provider, .. } = kind {
        Some(format!("provider {} is connected", sentence(provider)))
    } else if let EventKind::ProviderLeft { provider, reason, .. } = kind {
        Some(format!("provider {} has left: {}", sentence(provider), sentence(reason)))
    } else if let EventKind::EventPushed { provider, text, surfaced: true, .. } = kind {
        Some(format!("{}: {}", sentence(provider), sentence(text)))
    } else {
        None
    }
}

/// The line for a log.
pub(super) fn for_logs(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::ToolsChanged { tools } if tools.is_empty() => {
            Some("no provider tools".to_owned())
        }
        EventKind::ToolsChanged { tools } => {
            Some(format!("provider tools: {}", sentence(&tools.join(", "))))
        }
        EventKind::ProviderCalled { tool, error: Some(error), .. } => {
            Some(format!("  {} failed: {}", sentence(tool), sentence(error)))
        }
        EventKind::EventsInjected { providers, .. } => {
            let number = u64::try_from(providers.len()).unwrap_or(u64::MAX);
            Some(format!("  passed {} from providers to the agent", count(number, "event")))
        }
        other => for_people(other),
    }
}
