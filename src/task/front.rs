//! The YAML front matter: found, read and examined, with every remark at its place.
//!
//! Invariant: a key that is not known, a value of the wrong type, and a value that
//! could not be used later are all errors; a mistyped limit or protection must not
//! pass for "not said". What a setting resolves to lives in `config`.

use std::{fmt, ops::Range};

use globset::Glob;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::StrDeserializer,
    },
};
use serde_saphyr::{Location, MessageFormatter, Spanned, UserMessageFormatter};

use super::{
    diagnostics::{Diagnostics, quote},
    front_policy::{FrontPolicy, rule_place},
    lines::Lines,
};
use crate::model::TaskSettings;

/// Every key there is and what it takes, in the order of the documentation.
pub(super) const KEYS: [(&str, &str); 12] = [
    ("verify", "a command, or a list of commands"),
    ("max_iterations", "a whole number from 1, as in `20`"),
    ("max_duration", "a duration, as in `30s`, `5m` or `2h`"),
    ("max_premium_requests", "a whole number, as in `50`"),
    ("stuck_threshold", "a whole number from 1, as in `3`"),
    ("on_stuck", "`stop` or `skip`"),
    ("model", "the name of a model"),
    ("require_checks", "`true` or `false`"),
    ("write_scope", "`workspace` or `task`"),
    ("protect", "a glob relative to the repository, as in `tests/**`, or a list of them"),
    ("allow", "a command, or a list of commands"),
    ("policy", "the keys of `[policy]` in .ralph/config.toml, one a line"),
];

/// How alike a mistyped key must be to a known one to be taken for it, from 0 to 1.
const ALIKE: f64 = 0.8;

/// Where the front matter and the Markdown stand in the file.
pub(super) struct Sections {
    /// The YAML between the fences, if there is front matter.
    yaml: Option<Range<usize>>,
    /// The byte offset where the Markdown begins.
    pub(super) body: usize,
}

/// Finds the front matter: it begins on the first line with `---` alone and ends at
/// the next line with `---` or `...` alone.
pub(super) fn split(lines: &Lines<'_>, diagnostics: &mut Diagnostics<'_>) -> Sections {
    let text = |line| &lines.source()[lines.range(line)];
    let first = lines.range(1);
    if text(1).trim_ascii_end() != "---" {
        return Sections { yaml: None, body: first.start };
    }
    let closing =
        (2..=lines.count()).find(|line| matches!(text(*line).trim_ascii_end(), "---" | "..."));
    match closing {
        Some(line) => Sections {
            yaml: Some(lines.next_start(1)..lines.range(line).start),
            body: lines.next_start(line),
        },
        None => {
            diagnostics.error(
                first,
                "the front matter has no end",
                "close it with a line `---`, or put an empty line before a rule at the top",
            );
            Sections { yaml: None, body: lines.next_start(1) }
        }
    }
}

/// Reads the settings; whatever is wrong with them becomes an error at its place.
pub(super) fn settings(
    lines: &Lines<'_>,
    parts: &Sections,
    diagnostics: &mut Diagnostics<'_>,
) -> TaskSettings {
    let Some(yaml) = parts.yaml.clone() else { return TaskSettings::default() };
    let text = &lines.source()[yaml.clone()];
    let place = |location: Location| place(lines, &yaml, location);
    // Otherwise `verify: yes` would be a boolean, and so would a command named `on`.
    let options = serde_saphyr::options! { strict_booleans: true };
    match serde_saphyr::from_str_with_options::<Option<FrontMatter>>(text, options) {
        Ok(None) => TaskSettings::default(),
        Ok(Some(mut read)) => {
            read.settings.policy = read.policy.placed(|at| rule_place(lines, place(at)));
            for complaint in read.complaints {
                diagnostics.error(place(complaint.at), complaint.message, complaint.hint);
            }
            read.settings
        }
        Err(error) => {
            let span = error.location().map_or(yaml.start..yaml.start, place);
            let message = UserMessageFormatter.format_message(error.without_snippet());
            let message = message.lines().next().unwrap_or_default().trim_end_matches('.');
            let line = &lines.source()[lines.range(lines.line_at(span.start))];
            let key = line.split(':').next().unwrap_or_default().trim();
            let hint = takes(key).map_or_else(
                || "docs/task-format.md shows what front matter looks like".to_owned(),
                |takes| format!("`{key}` takes {takes}"),
            );
            diagnostics.error(span, format!("the front matter cannot be read: {message}"), hint);
            TaskSettings::default()
        }
    }
}

