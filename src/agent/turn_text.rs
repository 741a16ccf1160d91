//! What a turn shows of its texts.
//!
//! Invariant: redacted whole and cut afterwards, since half a secret is not recognized as one.

use crate::guard::Redactor;
use crate::model::{Fault, Stuck};

/// What is kept of the agent's words in a turn: their end, in bytes.
const SAID: usize = 4000;
/// What is kept of an error's words, in characters.
const MESSAGE: usize = 1000;

/// The end of what the agent said.
pub(super) fn said(redactor: &Redactor, words: &str) -> String {
    let words = redactor.redact_str(words);
    words[words.ceil_char_boundary(words.len().saturating_sub(SAID))..].to_owned()
}

/// A failure in the agent's words.
pub(super) fn fault(redactor: &Redactor, fault: Fault) -> Fault {
    Fault { message: message(redactor, &fault.message), ..fault }
}

/// Why a turn is stuck, where that names a command of the agent's.
pub(super) fn stuck(redactor: &Redactor, stuck: Stuck) -> Stuck {
    match stuck {
        Stuck::Repeating { command, times } => {
            Stuck::Repeating { command: message(redactor, &command), times }
        }
        Stuck::Idle(_) | Stuck::TooLong(_) | Stuck::TooManyCalls(_) => stuck,
    }
}

fn message(redactor: &Redactor, words: &str) -> String {
    redactor.redact_str(words).chars().take(MESSAGE).collect()
}
