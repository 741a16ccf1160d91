//! Arguments of `mcp`.

use clap::{Args, Subcommand, ValueEnum};

/// The sets of tools that an entry names: each client has its own default.
const INSTALLED_TOOLS: &str = "A set of tools; repeat it for several [default: loop; for openclaw: \
plugin and bridge]";

/// The `mcp` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve tools on standard input and output
    #[command(
        after_help = "loop: check_task, run_task, task_status, task_log, policy_check. plugin: \
copilot_code, copilot_code_verbose, copilot_orchestrate. bridge: copilot_code_task, copilot_read_file, \
copilot_create_file, copilot_list_files. memory: memory_search, memory_read, user_prefs. See \
ralph-copilot's docs/mcp.md."
    )]
    Serve(McpServeArgs),
    /// Add the server to a client's configuration; never removes anything else from it
    #[command(mut_arg("tools", |arg| arg.help(INSTALLED_TOOLS)))]
    Install(McpInstallArgs),
    /// Remove the server from a client's configuration
    Uninstall {
        /// The client
        client: McpClient,
    },
}

/// A set of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum ToolSet {
    /// Tasks: check, run, status, log.
    Loop,
    /// Code tasks, as OpenClaw's plugin names them.
    Plugin,
    /// Code tasks and files, as the bridge names them.
    Bridge,
    /// Notes of earlier sessions.
    Memory,
}

/// A client with a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code: the repository's .mcp.json.
    Claude,
    /// VS Code: the repository's .vscode/mcp.json.
    Vscode,
    /// The Copilot CLI: ~/.copilot/mcp-config.json.
    Copilot,
    /// OpenClaw: ~/.openclaw/openclaw.json.
    Openclaw,
}

/// Flags of `mcp serve`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct McpServeArgs {
    /// A set of tools; repeat it for several [default: loop]
    #[arg(long, value_name = "SET", value_enum)]
    pub(crate) tools: Vec<ToolSet>,
    /// A task that clients may run, as it stands now; repeat it for several
    #[arg(long, value_name = "TASK")]
    pub(crate) allow_task: Vec<String>,
}

/// Flags of `mcp install`.
#[derive(Args, Debug)]
pub(crate) struct McpInstallArgs {
    /// The client
    pub(crate) client: McpClient,
    /// Print the entry instead of writing it
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) serve: McpServeArgs,
}
