//! `classify`: the class, action, and wait for an error text.
//!
//! A filter that decides like a run: with the classes of `agent` and the advice of `engine`. It
//! does not wait.

use std::io::Read as _;
use std::num::NonZeroU32;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::Serialize;

use super::args::ClassifyArgs;
use super::failure::{Failure, unreadable};
use super::print::say_line;
use crate::agent;
use crate::config::from_environment;
use crate::engine::{Advice, RecoveryAction, RetryLimits, advise};
use crate::model::{ExitCode, Fault, FaultClass};
use crate::sys::clock::Clock;

/// Most that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// The printed object.
#[derive(Serialize)]
struct Classified {
    class: FaultClass,
    action: RecoveryAction,
    wait_seconds: u64,
    retry: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_at: Option<String>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    then: Option<&'static str>,
    message: String,
}

/// Reads standard input and prints the decision of a run.
pub(super) fn classify(args: &ClassifyArgs) -> Result<u8, Failure> {
    let mut input = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut input).map_err(unreadable)?;
    let environment = from_environment(&|name| std::env::var(name).ok())?;
    let allowed = RetryLimits {
        most: environment.max_retries.map(NonZeroU32::get),
        fallback: environment.fallback.unwrap_or_default(),
    };
    let fault = agent::classify(&String::from_utf8_lossy(&input));
    let told = told(fault, args.retry, &allowed, Clock::system().now());
    let value =
        serde_json::to_value(&told).map_err(|error| Failure::new(ExitCode::Internal, error))?;
    say_line(&value);
    Ok(0)
}

fn told(fault: Fault, retry: u32, allowed: &RetryLimits, now: DateTime<Utc>) -> Classified {
    let Advice { action, wait, reason } = advise(&fault, retry, allowed, now);
    let ends = match action {
        RecoveryAction::Fail | RecoveryAction::Abort => true,
        RecoveryAction::Wait
        | RecoveryAction::Retry
        | RecoveryAction::Restart
        | RecoveryAction::Fallback
        | RecoveryAction::Skip => false,
    };
    let wait_seconds = wait.as_secs();
    let waits = i64::try_from(wait_seconds).ok().and_then(TimeDelta::try_seconds);
    let until = waits.filter(|_| fault.reset.is_some() && wait_seconds > 0).map(|it| now + it);
    Classified {
        class: fault.class,
        action,
        wait_seconds,
        retry,
        resume_at: until.map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true)),
        reason: reason.to_owned(),
        then: ends.then(|| agent::hint(fault.class, None)),
        message: fault.message,
    }
}
