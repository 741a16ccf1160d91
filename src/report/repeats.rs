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

    /// All lines, each with how often it was due, but for those whose words are in `said`. Forgets
    /// them.
    pub(super) fn drain(&mut self, said: &str) -> Vec<String> {
        let lines =
            self.0.drain(..).filter(|(line, _)| !said.contains(line.trim_matches([' ', '.'])));
        let counted = |(line, times): (String, u32)| match times {
            1 => line,
            _ => format!("{line} ({times} times)"),
        };
        lines.map(counted).collect()
    }

    /// A text in which none of the lines is said again, and the counts of those that came again.
    /// Forgets all lines.
    pub(super) fn counts(&mut self, mut said: String) -> (String, Vec<String>) {
        let mut counts = Vec::new();
        for (line, times) in self.0.drain(..) {
            let words = line.trim_matches([' ', '.']);
            if said.contains(words) {
                said = said.replace(words, "as above");
            } else if times > 1 {
                counts.push(format!("  {times} times: {}", format::shown(&line, COUNTED)));
            }
        }
        (said, counts)
    }
}
