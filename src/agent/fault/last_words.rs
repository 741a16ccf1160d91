//! The agent's last words in a turn, and whether they *are* the report of a failure.
//!
//! Agents report a failed model call as plain text, in one piece or many, in a turn that ends
//! like a finished one. So the text after the last tool call is examined as a whole when the
//! turn has ended.
//!
//! Invariant: memory is bounded, and text that only mentions a failure (an answer, a
//! quotation, a file) is not one. `text` classifies single lines; the caller weighs other
//! evidence.

use super::pattern::FaultPattern;
use super::reset::reset_in;
use super::text::{classify_line, is_marked, statement};
use crate::model::{Fault, FaultClass};

/// Bytes kept from the end of the text.
const KEPT: usize = 8 << 10;
/// Longest report, in bytes.
const LONGEST: usize = 1500;

/// How a report continues after its statement: when to retry, whom to ask, a request id. Any
/// other continuation makes it an answer that discusses failures.
static FOLLOWS: FaultPattern = FaultPattern::new(
    r"^(?:please\b|try\b|retry\b|retry-after|retrying with\b|wait\b|you(?:r|'ve|’ve)?\b|this (?:limit|request|quota)|it (?:will )?resets?\b|(?:the |your )?(?:limits?|quota|rate limit) ?(?:will |resets?\b|\d)|resets?\b|available\b|expected available\b|used \d|requested \d|remaining\b|limit\b|\(?request|see\b|visit\b|check (?:your|the|quota)\b|e\.g$|upgrade\b|contact\b|run\b|for more (?:info|details)|head to\b|learn more|more info|https?:|details?:|code\b|status\b|sorry\b|to (?:continue|increase|request|log)|if you (?:need|want|think|believe|would|reach)|last error|last status|service unavailable|too many requests|quota\b|rate[ -]?limit|slow down|later\b|or\b|and (?:then )?(?:try|retry)|[({\[]|\d|at \S+ \(|x-|[\w.:-]*\d[\w.:-]*\)?$|[\w/+-]+\)\.?$|$)",
);
/// The end of a sentence or a clause.
static CLAUSE: FaultPattern =
    FaultPattern::new(r"(?:(?:[.!?]|…)+|[:;,|]|–|—|·|∙|\s-)(?:\s+|$)|\n+|\s+\(");
/// An apology before a statement.
static SORRY: FaultPattern = FaultPattern::new(r"^(?:i(?:'m|’m| am) )?sorry[,.!:]?\s+(?:but\s+)?");
/// Words of a text that describes work done, or how a program behaves.
static TELLS: FaultPattern = FaultPattern::new(
    r"\b(?:i|i'll|i’ll|i've|i’ve|we|let me|let's|my|gets?|gives?|yields?|leads?|causes?|triggers?|results? in|becomes?|produces?|answers?|makes|waits|sleeps|done|created|updated|works|passe[sd]|the (?:client|caller|function|readme|code|program|user|handler))\b",
);
/// Topics of a longer answer about limits, before it quotes one.
static TOPIC: FaultPattern =
    FaultPattern::new(r"\b429\b|limit|quota|too many|throttl|retr(?:y|ies)|back-?off");

/// The text since the last tool call.
#[derive(Debug, Default)]
pub(in crate::agent) struct LastWords {
    text: String,
    /// Earlier text was dropped.
    cut: bool,
    /// The dropped text ended inside a fenced block.
    fenced: bool,
    /// The last piece was one of the CLI's own remarks, which always come whole.
    remark: bool,
    /// Start of the last piece that began with an error mark.
    own: Option<usize>,
}

/// A failure that the last words report.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) struct ReportedFault {
    pub(in crate::agent) fault: Fault,
    /// They report nothing else.
    pub(in crate::agent) whole: bool,
}

impl ReportedFault {
    /// Are the words nothing but the report of a rate limit? That counts even if the model said
    /// it: some providers answer so, and finished work does not end with these words.
    pub(in crate::agent) fn is_plain_limit(&self) -> bool {
        self.whole && self.fault.class == FaultClass::RateLimit
    }
}

