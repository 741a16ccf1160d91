//! The agent does not get the token.

use std::process::Stdio;

use super::{journal, notices, two};
use crate::repo::{Repo, collect, finish, until};
#[path = "../../support/tier.rs"]
mod tier;

use ralph_copilot::gateway::{GatewayToken, TokenFiles, token_folder};
use ralph_copilot::model::EventKind;

/// An agent that tries to read the token in several ways, and then works.
fn thief(repo: &Repo) -> String {
    let folder = repo.beside("home/.copilot/extensions/tap");
    let file = folder.join(".provider-token");
    let mut turns = String::from("turns:\n");
    for step in [
        format!("read: {file:?}"),
        format!("read: {:?}", folder.join(".gateway-port")),
        format!("read: {:?}", folder.join(".provider-token.lock")),
        format!("write: {{path: {file:?}, text: mine}}"),
        format!("run: {:?}", format!("cat {}", file.display())),
        format!("run: {:?}", format!("cp -r {} stolen", folder.display())),
        "run: \"cat ~/.copilot/extensions/tap/.provider-token > stolen.txt\"".to_owned(),
        "run: \"printenv TAP_PROVIDER_TOKEN\"".to_owned(),
    ] {
        turns.push_str(&format!("- match: a is there\n  times: 1\n  steps: [{{{step}}}]\n"));
    }
    turns
        + "- match: a is there\n  steps: [{write: {path: a.txt, text: a}}, {tick: \"{criterion}\"}, \
             {progress: did a}, {commit: a}]\n"
}

#[test]
fn the_guard_denies_every_way_to_the_token_in_each_tier() {
    for tier in ["off", "partial", "full"] {
        if !tier::has_tier(tier) {
            continue;
        }
        let repo = two();
        repo.write("flag", "");
        let sandbox = format!("--sandbox={tier}");
        let script = thief(&repo);
        let ran = repo.run(&script, &["--gateway=0", &sandbox, "--max-iterations", "9"]);
        let denied: Vec<_> = journal(&repo)
            .into_iter()
            .filter_map(|event| match event.kind {
                EventKind::ToolDecided { input, answer, rule, .. } => (answer
                    == ralph_copilot::model::Answer::Deny)
                    .then(|| (rule, input.to_string())),
                _ => None,
            })
            .collect();
        assert!(denied.len() >= 8, "{tier}: {denied:?} {}", ran.stderr);
        for event in journal(&repo) {
            let text = serde_json::to_string(&event).expect("JSON");
            assert!(!text.contains("ptk-"), "{tier}: {text}");
        }
        assert!(!repo.path("stolen").exists() && !repo.path("stolen.txt").exists(), "{tier}");
    }
}

/// A repository with this program, whose agent need not wait.
fn with_program(name: &str, text: &str) -> Repo {
    let repo = two();
    repo.write("flag", "");
    repo.write(name, text);
    repo.commit("a program");
    repo
}

/// A program that the guard does not see through: it looks for the token wherever it may be.
const SNEAKY: &str = "\
home=$(getent passwd $(id -u) | cut -d: -f6)
for base in \"$HOME\"/.cop* \"$home\"/.cop* ../cli-home \"$COPILOT_HOME\"; do
  cat $base/ext*/t*p/.prov*ken >> found.txt 2>/dev/null
done
tr '\\0' '\\n' < /proc/$PPID/environ | grep TAP >> found.txt 2>/dev/null
: >> found.txt
";

#[test]
fn a_program_in_a_sandbox_does_not_find_the_token() {
    let places = [None, Some("cli-home")];
    for (tier, place) in
        ["partial", "full"].into_iter().flat_map(|tier| places.map(|place| (tier, place)))
    {
        if !tier::has_tier(tier) {
            continue;
        }
        let repo = with_program("look.sh", SNEAKY);
        let script = "turns:\n- match: a is there\n  steps: [{run: sh look.sh}]\n";
        let sandbox = format!("--sandbox={tier}");
        let args = ["--gateway=0", &sandbox, "--max-iterations", "1", "--json"];
        let mut command = repo.run_command(script, &args);
        if let Some(place) = place {
            command.env("COPILOT_HOME", repo.beside(place));
        }
        let ran = finish(command);
        assert!(ran.stdout.contains("look.sh"), "{tier}: it ran");
        let found = repo.read("found.txt");
        assert!(!found.contains("ptk-") && !found.contains("TAP_PROVIDER"), "{tier}: {found}");
    }
}

