//! The program is killed at each write of its state and started again: it goes on as if
//! nothing had happened.
//!
//! `tests/soak` kills it at every write; `tests/run` at a few, from one that the seed draws.
#![cfg(debug_assertions)]
#![expect(clippy::print_stdout, reason = "how many writes there are is what one wants to know")]

#[expect(dead_code, reason = "other test programs look at more")]
#[path = "support/repo.rs"]
mod repo;
#[path = "support/sample.rs"]
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use ralph_copilot::model::{Event, EventKind};
use ralph_copilot::sys::crash::CRASH_AT;

use crate::repo::Repo;

/// A sample takes one write out of so many.
const STRIDE: u32 = 32;
/// Threads that kill and start again.
const THREADS: usize = 3;
/// No run has as many writes.
const TOO_MANY: u32 = 5000;

const HONEST: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
"#;

/// Everything that a run does to a repository: it keeps attempts, puts the tree and
/// protected files back, unticks, writes a sign, skips, and proves.
const LIES: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: x.txt, text: x}}, {tick: "{criterion}"}, {commit: x}, {write: {path: left.txt, text: left}}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {commit: b}]
"#;

const TWO: &str = "\
# Two

- [ ] a is there
  - verify: `test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
";

/// The same, and work that conflicts with the first one's unless it is there.
const THREE: &str = "\
# Three

- [ ] a is there
  - verify: `test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
- [ ] c is there
  - verify: `grep -q c a.txt`
";

const CLASH: &str = r#"
turns:
- match: a is there
  steps: [{run: "test -e a.txt || echo a > a.txt"}, {tick: "{criterion}"}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
- match: c is there
  steps: [{run: "echo c >> a.txt"}, {tick: "{criterion}"}, {commit: c}]
"#;

/// What is run, and how it ends when nobody kills it.
struct Play {
    task: &'static str,
    script: &'static str,
    args: &'static [&'static str],
    code: i32,
    ticked: &'static [&'static str],
}

const PLAYS: [Play; 3] = [
    Play { task: TWO, script: HONEST, args: &[], code: 0, ticked: &["a is there", "b is there"] },
    Play {
        task: TWO,
        script: LIES,
        args: &["--stuck-threshold", "1", "--on-stuck", "skip"],
        code: 4,
        ticked: &["b is there"],
    },
    Play {
        task: THREE,
        script: CLASH,
        args: &["-j3"],
        code: 0,
        ticked: &["a is there", "b is there", "c is there"],
    },
];

#[test]
fn killed_at_any_write_it_goes_on_as_if_nothing_had_been() {
    let points = until_it_gets_through(&PLAYS[0], |play, at| Case::new(play).killed_once(at));
    println!("{} writes of an honest run", points.len());
    tell(&points);
}

#[test]
fn killed_at_any_write_of_a_run_that_puts_things_back() {
    let points = until_it_gets_through(&PLAYS[1], |play, at| Case::new(play).killed_once(at));
    println!("{} writes of a run that puts things back", points.len());
    tell(&points);
}

#[test]
fn killed_at_any_write_of_a_run_with_three_workers_and_a_conflict() {
    let points = until_it_gets_through(&PLAYS[2], |play, at| Case::new(play).killed_once(at));
    println!("{} writes of a run with three workers", points.len());
    tell(&points);
}

/// For a sample of first deaths, a death at each write of what puts them in order.
#[test]
fn killed_again_while_it_puts_things_in_order() {
    let play = &PLAYS[1];
    let firsts = [75, 101, 150];
    let mut all = 0;
    for first in firsts {
        let points = until_it_gets_through(play, |play, at| {
            if at > SECONDS {
                return None;
            }
            Case::new(play).killed_twice(first, at)
        });
        all += points.len();
    }
    println!("{all} pairs of writes");
    let least = if sample::full() { 60 } else { 60 / STRIDE as usize };
    assert!(all > least, "only {all} pairs");
}

/// What puts things in order comes first and is done after so many writes.
const SECONDS: u32 = 40;

