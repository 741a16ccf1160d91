//! Parses the bytes of a TASK.md into a [`Task`].

use std::collections::HashMap;

use super::{
    diagnostics::{Diagnostics, quote},
    front_matter,
    lines::Lines,
    markdown::{Scanned, scan},
    nesting::too_deep,
    order,
};
use crate::model::{Criterion, Diagnostic, Severity, Task, TaskSettings};

/// Criteria longer than this, in bytes, get a warning: they are probably a mistake, and leave
/// little room for anything else in a prompt.
const LONG_TEXT: usize = 4096;

/// Parses a TASK.md. `name` is the name of the task's folder.
///
/// Never fails: problems are reported as diagnostics. A task with an error among them must not
/// be worked on; see [`usable`](super::usable). A file that is not UTF-8 gives a task without
/// criteria, and `source` shows the invalid bytes as U+FFFD.
pub fn parse(name: &str, bytes: &[u8]) -> Task {
    match std::str::from_utf8(bytes) {
        Ok(source) => parse_text(name, source),
        Err(error) => not_utf8(name, bytes, error.valid_up_to()),
    }
}

/// A task whose file is too large to read.
pub(super) fn too_large(name: &str) -> Task {
    let lines = Lines::of("");
    let mut diagnostics = Diagnostics::on(&lines);
    let hint = "keep TASK.md to a page or two, and move long material into other files";
    diagnostics.error(0..0, "the file is larger than 16 MiB", hint);
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
    let sections = front_matter::split(&lines, &mut diagnostics);
    let settings = front_matter::settings(&lines, &sections, &mut diagnostics);
    let too_deep = too_deep(&lines);
    let mut found = match too_deep {
        Some(_) => Scanned::default(),
        None => scan(&lines, sections.body, &mut diagnostics),
    };
    number(&mut found.criteria, &mut diagnostics);
    order::resolve(&mut found.criteria, &found.named, &mut diagnostics);
    if let Some(line) = too_deep {
        let start = lines.range(line).start;
        diagnostics.error(
            start..start,
            "lists or quotes are nested more than 1000 levels deep",
            "remove the indentation and the marks at the start of this line",
        );
    } else if source.trim_start_matches('\u{feff}').trim().is_empty() {
        diagnostics.error(0..0, "the file is empty", ADD_CRITERION);
    } else if found.criteria.is_empty() {
        let at = diagnostics.first_box().unwrap_or(sections.body);
        let hint = match diagnostics.first_box() {
            Some(_) => {
                "this looks like one, but is not read as one; write `- [ ] what must be true`"
            }
            None => ADD_CRITERION,
        };
        diagnostics.error(at..at, "there are no criteria", hint);
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

const ADD_CRITERION: &str = "add at least one list item with a checkbox: `- [ ] what must be true`";

/// Numbers criteria with the same text, and warns about repeated and overlong texts.
fn number(criteria: &mut [Criterion], diagnostics: &mut Diagnostics<'_>) {
    let mut lines: HashMap<String, Vec<usize>> = HashMap::new();
    let mut repeated = Vec::new();
    for (index, criterion) in criteria.iter_mut().enumerate() {
        let text = &criterion.key.text;
        if text.len() > LONG_TEXT {
            diagnostics.warning(
                criterion.mark - 1..criterion.mark + 2,
                format!("this criterion is {} bytes long", text.len()),
                "state in one line what must be true, and move the rest into the text around it",
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
            format!("{} appears more than once: on {}", quote(&criterion.key.text), list(same)),
            "give each its own wording: criteria with the same text are told apart only by their order",
        );
    }
}

/// Lists line numbers, as in `lines 3, 5, and 8`, and counts those past the first few.
fn list(lines: &[usize]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = lines.iter().take(SHOWN).map(ToString::to_string).collect();
    match lines.len().checked_sub(SHOWN) {
        None | Some(0) => match shown.split_last() {
            Some((last, [first])) => format!("lines {first} and {last}"),
            Some((last, others)) if !others.is_empty() => {
                format!("lines {}, and {last}", others.join(", "))
            }
            _ => format!("line {}", shown.join("")),
        },
        Some(more) => format!("lines {}, and {more} more", shown.join(", ")),
    }
}

fn not_utf8(name: &str, bytes: &[u8], valid: usize) -> Task {
    let source = String::from_utf8_lossy(bytes).into_owned();
    let (line, column) = Lines::of(&source).position(valid);
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file looks like UTF-16; save it as UTF-8",
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
            message: format!("invalid UTF-8: byte 0x{:02x}", bytes[valid]),
            hint: Some(hint.to_owned()),
            span: valid..valid + char::REPLACEMENT_CHARACTER.len_utf8(),
            unread: false,
        }],
        source,
    }
}
