//! What a fleet costs besides its agents and its checks.
//!
//! The plan of a round over 50 criteria: the time of `list --ready --json` (at most 2 s). And `land`
//! of 21 bundles against 1: the time that each of 20 adds, without what their checks take (at most
//! 100 ms). `cargo bench --bench fleet` prints medians, and the ratio of 21 bundles to one.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[expect(dead_code, reason = "other benchmarks use more of it")]
#[path = "support/imported.rs"]
mod imported;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use imported::{Outcome, git, median};
use ralph_copilot::model::{Activity, Event, EventKind};

const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");
const ROUNDS: usize = 3;
const CRITERIA: usize = 50;
const BUNDLES: usize = 20;

fn main() -> Outcome<()> {
    let dir = tempfile::TempDir::new()?;
    let dir = dir.path().canonicalize()?;
    let hub = hub(&dir)?;
    let bundles = (0..=BUNDLES).map(|it| bundle(&hub, &dir, it)).collect::<Outcome<Vec<_>>>()?;
    let (mut plans, mut one, mut all) = (vec![], vec![], vec![]);
    let mut checks = Duration::ZERO;
    for round in 0..ROUNDS {
        plans.push(timed(command(&hub).args(["list", "--ready", "demo", "--json"]))?);
        let few = land(&hub, &dir.join(format!("few-{round}")), &bundles[..1])?;
        let many = land(&hub, &dir.join(format!("many-{round}")), &bundles)?;
        one.push(few.0);
        all.push(many.0);
        checks = many.1.saturating_sub(few.1);
    }
    let (plan, one, all) = (median(plans), median(one), median(all));
    let each = all.saturating_sub(one).saturating_sub(checks) / u32::try_from(BUNDLES)?;
    println!("  plan of {CRITERIA} criteria  {:>8.2} s", plan.as_secs_f64());
    println!("  land, 1 bundle       {:>8.2} s", one.as_secs_f64());
    println!("  land, {} bundles     {:>8.2} s", BUNDLES + 1, all.as_secs_f64());
    println!("  {} bundles / one     {:>8.2}", BUNDLES + 1, all.as_secs_f64() / one.as_secs_f64());
    println!("  checks of {BUNDLES}         {:>8.2} s", checks.as_secs_f64());
    println!("  each besides checks  {:>8.0} ms", each.as_secs_f64() * 1000.0);
    Ok(())
}

fn command(root: &Path) -> Command {
    let mut command = Command::new(RUNNER);
    command.current_dir(root).env("HOME", root.with_file_name("home"));
    command
}

fn timed(command: &mut Command) -> Outcome<Duration> {
    let begun = Instant::now();
    let output = command.output()?;
    let took = begun.elapsed();
    match output.status.code() {
        Some(0) => Ok(took),
        code => Err(format!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn hub(dir: &Path) -> Outcome<PathBuf> {
    let root = dir.join("hub");
    fs::create_dir_all(root.join("tasks/demo"))?;
    fs::create_dir_all(dir.join("home"))?;
    let mut text = "# Fifty\n\n".to_owned();
    for number in 0..CRITERIA {
        writeln!(text, "- [ ] file f{number} is there\n  - verify: `test -e f{number}`")?;
        writeln!(text, "  - id: c{number}")?;
    }
    fs::write(root.join("tasks/demo/TASK.md"), text)?;
    git(&root, &["init", "-qb", "main"])?;
    git(&root, &["add", "-A"])?;
    git(&root, &["commit", "-qm", "start"])?;
    Ok(root)
}

/// A bundle as `run --only` writes it.
fn bundle(hub: &Path, dir: &Path, number: usize) -> Outcome<PathBuf> {
    let machine = dir.join(format!("machine-{number}"));
    git(dir, &["clone", "-q", &hub.display().to_string(), &machine.display().to_string()])?;
    let task = machine.join("tasks/demo/TASK.md");
    let open = format!("- [ ] file f{number} ");
    let text = fs::read_to_string(&task)?.replace(&open, &open.replace("[ ]", "[x]"));
    fs::write(task, text)?;
    fs::write(machine.join(format!("f{number}")), "done\n")?;
    git(&machine, &["add", "-A"])?;
    git(&machine, &["commit", "-qm", "ralph(demo): done"])?;
    let (name, file) =
        (format!("refs/ralph/demo/handed-in/c{number}"), dir.join(number.to_string()));
    git(&machine, &["update-ref", &name, "HEAD"])?;
    let to = file.display().to_string();
    git(&machine, &["bundle", "create", "-q", &to, &name, "^origin/main"])?;
    Ok(file)
}

/// Lands bundles on a clone; the time, and that of its checks: from where the journal says that one
/// begins to the next event.
fn land(hub: &Path, clone: &Path, bundles: &[PathBuf]) -> Outcome<(Duration, Duration)> {
    git(hub, &["clone", "-q", ".", &clone.display().to_string()])?;
    let took = timed(command(clone).args(["land", "--json"]).args(bundles))?;
    let mut checks = Duration::ZERO;
    for run in fs::read_dir(clone.join(".ralph/runs"))? {
        let Ok(text) = fs::read_to_string(run?.path().join("events.jsonl")) else { continue };
        let mut begun = None;
        for line in text.lines() {
            let event = serde_json::from_str::<Event>(line)?;
            if let Some(begun) = begun.take() {
                checks += event.time.signed_duration_since(begun).to_std()?;
            }
            if let EventKind::Activity { activity: Activity::Checking { .. }, .. } = event.kind {
                begun = Some(event.time);
            }
        }
    }
    Ok((took, checks))
}
