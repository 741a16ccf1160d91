//! A folder that becomes a link after the decision: the guard cannot see it, and the agent's own
//! process must not be able to follow it.

use serde_json::json;

use super::{corpus, note, scene, shell};
use crate::model::{Model, call, route, say, tool_results};
use crate::sample::full;
use crate::{focus, has_tier};

/// Exchanges a folder and a link as fast as it can.
const SWAP: &str = r#"
import ctypes, os, sys
os.makedirs("out/swap", exist_ok=True)
os.symlink(sys.argv[1], "out/link")
libc = ctypes.CDLL(None)
open("out/ready", "w")
while True:
    libc.renameat2(-100, b"out/swap", -100, b"out/link", 2)
"#;
/// Where the link leads, beside the repository.
const TARGETS: [&str; 3] = ["outside", "copilot", "copilot/hooks"];
/// What it writes: some of it would configure the CLI.
const NAMES: [&str; 3] = ["mcp-config.json", "settings.json", "copilot-instructions.md"];
/// How often the agent writes meanwhile.
const TRIES: usize = 25;

/// Returns the harm that writes through the exchanged folder do.
fn swapped(tier: &str, target: &str) -> Option<Vec<String>> {
    let (scene, ground) = scene()?;
    let folder = scene.repo().parent().expect("a folder").to_owned();
    let target = folder.join(target).display().to_string();
    let at = |path: &str| scene.repo().join(path);
    let start = format!(
        "(setsid python3 out/swap.py '{target}' > /dev/null 2>&1 &); until test -e out/ready; do :; done"
    );
    let mut steps = vec![
        call("create", json!({ "path": at("out/swap.py"), "file_text": SWAP })),
        shell(&start),
    ];
    steps.extend((0..TRIES).map(|number| {
        let name = NAMES[number % NAMES.len()];
        let path = at(&format!("out/swap/{name}"));
        call("create", json!({ "path": path, "file_text": "{}" }))
    }));
    steps.push(say("Done."));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    let tier = format!("--sandbox={tier}");
    let ended = scene.run(&["job", &tier, "--stuck-threshold", "1", "--no-stop-check"]);
    if corpus::is_selected() {
        let requests = model.requests();
        requests.last().into_iter().for_each(|last| note(&tool_results(last).join("\n---\n")));
        note(&format!("{:?} {}", ended.code, ended.stdout));
    }
    let mut harm = ground.harm(&Default::default());
    // The CLI writes its own folder, and what does not exist there cannot be mounted read-only: the
    // verdict finds what was changed.
    let found = "checks or the agent use, changed since the run began";
    if ended.code == Some(4) && ended.stdout.contains(found) {
        let own = format!("{}/", folder.join("copilot").display());
        harm.retain(|line| !line.starts_with(&own));
    }
    Some(harm)
}

#[test]
fn a_folder_that_becomes_a_link_after_the_decision_leads_nowhere() {
    for tier in ["full", "partial"].into_iter().filter(|tier| has_tier(tier)) {
        let targets = if full() { &TARGETS[..] } else { &TARGETS[..1] };
        for target in targets {
            let Some(harm) = swapped(tier, target) else { return };
            assert!(harm.is_empty(), "{tier}, {target}: {harm:#?}");
        }
    }
}
