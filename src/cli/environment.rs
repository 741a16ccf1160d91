//! The environment of this process.

use std::sync::{Arc, OnceLock};

use crate::guard::Redactor;
use crate::sys::env;
use crate::sys::process::RUN_VARIABLE;

/// Passed to everything that a hook starts. A project's hook that asks us again gets the guard's
/// answer instead of an endless loop.
pub(super) const NESTED: &str = "RALPH_COPILOT_HOOK_NESTED";

/// A variable of our own environment.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The run that this process is part of, if any.
pub(super) fn run_around() -> Option<String> {
    variable(RUN_VARIABLE).filter(|run| !run.is_empty())
}

/// The run that processes started here belong to: the run around this process, or one named
/// after `command` and this process.
pub(super) fn run_name(command: &str) -> String {
    run_around().unwrap_or_else(|| format!("{command}-{}", std::process::id()))
}

/// The redaction that everything printed or written here passes. It knows the values of this
/// process's secret variables.
pub(super) fn redactor() -> &'static Arc<Redactor> {
    static REDACTOR: OnceLock<Arc<Redactor>> = OnceLock::new();
    REDACTOR.get_or_init(|| Arc::new(Redactor::new(secrets())))
}

/// The same, which knows more values.
pub(super) fn redactor_of(values: Vec<String>) -> Arc<Redactor> {
    Arc::new(Redactor::new(secrets().into_iter().chain(values)))
}

fn secrets() -> Vec<String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| env::is_secret(name) && value.len() >= 8)
        .map(|(_, value)| value)
        .collect()
}