impl LastWords {
    /// Adds a piece of the agent's text.
    pub(in crate::agent) fn say(&mut self, piece: &str) {
        // A piece that holds the mark alone may be a single token of the model.
        let is = |mark| piece.strip_prefix(mark).is_some_and(|rest| !rest.trim().is_empty());
        let (error, remark) = (is("Error: "), is("Info: "));
        // The CLI's own remarks, and the start of another message, follow the model's text
        // without a separator.
        let last = self.text.chars().next_back().unwrap_or('\n');
        let begins = piece.starts_with(char::is_uppercase)
            && (last.is_lowercase() || self.text.trim_end().ends_with(['.', '!', '?', '…']));
        if error || remark || self.remark || begins {
            let line = self.text.rsplit('\n').next().unwrap_or_default();
            // An indented line may be a code block; keep its indentation.
            if !line.trim().is_empty() {
                self.text.push('\n');
            }
        }
        if error && (self.text.is_empty() || self.text.ends_with('\n')) {
            self.own = Some(self.text.len());
        }
        self.remark = remark;
        let kept = piece.ceil_char_boundary(piece.len().saturating_sub(2 * KEPT));
        if kept > 0 {
            (self.text, self.cut, self.own) = (String::new(), true, None);
        }
        self.text.push_str(&piece[kept..]);
        if self.text.len() > 2 * KEPT {
            let least = self.text.ceil_char_boundary(self.text.len() - KEPT);
            let line = self.text[least..].find('\n').map_or(least, |at| least + at + 1);
            self.forget(line);
        }
    }

    /// Forgets everything: a tool call begins, so the turn does not end with this text.
    pub(in crate::agent) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes held in memory.
    #[cfg(test)]
    pub(in crate::agent) fn held(&self) -> usize {
        self.text.capacity()
    }

    fn forget(&mut self, end: usize) {
        let gone: Vec<&str> = self.text[..end].lines().collect();
        let fences = gone.iter().filter(|line| is_fence(line)).count();
        self.fenced ^= !fences.is_multiple_of(2);
        self.own = self.own.and_then(|at| at.checked_sub(end));
        self.text.drain(..end);
        self.cut = true;
    }

    /// The last words, if they are marked as an error of any kind.
    pub(in crate::agent) fn error(&self) -> Option<String> {
        let lines = self.lines();
        let marked = |line: &Line| !line.quoted && line.text.starts_with("Error: ");
        let at = lines.iter().rposition(marked)?;
        let rest = &lines[at + 1..];
        rest.iter().all(Line::continues_report).then(|| report(&lines[at..]))
    }

    /// The failure that the last words report. `acted` says whether the agent called a tool in
    /// this turn.
    pub(in crate::agent) fn classify(&self, acted: bool) -> Option<ReportedFault> {
        let lines = self.lines();
        let (from, class, marked) = last_report(&lines)?;
        let before = &lines[..from];
        let text = report(&lines[from..]);
        let introduced = before.last().is_some_and(|line| line.text.ends_with(':'));
        if text.len() > LONGEST || introduced {
            return None;
        }
        let whole = !self.cut && before.iter().all(|line| !line.quoted && line.class().is_some());
        let own = self.own.is_some_and(|own| lines[from..].iter().any(|line| line.at == own));
        let limited = class == FaultClass::RateLimit;
        let counts = match (marked, whole) {
            (true, true) => true,
            // A model's last line may quote an error of the program that it works on.
            (true, false) => own || limited,
            (false, true) => match class {
                FaultClass::RateLimit => true,
                FaultClass::Auth
                | FaultClass::ModelUnavailable
                | FaultClass::Network
                | FaultClass::Transient => !acted,
                // This is about the task, not about the model.
                FaultClass::FileNotFound
                | FaultClass::PermissionDenied
                | FaultClass::NotFound
                | FaultClass::Died
                | FaultClass::Protocol
                | FaultClass::Unasked
                | FaultClass::Fatal => false,
            },
            // It addresses us, cannot go on, and has not mentioned limits before.
            (false, false) => {
                let to_us = SORRY.is_match(&text) || text.to_lowercase().starts_with("you");
                let topic = before.iter().any(|line| TOPIC.is_match(line.text));
                limited && !topic && (to_us || reset_in(&text).is_some())
            }
        };
        let told = || Fault { reset: reset_in(&text), ..Fault::new(class, text.as_str()) };
        counts.then(|| ReportedFault { fault: told(), whole })
    }

