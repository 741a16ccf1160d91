//! Programs that code starts: `subprocess.run(["sh", "gate"])`, `execSync("sh gate")`, `system 'gate'`.
//!
//! A call becomes a line of shell, which is read like any other. A program is a subject if the code
//! compares its output; one that decides only by its exit status or its own claim of success is a
//! judge.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::calls::{StartedProgram, starts};
use super::conventions::Role;
use super::files::{SourceTree, text};
use super::flow::Used;
use super::paths::{extension, inside, sounds_like_a_check};
use super::reader::{ReadAt, Reader};
use super::table::Table;

/// Reads what the code of a judge starts.
pub(super) fn of_code(
    reader: &mut Reader<'_>,
    language: &str,
    code: &str,
    place: &ReadAt,
    depth: usize,
) {
    for start in starts(language, code) {
        let place = ReadAt { direct: false, arguments: Vec::new(), ..place.clone() };
        let there = start.folder.as_ref().and_then(|name| inside(&place.folder, name));
        let folder = there.unwrap_or_else(|| place.folder.clone());
        let place = ReadAt { folder, ..place };
        let line = if is_compared(&start) {
            format!("test \"$({})\" = compared", start.line)
        } else {
            start.line
        };
        reader.recipe(&line, &place, depth + 1);
    }
}

/// The files that tests start, and what these run. The tests are not the checks' own files.
pub(super) fn by_tests<'p>(
    start: &dyn SourceTree,
    table: &Table,
    tests: impl Iterator<Item = &'p PathBuf>,
) -> BTreeSet<PathBuf> {
    let mut reader = Reader::new(start, table);
    let is_test =
        |path: &&PathBuf| table.role(path) == Some(Role::Tests) && !extension(path).is_empty();
    for path in tests.filter(is_test) {
        let Some(code) = text(start, path) else { continue };
        let place = ReadAt { script: Some(path.clone()), ..ReadAt::default() };
        of_code(&mut reader, extension(path), &code, &place, 0);
    }
    reader.read_all();
    reader.finish().files
}

fn is_compared(start: &StartedProgram) -> bool {
    match start.used {
        Used::Compared => true,
        Used::Beside => !start.line.split_whitespace().any(names_a_check),
        Used::Status => false,
    }
}

/// Whether a word names a script of checks.
fn names_a_check(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    Path::new(word)
        .iter()
        .filter_map(|part| part.to_str())
        .any(|part| part == "ci" || sounds_like_a_check(part))
}
