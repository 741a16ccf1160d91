//! Whole renderings of every template, the bounds of prompts, and errors in templates.

use std::fs;

use chrono::NaiveDate;

use super::{ContinuationValues, IterationValues, PromptError, ScaffoldValues, Templates};
use crate::model::{Cut, Prompt};

fn values() -> IterationValues {
    IterationValues {
        iteration: 1,
        task_name: "demo".into(),
        commit_prefix: "ralph(demo): ".into(),
        task_folder: "tasks/demo".into(),
        task_content: "# Demo\n- [ ] The client retries\n- [ ] Another".into(),
        guardrails_content: String::new(),
        progress_content: String::new(),
        next_criterion: "The client retries".into(),
        next_line: 2,
        verify_commands: Vec::new(),
        passed_before: false,
        feedback: Vec::new(),
        project_context: None,
        commit_hooks: None,
        lessons: Vec::new(),
        human_changes: Vec::new(),
        attempt: 1,
        max_attempts: 3,
        date: NaiveDate::from_ymd_opt(2026, 1, 17).expect("a date"),
    }
}

fn builtin() -> Templates {
    Templates::builtin().expect("the built-in templates are valid")
}

/// The templates with one of them replaced.
fn with(name: &str, text: &str) -> Result<Templates, PromptError> {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join(name), text).expect("a file");
    Templates::load(dir.path())
}

fn iteration(templates: &Templates, values: &IterationValues) -> Prompt {
    templates.iteration(values, &str::to_owned).expect("a prompt")
}

/// The error of an invalid `iteration.md`, without its folder.
fn complaint(text: &str) -> String {
    let error = with("iteration.md", text).expect_err("an invalid template").to_string();
    error[error.find("iteration.md").expect("the file's name")..].to_owned()
}