    /// The nonblank lines, without the CLI's remarks.
    fn lines(&self) -> Vec<Line<'_>> {
        let mut all: Vec<&str> = self.text.split_inclusive('\n').collect();
        let unseen = usize::from(self.fenced);
        if self.fenced {
            all.insert(0, "```");
        }
        let quoted = fenced(&all);
        let mut next = 0;
        let lines = all.into_iter().zip(quoted).skip(unseen).map(|(line, fenced)| {
            let at = next;
            next += line.len();
            let indented = line.starts_with([' ', '\t']);
            let quoted = fenced || line.starts_with("    ") || line.starts_with('\t');
            Line { at, text: line.trim(), indented, quoted }
        });
        lines.filter(|line| !line.text.is_empty() && !line.text.starts_with("Info: ")).collect()
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("```") || line.starts_with("~~~")
}

/// One line of the text.
struct Line<'t> {
    /// Byte offset of its start.
    at: usize,
    text: &'t str,
    indented: bool,
    /// In a fenced block, or indented like one.
    quoted: bool,
}

impl Line<'_> {
    /// The class of the failure that the line reports.
    fn class(&self) -> Option<FaultClass> {
        if self.quoted {
            return None;
        }
        if self.text.to_lowercase().starts_with("please try") {
            // Advice on a failure that another line reports.
            return None;
        }
        classify_line(self.text).or_else(|| classify_line(&SORRY.taken_from(self.text)))
    }

    /// Does the line only continue a report that began earlier?
    fn continues_report(&self) -> bool {
        let clauses = || CLAUSE.split(self.text).map(str::trim);
        let follows =
            clauses().all(|clause| FOLLOWS.is_match(clause)) && !TELLS.is_match(self.text);
        !is_fence(self.text) && (self.indented || follows || self.class().is_some())
    }

    /// Is the line a report and nothing else, although no mark says so?
    fn reports(&self) -> bool {
        let text = SORRY.taken_from(statement(self.text));
        let mut clauses = CLAUSE.split(&text).map(str::trim);
        if text.starts_with('{') {
            return classify_line(&text) == Some(FaultClass::RateLimit);
        }
        let first = clauses.next().unwrap_or_default();
        // A sign inside of it may look like the end of a clause: `session limit · resets 6pm`.
        let first = [first, &text].into_iter().any(|it| classify_line(it).is_some())
            || first.parse::<u64>().is_ok();
        // A bare number is an answer, not a report.
        let speaks = text.contains(char::is_alphabetic);
        first && speaks && !TELLS.is_match(&text) && clauses.all(|clause| FOLLOWS.is_match(clause))
    }
}

/// The start of the report at the end of the lines, its class, and whether it is marked as an
/// error.
fn last_report(lines: &[Line]) -> Option<(usize, FaultClass, bool)> {
    let (at, class) =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, line.class()?)))?;
    let line = &lines[at];
    if !lines[at + 1..].iter().all(Line::continues_report) {
        return None;
    }
    let marked = is_marked(line.text);
    (marked || line.text.to_lowercase().starts_with("failed to get response") || line.reports())
        .then_some((at, class, marked))
}

fn report(lines: &[Line]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.text).collect();
    let text = lines.join("\n");
    text.strip_prefix("Error: ").unwrap_or(&text).to_owned()
}

