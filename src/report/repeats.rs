//! Lines that say the same again: shown once, and counted from then on.

use super::format;

/// Columns that a counted line may take.
const COUNTED: usize = 80;

/// The lines that were shown, and how often each was due.
#[derive(Debug, Default)]
pub(super) struct Repeats(Vec<(String, u32)>);

impl Repeats {
    /// The line, unless it was shown before.
    pub(super) fn first(&mut self, line: String) -> Option<String> {
        if let Some((_, times)) = self.0.iter_mut().find(|(shown, _)| *shown == line) {
            *times += 1;
            return None;
        }
        self.0.push((line.clone(), 1));
        Some(line)
    }

    /// The counts of those that came again. Forgets all lines.
    pub(super) fn counts(&mut self) -> Vec<String> {
        let again = self.0.drain(..).filter(|(_, times)| *times > 1);
        again
            .map(|(line, times)| format!("  {times} times: {}", format::shown(&line, COUNTED)))
            .collect()
    }
}
