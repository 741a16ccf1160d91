//! From the bytes of a TASK.md to a task.

use std::collections::HashMap;

use super::{
    diagnostics::{Diagnostics, quote},
    front,
    lines::Lines,
    nesting::too_deep,
    scan::{Scanned, scan},
};
use crate::model::{Criterion, Diagnostic, Severity, Task, TaskSettings};

/// A criterion longer than this, in bytes, is likely to be a mistake, and leaves
/// little room for anything else in a prompt.
const LONG_TEXT: usize = 4096;

/// Reads a TASK.md. `name` is the task's name, its folder's.
///
/// It never fails: whatever is wrong stands in the diagnostics, and with an error
/// among them the task must not be worked on (see [`super::usable`]). Bytes that are
/// not UTF-8 give a task without criteria, whose `source` shows them as U+FFFD.
pub fn parse(name: &str, bytes: &[u8]) -> Task {
    match std::str::from_utf8(bytes) {
        Ok(source) => parse_text(name, source),
        Err(error) => not_utf8(name, bytes, error.valid_up_to()),
    }
}

/// A task whose file is too large to be read.
pub(super) fn too_large(name: &str) -> Task {
    let lines = Lines::of("");
    let mut diagnostics = Diagnostics::on(&lines);
    let help = "a task is a page or two of text: keep long material in files of its own";
    diagnostics.error(0..0, "the file is larger than 16 MiB", help);
    let diagnostics = diagnostics.finish();
    Task {
        name: name.to_owned(),
        title: None,
        criteria: Vec::new(),
        settings: TaskSettings::default(),
        diagnostics,
        source: String::new(),
    }
}

fn parse_text(name: &str, source: &str) -> Task {
    let lines = Lines::of(source);
    let mut diagnostics = Diagnostics::on(&lines);
    let parts = front::split(&lines, &mut diagnostics);
    let settings = front::settings(&lines, &parts, &mut diagnostics);
    let too_deep = too_deep(&lines);
    let mut found = match too_deep {
        Some(_) => Scanned::default(),
        None => scan(&lines, parts.body, &mut diagnostics),
    };
    number(&mut found.criteria, &mut diagnostics);
    if let Some(line) = too_deep {
        let start = lines.range(line).start;
        diagnostics.error(
            start..start,
            "lists or quotes are nested more than a thousand levels deep",
            "take the indentation and the marks away from the beginning of this line",
        );
    } else if source.trim_start_matches('\u{feff}').trim().is_empty() {
        diagnostics.error(0..0, "the file is empty", HOW_TO_BEGIN);
    } else if found.criteria.is_empty() {
        diagnostics.error(parts.body..parts.body, "there are no criteria", HOW_TO_BEGIN);
    }
    Task {
        name: name.to_owned(),
        title: found.title,
        criteria: found.criteria,
        settings,
        diagnostics: diagnostics.finish(),
        source: source.to_owned(),
    }
}

const HOW_TO_BEGIN: &str = "add at least one list item with a box: `- [ ] what must be true`";

/// Counts equal texts, and speaks up where that or a text's length may be a mistake.
fn number(criteria: &mut [Criterion], diagnostics: &mut Diagnostics<'_>) {
    let mut lines: HashMap<String, Vec<usize>> = HashMap::new();
    let mut repeated = Vec::new();
    for (index, criterion) in criteria.iter_mut().enumerate() {
        let text = &criterion.key.text;
        if text.len() > LONG_TEXT {
            diagnostics.warning(
                criterion.mark - 1..criterion.mark + 2,
                format!("this criterion is {} bytes long", text.len()),
                "say in one line what must be true, and put the rest into the free text",
            );
        }
        let same = lines.entry(text.clone()).or_default();
        criterion.key.occurrence = same.len();
        same.push(criterion.line);
        if same.len() == 2 && !text.is_empty() {
            repeated.push(index);
        }
    }
    for index in repeated {
        let criterion = &criteria[index];
        let same = &lines[&criterion.key.text];
        diagnostics.warning(
            criterion.mark - 1..criterion.mark + 2,
            format!("{} is written more than once: on {}", quote(&criterion.key.text), list(same)),
            "equal texts are told apart by their order alone; better give each its own words",
        );
    }
}

/// `lines 3, 5 and 8`, or the first few and how many there are besides.
fn list(lines: &[usize]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = lines.iter().take(SHOWN).map(ToString::to_string).collect();
    match lines.len().checked_sub(SHOWN) {
        None | Some(0) => match shown.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("lines {} and {last}", others.join(", "))
            }
            _ => format!("line {}", shown.join("")),
        },
        Some(more) => format!("lines {} and {more} more", shown.join(", ")),
    }
}

fn not_utf8(name: &str, bytes: &[u8], valid: usize) -> Task {
    let source = String::from_utf8_lossy(bytes).into_owned();
    let (line, column) = Lines::of(&source).position(valid);
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it looks like UTF-16: save the file as UTF-8",
        _ => "save the file as UTF-8",
    };
    Task {
        name: name.to_owned(),
        title: None,
        criteria: Vec::new(),
        settings: TaskSettings::default(),
        diagnostics: vec![Diagnostic {
            severity: Severity::Error,
            line,
            column,
            message: format!("the byte 0x{:02x} is not UTF-8", bytes[valid]),
            hint: Some(hint.to_owned()),
            span: valid..valid + char::REPLACEMENT_CHARACTER.len_utf8(),
        }],
        source,
    }
}
