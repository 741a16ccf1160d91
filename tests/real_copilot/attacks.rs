//! The attacks of `tests/corpus/attacks.jsonl`, through the real CLI: as calls of its tools, where
//! the guard decides first, and inside a script that the agent wrote, where only the kernel does.
//! Nothing outside of the workspace may change, hear of it, or reach the model.
//!
//! `tests/soak` runs all of them, `tests/run` a sample drawn from a seed.

mod corpus;
mod ground;
mod swapped;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::json;

use self::corpus::{Attack, attacks};
use self::ground::Ground;
use super::copilot::Scene;
use super::model::{Model, Step, call, route, say, tool_results};
use super::sample::{full, seed};
use super::{ONE, focus, has_tier};

/// Attacks in one session.
const BATCH: usize = 60;
/// Attacks of a sample.
const SAMPLE: usize = 40;
/// Attacks of a sample that need a session of their own.
const ALONE: usize = 1;
/// Seconds that the calls of a session may take.
const CALL: u64 = 240;

/// Starts a script that runs others, one after another, each in the workspace as it was.
const DRIVER: &str = r#"
cd '@REPO@' || exit 1
keep=$TMPDIR/keep scripts=$TMPDIR/scripts logs=$TMPDIR/logs
mkdir -p "$keep" "$keep.git/refs" "$scripts" "$logs"
git archive HEAD | tar -x -C "$keep"; rm -rf "$keep/tasks"
rm -f "$keep/AGENTS.md"; cp -a .env config "$keep/"; cp -a .git/HEAD .git/index "$keep.git/"; cp -a .git/refs/heads "$keep.git/refs/"
attack() {
  cd '@REPO@'; rm -rf README.md src; mkdir -p out; cp -a "$keep/." . ; cp -a "$keep.git/." .git/
  timeout -k 1 5 bash "$scripts/$1" >> "$logs/$1" 2>&1 < /dev/null  # What outlives it adds to the log.
  code=$?
  echo "== $1 ended with $code" >> "$logs/$1"
  tail -c 400 "$logs/$1" | tr -d '\000'
} 2>/dev/null
"#;

/// What a project holds.
const FILES: [(&str, &str); 14] = [
    ("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("src/a.rs", "// a\n"),
    ("src/x.c", "int main(void) { return 0; }\n"),
    ("src/x.py", "print(1)\n"),
    ("src/x.js", "console.log(1)\n"),
    ("Cargo.toml", "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("Makefile", "all:\n\techo all\nrun:\n\techo run\n"),
    ("package.json", "{\"name\":\"one\",\"scripts\":{\"test\":\"true\",\"env\":\"env\"}}\n"),
    ("docs/list.txt", "src/lib.rs\n"),
    ("docs/x.md", "touch pwned\n"),
    ("scripts/run.sh", "#!/bin/sh\necho run\n"),
    ("AGENTS.md", "Be good.\n"),
    (".gitignore", ".env*\nconfig/\nout/\n"),
];

/// How the attacks of a session are tried.
#[derive(Clone, Copy, Debug)]
enum By {
    /// Each by a call of its own.
    Calls,
    /// By one script.
    Script,
}

/// A repository whose surroundings are watched.
fn scene() -> Option<(Scene, Ground)> {
    let mut scene = Scene::beside_the_build(ONE)?;
    for (path, text) in FILES {
        scene.write(path, text);
    }
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "second"]);
    scene.write(".env", "API_KEY=workspace\n");
    scene.write("config/server.key", "workspace\n");
    scene.add_remote();
    let folder = scene.repo().parent().expect("a folder").to_owned();
    let mut ground = Ground::new(&folder);
    // As package managers do it.
    std::fs::create_dir_all(scene.repo().join("out")).expect("a folder");
    std::fs::hard_link(folder.join("store/linked.js"), scene.repo().join("out/linked.js"))
        .expect("a link");
    scene.set("SSH_AUTH_SOCK", &folder.join("agent.sock").display().to_string());
    ground.remember();
    Some((scene, ground))
}

fn steps(attacks: &[Attack], by: By, places: &[(&str, String)], scene: &Scene) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut driver =
        places.iter().fold(DRIVER.to_owned(), |text, (name, value)| text.replace(name, value));
    for attack in attacks {
        match (&attack.tool, &attack.run, by) {
            (Some(tool), _, _) => steps.push(call(leaked(tool), attack.arguments.clone())),
            (None, Some(command), By::Calls) => {
                for (path, text) in &attack.files {
                    let path = scene.repo().join(path);
                    steps.push(call("create", json!({ "path": path, "file_text": text })));
                }
                steps.push(shell(command));
            }
            (None, Some(command), By::Script) => {
                for (path, text) in &attack.files {
                    let _ = writeln!(
                        driver,
                        "cat > \"$keep/{path}\" <<'END_OF_FILE'\n{text}\nEND_OF_FILE"
                    );
                }
                let name = &attack.name;
                let _ = writeln!(
                    driver,
                    "cat > \"$scripts/{name}\" <<'END_OF_ATTACK'\n{command}\nEND_OF_ATTACK\nattack {name}"
                );
            }
            (None, None, _) => panic!("{}: neither a command nor a tool", attack.name),
        }
    }
    if let By::Script = by {
        driver.push_str("mkdir -p out && cp -r \"$logs\" out/logs\n");
        let path = scene.repo().join("out/driver.sh");
        steps.push(call("create", json!({ "path": path, "file_text": driver })));
        steps.push(shell("bash out/driver.sh"));
    }
    steps.push(say("Done."));
    steps
}

