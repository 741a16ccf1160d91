//! A soak: many iterations in several repositories at once, with faults drawn from a seed. The
//! agent lies, dies, hangs, floods, writes garbage, asks for denied tools and leaves processes
//! behind; the runner is killed, crashes at a write, or is interrupted; and each time it is
//! started again. In the end every criterion is proven exactly once.
//!
//! `tests/soak` runs 200 iterations in six repositories; `tests/run` a sample in two. The same
//! seed draws the same faults; when exactly a signal arrives depends on the machine.
#![cfg(all(debug_assertions, target_os = "linux"))]

#[expect(dead_code, reason = "other test programs look at more")]
#[path = "support/repo.rs"]
mod repo;
#[path = "support/sample.rs"]
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::model::{Event, EventKind, VerdictResult};
use ralph_copilot::sys::crash::CRASH_AT;
use rustix::process::Signal;

use crate::repo::{Repo, signal, until};

/// How much of the soak runs.
#[derive(Clone, Copy)]
struct Size {
    /// Repositories; most of their time is spent waiting.
    lanes: u64,
    /// Planned turns per repository: some cost no iteration.
    turns: usize,
    /// The fewest iterations in all.
    iterations: usize,
}

const FULL: Size = Size { lanes: 6, turns: 40, iterations: 200 };
const SAMPLE: Size = Size { lanes: 2, turns: 10, iterations: 4 };

/// Starts after which a lane is not getting anywhere.
const STARTS: u32 = 80;
/// Nothing of a killed run lives longer.
const GONE: Duration = Duration::from_secs(3);
/// No start takes longer.
const PATIENCE: Duration = Duration::from_secs(300);
/// Address space in KiB, for the runner and for each of its children.
const MEMORY: u32 = 512 << 10;

/// `SplitMix64`: small, and the same on every machine and for ever.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = self.roll(from.len() as u64);
        from[usize::try_from(at).expect("an index")]
    }

    fn upto(&mut self, most: u64) -> usize {
        usize::try_from(self.roll(most + 1)).expect("a count")
    }
}

/// What a lane's agent does, and on which criteria.
struct Plan {
    criteria: Vec<String>,
    turns: String,
    /// Stands on the command lines of what the agent leaves behind, and on no other.
    tag: String,
}

impl Plan {
    fn new(dice: &mut Dice, lane: u64, turns_planned: usize) -> Self {
        let tag = format!("8{}{lane}", std::process::id());
        let (mut criteria, mut turns, mut planned) = (Vec::new(), String::new(), 0);
        while planned < turns_planned {
            let number = criteria.len();
            let criterion = format!("part {number:02} is there");
            let faults = dice.upto(6);
            for _ in 0..faults {
                let steps = fault(dice, number, &tag);
                let _ = writeln!(turns, "- match: {criterion}\n  times: 1\n  steps: [{steps}]");
            }
            let honest = honest(number).join(", ");
            let _ = writeln!(turns, "- match: {criterion}\n  steps: [{honest}]");
            criteria.push(criterion);
            planned += faults + 1;
        }
        Self { criteria, turns, tag }
    }

    fn task(&self) -> String {
        let mut text = "# Soak\n\n".to_owned();
        for (number, criterion) in self.criteria.iter().enumerate() {
            let _ = writeln!(text, "- [ ] {criterion}\n  - verify: `test -e part{number:02}.txt`");
        }
        text
    }

    /// The script of one start: the agent does not always listen.
    fn script(&self, dice: &mut Dice) -> String {
        let ignored = dice.pick(&["", "", "", "", "eof", "cancel", "cancel, eof, term"]);
        format!("memory: seen.txt\nignore: [{ignored}]\nturns:\n{}", self.turns)
    }
}

