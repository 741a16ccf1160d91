//! Shell calls of the real CLI in the session's sandbox.

use ralph_copilot::model::{Asked, EventKind, Outcome};
use serde_json::json;

use super::copilot::{RUNNER, Scene};
use super::model::{Model, Step, bash, call, route, tool_results};
use super::tier::has_tier;
use super::{ONE, focus, honest};

/// Is there anything to test on this machine?
fn available() -> bool {
    which::which("bwrap").is_ok()
}

/// As after a download. The CLI's hook starts the program in the sandbox, which has a `/tmp` of its
/// own.
#[test]
fn a_program_below_tmp_is_found_by_the_hook_in_each_tier() {
    for tier in ["full", "partial"] {
        let Some(scene) = Scene::new(ONE).filter(|_| has_tier(tier)) else { continue };
        let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
        let scene = scene.with(&model);
        let folder = tempfile::TempDir::new_in("/tmp").expect("a folder");
        let program = folder.path().join("ralph-copilot");
        std::fs::copy(RUNNER, &program).expect("copied");
        let usual = scene.command(&["job", &format!("--sandbox={tier}")]);
        let mut command = std::process::Command::new(&program);
        command.args(usual.get_args()).current_dir(scene.repo()).env_clear();
        command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = command.output().expect("started");
        let told = String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(0), "{tier}: {told}");
        let asked = scene
            .journal()
            .into_iter()
            .any(|event| matches!(event.kind, EventKind::ToolDecided { asked: Asked::Hook, .. }));
        assert!(asked, "{tier}: no hook was in force: {told}");
    }
}

#[test]
fn a_script_that_the_agent_wrote_reaches_nothing_outside_of_the_workspace() {
    let Some(scene) = Scene::new(ONE).filter(|_| available()) else { return };
    let outside = scene.repo().with_file_name("outside");
    let script = format!(
        "touch {}\n{{ echo x > .git/config; }} 2>/dev/null && echo configured\n\
         cat ../copilot/config.json 2>/dev/null && echo read\n(setsid sleep 300 &)\necho over\n",
        outside.display()
    );
    let path = scene.repo().join("out/script.sh");
    let mut steps = vec![
        bash("mkdir -p out"),
        call("create", json!({ "path": path, "file_text": script })),
        bash("sh out/script.sh"),
        bash("echo out; echo err >&2; exit 3"),
        bash("rm -f out/script.sh; git status --short"),
        bash("touch /etc/written-by-an-agent"),
    ];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--sandbox=full"]).expect(0);
    let requests = model.requests();
    let told = |step: usize| tool_results(&requests[step]).pop().expect("a result");
    assert!(told(3).starts_with("over\n"), "{}", told(3));
    assert!(told(6).contains("[sandbox] Only the workspace"), "{}", told(6));
    for part in ["out\n", "err\n", "exit code 3"] {
        assert!(told(4).contains(part), "{}", told(4));
    }
    assert!(!outside.exists());
    scene.assert_nothing_left();
}

#[test]
fn secrets_of_the_workspace_reach_neither_commands_nor_the_model() {
    let Some(scene) = Scene::new(ONE).filter(|_| available()) else { return };
    scene.commit("config/server.key", "Zx98Yw76Vu54Ts32Qq11\n");
    scene.commit(".gitignore", ".env\nlocal.key\n");
    scene.write(".env", "API_KEY=Ab12Cd34Ef56Gh78\nPORT=3000\n");
    scene.write("local.key", "Kk55Ll66Mm77Nn88Oo99\n");
    let script = scene.repo().join("out/script.sh");
    // Names that the guard does not see.
    let text = "cat config/server.k*y\ncat .e*v; cat local.k*y\necho Ab12Cd34Ef56Gh78\n";
    let mut steps = vec![
        bash("mkdir -p out"),
        call("create", json!({ "path": script, "file_text": text })),
        bash("sh out/script.sh"),
        bash("rm -f out/script.sh; git status --short"),
        bash("touch /etc/written-by-an-agent"),
    ];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--sandbox=full"]).expect(0);
    let requests = model.requests();
    let told = tool_results(&requests[3]).pop().expect("a result");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "[REDACTED]", "a tracked key is there and not shown: {told}");
    assert!(lines[1].starts_with("API_KEY=") && lines[1].len() == 24, "{told}");
    assert_eq!(lines[2..4], ["PORT=3000", "[REDACTED]"], "an untracked key is empty: {told}");
    for secret in ["Zx98Yw76", "Ab12Cd34", "Kk55Ll66"] {
        for request in &requests[3..] {
            let said = tool_results(request).concat();
            assert!(!said.contains(secret), "{secret}: {said}");
        }
        for event in scene.journal() {
            let event = format!("{:?}", event.kind);
            assert!(!event.contains(secret), "{event}");
        }
    }
    assert_eq!(scene.read("local.key"), "Kk55Ll66Mm77Nn88Oo99\n");
    scene.assert_nothing_left();
}

