//! docs/events.md tells the truth: every kind, every field, and examples that are events.

use std::collections::BTreeMap;

use ralph_copilot::model::{Event, EventKind};
use serde_json::Value;

/// The text below each `### ` heading.
fn sections() -> BTreeMap<String, String> {
    include_str!("../docs/events.md")
        .split("\n### ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(heading, text)| (heading.trim_matches('`').to_owned(), text.to_owned()))
        .collect()
}

fn example(section: &str) -> &str {
    let after = section.split_once("```json\n").expect("an example").1;
    after.split_once("\n```").expect("the example's end").0
}

#[test]
fn every_kind_has_a_section_and_no_other_is_told_of() {
    let mut told: Vec<String> = sections().into_keys().collect();
    told.retain(|heading| heading != "Criterion" && heading != "Check");
    let mut kinds = EventKind::NAMES.to_vec();
    kinds.sort();
    assert_eq!(told, kinds);
}

#[test]
fn every_example_is_an_event_of_its_kind_word_for_word() {
    for name in EventKind::NAMES.iter().copied() {
        let line = example(&sections()[name]).to_owned();
        assert!(!line.contains('\n'), "{name}: one line");
        let event: Event = serde_json::from_str(&line).expect(name);
        assert_eq!(event.kind.name(), name);
        assert_eq!(serde_json::to_string(&event).expect("JSON"), line, "{name}");
    }
}

#[test]
fn every_field_of_an_example_is_explained() {
    for name in EventKind::NAMES.iter().copied() {
        let section = &sections()[name];
        let value: Value = serde_json::from_str(example(section)).expect(name);
        let fields = value.as_object().expect("an object").keys();
        for field in
            fields.filter(|field| !["seq", "time", "run", "event"].contains(&field.as_str()))
        {
            // A field of an outcome is explained with the outcome.
            let row = format!("\n| `{field}` | ");
            let beside = name == "run_ended" && section.contains(&format!("(`{field}`)"));
            assert!(section.contains(&row) || beside, "{name}: `{field}`");
        }
    }
}
