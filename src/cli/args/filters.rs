//! Arguments of the filters: `classify` and `redact`.

use clap::Args;

/// Flags of `classify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Standard input: a JSON-RPC error, a `session.error` record of the Copilot CLI, what its
`errorOccurred` hook reports, or plain text. Text counts only in the shape of an error: one
that merely mentions a rate limit is none.

Standard output: one JSON object
  class         rate_limit, network, auth, model_unavailable, transient, file_not_found,
                permission_denied, or fatal for everything else
  action        wait, retry, fallback, skip, fail, or abort
  wait_seconds  how long a run waits before; 0 where it does not wait
  retry         the number of the retry, as given
  resume_at     when it goes on, where the error itself tells
  reason        why, in one sentence
  then          what to do, where the run ends
  message       the error's own words

COPILOT_MAX_RETRIES and RALPH_COPILOT_FALLBACK are honoured. docs/failures.md tells more.")]
pub(crate) struct ClassifyArgs {
    /// How often it was tried again before: 0 for the first failure
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(crate) retry: u32,
}

/// Flags of `redact`.
#[derive(Args, Debug)]
pub(crate) struct RedactArgs {
    /// Print at most N characters of the redacted text, then `[truncated]` on a line of its own
    #[arg(long, value_name = "N")]
    pub(crate) max_chars: Option<usize>,
}