/// Calls `case` with 1, 2, … or a sample of these until it says that the run got through.
/// Returns the names of the points.
fn until_it_gets_through(
    play: &'static Play,
    case: impl Fn(&'static Play, u32) -> Option<String> + Sync,
) -> BTreeMap<u32, String> {
    let (first, stride) = if sample::full() {
        (1, 1)
    } else {
        let first = 1 + sample::seed() % u64::from(STRIDE);
        (u32::try_from(first).expect("small"), STRIDE)
    };
    let next = AtomicU32::new(first);
    let end = AtomicU32::new(TOO_MANY);
    let points = Mutex::new(BTreeMap::new());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(stride, Ordering::Relaxed);
                    if at >= end.load(Ordering::Relaxed) {
                        return;
                    }
                    // One failure does not hide the others.
                    let tried = catch_unwind(AssertUnwindSafe(|| case(play, at)));
                    let Ok(tried) = tried else {
                        failed.lock().expect("failed").push(at);
                        continue;
                    };
                    match tried {
                        Some(point) => drop(points.lock().expect("points").insert(at, point)),
                        None => drop(end.fetch_min(at, Ordering::Relaxed)),
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner().expect("failed"), Vec::<u32>::new(), "killed at these writes");
    assert!(end.into_inner() < TOO_MANY, "it never got through");
    points.into_inner().expect("points")
}

/// How often each kind of point was met.
fn tell(points: &BTreeMap<u32, String>) {
    let mut often: BTreeMap<&str, u32> = BTreeMap::new();
    for name in points.values() {
        *often.entry(name).or_default() += 1;
    }
    println!("{often:?}");
}

/// One repository and what is done to it.
struct Case {
    repo: Repo,
    play: &'static Play,
}

impl Case {
    fn new(play: &'static Play) -> Self {
        let repo = Repo::new(play.task);
        std::fs::create_dir(repo.beside("tmp")).expect("a folder");
        Self { repo, play }
    }

    /// Kills it at one write and starts it again; `None` if it got through.
    fn killed_once(&self, at: u32) -> Option<String> {
        let point = self.killed(at)?;
        let before = self.what_there_is();
        self.gets_through(&format!("killed at {at} ({point})"), &before);
        Some(point)
    }

    /// Kills it at one write, then at another of the next start.
    fn killed_twice(&self, first: u32, second: u32) -> Option<String> {
        let one = self.killed(first).unwrap_or_else(|| panic!("it got through before {first}"));
        let mut before = self.what_there_is();
        let other = self.killed(second)?;
        before.extend(self.what_there_is());
        self.gets_through(&format!("killed at {first} ({one}), then {second} ({other})"), &before);
        Some(other)
    }

    /// Runs it until it dies at a write; gives the write's name, or `None` if it ended.
    fn killed(&self, at: u32) -> Option<String> {
        let mut command = self.repo.run_command(self.play.script, self.play.args);
        let output = command
            .env(CRASH_AT, at.to_string())
            .env("RALPH_COPILOT_LOG", "error")
            .env("TMPDIR", self.repo.beside("tmp"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        if let Some(code) = output.status.code() {
            assert_eq!(code, self.play.code, "{}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        assert_eq!(output.status.signal(), Some(9));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let name = said.split_once("point=\"").and_then(|(_, rest)| rest.split_once('"'));
        Some(name.map_or_else(|| said.clone(), |(name, _)| name.to_owned()))
    }

    /// Commits, and contents of files that are in no commit: none of it may be lost.
    fn what_there_is(&self) -> BTreeSet<String> {
        let git = |args: &[&str]| self.repo.git(args);
        let mut there: BTreeSet<String> =
            git(&["rev-list", "--all"]).lines().map(str::to_owned).collect();
        for name in ["a.txt", "b.txt", "x.txt", "left.txt"] {
            if self.repo.path(name).exists() {
                there.insert(git(&["hash-object", name]).trim().to_owned());
            }
        }
        there
    }

    /// Starts it without a crash, and looks at what is there afterwards.
    fn gets_through(&self, when: &str, before: &BTreeSet<String>) {
        let repo = &self.repo;
        let mut command = repo.run_command(self.play.script, self.play.args);
        command.env("TMPDIR", repo.beside("tmp"));
        let ran = repo::finish(command);
        let told = format!("{when}\n{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(self.play.code), "{told}");
        assert_eq!(repo.status(), "", "{told}");

        // Every criterion once.
        let ticked: Vec<String> = repo
            .task()
            .lines()
            .filter_map(|line| line.strip_prefix("- [x] ").map(str::to_owned))
            .collect();
        assert_eq!(ticked, self.play.ticked, "{told}");
        // A landing is a merge that names its criterion, too.
        let own = repo.git(&["log", "--no-merges", "--format=%s", "main"]);
        let subjects: Vec<&str> = own.lines().collect();
        for text in ["a is there", "b is there", "c is there"] {
            let commits =
                subjects.iter().filter(|subject| subject.contains(&format!("[{text}]"))).count();
            let expected = usize::from(self.play.ticked.contains(&text));
            assert_eq!(commits, expected, "{text}: {subjects:?}\n{told}");
        }
        let state = repo.state();
        let proven = state["criteria"].as_array().expect("criteria").iter();
        let proven: Vec<_> = proven.filter(|entry| entry["proof"] == "check").collect();
        assert_eq!(proven.len(), self.play.ticked.len(), "{state}\n{told}");

        // Nothing is lost, and nothing is left behind.
        let objects = repo.git(&["rev-list", "--objects", "--all"]);
        let objects: BTreeSet<&str> =
            objects.lines().filter_map(|line| line.split(' ').next()).collect();
        for id in before {
            assert!(objects.contains(id.as_str()), "{id} is lost\n{told}");
        }
        repo.git(&["fsck", "--strict"]);
        let temporary = files_below(&repo.beside("tmp"));
        assert_eq!(temporary, Vec::<PathBuf>::new(), "{told}");
        for path in files_below(&repo.root()) {
            let name = path.file_name().expect("a name").to_string_lossy();
            let left = name.ends_with(".lock") || name.starts_with(".ralph-");
            assert!(!left, "{} is left\n{told}", path.display());
        }

        // Numbers grow, and every turn has its lines.
        let events = self.events();
        let numbers: Vec<u32> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::IterationStarted { iteration, .. } => Some(*iteration),
                _ => None,
            })
            .collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}\n{told}");
        assert_eq!(state["iteration"].as_u64(), numbers.last().map(|last| u64::from(*last)));
        let prompts =
            events.iter().filter(|event| matches!(event.kind, EventKind::PromptSent { .. }));
        let costs = repo.read("tasks/demo/cost.log");
        assert_eq!(costs.lines().count(), prompts.count(), "{costs}\n{told}");
        let progress = repo.read("tasks/demo/progress.md");
        for event in &events {
            if let EventKind::TurnEnded { iteration, .. } = &event.kind {
                let mark = format!(" iteration {iteration}: ");
                assert_eq!(progress.matches(&mark).count(), 1, "{mark}\n{progress}\n{told}");
            }
        }
        let activity = repo.read("tasks/demo/activity.log");
        let calls: BTreeSet<String> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ToolDecided { iteration, input, .. } => {
                    Some(format!("{iteration} {input}"))
                }
                _ => None,
            })
            .collect();
        let mut told_calls = BTreeSet::new();
        for line in activity.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            if line["operation"] != "check" {
                let call = format!("{} {}", line["iteration"], line["args"]);
                assert!(told_calls.insert(call), "twice: {line}\n{activity}\n{told}");
            }
        }
        assert!(calls.is_subset(&told_calls), "{calls:#?}\n{activity}\n{told}");

        let runs: BTreeSet<&str> = events.iter().map(|event| event.run.as_str()).collect();
        for run in runs {
            assert_eq!(repo::processes_of(run), Vec::<String>::new(), "{told}");
        }
    }

    /// The events of all runs, in order.
    fn events(&self) -> Vec<Event> {
        let mut journals: Vec<PathBuf> = files_below(&self.repo.path(".ralph/runs"))
            .into_iter()
            .filter(|path| path.ends_with("events.jsonl"))
            .collect();
        journals.sort();
        let mut events = Vec::new();
        for journal in journals {
            let text = std::fs::read_to_string(&journal).expect("a journal");
            assert!(text.is_empty() || text.ends_with('\n'), "{} is torn", journal.display());
            events.extend(
                text.lines().map(|line| serde_json::from_str::<Event>(line).expect("an event")),
            );
        }
        events
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found
}
