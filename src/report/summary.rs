//! The table at the end of a run.
//!
//! Invariant: pure; no line is wider than it may be, but a command to copy is not broken; a task of
//! any size gives a table of bounded length.

use std::fmt::Write as _;

use super::format;
use crate::model::{CriterionSummary, Outcome, Proof, RunSummary, in_quotes};

/// The number of criteria that are listed; the rest are counted.
const LISTED: usize = 20;
/// Columns of `proof` and of `attempts` with the spaces before them.
const RIGHT: usize = 11 + 10;
/// What a run rests on whose agent need not ask.
const UNASKED: &str = "Calls could run unasked (--unasked allow): the sandbox held them, but the \
                       guard stopped none, not even `git push`. The proof is the same.";
/// The minimum width. On a narrower terminal, lines run over.
const NARROWEST: usize = 40;

/// The mark and the proof in a criterion's row.
pub(super) fn standing(criterion: &CriterionSummary) -> (&'static str, &'static str) {
    if criterion.held.is_some() {
        return ("‖", "held");
    }
    if criterion.skipped {
        return ("–", "skipped");
    }
    if criterion.blocked_by.is_some() && !criterion.checked && !criterion.blocked {
        return ("✗", "blocked");
    }
    match (criterion.checked, criterion.proof, criterion.blocked) {
        (_, _, true) => ("✗", "stuck"),
        (true, Some(proof), false) => ("✓", format::proof(proof)),
        (true, None, false) => ("?", "none"),
        (false, _, false) => ("·", "open"),
    }
}

/// Renders the table of criteria with proof and attempts, then the cost of the run, its outcome,
/// and the next steps. `width` is in columns. Ends with a newline.
pub fn render(outcome: &Outcome, summary: &RunSummary, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut text = String::new();
    // Of a run that was refused at its start, only the reason matters.
    let refused = matches!(outcome, Outcome::CannotGoOn { .. } | Outcome::AgentUnusable { .. })
        && summary.iterations == 0;
    let most = if refused { 0 } else { LISTED };
    let listed = &summary.criteria[..summary.criteria.len().min(most)];
    let digits =
        listed.iter().map(|criterion| criterion.line.to_string().len()).max().unwrap_or(1).max(4);
    // Mark, line and their spaces stand left of the criterion.
    let room = width - RIGHT - digits - 4;
    let longest = listed
        .iter()
        .map(|criterion| console::measure_text_width(&format::shown(&criterion.key.text, room)))
        .max()
        .unwrap_or(0)
        .max("criterion".len());
    if !listed.is_empty() {
        // Writing to a String does not fail.
        let head = format::filled("criterion", longest);
        let _ = writeln!(text, "  {:>digits$}  {head}  proof      attempts", "line");
    }
    for criterion in listed {
        let (mark, proof) = standing(criterion);
        let name = format::filled(&format::shown(&criterion.key.text, room), longest);
        let attempts = criterion.attempts + u32::from(criterion.proof.is_some());
        let _ =
            writeln!(text, "{mark} {:>digits$}  {name}  {proof:<9}  {attempts:>8}", criterion.line);
    }
    let more = &summary.criteria[listed.len()..];
    if !more.is_empty() && !refused {
        let _ = writeln!(text, "… and {}", counted(more));
    }
    if !listed.is_empty() {
        text.push('\n');
    }
    let ended = ended(outcome, summary);
    let ended = ended.trim_end_matches('.');
    let stop = if ended.ends_with('…') { "" } else { "." };
    let mut paragraphs = vec![format!("{ended}{stop}")];
    if !refused {
        let (counted, cost) = (counted(&summary.criteria), cost(summary));
        paragraphs.splice(..0, [format!("{counted}."), format!("{cost}.")]);
    }
    if summary.unasked {
        paragraphs.push(UNASKED.to_owned());
    }
    paragraphs.extend(listed.iter().filter_map(|criterion| {
        let reason = criterion.reason.as_deref()?;
        let text = format::shown(&criterion.key.text, room);
        let what = if criterion.skipped { "Skipped" } else { "Held" };
        Some(format!("{what}: {}: {}", in_quotes(&text), format::message(reason)))
    }));
    paragraphs.extend(summary.next.iter().map(|next| format!("Next: {}", format::one_line(next))));
    for paragraph in paragraphs {
        for line in format::wrapped(&paragraph, format::width_of(&paragraph, width), 2) {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// Why a run ended. A success says what it rests on: only checks prove.
pub fn ended(outcome: &Outcome, summary: &RunSummary) -> String {
    let done = || {
        let criteria = &summary.criteria;
        let rests_on = |proof| criteria.iter().any(|it| it.proof == Some(proof));
        if criteria.iter().all(|criterion| criterion.proof == Some(Proof::Check)) {
            return "every criterion is proven".to_owned();
        }
        let asked = match rests_on(Proof::Tree) {
            true => ", as `proof: tree` asks; no tests were put back",
            false => "",
        };
        format!("{}{asked}", standings(criteria))
    };
    format::outcome(outcome, done)
}

/// `12 criteria: 5 proven, 2 committed without a check, 1 stuck, 4 open`.
pub fn counted(criteria: &[CriterionSummary]) -> String {
    let all = match criteria.len() as u64 {
        1 => "1 criterion".to_owned(),
        many => format!("{} criteria", format::grouped(many)),
    };
    let parts = standings(criteria);
    if parts.is_empty() { all } else { format!("{all}: {parts}") }
}

/// `5 proven, 2 committed without a check`.
pub(super) fn standings(criteria: &[CriterionSummary]) -> String {
    let number = |word: &str| {
        criteria.iter().filter(|criterion| standing(criterion).1 == word).count() as u64
    };
    let parts: Vec<String> = [
        (format::proof(Proof::Check), "proven"),
        (format::proof(Proof::Tree), "passed in the working tree only"),
        (format::proof(Proof::Commit), "committed without a check"),
        (format::proof(Proof::Accepted), "accepted by a human"),
        ("none", "ticked but not proven"),
        ("held", "held for review"),
        ("blocked", "blocked"),
        ("stuck", "stuck"),
        ("skipped", "skipped"),
        ("open", "open"),
    ]
    .into_iter()
    .map(|(word, said)| (number(word), said))
    .filter(|(number, _)| *number > 0)
    .map(|(number, said)| format!("{} {said}", format::grouped(number)))
    .collect();
    parts.join(", ")
}

/// `5 iterations, 12 min 03 s, 5 premium requests, 182,400 tokens`.
pub(super) fn cost(summary: &RunSummary) -> String {
    let mut text = format!(
        "{}, {}, {}",
        format::count(u64::from(summary.iterations), "iteration"),
        format::duration(summary.millis),
        format::count(u64::from(summary.premium_requests), "premium request")
    );
    if let Some(tokens) = summary.tokens {
        let _ = write!(text, ", {}", format::count(tokens, "token"));
        if summary.cached > 0 {
            let _ = write!(text, " ({} cached)", format::grouped(summary.cached));
        }
    }
    if let Some(credits) = summary.credits {
        let _ = write!(text, ", {}", format::credits(credits));
    }
    text
}