/// Honest work on a criterion, step by step.
fn honest(number: usize) -> Vec<String> {
    [
        &format!("{{write: {{path: part{number:02}.txt, text: work}}}}"),
        "{tick: \"{criterion}\"}",
        "{progress: \"did {criterion}\"}",
        "{commit: honest work}",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// One turn that goes wrong in some way.
fn fault(dice: &mut Dice, number: usize, tag: &str) -> String {
    let honest = honest(number);
    let some = |dice: &mut Dice| honest[..dice.upto(honest.len() as u64 - 1)].to_vec();
    let mut steps = Vec::new();
    match dice.roll(14) {
        // Lies: it says so, ticks, commits, or works on something else.
        0 => steps.push("{say: \"Done! All tests pass.\"}".to_owned()),
        1 => steps.extend([honest[1].clone(), honest[2].clone()]),
        2 => steps.extend([honest[1].clone(), "{commit: nothing}".to_owned()]),
        3 => {
            steps.push(format!("{{write: {{path: other{}.txt, text: x}}}}", dice.roll(1000)));
            steps.extend([honest[1].clone(), "{commit: something else}".to_owned()]);
        }
        4 => steps.extend([honest[0].clone(), honest[1].clone()]),
        // It dies.
        5 | 6 => {
            steps.extend(some(dice));
            let how = dice.pick(&["kill", "{exit: 0}", "{exit: 9}", "close_stdout"]);
            steps.push(format!("{{die: {how}}}"));
        }
        7 => {
            steps.push("{ask_only: {run: 'echo x > asked.txt'}}".to_owned());
            steps.push("{die: kill}".to_owned());
        }
        // It hangs.
        8 => {
            steps.extend(some(dice));
            steps.push("{hang: }".to_owned());
        }
        // It writes what is no frame, half a frame, or too much.
        9 => {
            for _ in 0..=dice.roll(5) {
                steps.push(dice.pick(&GARBAGE).to_owned());
            }
            steps.extend(some(dice));
        }
        10 => {
            let size = dice.pick(&[
                "{count: 3000, bytes: 300}",
                "{count: 20, bytes: 100000}",
                "{count: 17, bytes: 1048576, lines: false}",
            ]);
            steps.push(format!("{{flood: {size}}}"));
            steps.extend(some(dice));
        }
        // It wants what it must not have.
        11 => {
            steps.extend(some(dice));
            let what = dice.pick(&DENIED);
            steps.push(format!("{{run: '{what}'}}"));
        }
        // It leaves processes behind.
        12 => {
            let sleeper = dice
                .pick(&[
                    "{spawn: {command: \"exec sleep TAG\", setsid: true}}",
                    "{spawn: {command: \"trap '' TERM INT HUP; sleep TAG; sleep TAG\"}}",
                    "{spawn: {command: \"setsid sh -c '(sleep TAG & sleep TAG) &'\"}}",
                    "{spawn: {command: \"exec sleep TAG\", hold_stdout: true, setsid: true}}",
                ])
                .replace("TAG", tag);
            steps.push(sleeper);
            steps.extend(some(dice));
        }
        // Its model or its machine fails.
        _ => steps.push(dice.pick(&FAILURES).to_owned()),
    }
    steps.join(", ")
}

const GARBAGE: [&str; 7] = [
    "{line: this is no frame}",
    "{hex: ff fe 00 0a}",
    "{deep: 100000}",
    "{line: '{\"jsonrpc\":\"2.0\",\"method\":\"a\"}{\"jsonrpc\":\"2.0\",\"method\":\"b\"}'}",
    "{raw: '{\"jsonrpc\":\"2.0\",\"id\":'}",
    "{update: {sessionUpdate: brand_new_kind, anything: [1, 2]}}",
    "{line: '{\"jsonrpc\":\"2.0\",\"method\":\"unknown/thing\",\"params\":{}}'}",
];

const DENIED: [&str; 4] = [
    "curl -fsSL https://example.invalid/x -o x",
    "git push --force origin main",
    "rm -rf /",
    "cat ~/.ssh/id_rsa",
];

const FAILURES: [&str; 4] = [
    "{error: {code: -32603, message: Internal error, data: {statusCode: 429}}}",
    "{say: 'Error: Could not connect to local model provider'}",
    "{stop: cancelled}",
    "{stop: refusal}",
];

/// What is done to a runner.
#[derive(Debug)]
enum Fate {
    /// Nothing.
    Lives,
    /// It dies at this write of its state.
    Crashes(u64),
    /// It gets this signal when its journal has so many events.
    Signalled(Signal, usize),
}

impl Fate {
    fn new(dice: &mut Dice) -> Self {
        let events = 1 + dice.upto(50);
        match dice.roll(10) {
            0..5 => Self::Lives,
            5..7 => Self::Crashes(1 + dice.roll(250)),
            7 | 8 => Self::Signalled(Signal::KILL, events),
            _ => {
                let number = [Signal::INT, Signal::TERM, Signal::HUP][dice.upto(2)];
                Self::Signalled(number, events)
            }
        }
    }

    /// The exit codes that it may come to; none is a death by SIGKILL.
    fn allows(&self, code: Option<i32>) -> bool {
        // Proven, a limit, an agent that cannot be used for now, a rate limit.
        match (self, code) {
            (_, Some(0 | 3 | 5 | 6)) => true,
            (Self::Crashes(_) | Self::Signalled(Signal::KILL, _), None) => true,
            (Self::Signalled(number, _), Some(code)) => code == 128 + number.as_raw(),
            (Self::Lives | Self::Crashes(_) | Self::Signalled(..), _) => false,
        }
    }
}

/// One repository, its agent and what became of it so far.
struct Lane {
    repo: Repo,
    plan: Plan,
    dice: Dice,
    /// The journals of all runs, as far as they came; old ones are cleared away.
    journals: BTreeMap<String, Vec<Event>>,
    told: String,
}

impl Lane {
    fn new(seed: u64, lane: u64, turns: usize) -> Self {
        let mut dice = Dice(seed.wrapping_add(lane.wrapping_mul(0x1000_0000_01b3)));
        let plan = Plan::new(&mut dice, lane, turns);
        let repo = Repo::new(&plan.task());
        std::fs::create_dir(repo.beside("tmp")).expect("a folder");
        Self { repo, plan, dice, journals: BTreeMap::new(), told: String::new() }
    }

    /// Starts the runner until it says that all is proven; gives the number of iterations.
    fn soak(mut self) -> usize {
        for _ in 0..STARTS {
            if self.start() == Some(0) {
                self.is_proven_once();
                return self.iterations().len();
            }
        }
        panic!("{STARTS} starts and no end\n{}", self.told);
    }

    /// One start, to whatever end; what must hold after any holds.
    fn start(&mut self) -> Option<i32> {
        let fate = Fate::new(&mut self.dice);
        let script = self.plan.script(&mut self.dice);
        let most = (1 + self.dice.roll(8)).to_string();
        let _ = writeln!(self.told, "start {fate:?}, {most} iterations");
        let before = self.run_folders();
        let mut runner = self.command(&script, &most);
        if let Fate::Crashes(at) = fate {
            runner.env(CRASH_AT, at.to_string());
        }
        let mut runner = runner.spawn().expect("the program starts");
        if let Fate::Signalled(number, events) = fate {
            until("the moment", || {
                let over = runner.try_wait().expect("asked").is_some();
                let new = self.run_folders().difference(&before).next().cloned();
                let there = new.map_or(0, |new| journal(&self.runs().join(new)).len());
                (over || there >= events).then_some(())
            });
            signal(runner.id(), number);
        }
        let status = ended(runner);
        let output = std::fs::read_to_string(self.repo.beside("out.log")).expect("its output");
        let _ = writeln!(self.told, "{output}came to {:?}\n", status.code());
        assert!(fate.allows(status.code()), "{}", self.told);
        assert!(!output.contains("panicked"), "{}", self.told);

        let new: Vec<String> = self.run_folders().difference(&before).cloned().collect();
        assert!(new.len() <= 1, "{new:?}\n{}", self.told);
        for run in new {
            self.leaves_no_process(&run, status.code().is_some());
            self.journals.insert(run.clone(), journal(&self.runs().join(run)));
        }
        let state = self.repo.state();
        assert!(state.is_null() || state["criteria"].is_array(), "{state}\n{}", self.told);
        self.repo.git(&["fsck", "--strict", "--no-progress"]);
        if status.code().is_some() {
            assert_eq!(self.repo.status(), "", "{}", self.told);
        }
        status.code()
    }

    /// The runner, with bounded memory.
    fn command(&self, script: &str, most: &str) -> Command {
        let inner = self.repo.run_command(
            script,
            &[
                "--max-iterations",
                most,
                "--stuck-threshold",
                "99",
                "--idle-timeout",
                "1s",
                "--max-wait",
                "1s",
            ],
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {MEMORY} && exec \"$@\""), "sh"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .current_dir(self.repo.root());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = std::fs::File::create(self.repo.beside("out.log")).expect("a file");
        let errors = output.try_clone().expect("a file");
        command.env("TMPDIR", self.repo.beside("tmp"));
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        command
    }

    /// At once after an end of its own; after a kill in a few seconds.
    fn leaves_no_process(&self, run: &str, at_once: bool) {
        let started = Instant::now();
        until("the end of all processes", || {
            let left = processes(run, &self.plan.tag);
            let late = at_once || started.elapsed() > GONE;
            assert!(left.is_empty() || !late, "of {run} there are {left:?}\n{}", self.told);
            left.is_empty().then_some(())
        });
    }

    fn runs(&self) -> PathBuf {
        self.repo.path(".ralph/runs")
    }

    fn run_folders(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.runs()).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.journals.values().flatten()
    }

    /// The numbers of all iterations, in the order they began.
    fn iterations(&self) -> Vec<u32> {
        let number = |event: &Event| match event.kind {
            EventKind::IterationStarted { iteration, .. } => Some(iteration),
            _ => None,
        };
        self.events().filter_map(number).collect()
    }

    /// The iterations that ever counted as the proof of a criterion, in all states committed.
    fn proofs(&self) -> BTreeMap<String, BTreeSet<u64>> {
        let file = "tasks/demo/state.json";
        let mut proofs = BTreeMap::<String, BTreeSet<u64>>::new();
        for commit in self.repo.git(&["rev-list", "main", "--", file]).lines() {
            let state = self.repo.git(&["show", &format!("{commit}:{file}")]);
            let state: serde_json::Value = serde_json::from_str(&state).expect("a state");
            for entry in state["criteria"].as_array().expect("criteria") {
                if let (Some(text), Some(at)) =
                    (entry["text"].as_str(), entry["iteration"].as_u64())
                {
                    proofs.entry(text.to_owned()).or_default().insert(at);
                }
            }
        }
        proofs
    }

    /// What must hold when all is done.
    fn is_proven_once(&self) {
        let told = &self.told;
        let unticked = self.repo.task().lines().filter(|line| line.contains("[ ]")).count();
        assert_eq!(unticked, 0, "{told}");
        let state = self.repo.state();
        let ever = self.proofs();
        for (number, criterion) in self.plan.criteria.iter().enumerate() {
            let entry = &state["criteria"][number];
            assert_eq!(entry["text"], criterion.as_str(), "{state}\n{told}");
            // Once, for good, and in an iteration that said so.
            let proofs: Vec<u64> = ever.get(criterion).into_iter().flatten().copied().collect();
            let [proven] = proofs[..] else { panic!("{criterion} in {proofs:?}\n{told}") };
            assert_eq!(entry["iteration"], proven, "{state}\n{told}");
            let passed = |event: &&Event| match &event.kind {
                EventKind::VerdictReached { iteration, criterion: of, verdict, .. } => {
                    of.text == *criterion
                        && u64::from(*iteration) == proven
                        && matches!(verdict.result, VerdictResult::Pass(_))
                }
                _ => false,
            };
            assert_eq!(self.events().filter(passed).count(), 1, "{criterion}\n{told}");
            let path = format!("part{number:02}.txt");
            let commits = self.repo.git(&["log", "--format=%s", "main", "--", &path]);
            assert_eq!(commits.lines().count(), 1, "{criterion}: {commits}\n{told}");
        }
        let numbers = self.iterations();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}\n{told}");
        assert_eq!(state["iteration"].as_u64(), numbers.last().map(|last| u64::from(*last)));
        let left = std::fs::read_dir(self.repo.beside("tmp")).expect("a folder").flatten();
        let left: Vec<PathBuf> = left.map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "temporary files\n{told}");
    }
}

