//! Formats durations, counts, results and outcomes for all reporters.
//!
//! Invariant: text from a file, an agent or a command becomes one bounded line without control
//! characters before it is shown.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use console::{measure_text_width, truncate_str};
use serde_json::Value;

use crate::events::DenialRow;
use crate::model::{
    CheckResult, CheckStatus, Credits, CriterionKey, EventKind, Evidence, Finding, Limit, OnStuck,
    Outcome, Proof, Repair, StepStatus, Turn, TurnEnd, Verdict, VerdictResult, Weight,
};

/// Columns that a criterion's text may take in a line.
const CRITERION: usize = 100;
/// Columns that a command or a text of others may take in a line.
const SENTENCE: usize = 240;
/// Columns that a message of our own may take in a line.
const MESSAGE: usize = 1200;

/// Makes one line without control characters: white space becomes one space, control characters
/// become their pictures (`␛`), and characters that change the reading direction become U+FFFD.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(1024));
    let mut space = false;
    for letter in text.chars() {
        if letter.is_whitespace() {
            space = !line.is_empty();
            continue;
        }
        if std::mem::take(&mut space) {
            line.push(' ');
        }
        line.push(picture(letter));
    }
    line
}

/// Replaces control characters in a text of several lines; line breaks and tabs stay.
pub fn harmless(text: &str) -> String {
    let kept = |letter| matches!(letter, '\n' | '\t');
    text.chars().map(|letter| if kept(letter) { letter } else { picture(letter) }).collect()
}

/// The visible form of a character.
fn picture(letter: char) -> char {
    match letter {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other => other,
    }
}

/// Makes one line of at most `width` columns; a cut is marked with `…`.
pub(super) fn shown(text: &str, width: usize) -> String {
    // A letter takes at most four bytes, and hardly one takes no column at all: this
    // bounds the work on a text of any length.
    let enough = width.saturating_mul(8);
    let begin = match text.char_indices().nth(enough) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    truncate_str(&one_line(begin), width, "…").into_owned()
}

/// Text filled up with spaces to `width` columns.
pub(super) fn filled(text: &str, width: usize) -> String {
    let gap = width.saturating_sub(measure_text_width(text));
    format!("{text}{}", " ".repeat(gap))
}

/// A criterion in quotes.
pub(super) fn criterion(key: &CriterionKey) -> String {
    let text = shown(&key.text, CRITERION);
    match key.occurrence {
        0 => format!("\"{text}\""),
        more => format!("\"{text}\" (number {} with this text)", more + 1),
    }
}

/// A command, or a text of others: one bounded line.
pub(super) fn sentence(text: &str) -> String {
    shown(text, SENTENCE)
}

/// A finding, a denial, a notice: its first line whole, because it ends with what helps. An excerpt
/// that follows is shown as far as a sentence has room, without lines that the first one quotes.
pub fn message(text: &str) -> String {
    let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
    let first = shown(head, MESSAGE);
    if measure_text_width(&first) >= SENTENCE {
        return first;
    }
    let rest = rest.lines().filter(|line| !head.contains(line.trim()));
    sentence(&[head].into_iter().chain(rest).collect::<Vec<_>>().join("\n"))
}

/// `1 commit`, `2 commits`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number)) }
}

/// `182,400`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.5 AI credits`, or that their number is unknown.
pub(super) fn credits(credits: Credits) -> String {
    match credits {
        Credits::Milli(milli) => {
            let tenths = milli.div_ceil(100);
            format!("{}.{} AI credits", grouped(tenths / 10), tenths % 10)
        }
        Credits::Unknown => "AI credits unknown".to_owned(),
    }
}

/// A duration for people: `0.4 s`, `41 s`, `2 min 05 s`, `1 h 02 min`.
pub(super) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0..10) => format!("{}.{} s", seconds, millis % 1000 / 100),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

/// Milliseconds from one wall time to another; none where the clock was put back.
pub(super) fn millis(since: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
    u64::try_from((until - since).num_milliseconds()).unwrap_or(0)
}

/// A denied call on one line.
pub(super) fn denial(tool: &str, input: &Value, rule: &str, reason: &str) -> String {
    // The guard's own reasons name the rule and the denied part of the call.
    if reason.starts_with("Denied (") {
        return format!("  {}", message(reason));
    }
    format!("  denied: {}: {} ({})", call(tool, input), message(reason), sentence(rule))
}

/// Why a rule denied calls, without the name of the rule.
pub(super) fn why_denied(row: &DenialRow) -> &str {
    let reason = row.reason.strip_prefix("Denied (").and_then(|rest| rest.strip_prefix(&*row.rule));
    reason.and_then(|rest| rest.strip_prefix("): ")).unwrap_or(&row.reason)
}

