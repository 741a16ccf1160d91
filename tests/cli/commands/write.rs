//! `init`, `tick`, `retry`, `demo`: commands that change something.

use serde_json::json;

use crate::repo::{Repo, finish};
use crate::runs::{THREE, then_honest};

#[test]
fn init_scaffolds_a_task_that_can_be_worked_on_and_never_overwrites() {
    let repo = Repo::new(THREE);
    let ran = repo.ralph(&["init", "login-form"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.stdout, @r"
    created  tasks/login-form/TASK.md
    created  tasks/login-form/guardrails.md
    created  tasks/login-form/progress.md

    Next: write the criteria in tasks/login-form/TASK.md, validate them with
    `ralph-copilot check login-form`, commit, and start with `ralph-copilot login-form`.
    ");
    let before: Vec<String> = ["TASK.md", "guardrails.md", "progress.md"]
        .iter()
        .map(|name| repo.read(&format!("tasks/login-form/{name}")))
        .collect();
    insta::assert_snapshot!(before[0], @r#"
    ---
    # Everything up to the next line of dashes is optional.
    # verify: make test             # the runner runs it after each iteration
    # max_iterations: 20
    # on_stuck: stop                # or skip
    # protect: ["tests/**"]         # paths that the agent must not change
    # allow: ["npm run lint"]       # commands allowed in addition to the built-in list
    ---
    # login-form

    What this task is about, and what the agent should know before it starts.

    ## Success Criteria

    - [ ] State in one line what must be true
      - verify: `echo "replace this with a command that fails until the criterion is met" && false`
    "#);
    repo.write("tasks/login-form/TASK.md", "mine\n");
    std::fs::remove_file(repo.path("tasks/login-form/progress.md")).expect("removed");
    let again = repo.ralph(&["init", "login-form", "--json"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(
        again.json(),
        json!({
            "created": ["tasks/login-form/progress.md"],
            "kept": ["tasks/login-form/TASK.md", "tasks/login-form/guardrails.md"],
        })
    );
    assert_eq!(repo.read("tasks/login-form/TASK.md"), "mine\n");
    assert_eq!(repo.read("tasks/login-form/progress.md"), before[2]);
}

/// A run that only finds the template's own lines would ask a model to do nothing in particular.
#[test]
fn lines_that_are_still_the_templates_are_errors() {
    let repo = Repo::new(THREE);
    repo.ralph(&["init", "new"]);
    repo.commit("a task");
    let template = repo.read("tasks/new/TASK.md");
    for words in [&["check", "new"][..], &["new", "--agent", "true"], &["rehearse", "new"]] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(7), "{words:?}: {}", ran.stdout);
        for line in ["error: line 15 is still the template's", "error: line 16 is", "TASK.md:15:7"]
        {
            assert!(ran.stderr.contains(line), "{words:?}: {}", ran.stderr);
        }
    }
    let own = template.replace("State in one line what must be true", "a is there");
    for (text, code, says) in [
        (template.replace("- [ ]", "* [x]"), 7, "error: line 15 is"),
        (own.clone(), 7, "error: line 16 is"),
        (own.lines().take(15).collect::<Vec<_>>().join("\r\n"), 0, "warning: line 11 is"),
    ] {
        repo.write("tasks/new/TASK.md", &text);
        let ran = repo.ralph(&["check", "new"]);
        assert_eq!(ran.code, Some(code), "{text}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    let own = own.replace("What this task is about, and what", "What");
    repo.write("tasks/new/TASK.md", own.lines().take(15).collect::<Vec<_>>().join("\n"));
    assert_eq!(repo.ralph(&["check", "new"]).stderr, "");
}

/// Tasks are in the root of the repository, and their checks run there.
#[test]
fn in_a_folder_of_the_repository_init_and_check_say_where_things_are() {
    let repo = Repo::with(THREE, &[("packages/api/main.py", "1\n")]);
    let ran = repo.ralph(&["-C", "packages/api", "init", "new"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(repo.path("tasks/new/TASK.md").is_file());
    assert!(ran.stdout.contains("created  ../../tasks/new/TASK.md\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("criteria in ../../tasks/new/TASK.md,"), "{}", ran.stdout);
    let told = format!(
        "Checks run in the root of the repository, {}: write `cd packages/api && …`",
        repo.root().display()
    );
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    let checked = repo.ralph(&["-C", "packages/api", "check", "demo"]);
    assert!(checked.stdout.contains(&told), "{}", checked.stdout);
    let at_root = repo.ralph(&["check", "demo"]);
    assert!(!at_root.stdout.contains("Checks run in"), "{}", at_root.stdout);
}

/// The instructions change how every session in the repository works.
#[test]
fn init_writes_the_copilot_instructions_only_if_asked() {
    let repo = Repo::new(THREE);
    let file = ".github/copilot-instructions.md";
    assert_eq!(repo.ralph(&["init", "one"]).code, Some(0));
    assert!(!repo.path(".github").exists());
    let ran = repo.ralph(&["init", "two", "--instructions"]);
    assert!(ran.stdout.contains(&format!("created  {file}\n")), "{}", ran.stdout);
    repo.write(file, "mine\n");
    let ran = repo.ralph(&["init", "--instructions", "--json"]);
    assert_eq!(ran.json(), json!({ "created": [], "kept": [file] }));
    assert_eq!(repo.read(file), "mine\n");
    // Without either there is nothing to make.
    let ran = repo.ralph(&["init"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
}

#[test]
fn init_refuses_names_that_are_none() {
    let repo = Repo::new(THREE);
    for name in ["../up", "a/b", ".hidden", ""] {
        let ran = repo.ralph(&["init", name]);
        assert_eq!(ran.code, Some(2), "{name:?}: {}", ran.stdout);
    }
    assert_eq!(repo.status(), "");
}

/// A task may be called as a command is; what is said to start it must start it.
#[test]
fn a_task_with_the_name_of_a_command_is_started_with_run() {
    let repo = Repo::new(THREE);
    for name in ["doctor", "help"] {
        let ran = repo.ralph(&["init", name]);
        let start = format!("start with `ralph-copilot run {name}`");
        assert!(ran.stdout.contains(&start), "{}", ran.stdout);
    }
}

/// The word is taken for the command: whoever meant the task is told.
#[test]
fn a_command_that_is_the_name_of_a_task_too_says_so() {
    let repo = Repo::with(THREE, &[("tasks/doctor/TASK.md", "- [ ] a\n")]);
    for (words, task) in [
        (&["demo", "--max-iterations", "3"][..], "demo"),
        (&["demo", "new folder", "--json"], "demo"),
        (&["doctor", "--nope"], "doctor"),
    ] {
        let ran = repo.ralph(words);
        let says = format!("to work on the task of that name: `ralph-copilot run {task}`");
        assert!(ran.stderr.contains(&says), "{words:?}: {}", ran.stderr);
    }
    let ran = repo.ralph(&["status", "--nope"]);
    assert!(!ran.stderr.contains("the task of that name"), "{}", ran.stderr);
}

#[test]
fn tick_changes_one_byte() {
    let repo = Repo::new("x");
    let source = "\u{feff}# T\r\n\r\n- [ ] one\r\n- [X] zwei \u{fc}\r\n- [ ] one";
    repo.write("tasks/demo/TASK.md", source);
    let ran = repo.ralph(&["tick", "demo", "5"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "[x] one\n"), "{}", ran.stderr);
    let last = format!("{}- [x] one", source.strip_suffix("- [ ] one").expect("the last"));
    assert_eq!(repo.task(), last);
    let ran = repo.ralph(&["tick", "demo", "5"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "[x] one  (no change)\n"));
    let ran = repo.ralph(&["tick", "demo", "4", "--off", "--json"]);
    assert_eq!(
        ran.json(),
        json!({ "line": 4, "text": "zwei \u{fc}", "checked": false, "changed": true })
    );
    assert_eq!(repo.task(), last.replace("[X]", "[ ]"));
    let ran = repo.ralph(&["tick", "demo", "2"]);
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr, @r"
    error: no criterion on line 2 of the TASK.md of `demo`
    hint: lines with a criterion: 3, 4, 5
    ");
}

#[test]
fn retry_clears_what_is_not_proven_and_nothing_else() {
    let repo = Repo::new(THREE);
    let script = then_honest("- times: 1\n  steps: [{say: 'Done!'}]\n");
    let script = script.replace("path: b.txt", "path: wrong.txt");
    let limits = ["--stuck-threshold", "9", "--max-iterations", "4"];
    assert_eq!(repo.run(&script, &limits).code, Some(3));
    let before = repo.state();
    let nobody = repo.ralph(&["retry", "demo", "c is there"]);
    assert_eq!(nobody.code, Some(2));
    insta::assert_snapshot!(nobody.stderr, @r"
    error: criterion `c is there` has no failed attempts and no held work
    hint: criteria with failed attempts or held work: `b is there`
    ");
    for command in ["retry", "accept"] {
        let ran = repo.ralph(&[command, "demo", "b is their"]);
        assert_eq!(ran.code, Some(2));
        let expected = "error: task `demo` has no criterion `b is their`\nhint: did you mean `b is \
                        there` (line 5)?\n";
        assert_eq!(ran.stderr, expected);
    }
    let ran = repo.ralph(&["retry", "demo", "--json"]);
    assert_eq!(ran.json(), json!({ "cleared": ["b is there"] }), "{}", ran.stderr);
    let after = repo.state();
    assert_eq!(after["criteria"][0], before["criteria"][0], "a proven one keeps its history");
    let commit = repo.git(&["log", "-1", "--format=%H", "--", "wrong.txt"]);
    assert_eq!(
        after["criteria"][1],
        json!({ "text": "b is there", "attempts": 0, "worked": commit.trim() })
    );
    assert_eq!(repo.status(), "");
    let again = repo.ralph(&["retry", "demo"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (Some(0), "Nothing to reset: no open criterion has failed attempts\n")
    );
}

#[test]
fn the_demo_is_a_real_run_in_a_repository_of_its_own() {
    let repo = Repo::empty();
    let folder = repo.beside("demo");
    let folder = folder.to_str().expect("UTF-8");
    let ran = repo.ralph(&["demo", folder]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    crate::shown(&repo, || {
        insta::assert_snapshot!("demo", ran.stdout);
    });
    // It is made in another folder: every command that it names works there.
    let next = format!("Next: review the commits: git -C {folder} log --oneline\n");
    assert!(ran.stdout.contains(&next), "{}", ran.stdout);
    let mut log = std::process::Command::new("git");
    log.args(["-C", folder, "log", "--oneline"]);
    assert!(finish(log).stdout.lines().count() > 6);
    let mut status = std::process::Command::new("git");
    status.args(["-C", folder, "status", "--short"]);
    assert_eq!(finish(status).stdout, "");
    let again = repo.ralph(&["demo", folder]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
}

/// What a run elsewhere says to type next works where it was typed.
#[test]
fn the_next_steps_of_a_run_in_another_folder_name_it() {
    let repo = Repo::new(THREE);
    let root = repo.root().display().to_string();
    let script = then_honest("- times: 9\n  steps: [{say: 'Done!'}]\n");
    let agent = repo.agent(&script);
    let words = ["-C", &root, "run", "demo", "--agent", &agent, "--stuck-threshold", "1"];
    let mut command = repo.command(&words);
    command.current_dir(repo.beside(""));
    let ran = finish(command);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    let retry = format!("ralph-copilot -C {root} retry demo && ralph-copilot -C {root} run demo");
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&retry), "{}", ran.stdout);
}

#[test]
fn the_scripted_agent_says_what_is_wrong_with_a_script() {
    let repo = Repo::empty();
    let script = repo.beside("bad.yaml");
    std::fs::write(&script, "turns: [{stepps: []}]\n").expect("written");
    let ran = repo.ralph(&["agent", script.to_str().expect("UTF-8")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), ""));
    crate::shown(&repo, || {
        insta::assert_snapshot!(ran.stderr, @r"
        error: cannot understand the script [beside]/bad.yaml
        error: line 1 column 10: unknown field `stepps`, expected one of match, times, ask, options, on_reject, call_id, steps
         --> <input>:1:10
          |
        1 | turns: [{stepps: []}]
          |          ^ unknown field `stepps`, expected one of match, times, ask, options, on_reject, call_id, steps
        ");
    });
}