/// How the runner ended; one that does not is killed.
fn ended(mut runner: Child) -> ExitStatus {
    let pid = runner.id();
    let (done, waited) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waited.recv_timeout(PATIENCE).is_err() {
            signal(pid, Signal::KILL);
        }
    });
    let status = runner.wait().expect("it ends");
    // Nobody listens any more if the watch had to act, and then the status tells of it.
    let _told = done.send(());
    watch.join().expect("the watch ends");
    status
}

/// The whole records of a run's journal.
fn journal(folder: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// What carries the run's name, is its guardian, or was left by its agent.
fn processes(run: &str, tag: &str) -> Vec<String> {
    let mut left = repo::processes_of(run);
    left.extend(repo::guardians_of(run));
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let sleeper = format!("sleep\0{tag}\0");
    left.extend(
        lines
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .filter(|line| line.contains(&sleeper)),
    );
    left
}

#[test]
fn after_any_faults_everything_is_proven_exactly_once_and_nothing_is_left() {
    let size = if sample::full() { FULL } else { SAMPLE };
    let seed = sample::seed();
    let iterations: usize = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..size.lanes)
            .map(|lane| scope.spawn(move || Lane::new(seed, lane, size.turns).soak()))
            .collect();
        lanes.into_iter().map(|lane| lane.join().expect("the lane holds")).sum()
    });
    assert!(iterations >= size.iterations, "only {iterations} iterations with the seed {seed}");
}
