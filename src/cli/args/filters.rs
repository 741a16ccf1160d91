//! Arguments of the filters: `classify` and `redact`.

use clap::Args;

/// Flags of `classify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Standard input: a JSON-RPC error, a `session.error` record of the Copilot CLI, the input of its
`errorOccurred` hook, or plain text. Plain text must look like an error message: text that only
mentions a rate limit is not classified as one.

Standard output: one JSON object
  class         rate_limit, network, auth, model_unavailable, transient, file_not_found,
                permission_denied, or fatal for everything else
  action        wait, retry, fallback, skip, fail, or abort
  wait_seconds  how long a run waits before the action
  retry         the value of --retry
  resume_at     when the run continues, if the error says when
  reason        why, in one sentence
  then          what to do next, if the run ends
  message       the text of the error

Reads COPILOT_MAX_RETRIES and RALPH_COPILOT_FALLBACK. See ralph-copilot's docs/failures.md.")]
pub(crate) struct ClassifyArgs {
    /// The number of retries so far
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(crate) retry: u32,
}

/// Flags of `redact`.
#[derive(Args, Debug)]
pub(crate) struct RedactArgs {
    /// Print at most N characters, then `[truncated]` on its own line
    #[arg(long, value_name = "N")]
    pub(crate) max_chars: Option<usize>,
}
