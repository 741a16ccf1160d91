//! What a sandbox costs: a shell call in it beside the same call without, and the start of a
//! session's sandbox with few and many mounts. Where a tier is missing it says so.
//!
//! Prints medians; `cargo bench --bench sandbox`.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ralph_copilot::sandbox::{
    Calls, Network, Overlay, Programs, Room, Rooms, Secrets, View, Walls, can_limit, full, partial,
    prepare, probe, tools,
};

const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");
const CALLS: usize = 201;
const STARTS: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let outside = median(CALLS, || timed(&mut shell("true")))?;
    println!("a call of `true`, median of {CALLS}:");
    print("without a sandbox", outside, outside);
    let dir = tempfile::tempdir()?;
    let programs = Programs {
        bubblewrap: which::which("bwrap").unwrap_or_else(|_| "bwrap".into()),
        ours: RUNNER.into(),
    };
    let has_full = probe(&programs, &dir.path().join("probe"));
    if let Err(error) = &has_full {
        println!("  full is missing: {error}");
    }
    let place = Place::new(dir.path())?;
    if has_full.is_ok() {
        let walls = place.full(30)?;
        print("full", place.calls(&programs, &walls, "full")?, outside);
    }
    match can_limit() {
        Ok(()) => {
            let walls = Walls::Landlock(partial(&place.view, &secrets())?);
            print("partial", place.calls(&programs, &walls, "partial")?, outside);
        }
        Err(error) => println!("  partial is missing: {error}"),
    }
    println!("the start of a session's sandbox, median of {STARTS}:");
    for mounts in [30, 100] {
        if has_full.is_ok() {
            let took = median(STARTS, || {
                let began = Instant::now();
                let room = Room::start(&programs, &place.full(mounts)?, &place.repo, &place.log)?;
                room.ready()?;
                let took = began.elapsed();
                room.end()?;
                Ok(took)
            })?;
            println!("  full, {mounts:3} mounts          {:8.2} ms", millis(took));
        }
    }
    Ok(())
}

fn print(name: &str, took: Duration, outside: Duration) {
    let more = millis(took) - millis(outside);
    println!("  {name:20} {:8.2} ms  {more:+8.2} ms", millis(took));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(
    times: usize,
    mut take: impl FnMut() -> Result<Duration, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut taken = (0..times).map(|_| take()).collect::<Result<Vec<_>, _>>()?;
    taken.sort_unstable();
    Ok(taken[times / 2])
}

/// A shell as the CLI starts it.
fn shell(line: &str) -> Command {
    let mut shell = Command::new("/bin/bash");
    shell.args(["--norc", "--noprofile", "-c", line]).stdin(Stdio::null());
    shell
}

fn timed(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let status = command.status()?;
    let took = began.elapsed();
    if status.success() { Ok(took) } else { Err(status.to_string().into()) }
}

fn secrets() -> Secrets<'static> {
    Secrets { is_secret: &|_| false, scrub: &str::to_owned }
}

/// A repository and a HOME.
struct Place {
    repo: PathBuf,
    log: PathBuf,
    view: View,
    overlay: Overlay,
}

impl Place {
    fn new(dir: &Path) -> Result<Self, Box<dyn Error>> {
        let root = dir.canonicalize()?;
        let at = |name: &str| root.join(name);
        for folder in ["home/.cargo", "repo/many", "run/tmp", "run/var", "sockets"] {
            fs::create_dir_all(at(folder))?;
        }
        fs::write(at("run/empty"), "")?;
        let init = Command::new("git").args(["init", "-q"]).arg(at("repo")).status()?;
        if !init.success() {
            return Err(init.to_string().into());
        }
        let view = View {
            tree: at("repo"),
            seen_at: at("repo"),
            git: vec![at("repo/.git")],
            tools: tools(&at("home"), &|name| {
                (name == "PATH").then(|| std::env::var_os("PATH")).flatten()
            }),
            home: at("home"),
            scratch: at("run"),
            tmp: at("run/tmp"),
            var_tmp: at("run/var"),
            empty: at("run/empty"),
            ..View::default()
        };
        let overlay = Overlay {
            lower: at("home"),
            upper: at("room/upper"),
            work: at("room/work"),
            merged: at("room/home"),
        };
        Ok(Self { repo: at("repo"), log: at("log"), view, overlay })
    }

    /// A session's walls with at least so many mounts.
    fn full(&self, mounts: usize) -> Result<Walls, Box<dyn Error>> {
        let mut view = self.view.clone();
        let few = full(&view, self.overlay.clone()).mounts.len();
        for number in few..mounts {
            let path = self.repo.join(format!("many/{number}"));
            fs::write(&path, "")?;
            view.protected.push(path);
        }
        prepare(&self.overlay, &view.tools, &secrets())?;
        Ok(Walls::Namespaces(full(&view, self.overlay.clone())))
    }

    /// The time of a call in a sandbox that is there already.
    fn calls(
        &self,
        programs: &Programs,
        walls: &Walls,
        name: &str,
    ) -> Result<Duration, Box<dyn Error>> {
        let socket = self.log.with_file_name(format!("{name}.sock"));
        let client =
            [RUNNER, "sandbox", "call", socket.to_str().ok_or("a path that is not UTF-8")?];
        let calls = Calls::listen(&socket, &client)?;
        let room = Mutex::new(Some(Room::start(programs, walls, &self.repo, &self.log)?));
        let own = move || Ok(room.lock().ok().and_then(|mut room| room.take()).expect("one start"));
        calls.begin(Rooms::start(Box::new(own), None)?);
        let call = || timed(shell(&calls.replace("true", Network::Own)).current_dir(&self.repo));
        call()?;
        let took = median(CALLS, call);
        calls.end()?;
        took
    }
}
