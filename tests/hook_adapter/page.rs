//! The commands of docs/hooks.md do what stands beside them, and the acceptance script passes.

use std::process::Command;

use crate::project::{PROGRAM, Project};

/// The page's shell examples, each with the text that must be in its output.
fn examples() -> Vec<(String, Vec<String>)> {
    let page = include_str!("../../docs/hooks.md");
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks
        .map(|block| {
            let (expected, commands): (Vec<&str>, Vec<&str>) =
                block.lines().partition(|line| line.starts_with("#> "));
            let expected = expected.iter().map(|line| line[3..].to_owned()).collect();
            (commands.join("\n"), expected)
        })
        .collect()
}

#[test]
fn the_page_s_commands_print_what_it_says() {
    let project = Project::repository();
    std::os::unix::fs::symlink(PROGRAM, project.beside("bin/ralph-copilot")).expect("link");
    let examples = examples();
    assert!(examples.len() >= 6, "{examples:?}");
    for (commands, expected) in examples {
        let mut command = Command::new("sh");
        command.args(["-c", &commands]);
        let ended = project.run(command, "");
        let said = ended.stdout + &ended.stderr;
        assert!(!expected.is_empty(), "{commands}");
        for line in expected {
            // An empty expectation is an empty output.
            let holds = if line == "(nothing)" { said.is_empty() } else { said.contains(&line) };
            assert!(holds, "{commands}\nprinted {said:?}\nand not {line:?}");
        }
    }
}

#[test]
fn the_acceptance_script_passes() {
    let project = Project::new();
    let mut command = Command::new("sh");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/copilot-hooks-verify.sh");
    command.args([script, PROGRAM]);
    let ended = project.run(command, "");
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout.matches("\nok  ").count(), 11, "{}", ended.stdout);
    assert!(ended.stdout.ends_with("All tests passed\n"), "{}", ended.stdout);
}
