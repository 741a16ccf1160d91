//! `mcp install` and `mcp uninstall`.

use serde_json::{Value, json};

use crate::TASK;
use crate::mcp::{client as client_sees, server, tool};
use crate::repo::Repo;

/// Each client: its file beside the repository, the keys to its servers, a field of the entry.
const CLIENTS: [(&str, &str, &str, &str); 4] = [
    ("claude", "repo/.mcp.json", "/mcpServers/ralph-copilot", "/args/0"),
    ("vscode", "repo/.vscode/mcp.json", "/servers/ralph-copilot", "/type"),
    ("copilot", "home/.copilot/mcp-config.json", "/mcpServers/ralph-copilot", "/tools/0"),
    ("openclaw", "home/.openclaw/openclaw.json", "/mcp/servers/ralph-copilot", "/args/0"),
];

fn text(repo: &Repo, file: &str) -> String {
    std::fs::read_to_string(repo.beside(file)).unwrap_or_default()
}

#[test]
fn each_client_gets_its_entry_and_loses_it_again() {
    for (client, file, entry, field) in CLIENTS {
        let repo = Repo::new(TASK);
        let printed = repo.ralph(&["mcp", "install", client, "--print"]);
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        assert!(printed.stdout.contains("\"ralph-copilot\""), "{}", printed.stdout);
        assert_eq!(text(&repo, file), "", "--print writes nothing");
        let ran = repo.ralph(&["mcp", "install", client, "--allow-task", "demo"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stdout.contains("Coding with Copilot"), client == "openclaw");
        let written: Value = serde_json::from_str(&text(&repo, file)).expect("JSON");
        let entry = written.pointer(entry).expect("an entry");
        assert!(entry["args"].to_string().contains("\"--allow-task\",\"demo\""), "{entry}");
        assert!(entry.pointer(field).is_some(), "{entry}");
        let ran = repo.ralph(&["mcp", "uninstall", client]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!repo.beside(file).exists(), "{}", text(&repo, file));
        let folder = repo.beside(file).parent().expect("a folder").to_owned();
        assert_eq!(folder.exists(), client == "claude", "a folder that is empty goes, too");
        let again = repo.ralph(&["mcp", "uninstall", client]);
        assert!(again.stdout.contains("there is no `ralph-copilot`"), "{}", again.stdout);
    }
}

#[test]
fn what_others_wrote_stays_and_what_is_broken_is_left_alone() {
    let repo = Repo::new(TASK);
    let theirs = "{\n  // ours\n  \"servers\": { \"x\": { \"command\": \"y\" } }\n}\n";
    repo.write(".vscode/mcp.json", theirs);
    assert_eq!(repo.ralph(&["mcp", "install", "vscode"]).code, Some(0));
    let added = repo.read(".vscode/mcp.json");
    assert!(
        added.contains("// ours") && added.contains("\"x\": { \"command\": \"y\" }"),
        "{added}"
    );
    assert_eq!(repo.ralph(&["mcp", "uninstall", "vscode"]).code, Some(0));
    assert!(repo.read(".vscode/mcp.json").contains("// ours"));
    repo.write(".mcp.json", "{ \"mcpServers\": ");
    let ran = repo.ralph(&["mcp", "install", "claude"]);
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.contains(".mcp.json was left as it is"), "{}", ran.stderr);
    assert_eq!(repo.read(".mcp.json"), "{ \"mcpServers\": ");
}

#[test]
fn only_what_install_made_goes_again() {
    let repo = Repo::new(TASK);
    let theirs = "{\n  // ours\n  \"inputs\": []\n}\n";
    repo.write(".vscode/mcp.json", theirs);
    assert_eq!(repo.ralph(&["mcp", "install", "vscode"]).code, Some(0));
    assert!(repo.read(".vscode/mcp.json").contains("\"servers\""));
    assert_eq!(repo.ralph(&["mcp", "uninstall", "vscode"]).code, Some(0));
    assert_eq!(repo.read(".vscode/mcp.json"), theirs);
}

#[test]
fn a_folder_that_holds_something_or_is_a_link_stays() {
    let repo = Repo::with(TASK, &[(".vscode/settings.json", "{}\n")]);
    assert_eq!(repo.ralph(&["mcp", "install", "vscode"]).code, Some(0));
    assert_eq!(repo.ralph(&["mcp", "uninstall", "vscode"]).code, Some(0));
    assert_eq!(repo.read(".vscode/settings.json"), "{}\n");
    assert!(!repo.path(".vscode/mcp.json").exists());
    let repo = Repo::new(TASK);
    std::fs::create_dir(repo.path("editor")).expect("made");
    std::os::unix::fs::symlink("editor", repo.path(".vscode")).expect("a link");
    assert_eq!(repo.ralph(&["mcp", "install", "vscode"]).code, Some(0));
    assert!(repo.path("editor/mcp.json").exists());
    assert_eq!(repo.ralph(&["mcp", "uninstall", "vscode"]).code, Some(0));
    assert!(repo.path(".vscode").is_symlink() && repo.path("editor").is_dir());
    assert!(!repo.path("editor/mcp.json").exists());
}

