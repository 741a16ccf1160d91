//! The parser, told what it must see in whole files.

use std::fmt::Write;

use super::parse;
use crate::model::Severity;

/// Everything that was understood, one line each.
fn seen(source: &str) -> String {
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
fn boxes_count_wherever_markdown_says_so() {
    insta::assert_snapshot!(seen(
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
    insta::assert_snapshot!(seen(
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
    insta::assert_snapshot!(seen(
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
    insta::assert_snapshot!(seen(
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
         - verify: `nobody's`\n\
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
         \x20 - verify: a\0b\n"
    ));
}

#[test]
fn likely_mistakes() {
    insta::assert_snapshot!(seen(
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
fn files_without_criteria() {
    assert_eq!(seen(""), "error 1:1 the file is empty\n");
    assert_eq!(seen("\u{feff}\r\n \n"), "error 1:1 the file is empty\n");
    assert_eq!(seen("# T\n- a\n"), "error 1:1 there are no criteria\n");
    assert_eq!(seen("---\nmodel: x\n---\n# T\n"), "error 4:1 there are no criteria\n");
}
