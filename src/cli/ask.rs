//! `--ask`: asks at the terminal about calls that the policy leaves to a human.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::agent::{AskHuman, HumanReply, Question};
use crate::hooks::ASK_LIMIT;
use crate::report::LiveLine;
use crate::sys::tty;

/// How long a question waits. Must be less than the hook waits for the answer.
const LIMIT: Duration = Duration::from_secs(15);
const _: () = assert!(LIMIT.as_secs() < ASK_LIMIT.as_secs());

/// The longest call that is shown, in characters. A longer one cannot be read within the time
/// limit, and a call that is not shown is not approved.
const MOST: usize = 2000;

/// Longest reason that is shown, in characters.
const MOST_WHY: usize = 500;

/// Asks at the terminal, one question at a time; `None` if there is no terminal. The live line is
/// hidden while a question waits.
pub(super) fn at_the_terminal(live: Option<LiveLine>) -> Option<AskHuman> {
    let terminal = Mutex::new(tty::terminal()?);
    Some(Box::new(move |question: &Question<'_>| {
        if !fits(question) {
            return HumanReply::Unshown;
        }
        let began = Instant::now();
        let mut terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let left = LIMIT.saturating_sub(began.elapsed());
        let mut ask = || tty::ask(&mut *terminal, &shown(question), left);
        let asked = match &live {
            Some(live) => live.without(ask),
            None => ask(),
        };
        match asked {
            Ok(answer) => meant(answer.as_deref()),
            Err(error) => {
                tracing::warn!(%error, "cannot ask at the terminal");
                HumanReply::Silence
            }
        }
    }))
}

/// Asks at a terminal; without one, the answer is no.
pub(super) fn agreed(question: &str) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    let mut out = std::io::stderr().lock();
    let asked = write!(out, "{question} [y/N] ").and_then(|()| out.flush());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    asked.is_ok() && read.is_ok() && yes
}

/// Whether all of the call can be shown.
fn fits(question: &Question<'_>) -> bool {
    question.wants.chars().count() <= MOST
}

/// The question, without anything that could steer the terminal.
fn shown(question: &Question<'_>) -> String {
    let plain = |text: &str| -> String { text.chars().map(visible).collect() };
    let cut = |text: &str| match text.char_indices().nth(MOST_WHY) {
        Some((end, _)) => {
            format!("{}… [{} characters more]", &text[..end], text[end..].chars().count())
        }
        None => text.to_owned(),
    };
    format!(
        "\n{}\n{} wants: {}\nallow this once? [y/N] ({} s) ",
        plain(&cut(question.why)),
        plain(&cut(question.tool)),
        plain(question.wants),
        LIMIT.as_secs()
    )
}

/// A character as it may be shown: no control, and none that turns the order around or hides.
fn visible(c: char) -> char {
    match c {
        c if c.is_control() => ' ',
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        c => c,
    }
}

fn meant(answer: Option<&str>) -> HumanReply {
    match answer.map(str::to_lowercase).as_deref() {
        Some("y" | "yes") => HumanReply::Yes,
        Some(_) => HumanReply::No,
        None => HumanReply::Silence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for (answer, want) in [
            (Some("y"), HumanReply::Yes),
            (Some("YES"), HumanReply::Yes),
            (Some(""), HumanReply::No),
            (Some("yy"), HumanReply::No),
            (None, HumanReply::Silence),
        ] {
            assert_eq!(meant(answer), want, "{answer:?}");
        }
    }

    #[test]
    fn a_question_cannot_steer_the_terminal() {
        let wants = "ls\u{1b}[2J\r\nallow? y\u{202e}";
        let question = Question { tool: "bash", wants, why: "w" };
        let text = shown(&question);
        assert_eq!(text.matches('\n').count(), 3, "{text:?}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
    }

    #[test]
    fn all_of_a_call_is_shown_and_a_cut_reason_says_so() {
        let (wants, why) = ("x".repeat(MOST - 1) + "y", "w".repeat(MOST_WHY + 7));
        let question = Question { tool: "bash", wants: &wants, why: &why };
        let text = shown(&question);
        assert!(fits(&question) && !fits(&Question { wants: &(wants.clone() + "z"), ..question }));
        assert!(text.contains(&wants) && text.contains("w… [7 characters more]\n"), "{text}");
    }
}