/// What a key takes, if there is such a key.
fn takes(key: &str) -> Option<&'static str> {
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, takes)| *takes)
}

/// The bytes of the file that a location within the YAML means.
fn place(lines: &Lines<'_>, yaml: &Range<usize>, location: Location) -> Range<usize> {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let first = lines.line_at(yaml.start);
    let start = match location.span().byte_offset() {
        Some(offset) => yaml.start.saturating_add(number(offset)),
        // The scanner of the YAML knows lines and columns alone.
        None => {
            let line = (first - 1).saturating_add(number(location.line()));
            let line = lines.range(line.clamp(first, lines.count()));
            let before = number(location.column()).saturating_sub(1);
            let text = &lines.source()[line.clone()];
            line.start + text.char_indices().nth(before).map_or(text.len(), |(at, _)| at)
        }
    };
    let start = start.min(yaml.end);
    // A value may span lines; the caret stands under the first.
    let line_end = lines.range(lines.line_at(start)).end.max(start);
    let length = number(location.span().byte_len().unwrap_or(0));
    start..start.saturating_add(length).min(line_end)
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
    policy: FrontPolicy,
    complaints: Vec<Complaint>,
}

impl FrontMatter {
    fn complain(&mut self, at: Location, message: impl Into<String>, hint: impl Into<String>) {
        self.complaints.push(Complaint { at, message: message.into(), hint: hint.into() });
    }

