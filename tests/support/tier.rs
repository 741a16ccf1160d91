//! What this machine's kernel can enforce, tried.

use ralph_copilot::sandbox::{Programs, can_limit, probe};

/// The programs that start a sandbox. Only the tier `full` needs bubblewrap to be installed.
pub(crate) fn programs() -> Programs {
    Programs {
        bubblewrap: which::which("bwrap").unwrap_or_else(|_| "bwrap".into()),
        ours: env!("CARGO_BIN_EXE_ralph-copilot").into(),
    }
}

/// Can this machine make the tier of this name?
pub(crate) fn has_tier(name: &str) -> bool {
    match name {
        "full" => {
            let folder = tempfile::tempdir().expect("a folder");
            probe(&programs(), folder.path()).is_ok()
        }
        "partial" => can_limit().is_ok(),
        name => name == "off",
    }
}
