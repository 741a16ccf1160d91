//! Counts how often each rule was used, in this process or, with a memory file, across
//! processes.
//!
//! The file holds one name per line, appended before the rule is played, so that it is
//! counted even if the agent dies in it.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;

use super::script::ScriptedError;

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Uses {
    used: HashMap<String, u32>,
    file: Option<PathBuf>,
}

impl Uses {
    /// Loads the counts from the file, if there is one.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub(super) fn open(file: Option<PathBuf>) -> Result<Self, ScriptedError> {
        let mut uses = Self::default();
        if let Some(path) = file {
            match std::fs::read_to_string(&path) {
                Ok(text) => text.lines().for_each(|name| uses.count(name)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(ScriptedError::Memory { path, source }),
            }
            uses.file = Some(path);
        }
        Ok(uses)
    }

    /// May this rule be used once more?
    pub(super) fn allows(&self, name: &str, times: Option<u32>) -> bool {
        times.is_none_or(|times| self.used.get(name).copied().unwrap_or(0) < times)
    }

    /// Counts a use.
    ///
    /// # Errors
    /// If the memory file cannot be written.
    pub(super) fn take(&mut self, name: &str) -> Result<(), ScriptedError> {
        self.count(name);
        let Some(path) = &self.file else { return Ok(()) };
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| writeln!(file, "{name}"))
            .map_err(|source| ScriptedError::Memory { path: path.clone(), source })
    }

    fn count(&mut self, name: &str) {
        *self.used.entry(name.to_owned()).or_default() += 1;
    }
}