#[test]
fn a_command_that_the_task_names_has_network_and_no_other_has() {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let port = outside.local_addr().expect("address").port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = outside.accept() {
            drop(std::io::Write::write_all(&mut stream, b"pong\n"));
        }
    });
    let task = format!("---\nnetwork_for: [sh fetch.sh]\n---\n{ONE}");
    let Some(scene) = Scene::new(&task).filter(|_| available()) else { return };
    let fetch = format!("bash -c 'exec 3<> /dev/tcp/127.0.0.1/{port} && cat <&3'\n");
    scene.commit("fetch.sh", &fetch);
    let mut steps = vec![bash("sh fetch.sh"), bash("sh fetch.sh; true")];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--sandbox=full"]).expect(0);
    let requests = model.requests();
    let told = |step: usize| tool_results(&requests[step]).pop().expect("a result");
    assert!(told(1).starts_with("pong\n"), "{}", told(1));
    assert!(!told(2).contains("pong"), "{}", told(2));
    scene.assert_nothing_left();
}

/// What a human may do to git's settings at any time.
const SETTINGS: &str = "git config alias.st status
    git remote add up https://example.org/up.git
    printf '#!/bin/sh\n' > .git/hooks/post-checkout
    echo '*.tmp' >> .git/info/exclude";

#[test]
fn git_s_settings_may_be_changed_outside_while_no_command_runs() {
    let Some(scene) = Scene::new(ONE).filter(|_| available()) else { return };
    let mut steps = vec![bash("echo begin"), Step::Meanwhile(scene.repo(), SETTINGS)];
    steps.push(bash(
        "python3 -c \"open('.git/config', 'a')\" 2>&1 | tail -1; git log -1 --format=%an",
    ));
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--sandbox=full"]).expect(0);
    let told = tool_results(&model.requests()[2]).pop().expect("a result");
    assert!(told.contains("Read-only") && told.contains("\nAda\n"), "{told}");
    assert_eq!(scene.git(&["config", "remote.up.url"]), "https://example.org/up.git");
    assert!(scene.has(".git/hooks/post-checkout"));
    let notices = scene.journal().into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { message } => Some(message),
        _ => None,
    });
    let notices: Vec<String> = notices.collect();
    for path in [".git/config", ".git/hooks/post-checkout", ".git/info/exclude"] {
        let notice = format!("{path} was changed outside of the sandbox");
        assert!(notices.contains(&notice), "{notices:?}");
    }
    scene.assert_nothing_left();
}

#[test]
fn a_setting_of_git_that_a_command_may_have_changed_ends_the_run() {
    let Some(scene) = Scene::new(ONE).filter(|_| available()) else { return };
    let mut steps = vec![bash("(setsid sleep 300 > left 2>&1 &)")];
    steps.push(Step::Meanwhile(scene.repo(), "git config alias.st status"));
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    let ended = scene.run(&["job", "--sandbox=full"]).expect(10);
    assert!(ended.stdout.contains(".git/config"), "{}", ended.stdout);
}

#[test]
fn a_command_that_another_hook_puts_in_place_of_ours_ends_the_run() {
    let Some(scene) = Scene::new(ONE).filter(|_| available()) else { return };
    let other = json!({ "modifiedArgs": { "command": "touch replaced", "description": "d" } });
    let hook = json!({ "type": "command", "bash": format!("echo '{other}'"), "timeoutSec": 10 });
    let hooks = json!({ "version": 1, "hooks": { "preToolUse": [hook] } });
    scene.commit(".github/hooks/other.json", &hooks.to_string());
    let model = Model::start([route(focus("one"), vec![bash("echo ours")])]);
    let scene = scene.with(&model);
    scene.run(&["job", "--sandbox=full"]).expect(10);
    let journal = scene.journal();
    let Some(EventKind::RunEnded { outcome: Outcome::Tampered { reason }, .. }) =
        journal.last().map(|event| &event.kind)
    else {
        panic!("{:?}", journal.last());
    };
    assert!(reason.contains("echo ours"), "{reason}");
}

