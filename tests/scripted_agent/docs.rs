//! docs/scripted-agent.md says what the code does.

use ralph_copilot::agent::scripted::AgentScript;

const DOCS: &str = include_str!("../../docs/scripted-agent.md");

/// The keys that an error message lists as the known ones.
fn known(script: &str) -> Vec<String> {
    let message = AgentScript::parse(script).expect_err("an unknown key").to_string();
    let (_, list) = message.split_once("expected one of ").expect("a list");
    list.lines().next().unwrap_or_default().split(", ").map(str::to_owned).collect()
}

#[test]
fn every_example_is_a_script() {
    let blocks: Vec<&str> = DOCS
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("an end").0)
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        AgentScript::parse(block).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_key_is_explained() {
    for script in [
        "nothing: 1",
        "turns:\n- nothing: 1",
        "turns:\n- steps:\n  - nothing: 1",
        "turns:\n- ask: nothing",
        "turns:\n- on_reject: nothing",
        "mode: nothing",
        "ignore: [nothing]",
        "die: {at: nothing, by: kill}",
    ] {
        let keys = known(script);
        assert!(keys.len() > 1, "{script}");
        for key in keys {
            let told = [format!("`{key}`"), format!("`{key}:"), format!("[{key}]")];
            assert!(told.iter().any(|form| DOCS.contains(form.as_str())), "{key} in {script}");
        }
    }
}