/// A program that moves what is above the token's folder, and one that looks there afterwards.
const MOVE: &str = "\
touch ~/.copilot/new 2>/dev/null && echo new >> found.txt
mv ~/.copilot/extensions ~/.copilot/e2 2>/dev/null && echo moved >> found.txt
cat ~/.copilot/*/tap/.provider-token >> found.txt 2>/dev/null
: >> found.txt
";

/// Turns of an agent that moves the folder, dies, and looks again.
const TWICE: &str = "\
turns:
- match: a is there
  times: 1
  steps: [{run: sh move.sh}, {die: {exit: 1}}]
- match: a is there
  steps: [{run: sh move.sh}]
";

#[test]
fn a_folder_above_the_token_is_neither_moved_nor_read_by_the_next_agent() {
    for tier in ["partial", "full"] {
        if !tier::has_tier(tier) {
            continue;
        }
        let repo = with_program("move.sh", MOVE);
        std::fs::create_dir_all(repo.beside("home/.copilot")).expect("made");
        let sandbox = format!("--sandbox={tier}");
        let args = ["--gateway=0", &sandbox, "--max-iterations", "2", "--json"];
        let ran = finish(repo.run_command(TWICE, &args));
        assert!(ran.stdout.contains("move.sh"), "{tier}: it ran");
        let found = repo.read("found.txt");
        assert!(!found.contains("ptk-"), "{tier}: {found}");
        let home = repo.beside("home/.copilot");
        assert!(!home.join("new").exists() && !home.join("e2").exists(), "{tier}");
        let tap = home.join("extensions/tap");
        assert!(tap.is_dir() && !tap.join(".provider-token").exists(), "{tier}");
    }
}

/// The scripted agent under the name of the Copilot CLI, but not started as that: it writes
/// `~/.copilot`.
fn named_copilot(repo: &Repo, turns: &str) -> String {
    let named = repo.beside("bin/copilot");
    std::fs::create_dir_all(repo.beside("bin")).expect("made");
    // A copy: the folder of the build may lie in another HOME, which the sandbox hides.
    let built = env!("CARGO_BIN_EXE_ralph-copilot");
    std::fs::hard_link(built, &named)
        .or_else(|_| std::fs::copy(built, &named).map(drop))
        .expect("made");
    let script = repo.beside("named.yaml");
    std::fs::write(&script, turns).expect("written");
    format!("{} agent {}", named.display(), script.display())
}

/// Another repository's run begins while an agent works here.
#[test]
fn a_token_that_comes_later_is_hidden_from_an_agent_at_work() {
    if !tier::has_tier("full") {
        return;
    }
    let repo = two();
    repo.write("look.sh", "ls ~/.copilot > begun\nsh wait.sh\nsh move.sh\n");
    repo.write("move.sh", MOVE);
    repo.write(".gitignore", "flag\nbegun\nfound.txt\n");
    repo.commit("a program");
    let home = repo.beside("home/.copilot");
    std::fs::create_dir_all(&home).expect("made");
    let turns = "turns:\n- match: a is there\n  steps: [{run: sh look.sh}]\n";
    let agent = named_copilot(&repo, turns);
    let all =
        ["run", "demo", "--agent", &agent, "--sandbox=full", "--max-iterations", "1", "--json"];
    let mut command = repo.command(&all);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().expect("started");
    until("the agent", || repo.path("begun").exists().then_some(()));
    let token = GatewayToken::generate().expect("random");
    let files = TokenFiles::write(token_folder(&home), &token, None, 1).expect("written");
    repo.write("flag", "");
    let ran = collect(run);
    drop(files);
    let found = repo.read("found.txt");
    assert!(found.contains("new") && !found.contains("ptk-"), "{found} {}", ran.stderr);
}

#[test]
fn an_agent_that_writes_the_copilot_home_gets_no_token_there() {
    for tier in ["partial", "full"] {
        if !tier::has_tier(tier) {
            continue;
        }
        let repo = with_program("move.sh", MOVE);
        std::fs::create_dir_all(repo.beside("home/.copilot/extensions/tap")).expect("made");
        let agent = named_copilot(&repo, TWICE);
        let sandbox = format!("--sandbox={tier}");
        let args = ["--gateway=0", &sandbox, "--max-iterations", "2", "--json"];
        let all = [&["run", "demo", "--agent", &agent][..], &args].concat();
        let ran = finish(repo.command(&all));
        let found = std::fs::read_to_string(repo.path("found.txt"))
            .unwrap_or_else(|_| panic!("{tier}: {}{}", ran.stdout, ran.stderr));
        // It does write its own folder.
        assert!(found.contains("new"), "{tier}: {found} {}", ran.stdout);
        assert!(!found.contains("ptk-"), "{tier}: {found}");
        let hidden = notices(&repo).iter().any(|text| text.contains("cannot hide a token file"));
        assert_eq!(hidden, tier == "partial", "{:?}", notices(&repo));
        assert_eq!(found.contains("moved"), tier == "partial", "{found}");
    }
}
