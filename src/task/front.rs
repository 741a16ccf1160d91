//! The YAML front matter: found, read and examined, with every remark at its place.
//!
//! Invariant: a key that is not known, a value of the wrong type, and a value that
//! could not be used later are all errors; a mistyped limit or protection must not
//! pass for "not said". What a setting resolves to lives in `config`.

use std::{fmt, ops::Range, time::Duration};

use globset::Glob;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Location, MessageFormatter, Spanned, UserMessageFormatter};

use super::{
    lines::Lines,
    remarks::{Remarks, quote},
};
use crate::model::TaskSettings;

/// Every key there is, in the order of the documentation.
pub(super) const KEYS: [&str; 11] = [
    "verify",
    "max_iterations",
    "max_duration",
    "max_premium_requests",
    "stuck_threshold",
    "on_stuck",
    "model",
    "require_checks",
    "write_scope",
    "protect",
    "allow",
];

/// How alike a mistyped key must be to a known one to be taken for it, from 0 to 1.
const ALIKE: f64 = 0.8;

/// Where the front matter and the Markdown stand in the file.
pub(super) struct Parts {
    /// The YAML between the fences, if there is front matter.
    yaml: Option<Range<usize>>,
    /// The byte offset where the Markdown begins.
    pub(super) body: usize,
}

/// Finds the front matter: it begins on the first line with `---` alone and ends at
/// the next line with `---` or `...` alone.
pub(super) fn split(lines: &Lines<'_>, remarks: &mut Remarks<'_>) -> Parts {
    let text = |line| &lines.source()[lines.range(line)];
    let first = lines.range(1);
    if text(1).trim_ascii_end() != "---" {
        return Parts { yaml: None, body: first.start };
    }
    let closing =
        (2..=lines.count()).find(|line| matches!(text(*line).trim_ascii_end(), "---" | "..."));
    match closing {
        Some(line) => Parts {
            yaml: Some(lines.next_start(1)..lines.range(line).start),
            body: lines.next_start(line),
        },
        None => {
            remarks.error(
                first,
                "the front matter has no end",
                "close it with a line `---`, or put an empty line before a rule at the top",
            );
            Parts { yaml: None, body: lines.source().len() }
        }
    }
}

/// Reads the settings; whatever is wrong with them becomes an error at its place.
pub(super) fn settings(
    lines: &Lines<'_>,
    parts: &Parts,
    remarks: &mut Remarks<'_>,
) -> TaskSettings {
    let Some(yaml) = parts.yaml.clone() else { return TaskSettings::default() };
    let text = &lines.source()[yaml.clone()];
    let place = |location: Location| place(lines, &yaml, location);
    // Otherwise `verify: yes` would be a boolean, and so would a command named `on`.
    let options = serde_saphyr::options! { strict_booleans: true };
    match serde_saphyr::from_str_with_options::<Option<FrontMatter>>(text, options) {
        Ok(None) => TaskSettings::default(),
        Ok(Some(read)) => {
            for complaint in read.complaints {
                remarks.error(place(complaint.at), complaint.message, complaint.hint);
            }
            read.settings
        }
        Err(error) => {
            let span = error.location().map_or(yaml.start..yaml.start, place);
            let message = UserMessageFormatter.format_message(error.without_snippet());
            let message = message.lines().next().unwrap_or_default().trim_end_matches('.');
            remarks.error(
                span,
                format!("the front matter cannot be read: {message}"),
                "docs/task-format.md lists every key and what it takes",
            );
            TaskSettings::default()
        }
    }
}

/// The bytes of the file that a location within the YAML means.
fn place(lines: &Lines<'_>, yaml: &Range<usize>, location: Location) -> Range<usize> {
    let number = |value: Option<u64>| value.and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
    let span = location.span();
    let start = (yaml.start + number(span.byte_offset())).min(yaml.end);
    // A value may span lines; the caret stands under the first.
    let line_end = lines.range(lines.line_at(start)).end;
    let end = start + number(span.byte_len());
    start..end.clamp(start, line_end.max(start))
}

/// Something a value is that it must not be.
struct Complaint {
    at: Location,
    message: String,
    hint: String,
}

/// The settings with the complaints about their values.
#[derive(Default)]
struct FrontMatter {
    settings: TaskSettings,
    complaints: Vec<Complaint>,
}

impl FrontMatter {
    fn complain(&mut self, at: Location, message: impl Into<String>, hint: impl Into<String>) {
        self.complaints.push(Complaint { at, message: message.into(), hint: hint.into() });
    }

    fn unknown(&mut self, key: &Spanned<String>) {
        let like = KEYS
            .iter()
            .map(|known| (strsim::jaro_winkler(known, &key.value.to_lowercase()), known))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let hint = match like {
            Some((_, known)) => format!("did you mean `{known}`?"),
            None => format!("the keys are {}", KEYS.join(", ")),
        };
        self.complain(key.referenced, format!("there is no key {}", quote(&key.value)), hint);
    }