/// Which lines are inside a fenced Markdown block, or are a fence; quoted text reports
/// nothing.
pub(super) fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut open: Option<&str> = None;
    let each = lines.iter().map(|line| {
        let line = line.trim();
        let fence = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence));
        match (open, fence) {
            (None, Some(_)) => open = fence,
            (Some(begun), Some(fence)) if begun == fence => open = None,
            (Some(_), _) => return true,
            (None, None) => return false,
        }
        true
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reset;

    fn words(pieces: &[&str]) -> LastWords {
        let mut words = LastWords::default();
        for piece in pieces {
            words.say(piece);
        }
        words
    }

    /// In one piece, as single characters, and as the tokens of a model.
    fn said(text: &str) -> [LastWords; 3] {
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let tokens: Vec<&str> = text.split_inclusive(' ').collect();
        [words(&[text]), words(&letters), words(&tokens)]
    }

    fn class(words: &LastWords, acted: bool) -> Option<FaultClass> {
        words.classify(acted).map(|told| told.fault.class)
    }

    #[test]
    fn a_report_of_a_rate_limit_is_one_in_however_many_pieces_it_comes() {
        for text in [
            "You have hit your rate limit. Please try again in 58 hours.",
            "Sorry, you have hit a rate limit. Please try again in 58 hours.",
            "I'm sorry, but you've hit your rate limit. Please try again later.",
            "Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period. Please try again in 58 hours. (Request ID: A1B2:C3)",
            "session limit · resets 6:15pm (Europe/Berlin)",
            "You've hit your session limit · resets 6:15pm (Europe/Berlin)",
            "Claude usage limit reached. Your limit will reset at 6:15pm (Europe/Berlin).",
            "{\"code\":\"rate_limited\"}",
            "exceeded retry limit, last status: 429",
            "exceeded retry limit, last status: 429 Too Many Requests",
            "Rate limit exceeded",
            "Rate limit exceeded: retry after 30 seconds",
            "429 Too Many Requests",
            "[429 Too Many Requests] You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
            "[429 Too Many Requests] Resource has been exhausted (e.g. check quota).",
            "Attempt 1 failed with status 429. Retrying with backoff...",
            "Gemini API request failed with status 429",
            "Error: 429 Too Many Requests",
            "HTTP/1.1 429 Too Many Requests\nRetry-After: 3600",
            "Too many requests, please try again in 5 hours",
            "Execution failed: Error: 429 Rate limit reached for requests",
            "Info: Request failed due to a transient API error. Retrying...\nError: 429 Rate limit reached for requests",
            "Error: 500 Internal Server Error\nError: 429 Too Many Requests\n",
            "You've hit your rate limit.\n\nPlease try again later.",
            "You've reached your weekly limit · resets at 2026-11-22T09:00:00Z",
            "Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000. Please try again in 6s. Visit https://example.com/limits to learn more.",
            "I am working on the file.\nError: 429 Too Many Requests",
            "I am working on the file.\n\nYou have hit your rate limit. Please try again in 58 hours.",
        ] {
            for (form, words) in said(text).into_iter().enumerate() {
                for acted in [false, true] {
                    assert_eq!(class(&words, acted), Some(FaultClass::RateLimit), "{form}: {text}");
                }
            }
        }
        for pieces in [
            &["Error: 429 Too", " Many Requests"][..],
            &[
                "Info: Request failed due to a transient API error. Retrying...",
                "Error: 429 slow down",
            ],
            &["I begin to", "Error: 429 Too Many Requests"],
            &["I work on it.", "You have hit your rate limit. Please try again in 58 hours."],
            &["I work on it. ", "You have hit your rate limit. Please try again in 58 hours."],
            &["You have hit your", " rate", " limit."],
            &[
                "[GoogleGenerativeAI Error]: Error fetching from https://example.com/v1beta/models/gemini-2.5-pro:generateContent: [429 Too Many Requests] Resource has been exhausted (e.g. check quota).",
            ],
        ] {
            assert_eq!(class(&words(pieces), true), Some(FaultClass::RateLimit), "{pieces:?}");
        }
        let told = words(&["Error: 429 Too Many Requests\nRetry-After: 3600"]).classify(true);
        let fault = told.expect("a failure").fault;
        assert_eq!(fault.reset, Some(Reset::After(3600)));
        assert_eq!(fault.message, "429 Too Many Requests\nRetry-After: 3600");
    }

    #[test]
    fn words_that_speak_of_a_failure_are_none() {
        for text in [
            "",
            "Done.",
            "429 Too Many Requests is what the server answers",
            "The client now waits when it meets a rate limit.",
            "Rate limit exceeded: the client waits 30 s and tries again.",
            "Too many requests from one address get a 429.",
            "Rate limit exceeded. I added a retry for that.",
            "429 Too Many Requests, so I added a retry",
            "I have hit the rate limit handling. All tests pass.",
            "The test prints:\nError: 429 Too Many Requests",
            "The test prints:\n\nYou have hit your rate limit. Please try again in 58 hours.",
            "The log:\n```\nError: 429 Too Many Requests\n```",
            "The log:\n```\nError: 429 Too Many Requests",
            "```\nYou have hit your rate limit. Please try again in 58 hours.\n```",
            "The log says\n\n    Error: 429 Too Many Requests",
            "> Error: 429 Too Many Requests",
            "- Rate limit exceeded",
            "\"You have hit your rate limit. Please try again in 58 hours.\"",
            "`Error: 429 Too Many Requests`",
            "Error: 429 Too Many Requests\nThat line stands in the log. I added a retry.",
            "Error: 429 Too Many Requests is what the server says.",
            "A client that asks too often meets a rate limit. It is told so.\n\nYou have hit your rate limit. Please try again in 58 hours.",
            "## Rate limits\n\nRate limit exceeded",
            "[429 Too Many Requests] is what the client prints now.",
            "[429] Too Many Requests",
            "[429 Too Many Requests](https://example.com) is the status.",
            "Attempt 1 failed with status 429, so the client waits.",
            "The first attempt failed with status 429. I added a retry.",
            "I have read README.md.\n\nRate limit exceeded",
            "You have hit your rate limit. Let me work on the next file meanwhile.",
            "429",
            "Connection refused is handled now.",
            "File not found: src/main.rs",
            "Permission denied",
        ] {
            for (form, words) in said(text).into_iter().enumerate() {
                assert_eq!(class(&words, false), None, "{form}: {text}");
            }
        }
        for pieces in [
            &["Error: 429 Rate limit reached for requests", "Let me try something else."][..],
            &["```\n", "Error: 429 Too Many Requests", "\n```\n"],
            &["Error: my assertion does not hold"],
        ] {
            assert_eq!(class(&words(pieces), false), None, "{pieces:?}");
        }
    }

    #[test]
    fn other_failures_count_without_a_mark_only_where_nothing_was_done() {
        for (text, expected) in [
            ("You are not logged in. Run `copilot login`.", FaultClass::Auth),
            ("The requested model is not supported.", FaultClass::ModelUnavailable),
            ("Connection refused", FaultClass::Network),
            ("503 Service Unavailable", FaultClass::Transient),
        ] {
            let words = words(&[text]);
            assert_eq!(
                (class(&words, false), class(&words, true)),
                (Some(expected), None),
                "{text}"
            );
        }
        // The model's own last line does not count, the CLI's own does.
        let narrated = words(&["It does not start.\nError: connect ECONNREFUSED 127.0.0.1:80"]);
        assert_eq!(class(&narrated, true), None);
        let own = words(&["It does not", "Error: connect ECONNREFUSED 127.0.0.1:80"]);
        assert_eq!(class(&own, true), Some(FaultClass::Network));
    }

    #[test]
    fn only_what_tells_of_nothing_else_is_plain() {
        let plain =
            |pieces: &[&str]| words(pieces).classify(true).is_some_and(|it| it.is_plain_limit());
        assert!(plain(&["You have hit your rate limit. Please try again in 58 hours."]));
        assert!(!plain(&["I work on it.", "Error: 429 Too Many Requests"]));
        assert!(!plain(&["Error: connection refused"]));
    }

    #[test]
    fn a_call_and_a_flood_are_forgotten_and_a_fence_that_was_opened_before_is_not() {
        let mut after = words(&["Error: 429 Too Many Requests"]);
        after.clear();
        assert_eq!(after.classify(true), None);
        let line = "x".repeat(99) + "\n";
        for (fence, expected) in [("", Some(FaultClass::RateLimit)), ("```\n", None)] {
            let mut words = words(&[fence]);
            for _ in 0..1000 {
                words.say(&line);
            }
            words.say("Error: 429 Too Many Requests");
            assert!(words.held() <= 8 * KEPT, "{}", words.held());
            let told = words.classify(true);
            assert_eq!(told.as_ref().map(|told| told.fault.class), expected);
            assert!(!told.is_some_and(|told| told.whole), "something else was said");
        }
        let mut words = words(&[&"y".repeat(100 * KEPT)]);
        words.say("Error: 429 Too Many Requests");
        assert_eq!(class(&words, true), Some(FaultClass::RateLimit));
        assert!(words.held() <= 8 * KEPT, "{}", words.held());
    }
}
