//! What this machine's kernel can enforce, tried.

use ralph_copilot::sandbox::{Programs, has_landlock, probe};

/// What starts a sandbox, where bubblewrap is installed.
pub(crate) fn programs() -> Option<Programs> {
    let words = |words: [&str; 2]| words.map(Into::into).to_vec();
    Some(Programs {
        bubblewrap: which::which("bwrap").ok()?,
        ours: env!("CARGO_BIN_EXE_ralph-copilot").into(),
        enter: words(["sandbox", "enter"]),
        serve: words(["sandbox", "serve"]),
    })
}

/// Can this machine make the tier of this name?
pub(crate) fn has_tier(name: &str) -> bool {
    match name {
        "full" => programs().is_some_and(|programs| {
            let folder = tempfile::tempdir().expect("a folder");
            probe(&programs, folder.path()).is_ok()
        }),
        "partial" => has_landlock().is_ok(),
        name => name == "off",
    }
}
