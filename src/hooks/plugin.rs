//! The plugin folder that mounts the guard in the Copilot CLI.
//!
//! The CLI reads it at every `session/new` and ignores errors in it: a missing or broken
//! folder leaves the session unguarded. So the folder is checked before each session, and a
//! session counts as guarded only after its `userPromptSubmitted` reached the run's socket.
//!
//! Hooks start without a shell (`exec`), which is fastest and avoids PATH, aliases and
//! profiles. The CLI lets a call pass if its hook times out, so the limit set here is far above
//! ours: our own watchdog denies first, and a stopped hook process holds the call.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The CLI's time limit for each hook, in seconds.
const HOOK_LIMIT: u64 = 86_400;

/// The hook that decides a call.
const DECIDING: &str = "preToolUse";

/// The hooks that the guard uses: the first two can stop the agent, the others only report.
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

/// The hook for permission requests. Over ACP the runner gets them itself, and the hook only
/// observes them.
const PERMISSION: &str = "permissionRequest";

/// The hook for the end of a turn.
const STOP: &str = "agentStop";

/// The question of the permission hook where the guard must answer: in `copilot -p`.
pub const PERMIT: &str = "permit";

/// The use of the CLI in which the plugin is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginUse {
    /// An ACP session of a run: its permission requests come to the runner itself.
    Acp,
    /// A prompt of a run, in `copilot -p`: the hook answers its permission requests.
    Prompt,
    /// A nested launch: like a prompt, but its work is not checked at the end.
    Launch,
    /// A nested launch whose caller passed permission flags: the CLI answers permission
    /// requests itself.
    NarrowLaunch,
}

impl PluginUse {
    /// The question that the hook of an event asks; none if the hook is not mounted.
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
    /// A file of the plugin cannot be written or read.
    #[error("cannot use the guard's plugin: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the plugin was changed after it was written.
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
    /// Writes the plugin to `folder`. Its hooks start `program`, which asks at `socket`.
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

    /// Checks that the next session will be guarded.
    ///
    /// # Errors
    /// If a file is missing or was changed.
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
    use super::super::ask::{ask_limit, observes};
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
    fn every_hook_starts_without_a_shell_and_our_own_limit_comes_first() {
        let (_folder, plugin) = written();
        let text = std::fs::read_to_string(plugin.folder().join("hooks.json")).expect("hooks");
        let hooks: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(hooks["version"], 1);
        for event in EVENTS {
            let hook = &hooks["hooks"][event][0];
            assert_eq!(hook["exec"], "/bin/ralph");
            assert_eq!(hook["args"], json!(["hook", event, "--socket", "/s"]));
            let limit = hook["timeoutSec"].as_u64().expect("a positive number");
            assert!(limit > ask_limit(event).as_secs() * 10);
        }
    }

    #[test]
    fn unknown_hooks_are_not_observers() {
        let observers: Vec<_> = EVENTS.into_iter().filter(|event| observes(event)).collect();
        assert_eq!(observers, EVENTS[2..]);
        for event in ["preToolUse", "userPromptSubmitted", "PostToolUse", "", "preCompact"] {
            assert!(!observes(event), "{event}");
        }
    }

    #[test]
    fn permission_requests_are_answered_only_where_the_runner_does_not_get_them() {
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
        assert!(!observes(PERMIT), "a missing answer must not permit");
    }

    #[test]
    fn a_changed_or_removed_plugin_is_detected() {
        let (_folder, plugin) = written();
        plugin.check().expect("untouched");
        std::fs::write(plugin.folder().join("hooks.json"), "{}").expect("write");
        assert!(matches!(plugin.check(), Err(PluginError::Changed { .. })));
        std::fs::remove_file(plugin.folder().join("hooks.json")).expect("remove");
        assert!(matches!(plugin.check(), Err(PluginError::File { .. })));
    }
}
