//! `doctor`: what a run would meet, and where each setting comes from.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::repo::{Repo, finish};
use crate::runs::{HONEST, THREE};

fn finding(object: &Value, name: &str) -> Value {
    let findings = object["findings"].as_array().expect("findings");
    findings.iter().find(|it| it["name"] == name).cloned().unwrap_or_default()
}

#[test]
fn all_is_well_with_the_scripted_agent() {
    let repo = Repo::new(THREE);
    let agent = repo.agent("turns: []\n");
    let ran = repo.ralph(&["doctor", "demo", "--sandbox=off", "--agent", &agent]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    crate::shown(&repo, || {
        insta::assert_snapshot!("doctor", ran.stdout);
    });
    let object =
        repo.ralph(&["doctor", "demo", "--sandbox=off", "--json", "--agent", &agent]).json();
    let names: Vec<&str> = object["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|it| it["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        ["version", "task", "repository", "identity", "sandbox", "agent", "login", "guard"]
    );
    assert_eq!(finding(&object, "login")["state"], "good");
    assert_eq!(finding(&object, "guard")["state"], "note");
    assert_eq!(repo.status(), "");
    assert_eq!(repo.subjects(), Vec::<String>::new());
}

#[test]
fn each_problem_has_its_exit_code_and_a_way_out() {
    let repo = Repo::new(THREE);
    repo.write("dirt.txt", "dirt\n");
    let agent =
        repo.agent("session_error: {code: -32000, message: Authentication required}\nturns: []\n");
    let ran = repo.ralph(&["doctor", "demo", "--json", "--agent", &agent]);
    assert_eq!(ran.code, Some(8), "that of the first problem");
    let object = ran.json();
    assert_eq!(finding(&object, "repository")["exit_code"], json!(8));
    let login = finding(&object, "login");
    assert_eq!(login["exit_code"], json!(5));
    assert!(
        login["hint"].as_str().is_some_and(|hint| hint.contains("log in to the agent")),
        "{login}"
    );
    let ran = repo.ralph(&["doctor", "demo", "--agent", "no-such-agent"]);
    assert!(ran.stdout.contains("no-such-agent"), "{}", ran.stdout);
}

#[test]
fn everything_that_is_not_good_has_a_next_step() {
    let repo = Repo::new("# T\n\nno criteria\n");
    repo.write(".ralph/config.toml", "max_iteration = 3\n");
    for words in [
        &["doctor", "--json", "demo"][..],
        &["doctor", "--json", "unlike-any-other"],
        &["doctor", "--json", "--agent", "false", "-C", repo.beside("").to_str().expect("text")],
    ] {
        let object = repo.ralph(words).json();
        for finding in object["findings"].as_array().expect("findings") {
            let told = finding["state"] == "good" || finding["hint"].is_string();
            assert!(told, "{words:?}: {finding}");
        }
    }
}

/// The probe keeps no logs, so its hint does not send anybody to them.
#[test]
fn an_agent_that_does_not_answer_is_to_be_started_by_hand() {
    let ran = Repo::new(THREE).ralph(&["doctor", "--json", "--agent", "false"]);
    let hint = finding(&ran.json(), "agent")["hint"].clone();
    let hint = hint.as_str().expect("a hint");
    assert!(hint.contains("to see why it does not answer") && !hint.contains(".log"), "{hint}");
}

#[test]
fn the_winner_of_each_setting_is_named() {
    let repo = Repo::new(&format!(
        "---\nstuck_threshold: 4\nmax_iterations: 4\non_stuck: skip\n---\n{THREE}"
    ));
    repo.write(
        ".ralph/config.toml",
        "stuck_threshold = 5\nmax_wait = \"5m\"\nmodel = \"gpt-5\"\nrequire_checks = true\n",
    );
    repo.commit("configure");
    std::fs::create_dir_all(repo.beside("home/.config/ralph-copilot")).expect("a folder");
    std::fs::write(
        repo.beside("home/.config/ralph-copilot/config.toml"),
        "max_wait = \"6m\"\nidle_timeout = \"6m\"\n",
    )
    .expect("written");
    let agent = repo.agent("turns: []\n");
    let mut command =
        repo.command(&["doctor", "demo", "--json", "--max-iterations", "2", "--agent", &agent]);
    command.env("RALPH_COPILOT_MAX_ITERATIONS", "3").env("RALPH_COPILOT_STUCK_THRESHOLD", "3");
    let object = finish(command).json();
    let setting = |name: &str| {
        let all = object["settings"].as_array().expect("settings");
        let it = all.iter().find(|it| it["name"] == name).expect(name);
        let source = it["source"].as_str().expect("a source");
        let source = source.replace(&repo.root().display().to_string(), "REPO");
        let source = source.replace(&repo.beside("home").display().to_string(), "HOME");
        format!("{} from {source}", it["value"].as_str().expect("a value"))
    };
    let won: Vec<String> = [
        "max_iterations",
        "stuck_threshold",
        "on_stuck",
        "max_wait",
        "model",
        "require_checks",
        "idle_timeout",
        "turn_timeout",
    ]
    .into_iter()
    .map(|name| format!("{name}: {}", setting(name)))
    .collect();
    insta::assert_snapshot!(won.join("\n"), @r"
    max_iterations: 2 from command line
    stuck_threshold: 3 from environment
    on_stuck: skip from TASK.md
    max_wait: 5m from REPO/.ralph/config.toml
    model: gpt-5 from REPO/.ralph/config.toml
    require_checks: true from REPO/.ralph/config.toml
    idle_timeout: 6m from HOME/.config/ralph-copilot/config.toml
    turn_timeout: 2h from default
    ");
}

#[test]
fn a_wrong_policy_is_found() {
    let repo = Repo::new(THREE);
    let agent = repo.agent("turns: []\n");
    repo.write(".ralph/config.toml", "[policy]\nblocked_patterns = ['(']\n");
    repo.commit("configure");
    let ran = repo.ralph(&["doctor", "demo", "--json", "--agent", &agent]);
    let policy = finding(&ran.json(), "policy");
    assert_eq!((ran.code, &policy["exit_code"]), (Some(7), &json!(7)), "{}", ran.stdout);
    let detail = policy["detail"].as_str().expect("a detail");
    assert!(detail.contains(".ralph/config.toml: policy error at line 2"), "{detail}");
}

/// What nobody named is what will be asked for, and no dash.
#[test]
fn the_model_that_will_be_asked_for_is_named() {
    let repo = Repo::new(THREE);
    let scripted = repo.agent("turns: []\n");
    let named = |args: &[&str], variable: Option<(&str, &str)>| {
        let mut command = repo.command(&["doctor", "--json"]);
        command.args(args).envs(variable).env("COPILOT_CLI_PATH", "/no/copilot");
        let object = finish(command).json();
        let all = object["settings"].as_array().expect("settings").clone();
        let of = |name: &str| {
            let it = all.iter().find(|it| it["name"] == name).expect(name);
            (it["value"].as_str().unwrap().to_owned(), it["source"].as_str().unwrap().to_owned())
        };
        (of("model"), of("agent"))
    };
    let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    let ours = pair("copilot --acp", "default");
    let (model, agent) = named(&[], None);
    assert_eq!((model, &agent), (pair("claude-sonnet-4.5", "default"), &ours));
    let (model, agent) = named(&["--model", "gpt-5"], None);
    assert_eq!((model, &agent), (pair("gpt-5", "command line"), &ours));
    let provider = ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:9");
    let (model, agent) = named(&[], Some(provider));
    assert_eq!((model, &agent), (pair("(the provider's own)", "default"), &ours));
    let (model, agent) = named(&["--agent", &scripted], None);
    assert_eq!(model, pair("(the agent's own)", "default"));
    assert_eq!(agent, pair(&scripted, "command line"));
    // A long value does not run into the next column.
    let text = repo.ralph(&["doctor", "--agent", &scripted]).stdout;
    let (_, after) = text.split_once(&format!("{scripted}\n")).expect("a line of its own");
    assert!(after.starts_with(&format!("{:48}command line\n", "")), "{text}");
}

/// The installed CLI's own list decides whether our default can be asked for; it is read once.
#[test]
fn a_default_that_the_cli_does_not_list_is_left_to_the_cli() {
    let repo = Repo::new(THREE);
    let cli = repo.beside("copilot");
    let listing = |models: &[&str]| {
        let names: String = models.iter().map(|name| format!("    - \"{name}\"\n")).collect();
        let told = format!("  `model`: AI model\n{names}\n  `mouse`: x\n");
        let asked = repo.beside("asked");
        let text = format!(
            "#!/bin/sh\n[ \"$*\" = 'help config' ] || exit 1\necho >>'{}'\ncat <<'END'\n{told}END\n",
            asked.display()
        );
        // Another file, as another version is.
        std::fs::remove_file(&cli).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        std::fs::write(&cli, text)?;
        std::fs::set_permissions(&cli, std::fs::Permissions::from_mode(0o755))
    };
    let doctor = |args: &[&str]| {
        let mut command = repo.command(&["doctor", "--json"]);
        command.args(args).env("COPILOT_CLI_PATH", &cli);
        finish(command).json()
    };
    let model = |object: &Value| {
        let all = object["settings"].as_array().expect("settings");
        all.iter().find(|it| it["name"] == "model").expect("model")["value"].clone()
    };
    listing(&["claude-sonnet-5", "claude-sonnet-5.5", "gpt-6-sol", "mai-code"]).expect("a CLI");
    let object = doctor(&[]);
    assert_eq!(model(&object), "(the CLI's own)");
    let told = finding(&object, "model")["detail"].to_string();
    assert!(told.contains("does not list claude-sonnet-4.5, so it uses its own default"), "{told}");
    let object = doctor(&["--model", "claude-sonet-5"]);
    assert_eq!(model(&object), "claude-sonet-5");
    let told = finding(&object, "model")["detail"].to_string();
    assert!(told.contains("it lists claude-sonnet-5, claude-sonnet-5.5, "), "{told}");
    let asked = std::fs::read_to_string(repo.beside("asked")).expect("asked");
    assert_eq!(asked.lines().count(), 1, "the list is kept");
    listing(&["claude-sonnet-4.5", "claude-sonnet-5"]).expect("another CLI");
    let object = doctor(&[]);
    assert_eq!(model(&object), "claude-sonnet-4.5");
    assert!(finding(&object, "model").is_null(), "{object}");
    let asked = std::fs::read_to_string(repo.beside("asked")).expect("asked");
    assert_eq!(asked.lines().count(), 2, "the list of another version is read");
}

/// A limit that is mistyped would silently not hold.
#[test]
fn a_variable_that_is_none_is_refused_or_told() {
    let repo = Repo::new(THREE);
    let agent = repo.agent(HONEST);
    let with = |name: &str, words: &[&str]| {
        let mut command = repo.command(words);
        command.args(["--agent", &agent]).env(name, "1");
        finish(command)
    };
    for words in [&["run", "demo"][..], &["run", "demo", "--dry-run"], &["doctor", "demo"]] {
        let ran = with("RALPH_COPILOT_MAX_ITERATION", words);
        assert_eq!(ran.code, Some(7), "{words:?}: {}", ran.stderr);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains("unknown variable RALPH_COPILOT_MAX_ITERATION\n"), "{told}");
        assert!(told.contains("did you mean RALPH_COPILOT_MAX_ITERATIONS?"), "{told}");
    }
    assert_eq!((repo.subjects(), repo.status()), (Vec::new(), String::new()));
    // What is not even near may be somebody else's.
    let notice = "RALPH_COPILOT_IMAGE means nothing to this program";
    let ran = with("RALPH_COPILOT_IMAGE", &["doctor", "demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains(notice), "{}", ran.stdout);
    let ran = with("RALPH_COPILOT_IMAGE", &["run", "demo"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains(notice), "{}", ran.stdout);
}
