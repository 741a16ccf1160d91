//! The CLI's hooks: wire forms, the guard's plugin, and the hook process itself.
//!
//! Invariant: every failure of ours is a denial, where a hook decides; a hook that only
//! reports never holds up the CLI. During a run the hook process asks the running runner and
//! repeats its answer; without one the project's own hooks are asked, in the words that they
//! expect. This room decides nothing by itself.

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
    AskedCall, HOOK_USAGE, HookKind, SESSION_EVENTS, SessionEvent, ask_human, blocked,
    blocked_reason, read_asked,
};
pub use ask::{ASK_LIMIT, AskError, STOP_CHECK_LIMIT, ask, ask_limit};
pub use claude::{
    ClaudeError, ClaudeHook, HookSays, Matching, claude_input, hook_says, matching, strictest,
};
pub use engine::{ENGINE_VARIABLE, EngineError, HookEngine, find_engine, find_program};
pub use plugin::{Mounted, PERMIT, Plugin, PluginError, observes};
pub use precedence::{Payload, combine, payload_of};
pub use script::{ScriptEnd, ScriptRun, run_script};
pub use staging::{StageXpia, Staged, StagedFile, StagingError, is_staged, staged_files};
pub use wire::{
    ErrorReport, HookCall, HookResult, StopReport, WireError, denial, forbid, pass, permit,
    read_call, read_end, read_error, read_permission, read_result, read_session, read_stop,
    turn_back,
};
pub use xpia::{DEFENDER, XpiaAsked, XpiaAudit, XpiaError, XpiaVerdict, read_xpia};
