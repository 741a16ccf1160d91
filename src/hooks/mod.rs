//! The CLI's hooks: wire forms, the guard's plugin, and the hook process itself.
//!
//! Invariant: if a hook that decides fails, it denies; a hook that only reports never holds up
//! the CLI. During a run the hook process asks the runner and prints its answer. Without a run
//! it asks the project's own hooks, in their own formats. This room makes no decisions.

mod adapter;
mod ask;
mod claude;
mod engine;
mod output;
mod plugin;
mod precedence;
mod script;
mod staging;
mod wire;
mod xpia;

pub use adapter::{
    HOOK_USAGE, HookInput, HookKind, SESSION_EVENTS, SessionEvent, ask_human, blocked,
    blocked_reason, read_hook_input,
};
pub use ask::{ASK_LIMIT, AskError, STOP_CHECK_LIMIT, ask, ask_limit, observes};
pub use claude::{
    ClaudeError, ClaudeHook, HookAnswer, MatchingHooks, claude_input, matching_hooks, read_answer,
    strictest,
};
pub use engine::{ENGINE_VARIABLE, HookEngine, HookEngineError, find_engine, find_program};
pub use plugin::{PERMIT, Plugin, PluginError, PluginUse};
pub use precedence::{Payload, combine, payload_of};
pub use script::{ScriptEnd, ScriptRun, run_script};
pub use staging::{
    HookFile, HookFileChange, HookFileError, StageXpia, XPIA_HOOK, is_staged, staged_files,
};
pub use wire::{
    AgentStop, ErrorReport, HookCall, HookResult, WireError, denial, forbid, pass, permit,
    read_call, read_end, read_error, read_permission, read_result, read_session, read_stop,
    replace, replace_result, turn_back,
};
pub use xpia::{DEFENDER, XpiaAudit, XpiaError, XpiaInput, XpiaVerdict, read_xpia};
