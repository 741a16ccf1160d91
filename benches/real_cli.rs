//! What the runner costs beside the real Copilot CLI itself.
//!
//! Twenty criteria with an instant scripted model: a whole run of ours, beside a bare ACP
//! client that sends the very same prompts to one process with the same plugin, and beside
//! one `copilot -p` per prompt. Once with as little work in a turn as a criterion takes, and
//! once with the steps that a model takes. Prints medians and ratios, and what a hook costs.
//! On a machine that has other work, wall time tells little: the ratio of the CPU time, of
//! the CLI and all its children included, is printed beside it (on Linux).
//! `RALPH_TEST_COPILOT=… cargo bench --bench real_cli`

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::collections::HashMap;
use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::hooks::{Plugin, PluginUse};
use serde_json::{Value, json};

#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/support/copilot.rs"]
mod copilot;
#[path = "../tests/support/downloads.rs"]
mod downloads;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/support/model.rs"]
mod model;

use copilot::{RUNNER, Scene};
use model::{Model, Step, bash, call, route, say};

const CRITERIA: u32 = 20;
const ROUNDS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What happens in a turn.
#[derive(Clone, Copy)]
enum Work {
    /// One answer of the model with two calls side by side, and one that says so.
    Least,
    /// Four answers, three calls: write, tick, commit.
    Steps,
}

impl Work {
    fn calls(self) -> u32 {
        match self {
            Self::Least => 2,
            Self::Steps => 3,
        }
    }

    fn answers(self) -> u32 {
        match self {
            Self::Least => 2,
            Self::Steps => 4,
        }
    }
}

fn main() -> Outcome<()> {
    let Some(scene) = Scene::new("- [ ] one\n") else { return Ok(()) };
    println!("Copilot CLI {}, {CRITERIA} criteria, instant model:", scene.cli_version());
    line("a hook, its process alone", hook_process()?);
    for work in [Work::Least, Work::Steps] {
        compare(work)?;
    }
    Ok(())
}

fn compare(work: Work) -> Outcome<()> {
    let (calls, answers) = (work.calls(), work.answers());
    println!("\n{calls} tool calls and {answers} answers in a turn, median of {ROUNDS}:");
    let prompts = ours(work)?.1;
    let (mut run, mut bare, mut free) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        run.push(ours(work)?.0);
        bare.push(client(work, &prompts, Hooks::Asked)?);
        free.push(client(work, &prompts, Hooks::None)?);
    }
    let ((run, run_cpu), (bare, bare_cpu)) = (medians(&run), medians(&bare));
    let (free, _) = medians(&free);
    let alone = each_alone(work, &prompts)?.wall;
    line("ralph-copilot", run);
    line("bare client, same plugin", bare);
    line("bare client, no plugin", free);
    line("one `copilot -p` per prompt", alone);
    println!("  {:<30} {:>9.3}", "ours / bare client", ratio(run, bare));
    println!("  {:<30} {:>9.3}", "the same in CPU time", ratio(run_cpu, bare_cpu));
    println!("  {:<30} {:>9.2}", "copilot -p / ours", ratio(alone, run));
    println!("  {:<30} {:>9.2}", "copilot -p / bare client", ratio(alone, bare));
    // Each call has a hook, and so has the prompt.
    line("a hook, in the CLI", bare.saturating_sub(free) / (CRITERIA * (calls + 1)));
    Ok(())
}

/// What a run took.
#[derive(Clone, Copy)]
struct Spent {
    wall: Duration,
    /// Of the processes that were waited for, and theirs.
    cpu: Duration,
}

/// Since when a run is measured.
struct Watch {
    wall: Instant,
    cpu: Duration,
}

impl Watch {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: children_cpu() }
    }

    fn stop(&self) -> Spent {
        Spent { wall: self.wall.elapsed(), cpu: children_cpu().saturating_sub(self.cpu) }
    }
}

