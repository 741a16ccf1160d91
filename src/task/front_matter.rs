//! The YAML front matter: finds it, reads its settings, and reports every error at its place.
//!
//! How settings are resolved lives in `config`.

use std::ops::Range;

use serde_saphyr::{Location, MessageFormatter, UserMessageFormatter};

use super::{
    diagnostics::Diagnostics,
    front_policy::rule_place,
    front_settings::{FrontMatter, takes},
    lines::Lines,
};
use crate::model::{TaskSettings, VisiblePath};

/// The two parts of the file: front matter and Markdown.
pub(super) struct Sections {
    /// The YAML between the fences, if there is any front matter.
    yaml: Option<Range<usize>>,
    /// The byte offset where the Markdown begins.
    pub(super) body: usize,
}

/// Finds the front matter: from a first line that is only `---` to the next line that is only
/// `---` or `...`.
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
                "the front matter is not closed",
                "add a closing line `---`; if the first line is meant as a rule, put an empty line above it",
            );
            Sections { yaml: None, body: lines.next_start(1) }
        }
    }
}

/// Reads the settings. Every mistake becomes an error at its place.
pub(super) fn settings(
    lines: &Lines<'_>,
    sections: &Sections,
    diagnostics: &mut Diagnostics<'_>,
) -> TaskSettings {
    let Some(yaml) = sections.yaml.clone() else { return TaskSettings::default() };
    let text = &lines.source()[yaml.clone()];
    let place = |location: Location| place(lines, &yaml, location);
    // Otherwise `verify: yes` and `verify: on` would be booleans.
    let options = serde_saphyr::options! { strict_booleans: true };
    match serde_saphyr::from_str_with_options::<Option<FrontMatter>>(text, options) {
        Ok(None) => TaskSettings::default(),
        Ok(Some(mut read)) => {
            read.settings.policy = read.policy.placed(|at| rule_place(lines, place(at)));
            read.settings.visible = (read.visible.into_iter())
                .map(|it| VisiblePath {
                    place: Some(rule_place(lines, place(it.referenced))),
                    ..it.value.into()
                })
                .collect();
            for error in read.errors {
                diagnostics.error(place(error.at), error.message, error.hint);
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
                || "see ralph-copilot's docs/task-format.md for the format".to_owned(),
                |takes| format!("`{key}` takes {takes}"),
            );
            diagnostics.error(span, format!("cannot read the front matter: {message}"), hint);
            TaskSettings::default()
        }
    }
}

