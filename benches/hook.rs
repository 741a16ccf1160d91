//! The hook's round trip, start of its process included: what every tool call of an agent
//! waits for.
//!
//! Asked of a run's guard over its socket, of the adapter that decides by itself, and of the
//! adapter with a hook of the project's own behind it; beside a program that does nothing.
//! Prints medians and ratios; `cargo bench --bench hook`.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[expect(dead_code, reason = "the benchmarks of whole runs use the rest of it")]
mod support;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{Outcome, Place, RUNNER};

const ROUNDS: usize = 301;
/// How often it is looked whether the guard is there, a hundredth of a second apart.
const LOOKS: u32 = 1_000;

/// A call as the CLI hands it to a hook.
const CALL: &str = r#"{"sessionId":"s","timestamp":1,"cwd":".","toolName":"bash","toolArgs":"{\"command\":\"cargo test && git add -A && git commit -m 'a: b'\"}"}"#;
/// Stands in for the CLI: shows what it was started with, and stays as long as its input.
const CLI: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > args.part\nmv args.part args\nexec cat\n";
/// A hook of the project's own that has nothing against it.
const HOOK: &str = "#!/bin/sh\nread -r call\ntouch asked\n";

fn main() -> Outcome<()> {
    println!("the hook's round trip, median (and 95th of 100) of {ROUNDS}:");
    let place = Place::new(1, "")?;
    executable(&place.repo().join("cli.sh"), CLI)?;
    let nothing = Figures::of(|| ask(&mut place.command("cat")))?;
    nothing.print("cat, which does nothing", &nothing);

    let mut cli = launch(&place)?;
    let socket = socket(&place)?;
    Figures::of(|| ask(hook(&place).arg("--socket").arg(&socket)))?
        .print("a run's guard, by its socket", &nothing);
    drop(cli.stdin.take());
    cli.wait()?;

    Figures::of(|| ask(&mut hook(&place)))?.print("the adapter, deciding itself", &nothing);
    executable(&place.repo().join("hooks/core/pre-tool-use.sh"), HOOK)?;
    Figures::of(|| ask(&mut hook(&place)))?.print("the adapter, with a hook", &nothing);
    // A figure of a hook that was passed over would say nothing.
    fs::metadata(place.repo().join("asked"))?;
    Ok(())
}

fn hook(place: &Place) -> Command {
    let mut hook = place.command(RUNNER);
    hook.args(["hook", "preToolUse"]);
    hook
}

/// Launches the CLI, which serves the guard for as long as its input is open.
fn launch(place: &Place) -> Outcome<Child> {
    let mut launch = place.command(RUNNER);
    launch.args(["copilot", "--no-stage", "--", "-p", "hello"]);
    launch.env("COPILOT_CLI_PATH", place.repo().join("cli.sh"));
    Ok(launch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

/// Where the guard listens, as its plugin tells the CLI.
fn socket(place: &Place) -> Outcome<String> {
    for _ in 0..LOOKS {
        if let Ok(args) = fs::read_to_string(place.repo().join("args")) {
            let plugin = args.lines().skip_while(|it| *it != "--plugin-dir").nth(1);
            let hooks = Path::new(plugin.ok_or("no plugin")?).join("hooks.json");
            let hooks: serde_json::Value = serde_json::from_slice(&fs::read(hooks)?)?;
            let socket = &hooks["hooks"]["preToolUse"][0]["args"][3];
            return Ok(socket.as_str().ok_or("no socket")?.to_owned());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("the CLI was not launched".into())
}

/// Hands the call to a program; how long until it has ended.
fn ask(command: &mut Command) -> Outcome<Duration> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(CALL.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let took = started.elapsed();
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || said.contains("deny") {
        return Err(format!("{}: {said}", output.status).into());
    }
    Ok(took)
}

/// Sorted times of one way to ask.
struct Figures(Vec<Duration>);

impl Figures {
    fn of(mut ask: impl FnMut() -> Outcome<Duration>) -> Outcome<Self> {
        let mut times = (0..ROUNDS).map(|_| ask()).collect::<Outcome<Vec<_>>>()?;
        times.sort_unstable();
        Ok(Self(times))
    }

    /// The time that so many of a hundred do not exceed, in milliseconds.
    fn of_a_hundred(&self, so_many: usize) -> f64 {
        self.0[(self.0.len() - 1) * so_many / 100].as_secs_f64() * 1e3
    }

    fn print(&self, name: &str, beside: &Self) {
        let (median, ratio) =
            (self.of_a_hundred(50), self.of_a_hundred(50) / beside.of_a_hundred(50));
        println!("  {name:30} {median:6.2} ms ({:6.2} ms)  {ratio:5.2} x", self.of_a_hundred(95));
    }
}

fn executable(path: &Path, text: &str) -> Outcome<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}