/// A tool call: its tool, and its command or path where it has one.
pub(super) fn call(tool: &str, input: &Value) -> String {
    let text = ["command", "path", "file_path", "fileName"]
        .into_iter()
        .find_map(|key| input.get(key)?.as_str().map(str::to_owned))
        .unwrap_or_else(|| input.to_string());
    format!("{} `{}`", shown(tool, 40), shown(&text, CRITERION))
}

/// The word for a proof.
pub(super) fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Check => "check",
        Proof::Tree => "tree",
        Proof::Commit => "committed",
        Proof::Accepted => "accepted",
    }
}

/// The result of an iteration, without its number:
/// `PASS "criterion" (check passed, 2 commits, 41 s; added the missing progress line)` or
/// `FAIL "criterion" (12 s): the first finding`.
pub(super) fn result(
    key: &CriterionKey,
    verdict: &Verdict,
    evidence: &Evidence,
    repairs: &[Repair],
    millis: u64,
) -> String {
    let by = match verdict.result {
        VerdictResult::Pass(by) => Some(by),
        VerdictResult::Fail
        | VerdictResult::Held
        | VerdictResult::Blocked
        | VerdictResult::Inconclusive => None,
    };
    let commits = evidence.commits.len() as u64;
    let commits = (commits > 0).then(|| count(commits, "commit"));
    let by = by.map(|by| match by {
        Proof::Check => "check passed",
        Proof::Tree => "check passed in the working tree",
        Proof::Commit => "committed, not proven",
        Proof::Accepted => "accepted by a human",
    });
    let by = by.map(str::to_owned);
    let repairs: Vec<String> = repairs.iter().map(repaired).collect();
    let holdout = evidence.holdout.iter().find(|count| by.is_some() && count.criterion == *key);
    let holdout = holdout.map(|count| format!("holdout: {count}"));
    let aside: Vec<String> =
        [by, holdout, commits, Some(duration(millis))].into_iter().flatten().collect();
    let aside: Vec<String> = [aside.join(", "), repairs.join(", ")]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    format!("{} {} ({}){}", word(verdict), criterion(key), aside.join("; "), first_against(verdict))
}

/// A verdict without its evidence: `FAIL "b is there": …`, with all of the first finding.
pub fn judged(key: &CriterionKey, verdict: &Verdict) -> String {
    let first = verdict.findings.iter().find(|finding| finding.weight != Weight::Said);
    let why = first.map_or_else(String::new, |finding| format!(": {}", finding.message));
    format!("{} {}{why}", word(verdict), criterion(key))
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict.result {
        VerdictResult::Pass(_) => "PASS",
        VerdictResult::Fail => "FAIL",
        VerdictResult::Held => "HELD",
        VerdictResult::Blocked => "BLOCKED",
        VerdictResult::Inconclusive => "INCONCLUSIVE",
    }
}

/// The first finding against a criterion, and how many more there are.
fn first_against(verdict: &Verdict) -> String {
    let mut text = String::new();
    let against: Vec<&Finding> =
        verdict.findings.iter().filter(|finding| finding.weight != Weight::Said).collect();
    if let Some((first, more)) = against.split_first() {
        // Writing to a String does not fail.
        let _ = write!(text, ": {}", message(&first.message));
        if !more.is_empty() {
            let _ = write!(text, " ({})", count(more.len() as u64, "more finding"));
        }
    }
    text
}

/// A notice on a line that names its worker already.
pub(super) fn notice(text: &str, worker: Option<usize>) -> String {
    let by = worker.map(|worker| format!("worker {worker}: "));
    message(by.and_then(|by| text.strip_prefix(&by)).unwrap_or(text))
}

/// The same with what it is.
pub(super) fn note(text: &str, worker: Option<usize>) -> String {
    format!("note: {}", notice(text, worker))
}

/// A repair, as a phrase.
fn repaired(repair: &Repair) -> String {
    match repair {
        Repair::RestoreTask { keep_tick: true } => {
            "restored TASK.md except for the tick".to_owned()
        }
        Repair::RestoreTask { keep_tick: false } => "restored TASK.md".to_owned(),
        Repair::BackToCheckpoint => "saved the attempt and reset the branch".to_owned(),
        Repair::Hold => "kept the work for review, off the branch".to_owned(),
        Repair::Untick => "removed the tick".to_owned(),
        Repair::RestoreFile(path) => format!("restored {}", sentence(&path.to_string_lossy())),
        Repair::ProgressLine => "added the missing progress line".to_owned(),
        Repair::StateCommit => "committed the state files".to_owned(),
    }
}