/// CPU time of all children that ended so far; zero where /proc does not tell.
fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the program's name in brackets, from the third field on; 100 ticks a second.
    let fields = stat.rsplit_once(") ").map_or("", |split| split.1).split(' ');
    let ticks = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

fn name(number: u32) -> String {
    format!("c{number:02}")
}

/// A scene with the task, and a model that does each criterion's work.
fn scene(work: Work) -> Outcome<(Scene, Model)> {
    let boxes: String = (1..=CRITERIA).map(|number| format!("- [ ] {}\n", name(number))).collect();
    let scene = Scene::new(&format!("# Job\n\n{boxes}")).ok_or("no CLI")?;
    let task = scene.repo().join("tasks/job/TASK.md");
    let routes = (1..=CRITERIA).map(|number| {
        let name = name(number);
        let tick = json!({
            "path": task,
            "old_str": format!("- [ ] {name}\n"),
            "new_str": format!("- [x] {name}\n"),
        });
        let write = format!(
            "echo {name} > out.txt && echo \"- $(date +%F) {name}\" >> tasks/job/progress.md"
        );
        let commit = format!("git add -A && git commit -qm 'ralph(job): [{name}] - work'");
        let steps = match work {
            Work::Least => {
                let line = format!("{write} && {commit}");
                let line = json!({ "command": line, "description": "work" });
                vec![Step::Call(vec![("edit", tick), ("bash", line)]), say("Done.")]
            }
            Work::Steps => vec![bash(&write), call("edit", tick), bash(&commit), say("Done.")],
        };
        route(format!("Focus on: {name}"), steps)
    });
    let model = Model::start(routes);
    let scene = scene.with(&model);
    Ok((scene, model))
}

/// A run of ours: its time, and the prompts that it sent.
fn ours(work: Work) -> Outcome<(Spent, Vec<String>)> {
    let (scene, _model) = scene(work)?;
    let watch = Watch::start();
    scene.run(&["job"]).expect(0);
    let took = watch.stop();
    let folder = scene.runs().pop().ok_or("no run")?;
    let wire = std::fs::read_to_string(folder.join("wire.log"))?;
    let mut prompts = Vec::new();
    // Each line: time, `>` for what was sent, the frame.
    for line in wire.lines() {
        let mut parts = line.splitn(3, ' ').skip(1);
        let (Some(">"), Some(frame)) = (parts.next(), parts.next()) else { continue };
        let frame: Value = serde_json::from_str(frame)?;
        if frame["method"] == "session/prompt" {
            let text = frame["params"]["prompt"][0]["text"].as_str().ok_or("no text")?;
            prompts.push(text.to_owned());
        }
    }
    if prompts.len() == CRITERIA as usize { Ok((took, prompts)) } else { Err("prompts".into()) }
}

/// Whether the plugin is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    Asked,
    None,
}

/// The CLI itself in a scene, with the plugin; what answers the plugin's hooks.
fn cli(scene: &Scene, hooks: Hooks) -> Outcome<Command> {
    let like = scene.command(&[]);
    let variables: HashMap<OsString, OsString> = like
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let program = variables.get(&OsString::from("COPILOT_CLI_PATH")).ok_or("no CLI")?;
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(&variables)
        .env("COPILOT_AUTO_UPDATE", "false")
        .env("COPILOT_DISABLE_LOGIN_SHELL_ENV", "1")
        .current_dir(scene.repo());
    if hooks == Hooks::Asked {
        let socket = scene.tmp().with_file_name("s");
        serve(&socket)?;
        let folder = scene.tmp().with_file_name("plugin");
        command
            .arg("--plugin-dir")
            .arg(Plugin::write(&folder, Path::new(RUNNER), &socket, PluginUse::Acp)?.folder());
    }
    Ok(command)
}

