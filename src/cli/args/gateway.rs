//! Arguments of `gateway`.

use std::num::NonZeroU64;

use clap::{Args, Subcommand};

/// The `gateway` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Serve providers without a run, to try them out
    #[command(after_help = "\
Prints what providers do, one line each, until Ctrl-C or SIGTERM. Providers find the token in
<COPILOT_HOME or ~/.copilot>/extensions/tap/.provider-token.

With --json, standard output has one JSON object a line: `gateway_ready` with the URLs and token
files, then `bound`, `unbound`, `call`, `result`, `push`, `inject`, `tools_changed`, `tools` and
`error`. Standard input takes commands, one JSON object a line; its end stops the gateway:
  {\"command\":\"session\",\"id\":\"dev\",\"label\":\"PR 42\",\"cwd\":\"/code\"}
  {\"command\":\"call\",\"session\":\"dev\",\"tool\":\"greet\",\"args\":{\"name\":\"Alice\"},\"as\":\"c1\"}
  {\"command\":\"cancel\",\"as\":\"c1\"}
  {\"command\":\"tools\",\"session\":\"dev\"}
  {\"command\":\"idle\",\"session\":\"dev\"}
  {\"command\":\"end\",\"session\":\"dev\",\"deadline_ms\":10000}
MCP clients reach a session's tools at <mcp_url>/<session>. See ralph-copilot's docs/gateway.md.

Exit codes: 0 standard input ended, 2 usage, 7 the port or the token file is taken, 11 a file
cannot be written, 129/130/143 signals.")]
    Serve(ServeGatewayArgs),
    /// Call a tool of a provider by hand, and print its result
    #[command(after_help = "\
Example:
  ralph-copilot gateway call greet '{\"name\":\"Alice\"}'

Finds the gateway through TAP_GATEWAY_PORT and TAP_PROVIDER_TOKEN, else through the files in
<COPILOT_HOME or ~/.copilot>/extensions/tap/. Ctrl-C cancels the call. Text is printed as is,
other data as JSON. With --json, standard output has one JSON object on one line: `result` with
`data`, or with `error_code` and `error`; `refused` with `exit_code`, `reason` and `hints` if the
call was not made.

Exit codes: 0 the call succeeded, 1 it failed, 3 it timed out. The call was not made: 2
usage, 7 no gateway, no such session, or a wrong token. 129/130/143 signals, which cancel the call.")]
    Call(CallToolArgs),
}

/// Flags of `gateway serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeGatewayArgs {
    /// Listen on this loopback port; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = crate::gateway::DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Offer this session to providers; repeatable [default: dev]
    #[arg(long = "session", value_name = "ID[=LABEL]")]
    pub(crate) sessions: Vec<String>,
    /// Start without a session
    #[arg(long, conflicts_with = "sessions")]
    pub(crate) no_session: bool,
    /// Print events as JSON lines, and read commands from standard input
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `gateway call`.
#[derive(Args, Debug)]
pub(crate) struct CallToolArgs {
    /// The tool
    pub(crate) tool: String,
    /// Its arguments: a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// The session, if there are several
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Give up after this many milliseconds [default: the tool's own time]
    #[arg(long, value_name = "MS")]
    pub(crate) timeout: Option<NonZeroU64>,
    /// Print the result or the failure as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}