    fn unknown(&mut self, key: &Spanned<String>) {
        let like = KEYS
            .iter()
            .map(|(known, _)| (strsim::jaro_winkler(known, &key.value.to_lowercase()), known))
            .filter(|(alike, _)| *alike >= ALIKE)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let hint = match like {
            Some((_, known)) => format!("did you mean `{known}`?"),
            None => format!("the keys are {}", KEYS.map(|(known, _)| known).join(", ")),
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

    /// A single value in the form in which the settings hold it.
    fn value<T>(
        &mut self,
        key: &str,
        written: Spanned<String>,
        convert: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = convert(&written.value);
        if value.is_none() {
            let message = format!("`{key}` cannot be {}", quote(&written.value));
            let hint = format!("it takes {}", takes(key).unwrap_or_default());
            self.complain(written.referenced, message, hint);
        }
        value
    }
}

/// A number that must not be zero: with 0 nothing would ever be tried.
fn from_one(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// A duration as written, if it is one and leaves any time at all.
fn duration(text: &str) -> Option<String> {
    let duration = humantime::parse_duration(text).ok()?;
    (!duration.is_zero()).then(|| text.to_owned())
}

/// A name that is not blank.
fn name(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// One of the names that a type is written with.
fn named<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<serde::de::value::Error>::new(text)).ok()
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
                "verify" => read.settings.verify = read.commands("verify", map.next_value()?),
                "allow" => read.settings.allow = read.commands("allow", map.next_value()?),
                "protect" => read.settings.protect = read.globs(map.next_value()?),
                "max_iterations" => {
                    let written = map.next_value()?;
                    read.settings.max_iterations = read.value("max_iterations", written, from_one);
                }
                "max_duration" => {
                    let written = map.next_value()?;
                    read.settings.max_duration = read.value("max_duration", written, duration);
                }
                "max_premium_requests" => {
                    let written = map.next_value()?;
                    read.settings.max_premium_requests =
                        read.value("max_premium_requests", written, |text| text.parse().ok());
                }
                "stuck_threshold" => {
                    let written = map.next_value()?;
                    read.settings.stuck_threshold =
                        read.value("stuck_threshold", written, from_one);
                }
                "on_stuck" => {
                    let written = map.next_value()?;
                    read.settings.on_stuck = read.value("on_stuck", written, named);
                }
                "model" => {
                    let written = map.next_value()?;
                    read.settings.model = read.value("model", written, name);
                }
                "require_checks" => {
                    let written = map.next_value()?;
                    read.settings.require_checks =
                        read.value("require_checks", written, |text| text.parse().ok());
                }
                "write_scope" => {
                    let written = map.next_value()?;
                    read.settings.write_scope = read.value("write_scope", written, named);
                }
                "policy" => read.policy = map.next_value()?,
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

    fn visit_unit<E: Error>(self) -> Result<OneOrMany, E> {
        Err(E::custom("no value is written"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(OneOrMany::Many(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OnStuck, PolicyRules, WriteScope};
    use crate::task::parse;

    /// The settings of a file with this YAML, or its errors.
    fn read(yaml: &str) -> Result<TaskSettings, Vec<String>> {
        let task = parse("t", format!("---\n{yaml}---\n- [ ] a\n").as_bytes());
        let told = |it: &crate::model::Diagnostic| {
            let span = &task.source[it.span.clone()];
            let hint = it.hint.as_deref().unwrap_or_default();
            format!("{}:{} <{span}> {} ({hint})", it.line, it.column, it.message)
        };
        if task.diagnostics.is_empty() {
            Ok(task.settings)
        } else {
            Err(task.diagnostics.iter().map(told).collect())
        }
    }

    fn errors(yaml: &str) -> String {
        read(yaml).expect_err("something is wrong").join("\n")
    }

    #[test]
    fn every_key() {
        let read = read(
            "verify: cargo test --quiet   # a comment\n\
             max_iterations: 20\n\
             max_duration: 2h\n\
             max_premium_requests: 0\n\
             stuck_threshold: 3\n\
             on_stuck: skip\n\
             model: claude-sonnet-4.5\n\
             require_checks: true\n\
             write_scope: task\n\
             protect: [\"tests/**\", Cargo.toml]\n\
             allow:\n\
             - npm run lint\n",
        );
        let expected = TaskSettings {
            verify: vec!["cargo test --quiet".into()],
            max_iterations: Some(20),
            max_duration: Some("2h".into()),
            max_premium_requests: Some(0),
            stuck_threshold: Some(3),
            on_stuck: Some(OnStuck::Skip),
            model: Some("claude-sonnet-4.5".into()),
            require_checks: Some(true),
            write_scope: Some(WriteScope::Task),
            protect: vec!["tests/**".into(), "Cargo.toml".into()],
            allow: vec!["npm run lint".into()],
            policy: PolicyRules::default(),
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn one_string_or_a_list() {
        for (yaml, expected) in [
            ("verify: true\n", vec!["true"]),
            ("verify: \"true\"\n", vec!["true"]),
            ("verify: yes\n", vec!["yes"]),
            ("verify: [make, 'a: b', true]\n", vec!["make", "a: b", "true"]),
            ("verify:\n  - make\n  - make test\n", vec!["make", "make test"]),
            ("verify: |\n  make &&\n  make test\n", vec!["make &&\nmake test\n"]),
            ("verify: []\n", vec![]),
        ] {
            let read = read(yaml).expect("good front matter");
            assert_eq!(read.verify, expected, "{yaml}");
        }
    }

    #[test]
    fn nothing_said() {
        for yaml in ["", "# only a comment\n", "\n\n"] {
            assert_eq!(read(yaml), Ok(TaskSettings::default()), "{yaml:?}");
        }
    }

    #[test]
    fn every_mistake_is_told_at_its_place() {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(
                [
                    "verfy: make\nmodel: x\nmax-iterations: 3\nfoo: [1, {a: b}]\n",
                    "Verify: make\n",
                    "model: x\nmax_iterations: many\n",
                    "max_iterations: -1\n",
                    "max_iterations: 0\nstuck_threshold: 0\n",
                    "max_duration: 5 parsecs\n",
                    "max_duration: 0s\n",
                    "max_duration: 90\n",
                    "on_stuck: stopp\n",
                    "write_scope: repo\n",
                    "require_checks: maybe\n",
                    "verify: 1\n",
                    "verify:\n",
                    "verify: {a: b}\n",
                    "verify: [make, ' ', [a]]\n",
                    "verify: [make, ' ']\n",
                    "verify: \"a\\0b\"\n",
                    "protect: [\"a[\", /etc/x, ../y, '', \"äö/**\", \"{b\"]\n",
                    "allow: ''\n",
                    "model: a\nmodel: b\n",
                    "just text\n",
                    "- a list\n",
                    "model: x\na: [\n",
                    "model: x\nmax_iterations:\n",
                    "model: x\n\n  wrong: x\n",
                    "model: ' '\n",
                    "model: \"open\n",
                    "protect:\n\t- x\n",
                    "verify: *unknown\n",
                    "policy:\n",
                    "policy: {bloked_tools: [x]}\n",
                    "policy:\n  default: maybe\n",
                ]
                .map(|yaml| format!("{yaml:?}\n{}\n", errors(yaml)))
                .join("\n")
            );
        });
    }

    #[test]
    fn places_survive_crlf_a_byte_order_mark_and_multibyte_text() {
        let source = "\u{feff}---\r\nmodel: ä😀\r\nprotect: [ä, \"ö[\"]\r\n---\r\n- [ ] a\r\n";
        let task = parse("t", source.as_bytes());
        let [remark] = &task.diagnostics[..] else { panic!("one remark: {:?}", task.diagnostics) };
        assert_eq!((remark.line, remark.column), (3, 14));
        assert_eq!(&source[remark.span.clone()], "\"ö[\"");
        assert_eq!(task.settings.model.as_deref(), Some("ä😀"));
    }

    #[test]
    fn where_front_matter_begins_and_ends() {
        let first = |source: &str| {
            let task = parse("t", source.as_bytes());
            let remark = task.diagnostics.first();
            (task.settings.model, remark.map(|it| (it.line, it.column, it.message.clone())))
        };
        let model = |name: &str| Some(name.to_owned());
        assert_eq!(first("---\nmodel: a\n---\n- [ ] a"), (model("a"), None));
        assert_eq!(first("---  \nmodel: a\n... \n- [ ] a"), (model("a"), None));
        assert_eq!(first("---\rmodel: a\r---\r- [ ] a"), (model("a"), None));
        // Only the first line begins it, and only without indentation.
        assert_eq!(first("\n---\nmodel: a\n---\n- [ ] a"), (None, None));
        assert_eq!(first(" ---\nmodel: a\n---\n- [ ] a"), (None, None));
        assert_eq!(first("----\n- [ ] a"), (None, None));
        let open = "the front matter has no end".to_owned();
        assert_eq!(first("---\nmodel: a\n- [ ] a"), (None, Some((1, 1, open.clone()))));
        assert_eq!(first("---"), (None, Some((1, 1, open))));
    }

    #[test]
    fn an_alias_bomb_is_an_error() {
        let mut yaml = "verify: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, before) in ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip('a'..) {
            let aliases = vec![format!("*{before}"); 9].join(", ");
            yaml.push_str(&format!("k{name}: &{name} [{aliases}]\n"));
        }
        assert!(errors(&yaml).contains("cannot be read"));
    }
}