/// Converts a location within the YAML to bytes of the file.
fn place(lines: &Lines<'_>, yaml: &Range<usize>, location: Location) -> Range<usize> {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let first = lines.line_at(yaml.start);
    let start = match location.span().byte_offset() {
        Some(offset) => yaml.start.saturating_add(number(offset)),
        // The YAML scanner reports only lines and columns.
        None => {
            let line = (first - 1).saturating_add(number(location.line()));
            let line = lines.range(line.clamp(first, lines.count()));
            let before = number(location.column()).saturating_sub(1);
            let text = &lines.source()[line.clone()];
            line.start + text.char_indices().nth(before).map_or(text.len(), |(at, _)| at)
        }
    };
    let start = start.min(yaml.end);
    // A value may span several lines; the caret goes under the first.
    let line_end = lines.range(lines.line_at(start)).end.max(start);
    let length = number(location.span().byte_len().unwrap_or(0));
    start..start.saturating_add(length).min(line_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Escalate, GatewayUse, NetworkAccess, OnStuck, PolicyRules, ProofMode, Service, VisiblePath,
        WriteScope,
    };
    use crate::task::parse;

    /// The settings of a file with this YAML, or its diagnostics.
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
             jobs: 3\n\
             stuck_threshold: 3\n\
             on_stuck: skip\n\
             model: claude-sonnet-4.5\n\
             escalate: {model: other, effort: high}\n\
             commit_prefix: 'feat:'\n\
             sign: true\n\
             require_checks: true\n\
             write_scope: task\n\
             proof: end\n\
             setup: [npm ci]\n\
             setup_network: true\n\
             may_change: tests/api/**\n\
             harness: [checks]\n\
             protect: [\"tests/**\", Cargo.toml]\n\
             allow:\n\
             - npm run lint\n\
             services: [5432, /run/postgresql/.s.PGSQL.5432]\n\
             network: open\n\
             network_for: npm ci\n\
             readable: .env.test\n\
             devices: [/dev/kvm]\n\
             gateway: 9401\n",
        );
        let expected = TaskSettings {
            verify: vec!["cargo test --quiet".into()],
            max_iterations: Some(20),
            max_duration: Some("2h".into()),
            max_premium_requests: Some(0),
            jobs: Some(3),
            stuck_threshold: Some(3),
            on_stuck: Some(OnStuck::Skip),
            model: Some("claude-sonnet-4.5".into()),
            escalate: Some(Escalate { model: Some("other".into()), effort: Some("high".into()) }),
            commit_prefix: Some("feat:".parse().expect("a prefix")),
            sign: Some(true),
            require_checks: Some(true),
            write_scope: Some(WriteScope::Task),
            proof: Some(ProofMode::End),
            setup: vec!["npm ci".into()],
            setup_network: Some(true),
            may_change: vec!["tests/api/**".into()],
            harness: vec!["checks".into()],
            protect: vec!["tests/**".into(), "Cargo.toml".into()],
            allow: vec!["npm run lint".into()],
            services: vec![
                Service::Port(5432),
                Service::Socket("/run/postgresql/.s.PGSQL.5432".into()),
            ],
            network: Some(NetworkAccess::Open),
            network_for: vec!["npm ci".into()],
            readable: vec![".env.test".try_into().expect("a file")],
            visible: Vec::new(),
            devices: vec!["/dev/kvm".try_into().expect("a device")],
            gateway: Some(GatewayUse::Port(9401)),
            policy: PolicyRules::default(),
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn one_service_needs_no_list_and_a_visible_path_knows_its_place() {
        for yaml in ["services: 5432\n", "services: \"5432\"\n", "services:\n- 5432\n"] {
            assert_eq!(read(yaml).expect("good").services, [Service::Port(5432)], "{yaml}");
        }
        let visible = read("model: x\nvisible: [../a, \"../b c\"]\n").expect("good").visible;
        let [first, second] = &visible[..] else { panic!("{visible:?}") };
        let place = |it: &VisiblePath| it.place.as_ref().map(|it| (it.line, it.column, it.width));
        assert_eq!((first.path.to_str(), place(first)), (Some("../a"), Some((3, 11, 4))));
        assert_eq!((second.path.to_str(), place(second)), (Some("../b c"), Some((3, 17, 8))));
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
    fn no_settings() {
        for yaml in ["", "# only a comment\n", "\n\n"] {
            assert_eq!(read(yaml), Ok(TaskSettings::default()), "{yaml:?}");
        }
    }

    #[test]
    fn every_mistake_is_reported_at_its_place() {
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
                    "services: [5432, 0, postgres, 70000, run/x.sock]\n",
                    "services: -1\n",
                    "services:\n",
                    "network: yes\n",
                    "network_for: ['npm ci', '']\n",
                    "readable: [.env.test, /etc/passwd, ../.env]\n",
                    "visible: [../lib, '']\n",
                    "devices: [/dev/kvm, kvm]\n",
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
        let [diagnostic] = &task.diagnostics[..] else {
            panic!("one diagnostic: {:?}", task.diagnostics)
        };
        assert_eq!((diagnostic.line, diagnostic.column), (3, 14));
        assert_eq!(&source[diagnostic.span.clone()], "\"ö[\"");
        assert_eq!(task.settings.model.as_deref(), Some("ä😀"));
    }

    #[test]
    fn where_front_matter_begins_and_ends() {
        let first = |source: &str| {
            let task = parse("t", source.as_bytes());
            let first = task.diagnostics.first();
            (task.settings.model, first.map(|it| (it.line, it.column, it.message.clone())))
        };
        let model = |name: &str| Some(name.to_owned());
        assert_eq!(first("---\nmodel: a\n---\n- [ ] a"), (model("a"), None));
        assert_eq!(first("---  \nmodel: a\n... \n- [ ] a"), (model("a"), None));
        assert_eq!(first("---\rmodel: a\r---\r- [ ] a"), (model("a"), None));
        // Front matter starts on the first line, without indentation.
        assert_eq!(first("\n---\nmodel: a\n---\n- [ ] a"), (None, None));
        assert_eq!(first(" ---\nmodel: a\n---\n- [ ] a"), (None, None));
        assert_eq!(first("----\n- [ ] a"), (None, None));
        let open = "the front matter is not closed".to_owned();
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
        assert!(errors(&yaml).contains("cannot read the front matter"));
    }
}
