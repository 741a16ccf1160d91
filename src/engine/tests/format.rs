//! What a run told, in lines that a test can hold.

use super::test_run::start;
use crate::model::{Event, EventKind};

/// An event in one line, with the seconds since the start.
pub(super) fn told(event: &Event) -> String {
    let at = (event.time - start()).num_seconds();
    let what = match &event.kind {
        EventKind::Notice { message } => format!("notice: {message}"),
        EventKind::BaselineChecked { checks } => {
            let checks: Vec<_> = checks
                .iter()
                .map(|check| format!("{} {:?}", check.command, check.status))
                .collect();
            format!("baseline: {}", checks.join(", "))
        }
        EventKind::PromptSent { again, .. } => {
            format!("prompt{}", if *again { " again" } else { "" })
        }
        EventKind::TurnEnded { turn, .. } => {
            let fault = turn.fault.as_ref().map(|fault| format!(", {:?}", fault.class));
            format!("turn: {:?}{}", turn.end, fault.unwrap_or_default())
        }
        EventKind::CheckFinished { check, .. } => {
            format!("check: {} {:?}", check.command, check.status)
        }
        EventKind::VerdictReached { verdict, .. } => {
            let kinds: Vec<_> =
                verdict.findings.iter().map(|finding| format!("{:?}", finding.kind)).collect();
            format!("verdict: {:?} {}", verdict.result, kinds.join(" ")).trim_end().to_owned()
        }
        EventKind::StopChecked { findings, sent_back, checks, .. } => {
            let kinds: Vec<_> =
                findings.iter().map(|finding| format!("{:?}", finding.kind)).collect();
            let sent = if *sent_back { "sent back" } else { "left" };
            format!("stop: {sent}, {} checks, {}", checks.len(), kinds.join(" "))
                .trim_end_matches([' ', ','])
                .to_owned()
        }
        EventKind::EventsInjected { with, providers, .. } => {
            format!("injected: {with:?} {}", providers.join(" "))
        }
        EventKind::IterationEnded { iteration, premium_requests, .. } => {
            format!("iteration {iteration} ended, {premium_requests} premium")
        }
        EventKind::Waiting { until, reason, .. } => {
            format!("waiting until {}: {reason}", (*until - start()).num_seconds())
        }
        EventKind::RunEnded { outcome, exit_code, summary } => {
            let ticked = summary.criteria.iter().filter(|criterion| criterion.checked).count();
            format!("run ended {exit_code}: {outcome:?}, {ticked} ticked")
        }
        other => other.name().to_owned(),
    };
    format!("{at:>4} {what}")
}

/// The lines that begin with one of these words.
pub(super) fn only(told: &str, words: &[&str]) -> Vec<String> {
    let wanted = |line: &&str| words.iter().any(|word| line[5..].starts_with(word));
    told.lines().filter(wanted).map(|line| line[5..].to_owned()).collect()
}
