//! Reads the layers of settings in files: the repository's, the user's, and the task's.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use super::environment::parse;
use super::{ConfigError, GatewayLayer, LayerSettings, Span};
use crate::model::TaskSettings;

/// Reads `.ralph/config.toml` or the user's file; a missing file sets nothing.
///
/// # Errors
/// If it exists and cannot be read or parsed.
pub fn from_file(path: &Path) -> Result<LayerSettings, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(LayerSettings::default());
        }
        Err(source) => return Err(ConfigError::Read { path: path.to_owned(), source }),
    };
    from_text(&text, path)
}

/// Parses the text of such a file; `path` is the name in errors.
///
/// # Errors
/// If it cannot be parsed.
pub fn from_text(text: &str, path: &Path) -> Result<LayerSettings, ConfigError> {
    let read: Result<LayerSettings, _> = toml::from_str(text);
    let mut values =
        read.map_err(|error| ConfigError::Parse { path: path.to_owned(), error: Box::new(error) })?;
    super::policy::place(&mut values.policy, text, path);
    super::gateway::place(&mut values.gateway, text, path);
    Ok(values)
}

/// The path of the user's own configuration.
pub fn user_file() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("ralph-copilot").join("config.toml"))
}

/// The settings in the front matter of a task.
///
/// # Errors
/// If a duration is invalid; the parser of TASK.md has checked them.
pub fn from_task(settings: &TaskSettings) -> Result<LayerSettings, ConfigError> {
    let max_duration = settings
        .max_duration
        .as_deref()
        .map(|text| parse::<Span>("max_duration", text))
        .transpose()?;
    Ok(LayerSettings {
        // The parser of TASK.md has rejected 0.
        max_iterations: settings.max_iterations.and_then(NonZeroU32::new),
        max_duration,
        max_premium_requests: settings.max_premium_requests,
        jobs: settings.jobs,
        stuck_threshold: settings.stuck_threshold.and_then(NonZeroU32::new),
        on_stuck: settings.on_stuck,
        model: settings.model.clone(),
        escalate: settings.escalate.clone(),
        commit_prefix: settings.commit_prefix.clone(),
        require_checks: settings.require_checks,
        sign: settings.sign,
        write_scope: settings.write_scope,
        proof: settings.proof,
        harness: settings.harness.clone(),
        protect: settings.protect.clone(),
        allow: settings.allow.clone(),
        services: settings.services.clone(),
        network: settings.network,
        network_for: settings.network_for.clone(),
        readable: settings.readable.clone(),
        visible: settings.visible.clone(),
        devices: settings.devices.clone(),
        policy: settings.policy.clone(),
        gateway: GatewayLayer { chosen: settings.gateway, ..GatewayLayer::default() },
        ..LayerSettings::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_in_a_file_is_an_error_that_points_at_it() {
        let folder = tempfile::tempdir().expect("temp dir");
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "stuck_threshold = 2\nmax_iteration = 3\n").expect("write");
        let error = from_file(&path).expect_err("unknown key").to_string();
        assert!(error.contains("config.toml") && error.contains("line 2"), "{error}");
        assert!(error.contains("max_iteration"), "{error}");
    }

    #[test]
    fn a_missing_file_says_nothing() {
        let values = from_file(Path::new("/nonexistent/config.toml")).expect("no file is fine");
        assert_eq!(values, LayerSettings::default());
    }
}
