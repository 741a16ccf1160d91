//! Checks docs/task-format.md: the parser must find in each example exactly what the page says.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ralph_copilot::{
    model::{Task, TaskSettings},
    prompt::{ScaffoldValues, Templates},
    task,
};

const PAGE: &str = include_str!("../docs/task-format.md");

/// The fenced code blocks of the page: language and text.
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

/// What the parser finds in an example, in the page's notation.
fn found(task: &Task) -> String {
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
        if !it.may_change.is_empty() {
            writeln!(text, "  may change: {}", it.may_change.join(", ")).expect("a string");
        }
        if let Some(id) = &it.id {
            writeln!(text, "  id: {id}").expect("a string");
        }
        for key in &it.after {
            writeln!(text, "  after: {}", key.text).expect("a string");
        }
    }
    for it in &task.diagnostics {
        text.push_str(&task::render_diagnostic("TASK.md", &task.source, it));
        text.push('\n');
    }
    text
}

/// The settings that differ from the default, by key.
fn settings(settings: &TaskSettings) -> String {
    let value = serde_json::to_value(settings).expect("settings are data");
    let default = serde_json::to_value(TaskSettings::default()).expect("settings are data");
    let mut text = String::new();
    for key in keys_of_the_parser().into_iter().filter(|key| value[key] != default[key]) {
        let shown = match &value[&key] {
            serde_json::Value::Array(list) => {
                let item = |item: &serde_json::Value| {
                    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
                };
                let items: Vec<String> = list.iter().map(item).collect();
                items.join(", ")
            }
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        writeln!(text, "{key}: {shown}").expect("a string");
    }
    text
}

/// All keys, from the parser's hint about an unknown key.
fn keys_of_the_parser() -> Vec<String> {
    let task = task::parse("t", b"---\n\"???\": 1\n---\n- [ ] a\n");
    let hint = task.diagnostics[0].hint.clone().expect("a hint");
    let keys = hint.strip_prefix("known keys: ").expect("all keys");
    keys.split(", ").map(str::to_owned).collect()
}

/// `RALPH_BLESS=1` writes the answers into the page instead.
#[test]
fn every_example_parses_as_the_page_says() {
    let blocks = blocks();
    let mut page = PAGE.to_owned();
    let mut pairs = 0;
    for pair in blocks.chunks(2) {
        let [(language, example), (answer_language, answer)] = pair else {
            panic!("an example without an answer: {pair:?}");
        };
        assert_eq!((language.as_str(), answer_language.as_str()), ("markdown", "text"));
        let found = found(&task::parse("demo", example.as_bytes()));
        if std::env::var_os("RALPH_BLESS").is_some() {
            page = page.replace(answer, &found);
        } else {
            assert_eq!(found, *answer, "in this example:\n{example}");
        }
        pairs += 1;
    }
    assert!(pairs >= 8, "the page has examples");
    if page != PAGE {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/task-format.md"), page)
            .expect("written");
    }
}

#[test]
fn the_table_has_exactly_the_parsers_keys() {
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
    // With the comment marks removed, the front matter has the values that it shows.
    let uncommented = text.replace("\n# verify", "\nverify").replace("\n# max", "\nmax");
    let uncommented = uncommented.replace("\n# on", "\non").replace("\n# protect", "\nprotect");
    let task = task::parse("demo", uncommented.replace("\n# allow", "\nallow").as_bytes());
    assert_eq!(task.diagnostics, []);
    assert_eq!(task.settings.verify, ["make test"]);
    assert_eq!(task.settings.max_iterations, Some(20));
    assert_eq!(task.settings.protect, ["tests/**"]);
    assert_eq!(task.settings.allow, ["npm run lint"]);
}