macro_rules! assert_text {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

#[test]
fn the_first_iteration() {
    let prompt = iteration(&builtin(), &values());
    assert!(prompt.cuts.is_empty());
    assert_text!(prompt.text);
}

#[test]
fn an_iteration_with_everything() {
    let values = IterationValues {
        iteration: 7,
        guardrails_content: "- Criterion 'x' caused loop".into(),
        progress_content: "- 2026-01-16 looked around\n".into(),
        verify_commands: vec!["cargo test -p client retry".into(), "a && b < c".into()],
        feedback: vec!["The box is still open".into(), "A check failed:\nexit 1".into()],
        project_context: Some("A Rust workspace.".into()),
        lessons: Vec::new(),
        human_changes: (1..=21).map(|number| format!("draft{number}.txt")).collect(),
        attempt: 2,
        ..values()
    };
    assert_text!(iteration(&builtin(), &values).text);
}

#[test]
fn the_continuation_after_a_denial() {
    let values = ContinuationValues {
        iteration: 7,
        task_name: "demo".into(),
        commit_prefix: "ralph(demo): ".into(),
        task_folder: "tasks/demo".into(),
        next_criterion: "The client retries".into(),
        next_line: 2,
        reason: "`git push` is not allowed: pushing is the human's".into(),
        project_context: Some("A Rust workspace.".into()),
    };
    assert_text!(builtin().continuation(&values, &str::to_owned).expect("a prompt").text);
}

#[test]
fn the_files_that_init_writes() {
    let (templates, values) = (builtin(), ScaffoldValues { task_name: "demo".into() });
    assert_text!(templates.instructions().expect("a text"));
    assert_text!(templates.task(&values).expect("a text"));
    assert_text!(templates.guardrails(&values).expect("a text"));
    assert_text!(templates.progress(&values).expect("a text"));
}

#[test]
fn text_of_users_is_inserted_verbatim() {
    let nasty = r#"{{task_name}} {{{x}}} {{#if a}} <b> & "q" 'a' \{{ `$(x)` %s .*"#;
    let values = IterationValues {
        next_criterion: nasty.into(),
        task_content: format!("- [ ] {nasty}"),
        guardrails_content: nasty.into(),
        progress_content: nasty.into(),
        verify_commands: vec![nasty.into()],
        feedback: vec![nasty.into()],
        ..values()
    };
    let text = iteration(&builtin(), &values).text;
    assert_eq!(text.matches(nasty).count(), 6);
}

#[test]
fn only_the_last_fifty_lines_of_progress_are_shown() {
    let progress_content = (1..=60).map(|number| format!("- entry {number}.\n")).collect();
    let text = iteration(&builtin(), &IterationValues { progress_content, ..values() }).text;
    assert!(!text.contains("- entry 10.") && text.contains("- entry 11.\n"));
    assert!(text.contains("- entry 60.\n"));
}

#[test]
fn a_prompt_never_begins_with_a_slash() {
    for (template, prompt) in [
        ("/allow-all on", "The task:\n/allow-all on"),
        (" \n\t/help", "The task:\n \n\t/help"),
        ("\u{feff}\u{200b}\0/help", "The task:\n\u{feff}\u{200b}\0/help"),
        ("{{project_context}}/x", "The task:\n/x"),
        ("not /help", "not /help"),
    ] {
        let templates = with("iteration.md", template).expect("a template");
        assert_eq!(iteration(&templates, &values()).text, prompt);
    }
    let templates = with("iteration.md", "{{next_criterion}}").expect("a template");
    let values = IterationValues { next_criterion: "/etc is left alone".into(), ..values() };
    assert_eq!(iteration(&templates, &values).text, "The task:\n/etc is left alone");
}

#[test]
fn the_least_important_parts_are_cut_first() {
    let filler = |what: &str, lines: usize| -> String {
        (1..=lines).map(|number| format!("{what} line {number}\n")).collect()
    };
    let values = IterationValues {
        task_content: filler("task", 5000),
        guardrails_content: filler("sign", 100),
        progress_content: filler("progress", 40),
        feedback: vec!["the box is open".into()],
        project_context: Some(filler("context", 100)),
        next_line: 2000,
        ..values()
    };
    let prompt = iteration(&builtin(), &values);
    assert!(prompt.text.len() <= 64 * 1024, "{}", prompt.text.len());
    assert!(prompt.text.len() > 60 * 1024, "no more is cut than necessary");
    let cut: Vec<&str> = prompt.cuts.iter().map(|cut| cut.part.as_str()).collect();
    assert_eq!(cut, ["context", "task"]);
    for cut in &prompt.cuts {
        assert!(cut.bytes > 0);
    }
    for kept in [
        "task line 1\n",
        "task line 2000\n",
        "sign line 100\n",
        "progress line 40\n",
        "the box is open",
        "7. Commit state files",
        "Focus on: The client retries",
        " bytes left out …]",
    ] {
        assert!(prompt.text.contains(kept), "{kept}");
    }
    assert!(!prompt.text.contains("task line 4999\n"));
}

#[test]
fn the_limit_holds_down_to_the_bare_template() {
    let bare = iteration(&builtin(), &values()).text.len();
    let long = IterationValues {
        task_content: "- [ ] ä\n".repeat(100_000),
        guardrails_content: "s".repeat(100_000),
        progress_content: "p".repeat(100_000),
        feedback: vec!["f".repeat(100_000)],
        project_context: Some("c".repeat(100_000)),
        ..values()
    };
    for budget in (bare + 500..bare + 40_000).step_by(1777) {
        let prompt = iteration(&builtin().with_budget(budget), &long);
        assert!(prompt.text.len() <= budget, "{} > {budget}", prompt.text.len());
        assert!(prompt.text.ends_with("Focus on: The client retries\n"));
        assert_eq!(prompt.cuts.len(), 5);
    }
}

#[test]
fn a_criterion_is_never_cut() {
    let values = IterationValues { next_criterion: "x".repeat(70_000), ..values() };
    let error = builtin().iteration(&values, &str::to_owned).expect_err("too long");
    assert!(matches!(error, PromptError::TooLong { budget: 65_536, bytes: 70_000.., .. }));
}

#[test]
fn a_template_that_uses_a_part_twice_or_not_at_all_is_bounded_too() {
    let values = IterationValues {
        task_content: "t".repeat(50_000),
        guardrails_content: "g".repeat(50_000),
        ..values()
    };
    let twice = with("iteration.md", "{{task_content}} {{task_content}}").expect("a template");
    let prompt = iteration(&twice.with_budget(10_000), &values);
    assert!(prompt.text.len() <= 10_000);
    assert!(prompt.text.contains("tttt"));
    let once = with("iteration.md", "{{task_content}}").expect("a template");
    assert!(iteration(&once.with_budget(49_990), &values).text.len() <= 49_990);
}

#[test]
fn a_continuation_is_bounded_too() {
    let values = ContinuationValues {
        iteration: 1,
        task_name: "demo".into(),
        commit_prefix: "ralph(demo): ".into(),
        task_folder: "tasks/demo".into(),
        next_criterion: "The client retries".into(),
        next_line: 2,
        reason: "r".repeat(100_000),
        project_context: None,
    };
    let prompt = builtin().continuation(&values, &str::to_owned).expect("a prompt");
    assert!(prompt.text.len() <= 64 * 1024);
    let [Cut { part, bytes }] = &prompt.cuts[..] else { panic!("one cut") };
    assert_eq!(part, "reason");
    assert!(*bytes > 30_000);
}

#[test]
fn a_users_template_replaces_only_its_namesake() {
    let templates = with("iteration.md", "Do {{next_criterion}} & <go>").expect("a template");
    assert_eq!(iteration(&templates, &values()).text, "Do The client retries & <go>");
    assert_eq!(
        templates.instructions().expect("a text"),
        builtin().instructions().expect("a text")
    );
}

#[test]
fn without_a_folder_the_built_in_templates_are_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let templates = Templates::load(&dir.path().join("absent")).expect("the built-in ones");
    assert_eq!(iteration(&templates, &values()), iteration(&builtin(), &values()));
}

