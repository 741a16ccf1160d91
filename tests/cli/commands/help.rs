//! `--help`, `--version`, `completions`, `man`.

use crate::repo::{Repo, finish};

#[test]
fn help_for_a_stranger() {
    let repo = Repo::empty();
    let ran = repo.ralph(&["--help"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("help", ran.stdout);
    for command in [
        "run", "demo", "agent", "init", "check", "status", "log", "retry", "tick", "doctor",
        "classify", "policy",
    ] {
        let ran = repo.ralph(&[command, "--help"]);
        assert_eq!(ran.code, Some(0));
        insta::assert_snapshot!(format!("help_{command}"), ran.stdout);
    }
}

/// What `agent --help` shows is a script.
#[test]
fn the_help_of_the_scripted_agent_has_a_script_that_works() {
    let repo = Repo::new("# T\n\n- [ ] a greeting\n  - verify: `sh greet.sh | grep -qx Hello!`\n");
    let help = repo.ralph(&["agent", "--help"]).stdout;
    let script: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "turns:")
        .take_while(|line| !line.is_empty())
        .collect();
    let ran = repo.run(&script.join("\n"), &["--max-iterations", "2"]);
    assert_eq!(ran.code, Some(0), "{help}\n{}", ran.stdout);
}

#[test]
fn nothing_at_all_is_a_usage_error_that_helps() {
    let repo = Repo::empty();
    let ran = repo.ralph(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: ralph-copilot"), "{}", ran.stderr);
}

#[test]
fn version() {
    let ran = Repo::empty().ralph(&["--version"]);
    let expected = concat!("ralph-copilot ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected));
}

#[test]
fn completions_know_every_command() {
    let repo = Repo::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = repo.ralph(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["demo", "doctor", "max-iterations", "completions"] {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
    }
    let path = repo.beside("complete.sh");
    std::fs::write(&path, repo.ralph(&["completions", "bash"]).stdout).expect("written");
    let mut bash = std::process::Command::new("bash");
    bash.arg("-n").arg(path);
    assert_eq!(finish(bash).code, Some(0));
}

#[test]
fn the_manual_page_is_a_page_and_names_the_commands() {
    let repo = Repo::empty();
    let ran = repo.ralph(&["man"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains(".TH ralph-copilot 1"), "{}", ran.stdout);
    for word in [r"ralph\-copilot\-doctor(1)", r"\-\-max\-iterations"] {
        assert!(ran.stdout.contains(word), "{word} in {}", ran.stdout);
    }
}
