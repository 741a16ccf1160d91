//! `mcp install` and `mcp uninstall`.

use serde_json::Value;

use crate::TASK;
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
