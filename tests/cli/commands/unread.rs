//! Boxes and checks of a TASK.md that a person would read, and the parser does not.

use serde_json::Value;

use crate::repo::Repo;
use crate::runs::HONEST;

const TASK: &str = "# T\n\n- [ ] a\n- \\[ ] b\n- [ ] c\n  - verify → `false`\n";

#[test]
fn a_run_refuses_to_start_and_check_points_at_them() {
    let repo = Repo::new(TASK);
    let checked = repo.ralph(&["check", "demo", "--json"]);
    assert_eq!(checked.code, Some(7), "{}", checked.stderr);
    let object = checked.json();
    assert_eq!(object["usable"], false);
    let unread = object["diagnostics"].as_array().expect("diagnostics").iter();
    let unread: Vec<(&Value, &Value)> =
        unread.filter(|it| it["unread"] == true).map(|it| (&it["line"], &it["column"])).collect();
    assert_eq!(unread, [(&4.into(), &3.into()), (&6.into(), &5.into())]);
    let checked = repo.ralph(&["check", "demo"]);
    assert_eq!(checked.code, Some(7), "{}", checked.stderr);
    for words in [&[][..], &["--dry-run"]] {
        let ran = repo.run(HONEST, words);
        assert_eq!(ran.code, Some(7), "{}", ran.stdout);
        let told = &ran.stderr;
        assert!(told.contains("TASK.md seems to say more than the runner reads"), "{told}");
        assert!(told.contains("TASK.md:4:3") && told.contains("TASK.md:6:5"), "{told}");
        assert!(told.contains("--lenient"), "{told}");
        assert_eq!(checked.stderr.trim_start(), told, "`check` ends with the words of the run");
    }
    assert_eq!(repo.subjects(), Vec::<String>::new());
    let plan = repo.run(HONEST, &["--dry-run", "--lenient"]);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    repo.write(".ralph/config.toml", "lenient = true\n");
    assert_eq!(repo.ralph(&["check", "demo"]).code, Some(0));
}

/// Whatever a run refuses before its first prompt because of the task or the settings.
#[test]
fn check_ends_with_the_code_and_the_words_of_a_run_that_does_not_start() {
    for (task, config) in [
        ("---\nrequire_checks: true\n---\n- [ ] a\n", ""),
        ("- [ ] a\n", "require_checks = true\n"),
        ("- [ ] a\n", "nonsense = 1\n"),
        ("- [ ] a\n- [ ]\n", ""),
    ] {
        let repo = Repo::new(task);
        repo.write(".ralph/config.toml", config);
        repo.commit("settings");
        let ran = repo.run(HONEST, &["--dry-run"]);
        let checked = repo.ralph(&["check", "demo"]);
        assert_eq!((ran.code, checked.code), (Some(7), Some(7)), "{task}{config}");
        assert_eq!(checked.stderr.trim_start(), ran.stderr, "{task}{config}");
        let object = repo.ralph(&["check", "demo", "--json"]).json();
        assert_eq!(object["usable"], false, "{task}{config}");
        let refusal = object["refusal"].as_str().expect("a reason");
        assert!(ran.stderr.contains(refusal), "{refusal}");
    }
}

#[test]
fn if_all_are_of_that_kind_the_error_points_at_the_first() {
    let repo = Repo::new("# T\n\ntext\n\n* \\[ ] a\n* \\[ \\] b\n");
    let ran = repo.run(HONEST, &["--lenient"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stdout);
    assert!(ran.stderr.contains("there are no criteria"), "{}", ran.stderr);
    assert!(ran.stderr.contains("TASK.md:5:3"), "{}", ran.stderr);
}

/// Forms that editors, trackers, and people write; each alone keeps a run from starting.
#[test]
fn every_form_of_a_box_and_a_check_that_is_not_read_is_pointed_at() {
    for line in [
        "\\- [ ] b",
        "\u{25e6} [ ] b",
        "a. [ ] b",
        "(1) [ ] b",
        "-- [ ] b",
        "**[ ] b**",
        "\u{2610} b",
        "| [ ] | b |\n|---|---|\n| x | y |",
        "- <input type=\"checkbox\"> b",
        "- &#9744; b",
        "```sh\n- [ ] b",
        "- [ ] b **verify:** `false`",
        "- [ ] b [verify: `false`]",
        "- [ ] b\n  - `verify`: `false`",
    ] {
        let repo = Repo::new(&format!("# T\n\n- [ ] a\n\n{line}\n"));
        let object = repo.ralph(&["check", "demo", "--json"]).json();
        let told = object["diagnostics"].as_array().expect("diagnostics");
        assert!(told.iter().any(|it| it["unread"] == true), "{line}: {told:?}");
    }
    for line in [
        "See section (1) for [ ] boxes.",
        "Text\n\n* a note [ ] in it",
        "```sh\n- [ ] b\n```",
        "- [ ] the `verify` command works",
        "- [ ] callers verify `id` first",
        "| done | what |\n|---|---|\n| x | y |",
    ] {
        let repo = Repo::new(&format!("# T\n\n- [ ] a\n\n{line}\n"));
        let object = repo.ralph(&["check", "demo", "--json"]).json();
        assert_eq!(object["diagnostics"], serde_json::json!([]), "{line}");
    }
}

#[test]
fn a_check_in_a_code_block_has_a_warning_and_ordinary_text_has_none() {
    let told = |body: &str| -> Vec<u64> {
        let repo = Repo::new(&format!("# T\n\n{body}\n"));
        let object = repo.ralph(&["check", "demo", "--json"]).json();
        let all = object["diagnostics"].as_array().expect("diagnostics").iter();
        all.map(|it| it["line"].as_u64().expect("a line")).collect()
    };
    for (body, lines) in [
        ("- [ ] b\n  ```sh\n  verify: test -f b\n  ```", &[5][..]),
        ("- [ ] b\n\n```verify\ntest -f b\n```", &[5]),
        // Ordinary text.
        ("- [ ] a\n  - a remark\n  - verify: `true`", &[]),
        ("- [ ] `npm run lint` checks `lib`", &[]),
        ("- [ ] it prints its usage with `--help`", &[]),
        ("- [ ] tested with `make test`\n  - verify: `make test`", &[]),
        ("- [ ] the page shows\n  ```yaml\n  verify: make\n  ```", &[]),
    ] {
        assert_eq!(told(body), lines, "{body}");
    }
}