#[test]
fn errors_give_the_place_and_the_reason() {
    let known = "attempt, commit_hooks, commit_prefix, date, feedback, guardrails_content, human_changes, iteration, lessons, \
                 max_attempts, next_criterion, next_line, passed_before, progress_content, project_context, \
                 task_content, task_folder, task_name, verify_commands";
    let unknown = |place: &str, name: &str| {
        format!("iteration.md:{place}: unknown value `{name}`; the known values are: {known}")
    };
    assert_eq!(complaint("a\n  {{criterion}}"), unknown("2:3", "criterion"));
    // Rendering alone would not notice any of these.
    assert_eq!(complaint("a {{#if feedbak}}x{{/if}}"), unknown("1:3", "feedbak"));
    assert_eq!(complaint("a {{#if (eq atempt 1)}}x{{/if}}"), unknown("1:3", "atempt"));
    assert_eq!(
        complaint(
            "a {{#unless feedback}}{{else}}{{#if feedback}}{{else}}\n{{x.y}}{{/if}}{{/unless}}"
        ),
        unknown("2:1", "x")
    );
    assert_eq!(complaint("a {{#each verify_commands}}{{../nme}}{{/each}}"), unknown("1:28", "nme"));
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(
            [
                "a {{#if feedback}}",
                "a\n{{#if feedback}}x{{/each}}",
                "a {{ }}",
                "{{> iteration}}",
                "a {{shout task_name}}",
                "a {{task_name.first}}",
                "{{#if project_context}}{{/if}}\n",
            ]
            .map(complaint)
            .join("\n")
        );
    });
}

#[test]
fn a_users_prompt_that_renders_blank_is_rejected_at_load() {
    for name in ["iteration.md", "continuation.md", "stop.md"] {
        let error = with(name, "{{#if (eq iteration 0)}}x{{/if}}\n").expect_err(name);
        assert!(matches!(error, PromptError::Empty { .. }), "{name}: {error}");
    }
}

#[test]
fn names_bound_in_a_template_are_known_in_it() {
    let text = "a {{#each verify_commands as |command|}}{{@index}} {{command}} {{this}}{{/each}}";
    let templates = with("iteration.md", text).expect("a template");
    let values = IterationValues { verify_commands: vec!["make".into()], ..values() };
    assert_eq!(iteration(&templates, &values).text, "a 0 make make");
    // Handlebars itself would treat this as false.
    let outside = format!("{text}{{{{#if command}}}}{{{{/if}}}}");
    assert!(complaint(&outside).contains("unknown value `command`"));
}

#[test]
fn a_file_not_named_like_a_template_is_an_error() {
    let error = with("iterations.md", "x").expect_err("a misspelled name").to_string();
    assert!(error.ends_with(
        "iterations.md is not the name of a template; the templates are: iteration.md, continuation.md, stop.md, \
         copilot-instructions.md, TASK.md, guardrails.md, progress.md"
    ));
    for harmless in ["README.md", "iteration.md.bak", ".gitkeep"] {
        assert!(with(harmless, "{{x}}").is_ok(), "{harmless}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("iteration.md"), b"\xff").expect("a file");
    let error = Templates::load(dir.path()).expect_err("no text");
    assert!(matches!(error, PromptError::Read { path, .. } if path.ends_with("iteration.md")));
    let file = dir.path().join("iteration.md");
    let error = Templates::load(&file).expect_err("no folder");
    assert!(matches!(error, PromptError::Read { path, .. } if path == file));
}