/// The result of a turn without a verdict.
pub(super) fn turn(turn: &Turn) -> String {
    if let Some(fault) = &turn.fault {
        return sentence(&fault.message);
    }
    match &turn.end {
        TurnEnd::EndTurn => "the agent ended its turn".to_owned(),
        TurnEnd::CutByDenial { reason } => format!("ended by a denial: {}", message(reason)),
        TurnEnd::Lost => "lost the connection to the agent".to_owned(),
        TurnEnd::Interrupted => "interrupted".to_owned(),
        TurnEnd::Other(reason) => format!("the agent stopped: {}", sentence(reason)),
        TurnEnd::Stuck(stuck) => sentence(&stuck.to_string()),
    }
}

/// A finished step of a recipe: `step greet completed`. A step that begins has no line.
pub(super) fn step(name: &str, status: StepStatus) -> Vec<String> {
    match status {
        StepStatus::Pending | StepStatus::Running => Vec::new(),
        StepStatus::Completed | StepStatus::Skipped | StepStatus::Failed | StepStatus::Degraded => {
            vec![format!("  step {} {status}", sentence(name))]
        }
    }
}

/// A verify command and how it went: `` `cargo test` passed, 3.2 s ``.
pub(super) fn check(check: &CheckResult) -> String {
    let status = if check.passed() {
        "passed".to_owned()
    } else {
        format!("failed ({})", sentence(&check.status.how()))
    };
    format!("`{}` {status}, {}", sentence(&check.command), duration(check.millis))
}

/// The results of the verify commands before any work. The checks of open criteria should fail;
/// a check of the whole task counts only if no criterion has one.
pub(super) fn baseline(checks: &[CheckResult]) -> Vec<String> {
    let mut counted: Vec<&CheckResult> =
        checks.iter().filter(|check| !check.criteria.is_empty()).collect();
    let counted_whole = counted.is_empty();
    if counted_whole {
        counted.extend(checks);
    }
    let (passed, all) = (counted.iter().filter(|check| check.passed()).count(), counted.len());
    let said = match (all, all - passed) {
        (0, _) => return Vec::new(),
        (1, 0) => "the check passes already".to_owned(),
        (_, 0) => format!("all {all} checks pass already"),
        (1, 1) => "the check fails, as expected".to_owned(),
        (_, failed) if failed == all => format!("{failed} of {all} checks fail, as expected"),
        (_, failed) => format!("{all} checks, {failed} failing, {passed} already passing"),
    };
    let odd = checks.iter().filter(|check| match check.status {
        CheckStatus::Passed => false,
        // A check of the whole task alone.
        CheckStatus::Failed(_) => check.criteria.is_empty() && !counted_whole,
        CheckStatus::Signalled(_)
        | CheckStatus::TimedOut(_)
        | CheckStatus::NotRun(_)
        | CheckStatus::NothingRan(_)
        | CheckStatus::Incomplete(_) => true,
    });
    let odd = odd.map(|odd| format!("Baseline: {}", check(odd)));
    [format!("Baseline: {said}")].into_iter().chain(odd).collect()
}

/// A criterion that used up its attempts, and the consequence.
fn blocked(key: &CriterionKey, then: OnStuck, kept: Option<&str>, denied: Option<&str>) -> String {
    let then = match then {
        OnStuck::Stop => "stopping the run",
        OnStuck::Skip => "skipping it",
    };
    let kept =
        kept.map_or_else(String::new, |name| format!("; attempt saved as {}", sentence(name)));
    let denied = denied.map_or_else(String::new, |denied| format!("; {}", message(denied)));
    format!("STUCK {}: no attempts left, {then}{kept}{denied}", criterion(key))
}

/// What became of a criterion outside of its verdicts, if an event says that.
pub(super) fn standing(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::CriterionBlocked { criterion, then, kept, denied } => {
            blocked(criterion, *then, kept.as_deref(), denied.as_deref())
        }
        EventKind::WorkerStarted { worker, criterion: key, line, attempt } => {
            format!("worker {worker} begins {} (line {line}, attempt {attempt})", criterion(key))
        }
        EventKind::CriterionSkipped { criterion: key, reason, .. } => {
            format!("SKIPPED {}: {}", criterion(key), message(reason))
        }
        EventKind::CriterionHeld { criterion: key, kept, .. } => {
            format!("held for review: {} (git show {kept})", criterion(key))
        }
        EventKind::CriterionReopened { criterion, reason } => reopened(criterion, reason),
        _ => return None,
    })
}