/// Lets everything pass, until the program ends.
fn serve(socket: &Path) -> Outcome<()> {
    let listener = UnixListener::bind(socket)?;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let answered =
                stream.read_to_end(&mut Vec::new()).and_then(|_| stream.write_all(b"{}"));
            drop(answered);
        }
    });
    Ok(())
}

/// A client that does nothing but send the prompts and say yes.
struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command
            .arg("--acp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, stdin, stdout, asked: 0 })
    }

    fn send(&mut self, frame: &Value) -> Outcome<()> {
        Ok(self.stdin.write_all(format!("{frame}\n").as_bytes())?)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err("the CLI ended".into());
            }
            let frame: Value = serde_json::from_str(&line)?;
            if frame["method"] == "session/request_permission" {
                let chosen = json!({ "outcome": "selected", "optionId": "allow_once" });
                let id = &frame["id"];
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": chosen } }))?;
            } else if frame["method"].is_null() && frame["id"] == id {
                return Ok(frame["result"].clone());
            }
        }
    }

    fn end(mut self) -> Outcome<()> {
        drop(self.stdin);
        self.child.wait()?;
        Ok(())
    }
}

fn client(work: Work, prompts: &[String], hooks: Hooks) -> Outcome<Spent> {
    let (scene, _model) = scene(work)?;
    let mut command = cli(&scene, hooks)?;
    let watch = Watch::start();
    let mut client = Client::start(&mut command)?;
    client.ask("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }))?;
    for prompt in prompts {
        let new = json!({ "cwd": scene.repo(), "mcpServers": [] });
        let session = client.ask("session/new", &new)?["sessionId"].clone();
        let text = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": prompt }] });
        client.ask("session/prompt", &text)?;
        client.ask("session/close", &json!({ "sessionId": session }))?;
    }
    client.end()?;
    let took = watch.stop();
    assert_done(&scene);
    Ok(took)
}

/// A process for each prompt.
fn each_alone(work: Work, prompts: &[String]) -> Outcome<Spent> {
    let (scene, _model) = scene(work)?;
    let command = cli(&scene, Hooks::Asked)?;
    let watch = Watch::start();
    for prompt in prompts {
        let mut alone = Command::new(command.get_program());
        alone.env_clear().current_dir(scene.repo()).args(command.get_args());
        for (name, value) in command.get_envs() {
            alone.env(name, value.unwrap_or_default());
        }
        let status = alone
            .args(["--allow-all-tools", "-p", prompt])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("copilot -p: {status}").into());
        }
    }
    let took = watch.stop();
    assert_done(&scene);
    Ok(took)
}

/// The work was really done.
fn assert_done(scene: &Scene) {
    let task = scene.read("tasks/job/TASK.md");
    assert!(!task.contains("- [ ]"), "{task}");
    let commits = scene.git(&["rev-list", "--count", "HEAD"]);
    assert_eq!(commits, (CRITERIA + 1).to_string());
}

/// The hook's process as the CLI starts it, with a runner that answers at once.
fn hook_process() -> Outcome<Duration> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("s");
    serve(&socket)?;
    let call = json!({ "sessionId": "s", "toolName": "bash", "toolArgs": { "command": "ls" } });
    let mut times = Vec::new();
    for _ in 0..50 {
        let started = Instant::now();
        let mut child = Command::new(RUNNER)
            .args(["hook", "preToolUse", "--socket"])
            .arg(&socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child.stdin.take().ok_or("no stdin")?.write_all(call.to_string().as_bytes())?;
        let output = child.wait_with_output()?;
        times.push(started.elapsed());
        assert_eq!(output.stdout, b"{}");
    }
    Ok(median(times))
}

fn medians(all: &[Spent]) -> (Duration, Duration) {
    let wall = median(all.iter().map(|spent| spent.wall).collect());
    (wall, median(all.iter().map(|spent| spent.cpu).collect()))
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn line(name: &str, time: Duration) {
    println!("  {name:<30} {:>9.1} ms", time.as_secs_f64() * 1000.0);
}