/// A client starts a server where it was started itself, and that of a user anywhere.
#[test]
fn each_client_s_server_starts_outside_of_a_repository_and_says_so() {
    for (client, file, entry, _) in CLIENTS {
        let repo = Repo::new(TASK);
        // With a task, the entry of the Copilot CLI names the repository, too.
        let task: &[_] = if client == "copilot" { &[] } else { &["--allow-task", "demo"] };
        let ran = repo.ralph(&[&["mcp", "install", client], task].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let written: Value = serde_json::from_str(&text(&repo, file)).expect("JSON");
        let entry = written.pointer(entry).expect("an entry");
        let outside = repo.beside("outside");
        std::fs::create_dir(&outside).expect("made");
        let mut server = server(repo.command(&[]).current_dir(&outside));
        server["command"] = entry["command"].clone();
        server["args"] = entry["args"].clone();
        // OpenClaw's entry names the repository.
        let (tools, calls) = if client == "openclaw" {
            (7, vec![tool("copilot_list_files", json!({}))])
        } else {
            let task = json!({"task": "demo"});
            let look = ["check_task", "run_task", "task_status", "task_log"];
            let look = look.map(|name| tool(name, task.clone()));
            (5, [look.to_vec(), vec![tool("policy_check", json!({"command": "ls"}))]].concat())
        };
        let Some(seen) = client_sees(&json!({"server": server, "calls": calls})) else { return };
        assert_eq!(seen.tools().len(), tools, "{client}");
        for at in 0..calls.len() {
            let (failed, text) = seen.result(at);
            assert_eq!(failed, client != "openclaw", "{client}: {text}");
            let why =
                "is not inside a git repository: start the MCP client in a repository, or put";
            assert!(!failed || text.contains(why) && text.lines().count() == 1, "{text}");
        }
    }
}

#[test]
fn a_code_task_outside_of_a_repository_says_so() {
    let repo = Repo::new(TASK);
    let mut server =
        server(repo.command(&["mcp", "serve", "--tools", "plugin"]).current_dir(repo.beside("")));
    server["env"]["RALPH_COPILOT_AGENT"] = json!(repo.agent("turns: [{steps: [{say: Hello.}]}]"));
    let calls = [
        tool("copilot_code", json!({"task": "work"})),
        tool("copilot_orchestrate", json!({"task": "work"})),
        tool("copilot_code", json!({"task": "work", "workingDir": "repo"})),
        tool("copilot_code", json!({"task": "work", "workingDir": "repo", "model": "a\u{1b}[2J"})),
    ];
    let Some(seen) = client_sees(&json!({"server": server, "calls": calls})) else { return };
    for (at, advice) in [(0, "name a `workingDir`"), (1, "start the MCP client")] {
        let (failed, text) = seen.result(at);
        let why = format!("is not inside a git repository: {advice}");
        assert!(failed && text.contains(&why) && text.lines().count() == 1, "{text}");
    }
    assert!(!seen.result(2).0, "{}", seen.result(2).1);
    assert_eq!(seen.result(3), (true, "`model` contains a control character"));
}

#[test]
fn the_file_behind_a_link_changes_and_the_link_stays() {
    let repo = Repo::with(TASK, &[("conf/mcp.json", "{\n  \"inputs\": []\n}\n")]);
    std::os::unix::fs::symlink("conf/mcp.json", repo.path(".mcp.json")).expect("a link");
    assert_eq!(repo.ralph(&["mcp", "install", "claude"]).code, Some(0));
    assert!(repo.path(".mcp.json").is_symlink());
    let behind = repo.read("conf/mcp.json");
    assert!(behind.contains("ralph-copilot") && behind.contains("inputs"), "{behind}");
    assert_eq!(repo.ralph(&["mcp", "uninstall", "claude"]).code, Some(0));
    assert!(repo.path(".mcp.json").is_symlink());
    assert_eq!(repo.read("conf/mcp.json"), "{\n  \"inputs\": []\n}\n");
    // A file that held nothing else stays, for the link's sake.
    repo.write("conf/mcp.json", "");
    assert_eq!(repo.ralph(&["mcp", "install", "claude"]).code, Some(0));
    assert_eq!(repo.ralph(&["mcp", "uninstall", "claude"]).code, Some(0));
    assert!(repo.path(".mcp.json").is_symlink());
    assert_eq!(repo.read("conf/mcp.json"), "{}\n");
}

#[test]
fn a_link_out_of_the_repository_is_left_alone() {
    let repo = Repo::new(TASK);
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::write(outside.join("mcp.json"), "{}\n").expect("written");
    std::os::unix::fs::symlink(outside.join("mcp.json"), repo.path(".mcp.json")).expect("a link");
    std::os::unix::fs::symlink(&outside, repo.path(".vscode")).expect("a link");
    for client in ["claude", "vscode"] {
        for command in ["install", "uninstall"] {
            let ran = repo.ralph(&["mcp", command, client]);
            assert_eq!(ran.code, Some(7), "{command} {client}: {}", ran.stdout);
            assert!(ran.stderr.contains("leads out of the repository"), "{}", ran.stderr);
        }
    }
    assert_eq!(text(&repo, "outside/mcp.json"), "{}\n");
    assert_eq!(std::fs::read_dir(outside).expect("listed").count(), 1);
}

#[test]
fn the_help_names_the_tools_of_each_client() {
    let repo = Repo::new(TASK);
    let install = repo.ralph(&["mcp", "install", "--help"]).stdout;
    assert!(install.contains("[default: loop; for openclaw: plugin and bridge]"), "{install}");
    let serve = repo.ralph(&["mcp", "serve", "--help"]).stdout;
    assert!(serve.contains("[default: loop]"), "{serve}");
}