/// The same below the line of the verdict, which has the reason of the denials.
pub(super) fn standing_below(kind: &EventKind) -> Option<String> {
    let mut kind = kind.clone();
    if let EventKind::CriterionBlocked { denied: Some(denied), .. } = &mut kind {
        denied.truncate(denied.find([',', ':']).unwrap_or(denied.len()));
    }
    standing(&kind)
}

/// A criterion that was proven and is not any more.
pub fn reopened(key: &CriterionKey, reason: &str) -> String {
    format!("REOPENED {}: {}", criterion(key), message(reason))
}

/// A check of the whole task that fails at the end.
pub(super) fn task_check_failed(reason: &str) -> String {
    format!("RED {}", message(reason))
}

/// Why a run ended; `done` says what a success rests on.
pub fn outcome(outcome: &Outcome, done: impl FnOnce() -> String) -> String {
    match outcome {
        Outcome::Proven => format!("Done: {}", done()),
        Outcome::Landed { of: 0, .. } => "Nothing new was handed in".to_owned(),
        Outcome::Landed { landed, of } => {
            format!("Landed {landed} of {of} criteria that were handed in")
        }
        Outcome::LimitReached { limit } => match limit {
            Limit::Iterations => "Stopped: iteration limit reached (--max-iterations)",
            Limit::Duration => "Stopped: time limit reached (--max-duration)",
            Limit::PremiumRequests => {
                "Stopped: premium request limit reached (--max-premium-requests)"
            }
            Limit::Tokens => "Stopped: token limit reached (--max-tokens)",
            Limit::AiCredits => "Stopped: AI credit limit reached (--max-ai-credits)",
        }
        .to_owned(),
        Outcome::Stuck { reason } => {
            format!("Stuck: {}", message(reason.strip_prefix("stuck: ").unwrap_or(reason)))
        }
        Outcome::AgentUnusable { fault } => {
            format!("Stopped: the agent is unusable: {}", sentence(&fault.message))
        }
        Outcome::RateLimited { message, resume_at, estimated } => format!(
            "Stopped: rate limited: {}; try again at {} UTC{}",
            sentence(message),
            resume_at.format("%F %T"),
            if *estimated { " (estimated)" } else { "" }
        ),
        Outcome::Tampered { reason } => {
            format!("Stopped: tampering detected: {}", message(reason))
        }
        Outcome::Interrupted { signal } => match signal {
            1 => "Interrupted (SIGHUP)".to_owned(),
            2 => "Interrupted (Ctrl-C)".to_owned(),
            15 => "Interrupted (SIGTERM)".to_owned(),
            other => format!("Interrupted (signal {other})"),
        },
        // The error has the details: it is printed in full after the table.
        Outcome::CannotGoOn { reason, .. } => {
            let first = reason.lines().next().unwrap_or_default();
            format!("Stopped: {}", message(first.trim_end_matches(':')))
        }
    }
}

/// The lines about a run's end that `outcome` leaves out.
pub fn details(outcome: &Outcome) -> impl Iterator<Item = &str> {
    let reason = match outcome {
        Outcome::CannotGoOn { reason, .. } => reason.as_str(),
        _ => "",
    };
    reason.lines().skip(1)
}

/// The width to break a text at: one with a command that a person copies stays whole.
pub(super) fn width_of(text: &str, width: usize) -> usize {
    if text.contains(" ralph-copilot ") { usize::MAX } else { width }
}

