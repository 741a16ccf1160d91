//! Each way in which a runner, or a command line, can fail.

use std::os::unix::fs::PermissionsExt as _;

use crate::repo::{Ran, Repo, finish};
use crate::scene::{DONE, Scene};

/// The kind and the message of an error.
fn error(ran: &Ran) -> (String, String) {
    let told = ran.json();
    assert_eq!(told["success"], false);
    let text = |name: &str| told["error"][name].as_str().expect("text").to_owned();
    (text("kind"), text("message"))
}

#[test]
fn a_runner_that_misbehaves() {
    let seven = "for n in 1 2 3 4 5 6 7; do echo \"line $n\" >&2; done; echo '▶ step' >&2; exit 2";
    for (body, code, kind, said) in [
        (seven, 4, "exit", "(exit 2): line 3\nline 4\nline 5\nline 6\nline 7"),
        ("exit 3", 4, "exit", "(exit 3): no stderr"),
        ("echo 'not JSON'; echo why >&2; exit 1", 4, "exit", "(exit 1): why"),
        ("kill -TERM $$", 4, "signal", "killed by signal SIGTERM (15)"),
        ("echo last words >&2; kill -TERM $$", 4, "signal", "SIGTERM (15)\nlast words"),
        ("echo oops; echo why >&2", 4, "unparseable", "(exit 0): oops\nwhy"),
        ("kill -KILL $$", 4, "signal", "killed by signal SIGKILL (9)"),
        ("echo '{\"success\":true}'; kill -TERM $$", 4, "signal", "killed by signal SIGTERM (15)"),
        ("exit 0", 4, "unparseable", "unparseable output (exit 0): empty stdout"),
        ("echo 'hello world'", 4, "unparseable", "unparseable output (exit 0): hello world"),
        ("echo '[]'", 4, "unparseable", "it is not a JSON object"),
        ("echo '{\"success\": tr'", 4, "unparseable", "{\"success\": tr"),
        ("echo '{\"success\":\"yes\"}'", 4, "unparseable", "`success` is neither true nor false"),
        ("echo '{\"step_results\":{}}'", 4, "unparseable", "`step_results` is not a list"),
        ("echo '{\"step_results\":[1]}'", 4, "unparseable", "`step_results[0]` is not an object"),
        ("echo '{\"context\":[]}'", 4, "unparseable", "`context` is not an object"),
        (
            "echo '{\"success\":true,\"x\":\"'; head -c 11000000 /dev/zero | tr '\\0' x; echo '\"}'",
            4,
            "unparseable",
            "more than 10485760 bytes",
        ),
        ("exec sleep 600", 124, "timeout", "longer than 1 s"),
        ("(trap '' TERM; sleep 600) & trap '' TERM; wait", 124, "timeout", "longer than 1 s"),
        ("echo '{}'", 1, "failed", "the recipe hello failed"),
        ("echo why >&2; echo '{}'; exit 1", 1, "failed", "the recipe hello failed\nwhy"),
        ("echo '{\"success\":true}'; exit 1", 1, "failed", "reports success but exited 1"),
        (
            "echo '{\"success\":false,\"step_results\":[{\"step_id\":\"b\",\"status\":\"failed\",\"error\":\"no file\"}]}'; exit 1",
            1,
            "failed",
            "failed at b: no file",
        ),
    ] {
        let scene = Scene::new(body);
        // Only what never ends is to meet the limit: a slow machine takes long for much output.
        let limit = if kind == "timeout" { "1s" } else { "60s" };
        let ran = scene.recipe(&["run", "hello", "--json", "--timeout", limit]);
        let (found, message) = error(&ran);
        assert_eq!((ran.code, found.as_str()), (Some(code), kind), "{body}: {message}");
        assert!(message.contains(said), "{body}: {message}");
        assert_eq!(scene.left(), Vec::<std::path::PathBuf>::new(), "{body}");
    }
}