    fn commands(&mut self, key: &str, written: Spanned<OneOrMany>) -> Vec<String> {
        let list = each(written);
        for command in &list {
            if command.value.trim().is_empty() {
                self.complain(
                    command.referenced,
                    format!("`{key}` has an empty command"),
                    "write the command, or take the line away",
                );
            } else if command.value.contains('\0') {
                self.complain(
                    command.referenced,
                    format!("`{key}` has a NUL byte in a command"),
                    "take it out: no program can be started with it",
                );
            }
        }
        values(list)
    }

    fn globs(&mut self, written: Spanned<OneOrMany>) -> Vec<String> {
        const HINT: &str = "write a path relative to the repository, as in `tests/**`";
        let list = each(written);
        for glob in &list {
            let pattern = glob.value.as_str();
            let upwards = pattern.split('/').any(|part| part == "..");
            if pattern.trim().is_empty() {
                self.complain(glob.referenced, "`protect` has an empty glob", HINT);
            } else if pattern.starts_with('/') || upwards {
                let message = format!("the glob {} can match nothing", quote(pattern));
                self.complain(glob.referenced, message, HINT);
            } else if let Err(error) = Glob::new(pattern) {
                let message = format!("the glob {} is wrong: {}", quote(pattern), error.kind());
                self.complain(glob.referenced, message, HINT);
            }
        }
        values(list)
    }

    fn duration(&mut self, written: Spanned<String>) -> Option<String> {
        const HINT: &str = "write it as `30s`, `5m` or `2h`";
        match humantime::parse_duration(&written.value) {
            Ok(Duration::ZERO) => {
                self.complain(written.referenced, "no time at all is left for the run", HINT);
            }
            Ok(_) => {}
            Err(error) => {
                let message = format!("{} is no duration: {error}", quote(&written.value));
                self.complain(written.referenced, message, HINT);
            }
        }
        Some(written.value)
    }

    fn count(&mut self, key: &str, written: Spanned<u32>) -> Option<u32> {
        if written.value == 0 {
            self.complain(
                written.referenced,
                format!("`{key}` must be at least 1"),
                "with 0 nothing would ever be tried",
            );
        }
        Some(written.value)
    }
}

impl<'de> Deserialize<'de> for FrontMatter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FrontMatterVisitor)
    }
}

struct FrontMatterVisitor;

impl<'de> Visitor<'de> for FrontMatterVisitor {
    type Value = FrontMatter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings, one `key: value` a line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FrontMatter, A::Error> {
        let mut read = FrontMatter::default();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match key.value.as_str() {
                "verify" => {
                    let list = map.next_value()?;
                    read.settings.verify = read.commands("verify", list);
                }
                "max_iterations" => {
                    let written = map.next_value()?;
                    read.settings.max_iterations = read.count("max_iterations", written);
                }
                "max_duration" => {
                    let written = map.next_value()?;
                    read.settings.max_duration = read.duration(written);
                }
                "max_premium_requests" => {
                    read.settings.max_premium_requests = Some(map.next_value()?);
                }
                "stuck_threshold" => {
                    let written = map.next_value()?;
                    read.settings.stuck_threshold = read.count("stuck_threshold", written);
                }
                "on_stuck" => read.settings.on_stuck = Some(map.next_value()?),
                "model" => read.settings.model = Some(map.next_value()?),
                "require_checks" => read.settings.require_checks = Some(map.next_value()?),
                "write_scope" => read.settings.write_scope = Some(map.next_value()?),
                "protect" => {
                    let list = map.next_value()?;
                    read.settings.protect = read.globs(list);
                }
                "allow" => {
                    let list = map.next_value()?;
                    read.settings.allow = read.commands("allow", list);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    read.unknown(&key);
                }
            }
        }
        Ok(read)
    }
}

/// One string or a list of them.
enum OneOrMany {
    One(String),
    Many(Vec<Spanned<String>>),
}

/// The strings, each with its place.
fn each(written: Spanned<OneOrMany>) -> Vec<Spanned<String>> {
    match written.value {
        OneOrMany::One(value) => vec![Spanned::new(value, written.referenced, written.defined)],
        OneOrMany::Many(list) => list,
    }
}

/// The strings alone.
fn values(list: Vec<Spanned<String>>) -> Vec<String> {
    list.into_iter().map(|item| item.value).collect()
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

struct OneOrManyVisitor;

impl<'de> Visitor<'de> for OneOrManyVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of strings")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<OneOrMany, E> {
        Ok(OneOrMany::One(value.to_owned()))
    }

    /// `true` and `false` are commands, and good ones to try a task with.
    fn visit_bool<E: Error>(self, value: bool) -> Result<OneOrMany, E> {
        Ok(OneOrMany::One(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(OneOrMany::Many(list))
    }
}
