//! The CLI's hooks: wire forms, the guard's plugin, and the hook process itself.
//!
//! Invariant: every failure of ours is a denial. The hook process asks the
//! running runner and repeats its answer; it decides nothing by itself.

mod ask;
mod plugin;
mod wire;

pub use ask::{ASK_LIMIT, AskError, ask};
pub use plugin::{HOOK_LIMIT, Plugin, PluginError};
pub use wire::{
    ErrorReport, HookCall, WireError, denial, forbid, pass, permit, read_call, read_error,
    read_permission, read_session, turn_back,
};
