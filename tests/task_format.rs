//! docs/task-format.md, taken at its word: every example is read, and what the page
//! says of it must be exactly what is understood.

use std::{collections::BTreeSet, fmt::Write};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ralph_copilot::{
    model::{Task, TaskSettings},
    prompt::{ScaffoldValues, Templates},
    task,
};

const PAGE: &str = include_str!("../docs/task-format.md");

/// The fenced blocks of the page: language and text.
fn blocks() -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for event in Parser::new(PAGE) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                open = Some((language.into_string(), String::new()));
            }
            Event::Text(text) => {
                if let Some((_, block)) = &mut open {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// What the page says of an example.
fn understood(task: &Task) -> String {
    let mut text = if task::usable(task) { settings(&task.settings) } else { String::new() };
    for it in &task.criteria {
        let state = if it.checked { "done" } else { "open" };
        let again = match it.key.occurrence {
            0 => String::new(),
            number => format!(" ({})", number + 1),
        };
        writeln!(text, "line {}, {state}: {}{again}", it.line, it.key.text).expect("a string");
        if let Some(recipe) = &it.recipe {
            writeln!(text, "  recipe: {recipe}").expect("a string");
        }
        for verify in &it.verify {
            writeln!(text, "  verify on line {}: {}", verify.line, verify.command)
                .expect("a string");
        }
    }
    for it in &task.diagnostics {
        text.push_str(&task::render_diagnostic("TASK.md", &task.source, it));
        text.push('\n');
    }
    text
}

/// The settings that are said, by key.
fn settings(settings: &TaskSettings) -> String {
    let value = serde_json::to_value(settings).expect("settings are data");
    let unsaid = serde_json::to_value(TaskSettings::default()).expect("settings are data");
    let mut text = String::new();
    for key in keys_of_the_parser().into_iter().filter(|key| value[key] != unsaid[key]) {
        let shown = match &value[&key] {
            serde_json::Value::Array(list) => {
                let items: Vec<&str> = list.iter().filter_map(|item| item.as_str()).collect();
                items.join(", ")
            }
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        writeln!(text, "{key}: {shown}").expect("a string");
    }
    text
}

/// The keys that the parser names to someone who writes one that is not there.
fn keys_of_the_parser() -> Vec<String> {
    let task = task::parse("t", b"---\n\"???\": 1\n---\n- [ ] a\n");
    let hint = task.diagnostics[0].hint.clone().expect("a hint");
    let keys = hint.strip_prefix("the keys are ").expect("all keys");
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_example_is_understood_as_the_page_says() {
    let blocks = blocks();
    let mut pairs = 0;
    for pair in blocks.chunks(2) {
        let [(language, example), (answer_language, answer)] = pair else {
            panic!("an example without an answer: {pair:?}");
        };
        assert_eq!((language.as_str(), answer_language.as_str()), ("markdown", "text"));
        let task = task::parse("demo", example.as_bytes());
        assert_eq!(understood(&task), *answer, "of this example:\n{example}");
        pairs += 1;
    }
    assert!(pairs >= 8, "the page has examples");
}

#[test]
fn the_table_of_keys_is_the_parsers() {
    let mut keys = BTreeSet::new();
    let (mut row_begins, mut in_head) = (false, false);
    for event in Parser::new_ext(PAGE, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableHead) => in_head = true,
            Event::End(TagEnd::TableHead) => in_head = false,
            Event::Start(Tag::TableRow) => row_begins = true,
            Event::End(TagEnd::TableCell) => row_begins = false,
            Event::Code(code) if row_begins && !in_head => {
                keys.insert(code.into_string());
            }
            _ => {}
        }
    }
    assert_eq!(keys, keys_of_the_parser().into_iter().collect());
}

#[test]
fn the_task_that_init_writes_is_usable() {
    let templates = Templates::builtin().expect("the built-in templates");
    let values = ScaffoldValues { task_name: "demo".into() };
    let text = templates.task(&values).expect("a text");
    let task = task::parse("demo", text.as_bytes());
    assert_eq!(task.diagnostics, []);
    assert_eq!(task.title.as_deref(), Some("demo"));
    assert_eq!(task.criteria.len(), 1);
    assert_eq!(task.criteria[0].verify.len(), 1);
    assert_eq!(task.settings, TaskSettings::default());
    // With its comments taken away, its front matter says what it shows.
    let said = text.replace("\n# verify", "\nverify").replace("\n# max", "\nmax");
    let said = said.replace("\n# on", "\non").replace("\n# protect", "\nprotect");
    let task = task::parse("demo", said.replace("\n# allow", "\nallow").as_bytes());
    assert_eq!(task.diagnostics, []);
    assert_eq!(task.settings.verify, ["make test"]);
    assert_eq!(task.settings.max_iterations, Some(20));
    assert_eq!(task.settings.protect, ["tests/**"]);
    assert_eq!(task.settings.allow, ["npm run lint"]);
}
