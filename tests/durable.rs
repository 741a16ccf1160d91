//! What is on disk is damaged, missing, full or on another machine: the next run goes on
//! with what there is, or says what is in the way, and loses nothing.

#[expect(dead_code, reason = "other test programs look at more")]
#[path = "support/repo.rs"]
mod repo;
#[path = "support/sample.rs"]
mod sample;

#[path = "durable/claims.rs"]
mod claims;

#[path = "durable/dead.rs"]
mod dead;

#[path = "durable/elsewhere.rs"]
mod elsewhere;

#[path = "durable/nights.rs"]
mod nights;

#[path = "durable/tree_proof.rs"]
mod tree_proof;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_copilot::engine::{ResumeContext, Resumed, resume};
use ralph_copilot::model::{Event, EventKind};
use ralph_copilot::verify::{GitRepo, Identity, Layout};
use serde_json::Value;

use crate::repo::{Ran, Repo, finish, signal, until};

const TWO: &str = "\
# Two

- [ ] a is there
  - verify: `test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
";

const HONEST: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {commit: b}]
"#;

/// As far as a commit of the second criterion, and then nothing more.
const HANGS: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {commit: b}, {say: done}, {hang: null}]
"#;

/// A repository in which a run was killed after the agent's commit of the second iteration.
struct Dead {
    repo: Repo,
    journal: PathBuf,
}

impl Dead {
    fn new() -> Self {
        let repo = Repo::new(TWO);
        let mut command = repo.run_command(HANGS, &[]);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let journal = until("the last call", || {
            let journal = journals(&repo.root()).pop()?;
            let calls = events(&journal).into_iter().filter(|event| {
                matches!(&event.kind, EventKind::ToolFinished { iteration: 2, .. })
            });
            (calls.count() >= 3).then_some(journal)
        });
        signal(child.id(), rustix::process::Signal::KILL);
        child.wait().expect("it is dead");
        let journal = journal.strip_prefix(repo.root()).expect("inside").to_owned();
        Self { repo, journal }
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.repo.path(self.journal.to_str().expect("UTF-8"))).expect("a journal")
    }

    /// A copy with another journal.
    fn copy(&self, journal: &[u8]) -> Copy {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there").join("repo");
        copy(&self.repo.root(), &root);
        let path = root.join(&self.journal);
        std::fs::write(&path, journal).expect("written");
        Copy { root, journal: path, _folder: folder }
    }
}

struct Copy {
    root: PathBuf,
    journal: PathBuf,
    _folder: tempfile::TempDir,
}

impl Copy {
    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(&self.root).output().expect("git");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// What a start does first.
    fn put_in_order(&self) -> Result<Vec<String>, String> {
        let repo = GitRepo::discover(&self.root).expect("a repository");
        let aftermath = ResumeContext {
            repo: &repo,
            runs: &self.root.join(".ralph/runs"),
            identity: &Identity::of_the_runner(),
            reporters: &|_| Vec::new(),
        };
        let layout = Layout::new("demo", "tasks/demo");
        let mut resumed = Resumed::default();
        resume(&aftermath, &layout, &mut resumed).map_err(|error| error.to_string())?;
        assert!(repo.status().expect("status").all().is_empty() || resumed.notices.is_empty());
        Ok(resumed.notices)
    }

    /// The agent's commit is somewhere.
    fn nothing_is_lost(&self) {
        let log = self.git(&["log", "--all", "--format=%s"]);
        assert!(log.contains("[b is there]"), "{log}");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_type().expect("a type").is_file() {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn journals(root: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(root.join(".ralph/runs")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = runs.map(|run| run.path().join("events.jsonl")).collect();
    all.retain(|path| path.is_file());
    all.sort();
    all
}

fn events(journal: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn iterations(root: &Path) -> Vec<u32> {
    let events = journals(root).into_iter().flat_map(|journal| events(&journal));
    let started = events.filter_map(|event| match event.kind {
        EventKind::IterationStarted { iteration, .. } => Some(iteration),
        _ => None,
    });
    started.collect()
}

/// Where the last `count` lines begin.
fn last_lines(journal: &[u8], count: usize) -> usize {
    let ends = journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.collect();
    ends[ends.len() - 1 - count]
}

#[test]
fn a_journal_cut_at_any_byte_or_full_of_zeros_is_cut_back_to_its_last_whole_record() {
    let dead = Dead::new();
    let whole = dead.bytes();
    let from = last_lines(&whole, 2);
    let last = last_lines(&whole, 1);
    // An odd number: what is cut and what is full of zeros take turns.
    let seed = usize::try_from(sample::seed() % 31).expect("small");
    let is_drawn = |length: &usize| match sample::full() {
        true => *length >= last || length.is_multiple_of(7),
        false => length % 31 == seed || [from, last, whole.len()].contains(length),
    };
    for length in (from..=whole.len()).filter(is_drawn) {
        // Each other one lost its content and not its length, as a power cut leaves it.
        let mut torn = whole[..length].to_vec();
        if length % 2 == 1 {
            torn.resize(whole.len() + 100, 0);
        }
        let copy = dead.copy(&torn);
        let notices = copy.put_in_order().unwrap_or_else(|error| panic!("{length}: {error}"));
        let kept = std::fs::read(&copy.journal).expect("a journal");
        let lines = whole[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        assert_eq!(kept, whole[..lines], "{length}");
        let said =
            notices.iter().any(|notice| notice.contains("in the middle of a record: removed"));
        assert_eq!(said, lines < torn.len(), "{length}: {notices:?}");
        assert!(notices.iter().any(|notice| notice.contains("died in iteration 2")), "{notices:?}");
        assert_eq!(copy.git(&["status", "--short"]), "", "{length}");
        copy.nothing_is_lost();
        // Done once, it is done.
        assert_eq!(copy.put_in_order(), Ok(Vec::new()), "{length}");
    }
}

/// One bit is another in each line, or in a sample of them: what stood there is not known, and the
/// rest still is.
#[test]
fn a_flipped_bit_is_told_of_and_no_claim_is_taken_for_proven() {
    let dead = Dead::new();
    let whole = dead.bytes();
    let text = String::from_utf8(whole.clone()).expect("UTF-8");
    let mut start = 0;
    let mut refused = Vec::new();
    let seed = usize::try_from(sample::seed() % 4).expect("small");
    let begins = ["\"event\":\"run_started\"", "\"event\":\"iteration_started\""];
    let is_drawn = |number: usize, line: &str| {
        sample::full() || number % 4 == seed || begins.iter().any(|event| line.contains(event))
    };
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if !is_drawn(number, line) {
            start += line.len();
            continue;
        }
        for at in [start, start + line.len() - 2, start + line.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            let copy = dead.copy(&flipped);
            match copy.put_in_order() {
                Ok(notices) => {
                    let told = notices.iter().any(|it| it.contains("is damaged: "));
                    let cut =
                        notices.iter().any(|it| it.contains("ended in the middle of a record"));
                    assert!(told || cut, "{at}: {notices:?}");
                    assert_eq!(copy.git(&["status", "--short"]), "", "{line}");
                    let task = std::fs::read_to_string(copy.root.join("tasks/demo/TASK.md"));
                    assert!(task.expect("TASK.md").contains("- [ ] b is there"), "{line}");
                }
                Err(error) => {
                    assert!(error.contains("died in iteration 2"), "{error}");
                    refused.push(line.split("\"event\":\"").nth(1).map(|it| &it[..8]));
                }
            }
            copy.nothing_is_lost();
        }
        start += line.len();
    }
    // The lines that tell where the run and the iteration began.
    let told = |name| refused.iter().filter(|line| **line == Some(name)).count();
    assert!(told("run_star") >= 2 && told("iteratio") >= 2, "{refused:?}");
    assert!(refused.len() <= 8, "{refused:?}");
}

#[test]
fn a_damaged_journal_stops_a_run_with_the_way_out_and_an_empty_one_does_not() {
    let dead = Dead::new();
    let path = dead.journal.to_str().expect("UTF-8").to_owned();
    let whole = String::from_utf8(dead.bytes()).expect("UTF-8");
    let began = whole.rfind("\"event\":\"iteration_started\"").expect("it began");
    let mut damaged = whole.clone().into_bytes();
    damaged[began] = b'?';
    dead.repo.write(&path, &damaged);
    let ran = dead.repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("its journal is damaged"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: check the last commits"), "{}", ran.stderr);

    // As the hint says.
    let folder = dead.repo.path(&path);
    std::fs::remove_dir_all(folder.parent().expect("a folder")).expect("removed");
    dead.repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let ran = dead.repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);

    let dead = Dead::new();
    dead.repo.write(dead.journal.to_str().expect("UTF-8"), "");
    let ran = dead.repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_broken_state_is_taken_from_the_last_commit_and_kept() {
    let repo = Repo::new(TWO);
    assert_eq!(repo.run(HONEST, &["--max-iterations", "1"]).code, Some(3));
    let good = repo.read("tasks/demo/state.json");
    for broken in ["", "{", &good[..good.len() / 2], "[]", "\0\0\0\0\0\0\0\0"] {
        repo.write("tasks/demo/state.json", broken);
        assert_eq!(repo.ralph(&["status", "demo"]).code, Some(0), "{broken}");
        let ran = repo.run(HONEST, &["--max-premium-requests", "0"]);
        assert_eq!(ran.code, Some(3), "{broken}: {}", ran.stderr);
        assert!(ran.stdout.contains("using the last committed one"), "{}", ran.stdout);
        assert_eq!(repo.read("tasks/demo/state.json"), good);
        let kept = std::fs::read_to_string(repo.path(".ralph/runs/broken-state.json"));
        assert_eq!(kept.ok().as_deref().unwrap_or_default(), broken, "it is kept");
    }
    assert_eq!(repo.run(HONEST, &[]).code, Some(0));
    assert_eq!(iterations(&repo.root()), [1, 2]);
}

#[test]
fn a_broken_state_that_git_does_not_know_better_stops_the_run() {
    let repo = Repo::with(TWO, &[("tasks/demo/state.json", "{")]);
    for _ in 0..2 {
        let ran = repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(7), "{}", ran.stderr);
        assert!(ran.stderr.contains("state.json: EOF while parsing"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("hint: restore the last good version from git"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(repo.read("tasks/demo/state.json"), "{");
}

/// A clone of a repository, as CI makes one for each job.
fn cloned(from: &Path, repo: &Repo, name: &str) -> PathBuf {
    let to = repo.beside(name);
    let from = from.to_str().expect("UTF-8");
    repo.git(&["clone", "--quiet", from, to.to_str().expect("UTF-8")]);
    to
}

fn run_in(root: &Path, repo: &Repo, script: &str, args: &[&str]) -> Ran {
    let mut command = repo.run_command(script, args);
    command.current_dir(root).arg("--json");
    // A job's clone knows no human.
    finish(command)
}

#[test]
fn a_fresh_clone_goes_on_where_the_last_machine_stopped() {
    const LIES_ON_A: &str = r#"
turns:
- match: a is there
  steps: [{tick: "{criterion}"}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {commit: b}]
"#;
    let repo = Repo::new(TWO);
    let once = ["--max-iterations", "1", "--stuck-threshold", "2", "--on-stuck", "skip"];
    assert_eq!(repo.run(LIES_ON_A, &once).code, Some(3));
    let mut roots = vec![repo.root()];
    let mut numbers = vec![iterations(&repo.root())];
    for (name, code) in [("second", 3), ("third", 4), ("fourth", 4)] {
        let root = cloned(&roots[roots.len() - 1], &repo, name);
        assert!(!root.join(".ralph/runs").exists());
        let ran = run_in(&root, &repo, LIES_ON_A, &once);
        assert_eq!(ran.code, Some(code), "{name}: {}{}", ran.stdout, ran.stderr);
        numbers.push(iterations(&root));
        roots.push(root);
    }
    // The second failure blocks, the third works on the other one, the fourth has nothing
    // to do: it knows what is blocked, and what was proven by what.
    assert_eq!(numbers, [vec![1], vec![2], vec![3], vec![]]);
    let last = &roots[3];
    let text = std::fs::read_to_string(last.join("tasks/demo/state.json")).expect("state.json");
    let state: Value = serde_json::from_str(&text).expect("JSON");
    let entry = |text: &str| {
        let all = state["criteria"].as_array().expect("criteria");
        all.iter().find(|entry| entry["text"] == text).cloned().unwrap_or_default()
    };
    assert_eq!(entry("a is there")["attempts"], 2);
    assert_eq!(entry("a is there")["blocked"], true);
    assert_eq!(entry("b is there")["proof"], "check");
    assert_eq!(entry("b is there")["iteration"], 3);
    let output =
        Command::new("git").args(["status", "--short"]).current_dir(last).output().expect("git");
    assert_eq!(output.stdout, b"");
}

/// An attempt left the work, and the human took it out of the history again.
#[test]
fn a_later_tick_does_not_rest_on_work_that_is_not_there_any_more() {
    const WORKS: &str = "turns: [{steps: [{write: {path: a.txt, text: a}}, {commit: a}]}]";
    const TICKS: &str = "turns: [{steps: [{tick: \"{criterion}\"}]}]";
    for (takes_it_back, attempts) in [(false, 1), (true, 2)] {
        let repo = Repo::new("# One\n\n- [ ] a is there\n");
        let once = ["--max-iterations", "1"];
        assert_eq!(repo.run(WORKS, &once).code, Some(3));
        assert_eq!(repo.git(&["show", "--format=", "--name-only", "HEAD~1"]), "a.txt\n");
        if takes_it_back {
            repo.git(&["rebase", "--quiet", "--onto", "HEAD~2", "HEAD~1"]);
            assert!(!repo.path("a.txt").exists());
        }
        let ran = repo.run(TICKS, &once);
        assert_eq!(ran.code, Some(if takes_it_back { 3 } else { 0 }), "{}", ran.stdout);
        assert_eq!(repo.state()["criteria"][0]["attempts"], attempts, "{}", ran.stdout);
    }
}

/// Runs it with files limited to so many blocks of 512 bytes, as a full disk limits them.
fn run_limited(repo: &Repo, script: &str, signal: &str, blocks: u32) -> Ran {
    run_with(repo, script, &format!("{signal}ulimit -f {blocks}"))
}

/// What goes with such a limit is a signal that ends whoever does not expect it.
const SIGNALS: [&str; 2] = ["trap '' XFSZ; ", ""];

/// Runs it after a shell's preparations.
fn run_with(repo: &Repo, script: &str, before: &str) -> Ran {
    repo.run_by(&["sh", "-c", &format!("{before} && exec \"$@\""), "sh"], script)
}

#[test]
fn without_room_it_does_not_begin() {
    for (signal, blocks) in SIGNALS.into_iter().flat_map(|it| [(it, 8), (it, 100)]) {
        let repo = Repo::new(TWO);
        let ran = run_limited(&repo, HONEST, signal, blocks);
        assert_eq!(ran.code, Some(11), "{signal}{blocks}: {}", ran.stderr);
        assert!(ran.stderr.contains("File too large"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: free some space"), "{}", ran.stderr);
        assert_eq!(journals(&repo.root()), Vec::<PathBuf>::new(), "no agent without a journal");
        assert_eq!(repo.status(), "");
        assert_eq!(repo.run(HONEST, &[]).code, Some(0));
    }
}

#[test]
fn a_disk_that_fills_up_in_a_run_stops_it_and_the_last_good_state_is_there() {
    let talk = "a".repeat(2000);
    let steps: String =
        (0..250).map(|at| format!("{{write: {{path: big{at}.txt, text: {talk}}}}}, ")).collect();
    let script = format!(
        "turns:\n- match: a is there\n  steps: [{{write: {{path: a.txt, text: a}}}}, {{tick: \"{{criterion}}\"}}, {{commit: a}}]\n- match: b is there\n  steps: [{steps}{{hang: null}}]\n"
    );
    for signal in SIGNALS {
        let repo = Repo::new(TWO);
        let ran = run_limited(&repo, &script, signal, 600);
        assert_eq!(ran.code, Some(11), "{signal}: {}", ran.stderr);
        assert!(ran.stderr.contains("File too large"), "{}", ran.stderr);
        let state = repo.state();
        assert_eq!(state["criteria"][0]["proof"], "check", "{state}");
        let ran = repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(repo.status(), "");
        assert_eq!(iterations(&repo.root()), [1, 2, 3]);
        let kept = repo.git(&["ls-tree", "--name-only", "refs/ralph/demo/attempts/1"]);
        assert!(kept.contains("big0.txt"), "{signal}: {kept}");
    }
}

/// With file systems of its own, where this user may make them.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "a test that cannot be made says so")]
#[test]
fn a_read_only_folder_or_a_tiny_disk_is_told_before_the_agent_starts() {
    let can = Command::new("unshare").args(["-Urm", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        println!("no user namespaces here");
        return;
    }
    for (mount, reason) in [
        ("mount --bind .ralph .ralph && mount -o remount,bind,ro .ralph", "Read-only file system"),
        (
            "mount --bind tasks/demo tasks/demo && mount -o remount,bind,ro tasks/demo",
            "Read-only file system",
        ),
        ("mount -t tmpfs -o size=64k tmpfs .ralph", "No space left on device"),
    ] {
        let repo = Repo::new(TWO);
        std::fs::create_dir(repo.path(".ralph")).expect("a folder");
        let before = format!("{mount} && exec \"$@\"");
        let ran = repo.run_by(&["unshare", "-Urm", "sh", "-c", &before, "sh"], HONEST);
        assert_eq!(ran.code, Some(11), "{mount}: {}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{mount}: {}", ran.stderr);
        assert!(!ran.stdout.contains("agent_started"), "{mount}: {}", ran.stdout);
        assert_eq!(repo.status(), "", "{mount}");
        assert_eq!(repo.run(HONEST, &[]).code, Some(0), "{mount}");
    }
}

/// The limit is that of the address space, agent and all: what is read is not kept.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_takes_no_more_memory_the_longer_it_lasts() {
    let honest = HONEST.trim_start().trim_start_matches("turns:\n");
    for (flood, restarts) in [
        ("{count: 100000, bytes: 1000}", 1),
        // One line that never ends: the stream is given up, and the agent started anew.
        ("{count: 100, bytes: 1048576, lines: false}", 2),
    ] {
        let repo = Repo::new(TWO);
        let script = format!(
            "memory: seen.txt\nturns:\n- times: 1\n  steps: [{{flood: {flood}}}]\n{honest}"
        );
        let ran = run_with(&repo, &script, "ulimit -v 524288");
        assert_eq!(ran.code, Some(0), "{flood}: {}", ran.stderr);
        let starts = ran.stdout.matches("\"event\":\"agent_started\"").count();
        assert_eq!(starts, restarts, "{flood}");
        for path in files_of_the_run(&repo) {
            let size = path.metadata().expect("a file").len();
            assert!(size < 20 << 20, "{}: {size}", path.display());
        }
    }
}

#[cfg(target_os = "linux")]
fn files_of_the_run(repo: &Repo) -> Vec<PathBuf> {
    let journal = journals(&repo.root()).pop().expect("a run");
    let folder = journal.parent().expect("a folder");
    std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect()
}
