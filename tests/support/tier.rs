//! What this machine's kernel can enforce, tried.

use ralph_copilot::sandbox::{Programs, can_limit, probe};

/// What starts a sandbox, where bubblewrap is installed.
pub(crate) fn programs() -> Option<Programs> {
    Some(Programs {
        bubblewrap: which::which("bwrap").ok()?,
        ours: env!("CARGO_BIN_EXE_ralph-copilot").into(),
        group: None,
    })
}

/// Can this machine make the tier of this name?
pub(crate) fn has_tier(name: &str) -> bool {
    match name {
        "full" => programs().is_some_and(|programs| {
            let folder = tempfile::tempdir().expect("a folder");
            probe(&programs, folder.path()).is_ok()
        }),
        "partial" => can_limit().is_ok(),
        name => name == "off",
    }
}
