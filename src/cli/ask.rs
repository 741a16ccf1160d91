//! `--ask`: the human at the terminal decides what the policy leaves to one.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::agent::{AskHuman, Question, Reply};
use crate::hooks::ASK_LIMIT;
use crate::sys::tty;

/// How long a question waits: less than the hook that waits for it.
const LIMIT: Duration = Duration::from_secs(15);
const _: () = assert!(LIMIT.as_secs() < ASK_LIMIT.as_secs());

/// Asks at the terminal, one question at a time; `None` if there is no terminal.
pub(super) fn at_the_terminal() -> Option<AskHuman> {
    let terminal = Mutex::new(tty::terminal()?);
    Some(Box::new(move |question: &Question<'_>| {
        let began = Instant::now();
        let mut terminal = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let left = LIMIT.saturating_sub(began.elapsed());
        match tty::ask(&mut *terminal, &shown(question), left) {
            Ok(answer) => meant(answer.as_deref()),
            Err(error) => {
                tracing::warn!(%error, "the terminal cannot be asked");
                Reply::Silence
            }
        }
    }))
}

/// The question, without anything that could steer the terminal.
fn shown(question: &Question<'_>) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(2000).collect()
    };
    format!(
        "\n{}\n{} wants: {}\nallow this once? [y/N] ({} s) ",
        plain(question.why),
        plain(question.tool),
        plain(question.wants),
        LIMIT.as_secs()
    )
}

fn meant(answer: Option<&str>) -> Reply {
    match answer.map(str::to_lowercase).as_deref() {
        Some("y" | "yes") => Reply::Yes,
        Some(_) => Reply::No,
        None => Reply::Silence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for (answer, want) in [
            (Some("y"), Reply::Yes),
            (Some("YES"), Reply::Yes),
            (Some(""), Reply::No),
            (Some("yy"), Reply::No),
            (None, Reply::Silence),
        ] {
            assert_eq!(meant(answer), want, "{answer:?}");
        }
    }

    #[test]
    fn a_question_cannot_steer_the_terminal() {
        let question = Question { tool: "bash", wants: "ls\u{1b}[2J\r\nallow? y", why: "w" };
        let text = shown(&question);
        assert_eq!(text.matches('\n').count(), 3, "{text:?}");
        assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
    }
}
