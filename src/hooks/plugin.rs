//! The plugin folder that mounts the guard in the Copilot CLI.
//!
//! The CLI reads it at every `session/new` and never reports what is wrong with
//! it: a folder that is missing or broken leaves the session unguarded. So it is
//! checked before each session, and a session counts as guarded only once its
//! `userPromptSubmitted` has reached the run's socket.
//!
//! Each hook is started without a shell (`exec`), which costs least and leaves no
//! PATH, alias or profile in between. The CLI lets a call pass whose hook ran out
//! of time, so its limit is far above ours: our own watchdog denies first, and a
//! hook that is stopped altogether holds the call instead of letting it pass.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The limit that the CLI sets to a hook, in seconds.
const HOOK_LIMIT: u64 = 86_400;

/// The hook that decides.
const DECIDING: &str = "preToolUse";

/// The hooks that the guard listens to: the first two hold, the others only tell.
const EVENTS: [&str; 8] = [
    DECIDING,
    "userPromptSubmitted",
    PERMISSION,
    "postToolUse",
    "postToolUseFailure",
    "errorOccurred",
    STOP,
    "sessionEnd",
];

/// Whether a hook that cannot ask the runner only passes on what it is about to see. For
/// every other hook, also those that nobody knows, that is a denial.
pub fn observes(event: &str) -> bool {
    matches!(
        event,
        "permissionRequest"
            | "postToolUse"
            | "postToolUseFailure"
            | "errorOccurred"
            | "agentStop"
            | "sessionEnd"
    )
}

/// The hook that sees permission requests. Over ACP they come to the runner itself, and the
/// hook only watches.
const PERMISSION: &str = "permissionRequest";

/// The hook that sees the end of a turn.
const STOP: &str = "agentStop";

/// What the hook of permission requests asks where nobody else answers it: in `copilot -p`.
pub const PERMIT: &str = "permit";

/// What the CLI that the plugin is mounted in is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginUse {
    /// An ACP session of a run: its permission requests come to the runner itself.
    Acp,
    /// A prompt of a run, in `copilot -p`: its permission requests are answered here.
    Prompt,
    /// A launch inside something else: as a prompt, and nobody checks the work at its end.
    Launch,
    /// The same, whose caller says with flags what is permitted: permission requests are
    /// the CLI's own business.
    NarrowLaunch,
}

impl PluginUse {
    /// What the hook of an event asks; nothing, if there is none.
    fn asks(self, event: &'static str) -> Option<&'static str> {
        match (self, event) {
            (Self::Prompt | Self::Launch, PERMISSION) => Some(PERMIT),
            (Self::Launch | Self::NarrowLaunch, STOP) => None,
            _ => Some(event),
        }
    }
}

/// The plugin cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// A file of it cannot be written or read.
    #[error("the guard's plugin: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of it is not what was written: somebody changed it.
    #[error("the guard's plugin was changed: {path}")]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// The plugin of one run.
#[derive(Clone, Debug)]
pub struct Plugin {
    folder: PathBuf,
    files: [(PathBuf, String); 2],
}

impl Plugin {
    /// Writes the plugin to `folder`. Its hooks start `program` and ask at `socket`.
    ///
    /// # Errors
    /// If the folder or a file cannot be written.
    pub fn write(
        folder: &Path,
        program: &Path,
        socket: &Path,
        mounted: PluginUse,
    ) -> Result<Self, PluginError> {
        let manifest = json!({
            "name": "ralph-guard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Asks the running ralph-copilot about every tool call",
            "hooks": "hooks.json",
        });
        let hooks: serde_json::Map<String, Value> = EVENTS
            .iter()
            .filter_map(|event| Some((event, mounted.asks(event)?)))
            .map(|(event, asks)| ((*event).to_owned(), json!([hook(program, asks, socket)])))
            .collect();
        let hooks = json!({ "version": 1, "hooks": hooks });
        let plugin = Self {
            folder: folder.to_owned(),
            files: [
                (folder.join("plugin.json"), manifest.to_string()),
                (folder.join("hooks.json"), hooks.to_string()),
            ],
        };
        std::fs::create_dir_all(folder)
            .map_err(|source| PluginError::File { path: folder.to_owned(), source })?;
        for (path, text) in &plugin.files {
            std::fs::write(path, text)
                .map_err(|source| PluginError::File { path: path.clone(), source })?;
        }
        Ok(plugin)
    }

