//! Tests of the parser on whole files.

use std::fmt::Write;

use proptest::prelude::*;

use super::{Tick, at_line, find, lines::Lines, parse, render_diagnostic, tick, usable};
use crate::model::{Criterion, CriterionKey, Severity, Task};

macro_rules! assert_text {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

/// Criteria and diagnostics of a file, one per line.
fn parsed(source: &str) -> String {
    let task = parse("t", source.as_bytes());
    let mut text = String::new();
    for it in &task.criteria {
        let mark = if it.checked { 'x' } else { ' ' };
        write!(text, "{}:{} [{mark}] {}", it.line, it.column, it.key.text).expect("a string");
        if it.key.occurrence > 0 {
            write!(text, " #{}", it.key.occurrence).expect("a string");
        }
        for verify in &it.verify {
            write!(text, " <{}: {}>", verify.line, verify.command).expect("a string");
        }
        text.push('\n');
    }
    for it in &task.diagnostics {
        let kind = match it.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(text, "{kind} {}:{} {}", it.line, it.column, it.message).expect("a string");
    }
    text
}

#[test]
fn checkboxes_count_wherever_markdown_reads_them() {
    assert_text!(parsed(
        "# Title with `code`\n\
         - [ ] dash\n\
         * [x] star\n\
         + [X] plus\n\
         1. [ ] ordered\n\
         2) [ ] ordered with a bracket\n\
         - plain\n\
         \x20 - [ ] nested in plain\n\
         \x20   - [x] nested in a criterion\n\
         \n\
         > - [ ] quoted\n\
         >   > - [ ] quoted twice\n\
         \n\
         -   [ ] far away\n\
         - - [ ] a list in a list\n\
         - [\t] a tab in the box\n\
         - [ ]  two spaces behind it\n"
    ));
}

#[test]
fn never_in_code_comments_tables_or_front_matter() {
    assert_text!(parsed(
        "---\n\
         verify: |-\n\
         \x20 - [ ] not this\n\
         ---\n\
         ```\n- [ ] fenced\n```\n\
         ~~~~\n- [ ] fenced\n~~~\n- [ ] still fenced\n~~~~\n\
         \n\
         \x20   - [ ] indented\n\
         \n\
         <!--\n- [ ] comment\n-->\n\
         <details>\n- [ ] html\n</details>\n\
         \n\
         | a | b |\n|---|---|\n| - [ ] x | y |\n\
         \n\
         `- [ ] span`\n\
         \n\
         - [ ] the only one\n\
         \x20 ```\n\
         \x20 - [ ] fenced in an item\n\
         \x20 ```\n"
    ));
}

#[test]
fn text_is_as_written_on_one_line() {
    assert_text!(parsed(
        "- [ ] **bold** `code` <b>html</b> [link](x) \\* &amp; {{x}} $(x) .*  \n\
         - [ ] goes on\n\
         \x20     on the next line\n\
         lazily too\n\
         - [ ] loose\n\
         \n\
         \x20 not part of it\n\
         - [ ]\n\
         \x20 below the box\n\
         > - [ ] in a quote `a\n\
         >   b` end\n\
         >   > nested quote\n\
         \n\
         - [ ] heading\n\
         \x20 ---\n\
         - [ ] ends with a break\\\n\
         \x20 here\n\
         - [ ] straße 😀\n"
    ));
}

#[test]
fn verify_items() {
    assert_text!(parsed(
        "- [ ] one\n\
         \x20 - verify: `cargo test -p client retry`\n\
         \x20 - verify: make check\n\
         \x20 - Verify: ``echo `date` ``\n\
         \x20 - a note\n\
         \x20   - verify: test -f \"a b\" && echo *x* | grep \\[x\\] <in\n\
         - [ ] two\n\
         \n\
         \x20 1. verify:`loose`\n\
         \n\
         \x20 - [ ] three\n\
         \x20   - verify: `three`\n\
         - verify: `orphan`\n\
         - [ ] verify: `boxed`\n\
         - [ ] four\n\
         \x20 verify: `in the text`\n\
         - [ ] five\n\
         \x20 - **verify:** `bold`\n\
         \x20 - verify:\n\
         \x20 - verify: ``\n\
         \x20 - verify: run `this` twice\n\
         \x20 - verify: `one` `two`\n\
         \x20 - verify: `open\n\
         \x20 - verify: cargo test \\\n\
         \x20   --all\n\
         \x20 - verify:\n\
         \x20   ```\n\
         \x20   cargo test\n\
         \x20   ```\n\
         \x20 - verify: a\0b\n\
         \x20 - verify: `six`\n\
         -[ ] six\n"
    ));
}

#[test]
fn checkboxes_in_code_or_html_by_mistake() {
    assert_text!(parsed(
        "- [ ] good\n\
         \n\
         \x20     - [ ] six spaces\n\
         \x20     1. [x] and a number\n\
         \x20     text\n\
         \n\
         <details>\n<summary>More</summary>\n- [ ] html\n</details>\n\
         \n\
         <details>\n\n- [ ] better\n\n</details>\n\
         \n\
         > <div>\n> - [ ] in a quote\n\
         \n\
         <pre>\n- [ ] meant so\n</pre>\n\
         <!-- - [ ] meant so\n- [ ] too -->\n\
         \n\
         ```\n    - [ ] meant so\n```\n"
    ));
}

#[test]
fn likely_mistakes() {
    assert_text!(parsed(
        "- [ ] good\n\
         - [ x] a\n\
         - [x ] b\n\
         - [] c\n\
         - [  ] d\n\
         * [y] e\n\
         - [✓] f\n\
         - [x]g\n\
         - []\n\
         - [ ]\n\
         - [link](x)\n\
         - [1] a reference\n\
         - [x](link)\n\
         - \\[ ] meant so\n\
         \n\
         -[ ] h\n\
         \n\
         [ ] i\n\
         and text\n\
         2. [ ] j\n\
         \x20     - [ ] k\n\
         \n\
         •[x] l\n\
         \n\
         - [ ] m\n\
         -[ ] n\n\
         - [ ] good\n\
         - [ ] good\n\
         - [ ]"
    ));
}

#[test]
fn a_command_behind_another_word_than_verify() {
    let warns = |item: &str| {
        let told = parsed(&format!("- [ ] a\n  - {item}\n"));
        told.contains("not read as a verify command")
    };
    for item in [
        "check: `cargo test`",
        "Checks : `cargo test`",
        "test: `cargo test`",
        "verfiy: `cargo test`",
        "verifiy: cargo test",
        "Verified: `cargo test`",
        "verify `cargo test`",
        "run: `cargo test`",
    ] {
        assert!(warns(item), "{item}");
    }
    for item in [
        "verify: `cargo test`",
        "test: all of it, with `cargo test`",
        "Check: `a` is `b`, twice",
        "verify that it holds",
        "verified by hand",
        "Very: important",
        "note: `cargo test`",
        "run `cargo test` by hand",
        "`cargo test`",
    ] {
        assert!(!warns(item), "{item}");
    }
}

/// What a person reads as an open box, and Markdown does not.
#[test]
fn a_box_that_is_none_is_unread() {
    let unread = |source: &str| {
        let task = parse("t", source.as_bytes());
        task.diagnostics
            .iter()
            .filter(|it| it.unread)
            .map(|it| (it.line, it.column))
            .collect::<Vec<_>>()
    };
    for item in [
        "* \\[ ] e",
        "- \\[ \\] e",
        "-\u{a0}[ ] e",
        "- \u{a0}[ ] e",
        "- \u{200b}[ ] e",
        "- [\u{a0}] e",
        "- [] e",
        "- [  ] e",
        "- [ ]e",
        "- ［ ］ e",
        "- ☐ e",
        "- ( ) e",
        "- ## [ ] e",
        "## [ ] e",
        "- **[ ] e**",
        "- `[ ]` e",
        "-[ ] e",
        "+[ ] e",
        "• [ ] e",
        "• ☐ e",
        "- [&nbsp;] e",
        "- &#91; ] e",
        "- [ ](x) e",
        "- [ ]: e",
        "- [ ][x] e",
        "1\\. [ ] e",
        "TODO: [ ] e",
        "<ul><li><input type=checkbox> e</li></ul>",
    ] {
        let source = format!("- [ ] good\n\ntext\n\n{item}\n");
        let found = unread(&source);
        assert_eq!(
            found.iter().map(|it| it.0).collect::<Vec<_>>(),
            [5],
            "{item:?}: {}",
            parsed(&source)
        );
    }
    for text in [
        "- [x]e",
        "- [~] e",
        "- [link](x)",
        "- [](#anchor) e",
        "Type [ ] for an open box",
        "<li><input type=checkbox checked> e",
        "- (a) first\n- (b) second",
        "- an array `[ ]` in a sentence",
        "Use `[ ]` for open boxes, and ☐ in print.",
        "☑ done",
        "- ☑ done",
        "an empty list [ ] is falsy",
        "| a | [ ] b |\n|---|---|",
        "```\n- \\[ ] code\n```",
        "<!-- - ☐ comment -->",
        "- verify the result by hand",
        "- Verification: see the wiki",
        "# Verify",
        "1. Verify that it works",
        "(see below)",
    ] {
        let source = format!("- [ ] good\n\n{text}\n");
        assert_eq!(unread(&source), [], "{text:?}: {}", parsed(&source));
    }
    assert_eq!(
        parsed("# T\n- \\[ ] a\n- ☐ b\n"),
        "error 2:3 there are no criteria\nwarning 2:3 `\\[ ]` is not a checkbox\nwarning 3:3 `☐` is not a checkbox\n"
    );
}

/// What a person reads as a check below a criterion once it is rendered, and the parser does not.
#[test]
fn a_check_in_another_form_is_unread() {
    let unread = |below: &str| {
        let task = parse("t", format!("- [ ] good\n{below}\n").as_bytes());
        task.diagnostics.iter().filter(|it| it.unread).count()
    };
    for below in [
        "  - verify\\: `false`",
        "  - <b>verify:</b> `false`",
        "  - verify; `false`",
        "  - verify by: `false`",
        "  - `verify` `false`",
        "  - ✅ verify: `false`",
        "  - [verify](x): `false`",
        "  (verify `false`)",
        "  <!-- verify: `false` -->",
        "\n      verify: false",
    ] {
        assert_eq!(unread(below), 1, "{below}");
    }
    for below in [
        "  - verify that `a` works",
        "  - Verification is in `ci.yml`",
        "  <!--\n  - verify: `later`\n  -->",
        "  - verify: `make`",
    ] {
        assert_eq!(unread(below), 0, "{below}");
    }
    let text = "- [ ] good (verify `false`)\n";
    assert!(parse("t", text.as_bytes()).diagnostics.iter().any(|it| it.unread));
}

/// What a person reads as a check becomes one where it is clear, and is unread elsewhere.
#[test]
fn a_check_on_the_line_of_its_criterion() {
    let commands = |source: &str| {
        let task = parse("t", source.as_bytes());
        let commands = task.criteria[0].verify.iter().map(|it| it.command.clone());
        (commands.collect::<Vec<_>>(), task.diagnostics.iter().filter(|it| it.unread).count())
    };
    for item in [
        "a - verify: `make test`",
        "a — Verify: `make test`",
        "a (verify: `make test`)",
        "a; verify : `make test`.",
        "a (verify: `make test`).",
        "`a` on\n  two lines, verify: `make test`",
        "a\n  - verify : `make test`",
        "a\n  - verify :make test",
    ] {
        assert_eq!(
            commands(&format!("- [ ] {item}\n")),
            (vec!["make test".to_owned()], 0),
            "{item}"
        );
    }
    for item in [
        "a - verify: make test",
        "a (verify: `make test`",
        "a - verify: `make test` twice",
        "a - verify → `make test`",
        "a\n  - `verify: make test`",
        "a\n  - verify → `make test`",
        "a\n  - verify → make test",
        "a\n  - verify = make test",
        "a\n  - verify -> make test",
        "a\n  - verify：make test",
        "a\n  - **verify:** `make test`",
        "a\n  - check: `make test`",
        "a\n  verify: `make test`",
        "a\n\n- verify: `make test`",
        "a\n- [ ] verify: `make test`",
    ] {
        assert_eq!(commands(&format!("- [ ] {item}\n")), (Vec::new(), 1), "{item}");
    }
    for item in ["the users verify: it works", "verify that a, b - and c: work", "a, verified: yes"]
    {
        assert_eq!(commands(&format!("- [ ] {item}\n")), (Vec::new(), 0), "{item}");
    }
}

#[test]
fn a_misspelled_keyword() {
    for (item, meant) in [
        ("may_chnge: tests/**", Some("may_change")),
        ("may-change: [\"tests/**\"]", Some("may_change")),
        ("May change: `tests/**`", Some("may_change")),
        ("recpie: `my-recipe`", Some("recipe")),
        ("may_change: tests/**", None),
        ("recipe: `my-recipe`", None),
        ("Changes: none", None),
        ("may_change tests", None),
    ] {
        let told = parsed(&format!("- [ ] a\n  - {item}\n"));
        let warning = meant.map(|meant| format!("this is not read as `{meant}`"));
        assert_eq!(told.contains("this is not read"), warning.is_some(), "{item}: {told}");
        assert!(told.contains(warning.as_deref().unwrap_or_default()), "{item}: {told}");
    }
}

#[test]
fn files_without_criteria() {
    assert_eq!(parsed(""), "error 1:1 the file is empty\n");
    assert_eq!(parsed("\u{feff}\r\n \n"), "error 1:1 the file is empty\n");
    assert_eq!(parsed("# T\n- a\n"), "error 1:1 there are no criteria\n");
    assert_eq!(parsed("---\nmodel: x\n---\n# T\n"), "error 4:1 there are no criteria\n");
}

#[test]
fn bytes_that_are_not_utf8() {
    let told = |bytes: &[u8]| {
        let task = parse("t", bytes);
        assert!(task.criteria.is_empty() && !usable(&task));
        let [diagnostic] = &task.diagnostics[..] else { panic!("one diagnostic") };
        (diagnostic.line, diagnostic.column, diagnostic.message.clone())
    };
    let message = |byte: &str| format!("invalid UTF-8: byte {byte}");
    assert_eq!(told(b"- [ ] a\r\n- [ ] \xc3\xa4\xff"), (2, 8, message("0xff")));
    assert_eq!(told(b"\xc3"), (1, 1, message("0xc3")));
    assert_eq!(told(b"\xef\xbb\xbf- [ ] a \xed\xa0\x80"), (1, 9, message("0xed")));
}

#[test]
fn lookups() {
    let task = parse("t", b"- [ ] a\n- [ ] a\n\n- [x] b\n");
    let key = |text: &str, occurrence| CriterionKey { text: text.into(), occurrence };
    assert_eq!(find(&task, &key("a", 1)).map(|it| it.line), Some(2));
    assert_eq!(find(&task, &key("a", 2)), None);
    assert_eq!(at_line(&task, 4).map(|it| &it.key), Some(&key("b", 0)));
    assert_eq!(at_line(&task, 3), None);
}

#[test]
fn a_warning_leaves_a_task_usable_and_an_error_does_not() {
    assert!(usable(&parse("t", b"- [ ] a\n- [y] b\n")));
    assert!(!usable(&parse("t", b"- [ ] a\n- [ ]\n")));
}

#[test]
fn name_title_and_source_are_kept() {
    let task =
        parse("demo", "\u{feff}text\n\n## The `first` **one** ##\n# Two\n- [ ] a".as_bytes());
    assert_eq!((task.name.as_str(), task.title.as_deref()), ("demo", Some("The first one")));
    assert_eq!(task.source, "\u{feff}text\n\n## The `first` **one** ##\n# Two\n- [ ] a");
    assert_eq!(parse("demo", b"- [ ] a").title, None);
}

#[test]
fn ten_thousand_criteria() {
    let source: String = (0..10_000).map(|number| format!("- [ ] {}\n", number % 5000)).collect();
    let task = checked(source.as_bytes());
    assert_eq!(task.criteria.len(), 10_000);
    let last = &task.criteria[9_999];
    assert_eq!((last.line, last.key.text.as_str(), last.key.occurrence), (10_000, "4999", 1));
    assert_eq!(task.diagnostics.len(), 5_000, "one warning per repeated text");
}

#[test]
fn a_line_of_a_mebibyte() {
    let long = "x".repeat(1 << 20);
    for source in [
        format!("- [ ] {long}"),
        format!("- [ ] a\n\n{long}"),
        format!("- [ ] a\n\n{}", "-".repeat(1 << 20)),
        format!("- [ ] a\n\n{}", " ".repeat(1 << 20)),
        format!("- [ ] {}", "`[*_ ".repeat(1 << 17)),
        format!("- [ ] {}", "[ ] ".repeat(1 << 18)),
        format!("---\nmodel: {long}\n---\n- [ ] a"),
    ] {
        let task = checked(source.as_bytes());
        assert_eq!(task.criteria.len(), 1);
        assert!(usable(&task));
    }
}

#[test]
fn absurd_nesting_is_rejected_before_it_costs_time() {
    let lines = "x\n".repeat(1 << 19);
    for mark in ["> ", "- ", "1. ", ">"] {
        let source = format!("- [ ] a\n\n{}[ ] b\n{lines}", mark.repeat(1 << 18));
        assert_eq!(
            parsed(&source),
            "error 3:1 lists or quotes are nested more than 1000 levels deep\n"
        );
    }
    let indented = format!("- [ ] a\n{}- [ ] b", "\t".repeat(501));
    assert!(parsed(&indented).starts_with("error 2:1 lists or quotes"));
    let deep = format!("{}[ ] a", "- ".repeat(1000));
    assert_eq!(checked(deep.as_bytes()).criteria.len(), 1);
}

#[test]
fn two_hundred_nested_levels() {
    let source: String =
        (0..200).map(|level| format!("{}- [ ] level {level}\n", "  ".repeat(level))).collect();
    let task = checked(source.as_bytes());
    assert_eq!(task.criteria.len(), 200);
    let deepest = &task.criteria[199];
    assert_eq!((deepest.line, deepest.column, deepest.key.text.as_str()), (200, 401, "level 199"));
    let quoted: String =
        (1..=200).map(|level| format!("{}- [ ] level {level}\n\n", "> ".repeat(level))).collect();
    assert_eq!(checked(quoted.as_bytes()).criteria.len(), 200);
}

/// Parses, and checks the invariants that hold for any bytes.
fn checked(bytes: &[u8]) -> Task {
    let task = parse("t", bytes);
    let (source, lines) = (task.source.as_bytes(), Lines::of(&task.source));
    let mut last = 0;
    let mut keys = std::collections::HashSet::new();
    for it in &task.criteria {
        assert!(it.mark > last, "in file order");
        last = it.mark;
        let around = &source[it.mark - 1..=it.mark + 1];
        match around {
            [b'[', b'x' | b'X', b']'] => assert!(it.checked),
            [b'[', b' ' | b'\t' | 0x0b | 0x0c, b']'] => assert!(!it.checked),
            other => panic!("not a checkbox: {other:?}"),
        }
        assert_eq!(lines.position(it.mark - 1), (it.line, it.column));
        assert!(keys.insert(&it.key), "keys are unique");
        assert!(!it.key.text.contains(['\n', '\r']), "one line");
        for verify in &it.verify {
            assert!(verify.line > 0 && verify.line <= lines.count());
            assert!(!verify.command.trim().is_empty());
        }
    }
    let mut after_errors = false;
    for it in &task.diagnostics {
        assert!(task.source.get(it.span.clone()).is_some(), "the span is inside the text");
        after_errors |= it.severity == Severity::Warning;
        assert_eq!(it.severity == Severity::Warning, after_errors, "errors first");
    }
    assert!(!task.criteria.is_empty() || !usable(&task), "a file without criteria has an error");
    task
}

/// Text full of the syntax that the parser looks for.
fn markdown() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "- ",
        "* ",
        "1. ",
        "2) ",
        "-",
        "[ ] ",
        "[x] ",
        "[X] ",
        "[\t] ",
        "[ ]",
        "[x]",
        "[]",
        "[ x] ",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "  ",
        "    ",
        "\t",
        "> ",
        "# ",
        "---\n",
        "```\n",
        "`",
        "``",
        "<!--",
        "-->",
        "<b>",
        "|",
        "|-|\n",
        "verify: ",
        "verify:",
        "`cmd`",
        "a",
        "ä😀",
        "\u{feff}",
        "[x]: y\n",
        "[^1]: ",
        "*",
        "**",
        "\\",
        "\0",
        "\u{b}",
        "model: x\n",
        "verfy: y\n",
        "protect: [\"{\n",
        "===\n",
        "&amp;",
        "(x)",
        "<div>\n",
        "...\n",
    ]);
    proptest::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

