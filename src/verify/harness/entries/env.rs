//! `.env`: variables by which programs load code are the start's. The others may change.

use super::super::loaded::loads_code;
use super::manifests::Merged;
use super::parts::{Fate, Part, merged};

/// Puts back the variables that load code.
pub(super) fn put_back(start: Option<&str>, now: &str) -> Merged {
    merged(&parts(start.unwrap_or_default()), parts(now))
}

fn parts(code: &str) -> Vec<Part> {
    let lines = code.split_inclusive('\n');
    lines
        .map(|line| {
            let plain = line.trim_start().trim_start_matches("export ");
            let Some((name, _)) = plain.split_once('=').filter(|_| !plain.starts_with('#')) else {
                return Part::blank(line);
            };
            let fate = if loads_code(name.trim()) { Fate::Fixed } else { Fate::Free };
            Part::new(line, name.trim(), fate)
        })
        .collect()
}