/// Commands of honest work, and what each says.
const WORK: [(&str, &str); 9] = [
    ("python3 -c 'print(6 * 7)'", "42\n"),
    (
        "python3 - <<'EOF'\nfrom pathlib import Path\nPath('made.py').write_text('print(1 + 1)')\nEOF\npython3 made.py",
        "2\n",
    ),
    ("echo note > \"$TMPDIR/note\" && cat \"$TMPDIR/note\"", "note\n"),
    (
        "mktemp -d > \"$TMPDIR/path\" && cp made.py \"$(cat \"$TMPDIR/path\")\" && echo copied",
        "copied\n",
    ),
    ("sort made.py | xargs -I{} echo 'line {}'", "line print(1 + 1)\n"),
    (
        "python3 -m http.server 18701 --bind 127.0.0.1 > \"$TMPDIR/log\" 2>&1 & echo $! > \"$TMPDIR/pid\"; sleep 1",
        "",
    ),
    (
        "python3 -c 'from urllib.request import urlopen as u; print(u(\"http://127.0.0.1:18701/made.py\").read())'",
        "b'print(1 + 1)'\n",
    ),
    (
        "git add -A && git commit -qm 'ralph(job): [one] - made' && git log -1 --format=%s",
        "ralph(job): [one] - made\n",
    ),
    ("echo out; echo err >&2; exit 4", "exit code 4"),
];

#[test]
fn honest_work_says_through_the_cli_what_it_says_outside() {
    for tier in ["full", "partial"].into_iter().filter(|tier| has_tier(tier)) {
        let Some(scene) = Scene::new(ONE) else { return };
        let mut steps: Vec<_> = WORK.iter().map(|(command, _)| bash(command)).collect();
        steps.extend(honest(&scene, "one"));
        let model = Model::start([route(focus("one"), steps)]);
        let scene = scene.with(&model);
        scene.run(&["job", &format!("--sandbox={tier}")]).expect(0);
        let requests = model.requests();
        for (step, (command, said)) in WORK.iter().enumerate() {
            let told = tool_results(&requests[step + 1]).pop().expect("a result");
            assert!(told.contains(said), "{tier}: {command}: {told}");
        }
        scene.assert_nothing_left();
    }
}

#[test]
fn a_call_in_the_background_is_read_and_stopped() {
    for tier in ["full", "partial"].into_iter().filter(|tier| has_tier(tier)) {
        let Some(scene) = Scene::new(ONE) else { return };
        let sleeps = format!("sleep 8{}", std::process::id());
        let arguments = json!({
            "command": format!("echo begun; {sleeps} & wait"),
            "description": "serves",
            "mode": "async",
            "shellId": "server",
        });
        let is_gone = format!(
            "for i in $(seq 100); do pgrep -xf '{sleeps}' > /dev/null || exec echo gone; sleep 0.1; done"
        );
        let mut steps = vec![
            call("bash", arguments),
            call("read_bash", json!({ "shellId": "server", "delay": 5 })),
            bash(&format!("pgrep -xfc '{sleeps}'")),
            call("stop_bash", json!({ "shellId": "server" })),
            bash(&is_gone),
        ];
        steps.extend(honest(&scene, "one"));
        let model = Model::start([route(focus("one"), steps)]);
        let scene = scene.with(&model);
        scene.run(&["job", &format!("--sandbox={tier}")]).expect(0);
        let requests = model.requests();
        let told = |step: usize| tool_results(&requests[step]).pop().expect("a result");
        assert!([1, 2].iter().any(|step| told(*step).contains("begun")), "{tier}: {}", told(2));
        assert!(told(3).starts_with("1\n"), "{tier}: {}", told(3));
        assert!(told(5).contains("gone"), "{tier}: {}", told(5));
        scene.assert_nothing_left();
    }
}