    /// The folder, for `--plugin-dir`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes sure that the next session will be guarded.
    ///
    /// # Errors
    /// If a file is gone or is not what was written.
    pub fn check(&self) -> Result<(), PluginError> {
        for (path, text) in &self.files {
            let found = std::fs::read_to_string(path)
                .map_err(|source| PluginError::File { path: path.clone(), source })?;
            if found != *text {
                return Err(PluginError::Changed { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn hook(program: &Path, event: &str, socket: &Path) -> Value {
    json!({
        "type": "command",
        "exec": program,
        "args": ["hook", event, "--socket", socket],
        "timeoutSec": HOOK_LIMIT,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (tempfile::TempDir, Plugin) {
        let folder = tempfile::tempdir().expect("temp dir");
        let plugin = mounted(&folder.path().join("plugin"), PluginUse::Acp);
        (folder, plugin)
    }

    fn mounted(folder: &Path, mounted: PluginUse) -> Plugin {
        let (program, socket) = (Path::new("/bin/ralph"), Path::new("/s"));
        Plugin::write(folder, program, socket, mounted).expect("written")
    }

    #[test]
    fn every_hook_is_started_without_a_shell_and_cannot_run_out_of_time_first() {
        let (_folder, plugin) = written();
        let text = std::fs::read_to_string(plugin.folder().join("hooks.json")).expect("hooks");
        let hooks: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(hooks["version"], 1);
        for event in EVENTS {
            let hook = &hooks["hooks"][event][0];
            assert_eq!(hook["exec"], "/bin/ralph");
            assert_eq!(hook["args"], json!(["hook", event, "--socket", "/s"]));
            let limit = hook["timeoutSec"].as_u64().expect("a positive number");
            assert!(limit > super::super::ask_limit(event).as_secs() * 10);
        }
    }

    #[test]
    fn what_is_not_known_to_observe_decides() {
        let observers: Vec<_> = EVENTS.into_iter().filter(|event| observes(event)).collect();
        assert_eq!(observers, EVENTS[2..]);
        for event in ["preToolUse", "userPromptSubmitted", "PostToolUse", "", "preCompact"] {
            assert!(!observes(event), "{event}");
        }
    }

    #[test]
    fn permission_requests_are_answered_only_where_nobody_else_is_asked() {
        let folder = tempfile::tempdir().expect("temp dir");
        for (used, permission, stop) in [
            (PluginUse::Acp, PERMISSION, true),
            (PluginUse::Prompt, PERMIT, true),
            (PluginUse::Launch, PERMIT, false),
            (PluginUse::NarrowLaunch, PERMISSION, false),
        ] {
            let plugin = mounted(&folder.path().join(format!("{used:?}")), used);
            let text = std::fs::read_to_string(plugin.folder().join("hooks.json")).expect("hooks");
            let hooks = serde_json::from_str::<Value>(&text).expect("JSON")["hooks"].clone();
            assert_eq!(hooks[PERMISSION][0]["args"][1], permission, "{used:?}");
            assert_eq!(hooks.get(STOP).is_some(), stop, "{used:?}");
            assert_eq!(hooks[DECIDING][0]["args"][1], DECIDING, "{used:?}");
        }
        assert!(!observes(PERMIT), "without an answer nothing is permitted");
    }

    #[test]
    fn a_plugin_that_was_changed_or_removed_is_noticed() {
        let (_folder, plugin) = written();
        plugin.check().expect("untouched");
        std::fs::write(plugin.folder().join("hooks.json"), "{}").expect("write");
        assert!(matches!(plugin.check(), Err(PluginError::Changed { .. })));
        std::fs::remove_file(plugin.folder().join("hooks.json")).expect("remove");
        assert!(matches!(plugin.check(), Err(PluginError::File { .. })));
    }
}