/// Breaks a text into lines of at most `width` columns, at spaces if possible; lines after the
/// first are indented.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let room = width.max(indent + 10);
        let mut rest = word.to_owned();
        while !rest.is_empty() {
            let needed = measure_text_width(&rest);
            let empty = used == 0 || (lines.len() > 1 && used == indent);
            let gap = usize::from(!empty);
            let last = lines.len() - 1;
            if used + gap + needed <= room {
                lines[last].push_str(&" ".repeat(gap));
                lines[last].push_str(&rest);
                used += gap + needed;
                rest.clear();
            } else if empty {
                let piece = truncate_str(&rest, room - used, "").into_owned();
                rest = rest.split_off(piece.len());
                lines[last].push_str(&piece);
                used = room;
            } else {
                lines.push(" ".repeat(indent));
                used = indent;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Stuck;

    #[test]
    fn a_check_of_the_whole_task_that_is_red_before_the_work_is_named() {
        let red = |command: &str, criteria| CheckResult {
            criteria,
            whole_task: true,
            ..CheckResult::new(command, CheckStatus::Failed(1))
        };
        let key = CriterionKey { text: "a".to_owned(), occurrence: 0 };
        let said = baseline(&[red("make all", Vec::new()), red("make a", vec![key])]);
        assert_eq!(said[0], "Baseline: the check fails, as expected");
        assert!(said.len() == 2 && said[1].contains("`make all` failed (exit 1)"), "{said:?}");
        assert_eq!(baseline(&[red("make all", Vec::new())]).len(), 1);
    }

    #[test]
    fn what_steers_a_terminal_does_not_reach_it() {
        assert_eq!(
            one_line("a\x1b[2Jb\r\nc\u{9b}d\u{202e}e\t\t f\u{7f} "),
            "a␛[2Jb c\u{fffd}d\u{fffd}e f␡"
        );
        assert_eq!(one_line("  \n "), "");
    }

    #[test]
    fn nothing_is_said_twice_in_a_line() {
        let found = "`make` failed. Its output says: no such file.\nno such file\n2 errors";
        assert_eq!(message(found), "`make` failed. Its output says: no such file. 2 errors");
        let (rule, reason) = ("git.push".to_owned(), "Denied (git.push): `git push` sends");
        let mut row = DenialRow { rule, count: 2, reason: reason.to_owned() };
        assert_eq!(why_denied(&row), "`git push` sends");
        "git.push".clone_into(&mut row.reason);
        assert_eq!(why_denied(&row), "git.push");
        let denied =
            "the guard denied 9 calls, most often (6 times): Denied (git.push): `git push`";
        let stuck = EventKind::CriterionBlocked {
            criterion: CriterionKey { text: "a".to_owned(), occurrence: 0 },
            then: OnStuck::Skip,
            kept: None,
            denied: Some(denied.to_owned()),
        };
        let said = standing_below(&stuck).expect("a line");
        assert!(said.ends_with("skipping it; the guard denied 9 calls"), "{said}");
    }

    #[test]
    fn a_shown_text_keeps_to_its_columns_whatever_its_letters() {
        assert_eq!(shown("漢字漢字漢字", 7), "漢字漢…");
        assert_eq!(shown("häuser", 6), "häuser");
        assert_eq!(shown("häuser", 5), "häus…");
        let long = "x".repeat(1 << 20);
        assert_eq!(shown(&long, 10), "xxxxxxxxx…");
        assert_eq!(filled("漢", 4), "漢  ");
    }

    #[test]
    fn durations_and_counts_read_as_people_say_them() {
        let said = [0, 440, 9_999, 41_000, 125_000, 3_720_000].map(duration);
        assert_eq!(said, ["0.0 s", "0.4 s", "9.9 s", "41 s", "2 min 05 s", "1 h 02 min"]);
        assert_eq!(count(1, "commit"), "1 commit");
        assert_eq!(count(1_234_567, "token"), "1,234,567 tokens");
        assert_eq!(grouped(100), "100");
    }

    #[test]
    fn lines_are_broken_at_spaces_and_words_only_where_they_must() {
        assert_eq!(wrapped("one two three four", 12, 2), ["one two", "  three four"]);
        assert_eq!(
            wrapped("abcdefghijklmnopqrstuvwxyz end", 12, 2),
            ["abcdefghijkl", "  mnopqrstuv", "  wxyz end"]
        );
        assert_eq!(wrapped("", 12, 2), [""]);
    }

    #[test]
    fn every_end_of_a_turn_has_words_and_a_fault_has_the_last_one() {
        use crate::model::{Fault, FaultClass};
        let ends = [
            TurnEnd::EndTurn,
            TurnEnd::CutByDenial { reason: "no push".to_owned() },
            TurnEnd::Lost,
            TurnEnd::Interrupted,
            TurnEnd::Other("refusal".to_owned()),
            TurnEnd::Stuck(Stuck::Idle(90)),
            TurnEnd::Stuck(Stuck::TooLong(3600)),
            TurnEnd::Stuck(Stuck::Repeating { command: "make".to_owned(), times: 5 }),
            TurnEnd::Stuck(Stuck::TooManyCalls(200)),
        ];
        let said = ends.map(|end| turn(&Turn { end, ..Turn::default() }));
        insta::assert_snapshot!(said.join("\n"), @r"
        the agent ended its turn
        ended by a denial: no push
        lost the connection to the agent
        interrupted
        the agent stopped: refusal
        no activity for 90 s
        ran longer than 3600 s
        `make` failed 5 times in a row
        more than 200 tool calls
        ");
        let fault = Fault::new(FaultClass::Died, "exit 1");
        assert_eq!(turn(&Turn { fault: Some(fault), ..Turn::default() }), "exit 1");
    }
}