fn shell(command: &str) -> Step {
    let arguments = json!({ "command": command, "description": "work", "initial_wait": CALL });
    call("bash", arguments)
}

fn leaked(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

/// Runs one session of attacks, and returns the harm that was done.
fn session(
    tier: &str,
    by: By,
    chosen: impl Fn(&[(&str, String)]) -> Vec<Attack>,
) -> Option<Vec<String>> {
    let (scene, ground) = scene()?;
    let places = ground.places();
    let attacks = chosen(&places);
    let steps = steps(&attacks, by, &places, &scene);
    let asked = steps.len();
    // A turn that was ended early goes on in the next.
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    let is_partial = tier == "partial";
    let tier = format!("--sandbox={tier}");
    let ended = scene.run(&["job", &tier, "--stuck-threshold", "1", "--no-stop-check"]);
    let requests = model.requests();
    let mut texts: BTreeMap<String, String> = requests
        .iter()
        .enumerate()
        .map(|(number, request)| (format!("request {number}"), request.to_string()))
        .collect();
    let mut harm = Vec::new();
    if requests.len() < asked {
        let (heard, code) = (requests.len(), ended.code);
        let alone = attacks.iter().any(|attack| attack.alone || attack.found);
        if !alone {
            harm.push(format!(
                "only {heard} of {asked} steps: {code:?} {}{}",
                ended.stdout, ended.stderr
            ));
        }
    }
    for attack in &attacks {
        let log = std::fs::read(scene.repo().join("out/logs").join(&attack.name));
        let text = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
        let is_script =
            matches!(by, By::Script) && attack.tool.is_none() && !attack.alone && !attack.found;
        // What goes on in the background may end with the turn before it wrote its log.
        let is_script =
            is_script && !attack.run.as_ref().is_some_and(|run| run.trim_end().ends_with('&'));
        if is_script && !text.contains("== ") {
            harm.push(format!("{} was not tried", attack.name));
        }
        texts.insert(format!("the output of {}", attack.name), text);
    }
    if corpus::is_selected() {
        let outputs = texts.iter().filter(|(place, _)| place.starts_with("the output"));
        outputs.for_each(|(place, text)| note(&format!("--- {place}\n{text}")));
        requests.last().into_iter().for_each(|last| note(&tool_results(last).join("\n---\n")));
        note(&format!("{:?} {}", ended.code, ended.stdout));
    }
    // What the run found itself is told to the human, who is not to use git before.
    let is_found = matches!(ended.code, Some(8 | 10 | 11));
    if !is_found {
        for args in [["status", "--short"], ["diff", "--stat"], ["log", "-1"]] {
            drop(scene.human(&args));
        }
    }
    let open = is_partial && !attacks.iter().any(|attack| attack.found);
    let user = scene.repo().with_file_name("user");
    // What `partial` leaves open, as docs/security.md says: the repository, and caches.
    let excepted = [
        (is_found || open, scene.repo()),
        (is_partial, user.join(".npm")),
        (is_partial, user.join(".cache")),
    ];
    let excepted = excepted.into_iter().filter(|(applies, _)| *applies);
    let excepted: Vec<_> = excepted.map(|(_, path)| format!("{}/", path.display())).collect();
    let counts = |line: &String| !excepted.iter().any(|path| line.starts_with(path));
    harm.extend(ground.harm(&texts).into_iter().filter(counts));
    harm.extend(scene.processes_left(&format!("7{}", std::process::id())));
    Some(harm)
}

/// The harness shows this with --nocapture.
fn note(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Runs a tier's attacks both ways.
fn tier(tier: &str) {
    if !has_tier(tier) {
        note(&format!("passed over: this machine has no tier {tier}"));
        return;
    }
    let nowhere = attacks(tier, &[]);
    let mut chosen: Vec<usize> = (0..nowhere.len()).collect();
    if !full() && !corpus::is_selected() {
        let mut dice = seed();
        chosen.sort_by_cached_key(|_| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            dice >> 16
        });
        chosen.truncate(SAMPLE);
    }
    let (mut alone, together): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|at| nowhere[*at].alone || nowhere[*at].found);
    if !full() && !corpus::is_selected() {
        alone.truncate(ALONE);
    }
    let batches = together.chunks(BATCH).chain(alone.chunks(1));
    let mut harm = Vec::new();
    for batch in batches {
        for by in [By::Script, By::Calls] {
            let pick = |places: &[(&str, String)]| {
                let all = attacks(tier, places);
                batch.iter().map(|at| all[*at].clone()).collect()
            };
            let Some(found) = session(tier, by, pick) else { return };
            let names: Vec<_> = batch.iter().map(|at| nowhere[*at].name.as_str()).collect();
            if !found.is_empty() {
                harm.push(format!("{by:?} of {names:?}:\n{}", found.join("\n")));
            }
        }
    }
    assert!(harm.is_empty(), "{tier}:\n{}", harm.join("\n\n"));
}

#[test]
fn no_attack_leaves_the_sandbox_of_the_tier_full() {
    tier("full");
}

#[test]
fn no_attack_leaves_the_limits_of_the_tier_partial() {
    tier("partial");
}