#[test]
fn a_failed_recipe_keeps_its_steps() {
    let body = "cat <<'E'\n{\n  \"success\": false,\n  \"new\": 1,\n  \"step_results\": [\n    {\"step_id\": \"a\", \"status\": \"completed\"},\n    {\"step_id\": \"b\", \"status\": \"exploded\"}\n  ]\n}\nE\nexit 1";
    let ran = Scene::new(body).recipe(&["run", "hello", "--json"]);
    let told = ran.json();
    let step = |at: usize, name: &str| told["steps"][at][name].as_str().map(str::to_owned);
    assert_eq!(step(0, "status").as_deref(), Some("completed"));
    assert_eq!((step(1, "step_id"), step(1, "status")), (Some("b".into()), Some("failed".into())));
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_runner_whose_version_is_not_relied_on_is_never_asked_for_a_recipe() {
    for (version, kind) in [
        ("recipe-runner 0.3.4", "version_too_old"),
        ("0.3", "version_too_old"),
        ("", "version_unknown"),
        ("a fine runner", "version_unparseable"),
        ("version seven", "version_unparseable"),
        ("99999999999999999999999.1", "version_unparseable"),
    ] {
        let scene = Scene::with(
            Repo::empty(),
            version,
            &format!("touch \"$RECIPE_RUNNER_OUT/ran\"; {DONE}"),
        );
        let ran = scene.recipe(&["run", "hello", "--json"]);
        assert_eq!((ran.code, error(&ran).0.as_str()), (Some(3), kind), "{version}");
        assert_eq!(ran.stderr, "[amplihack] recipe-runner --- starting: hello\n");
        assert!(!scene.out("ran").exists(), "{version}");
    }
    for body in ["exit 1", "kill -KILL $$"] {
        let scene = Scene::new(DONE);
        crate::scene::script(&scene.runner(), &format!("#!/bin/sh\necho 0.3.6; {body}\n"));
        let ran = scene.recipe(&["run", "hello", "--json"]);
        assert_eq!((ran.code, error(&ran).0.as_str()), (Some(3), "version_unknown"), "{body}");
    }
}

#[test]
fn odd_version_texts_that_name_a_version_are_good() {
    for version in
        ["recipe-runner 0.3.5", "v0.4", "runner-rs 1.0.0-rc.1+abc (2026)", "0.3.10", "2.0, not 0.1"]
    {
        let scene = Scene::with(Repo::empty(), version, DONE);
        assert_eq!(scene.recipe(&["run", "hello"]).code, Some(0), "{version}");
    }
}

#[test]
fn a_runner_that_anybody_may_write_is_not_even_asked_for_its_version() {
    let scene = Scene::new(DONE);
    crate::scene::script(&scene.runner(), "#!/bin/sh\ntouch \"$RECIPE_RUNNER_OUT/ran\"\n");
    std::fs::set_permissions(scene.runner(), std::fs::Permissions::from_mode(0o757)).expect("set");
    let ran = scene.recipe(&["run", "hello", "--json"]);
    let (kind, message) = error(&ran);
    assert_eq!((ran.code, kind.as_str()), (Some(3), "world_writable"));
    assert!(message.contains("mode 757"), "{message}");
    assert!(!scene.out("ran").exists());
}

#[test]
fn no_runner_at_all() {
    let scene = Scene::new(DONE);
    let without = |args: &[&str]| {
        let mut command = scene.command(args);
        command.env("RECIPE_RUNNER_RS_PATH", "/gone").env("PATH", "/usr/bin:/bin");
        finish(command)
    };
    let ran = without(&["run", "hello", "--json"]);
    let (kind, message) = error(&ran);
    assert_eq!((ran.code, kind.as_str()), (Some(3), "not_found"));
    let places = ["RECIPE_RUNNER_RS_PATH=/gone", "on the PATH", ".cargo/bin", ".local/bin"];
    for place in places {
        assert!(message.contains(place), "{place} in {message}");
    }
    let ran = without(&["run", "hello"]);
    assert!(ran.stderr.contains("ralph-copilot recipe install"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_command_line_that_cannot_be_used() {
    let scene = Scene::new(&format!("touch \"$RECIPE_RUNNER_OUT/ran\"; {DONE}"));
    scene.repo.write("list.json", "[1]");
    scene.repo.write("broken.json", "{");
    scene.repo.write("key.json", r#"{"a=b":1}"#);
    scene.repo.write("nul.json", r#"{"a":"x\u0000y"}"#);
    let long = "a".repeat(129);
    for (args, kind) in [
        (&["../x"][..], "invalid_recipe"),
        (&["x.yaml"], "invalid_recipe"),
        (&["a b"], "invalid_recipe"),
        (&[""], "invalid_recipe"),
        (&[&long], "invalid_recipe"),
        (&["hello", "--set", "novalue"], "invalid_context"),
        (&["hello", "--set", "=x"], "invalid_context"),
        (&["hello", "--context", "gone.json"], "invalid_context"),
        (&["hello", "--context", "list.json"], "invalid_context"),
        (&["hello", "--context", "broken.json"], "invalid_context"),
        (&["hello", "--context", "key.json"], "invalid_context"),
        (&["hello", "--context", "nul.json"], "invalid_context"),
        (&["hello", "-C", "gone"], "usage"),
    ] {
        let mut all = vec!["run", "--json"];
        all.extend(args);
        let ran = scene.recipe(&all);
        assert_eq!((ran.code, error(&ran).0.as_str()), (Some(2), kind), "{args:?}");
    }
    for depth in ["3", "17", "x"] {
        let mut command = scene.command(&["run", "hello", "--json"]);
        command.env("RALPH_COPILOT_DEPTH", depth);
        let ran = finish(command);
        assert_eq!((ran.code, error(&ran).0.as_str()), (Some(5), "too_deep"), "{depth}");
    }
    assert!(!scene.out("ran").exists());
}
