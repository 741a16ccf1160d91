//! The CLI's hooks: wire forms, the guard's plugin, and the hook process itself.
//!
//! Invariant: every failure of ours is a denial, where a hook decides; a hook that only
//! reports never holds up the CLI. The hook process asks the running runner and repeats its
//! answer; it decides nothing by itself.

mod ask;
mod plugin;
mod wire;

pub use ask::{AskError, STOP_CHECK_LIMIT, ask, ask_limit};
pub use plugin::{HOOK_LIMIT, PERMIT, Plugin, PluginError, observes};
pub use wire::{
    ErrorReport, HookCall, HookResult, StopReport, WireError, denial, forbid, pass, permit,
    read_call, read_end, read_error, read_permission, read_result, read_session, read_stop,
    turn_back,
};