fn without_mark(criteria: &[Criterion], number: usize) -> Vec<Criterion> {
    let mut criteria = criteria.to_vec();
    criteria[number].checked = false;
    criteria
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_parse_or_give_diagnostics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        checked(&bytes);
    }

    #[test]
    fn any_markdown_parses_or_gives_diagnostics(source in markdown()) {
        let task = checked(source.as_bytes());
        prop_assert_eq!(&task.source, &source);
        for diagnostic in &task.diagnostics {
            let text = render_diagnostic("TASK.md", &source, diagnostic);
            let place = format!("TASK.md:{}:{}", diagnostic.line, diagnostic.column);
            prop_assert!(text.contains(&place), "{} is not in {}", place, text);
        }
    }

    #[test]
    fn a_tick_is_one_byte_and_flips_one_criterion(source in markdown()) {
        let before = parse("t", source.as_bytes());
        for (number, criterion) in before.criteria.iter().enumerate() {
            let to = if criterion.checked { Tick::Open } else { Tick::Done };
            let ticked = tick(source.as_bytes(), criterion.mark, to).expect("a box");
            let differing: Vec<usize> =
                (0..source.len()).filter(|at| source.as_bytes()[*at] != ticked[*at]).collect();
            prop_assert_eq!(ticked.len(), source.len());
            prop_assert_eq!(differing, vec![criterion.mark]);
            let after = parse("t", &ticked);
            prop_assert_ne!(after.criteria[number].checked, criterion.checked);
            prop_assert_eq!(
                without_mark(&after.criteria, number),
                without_mark(&before.criteria, number)
            );
        }
    }
}
