//! A human's machine in a folder: HOME with its caches, a repository, and a shell like theirs.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ralph_copilot::model::{Event, EventKind, Proof, VerdictResult};
use serde_json::json;
use tempfile::TempDir;

use crate::sample;
use crate::tier::has_tier;

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ralph-copilot");
/// Seconds that a command may take.
const LIMIT: &str = "300";
/// Where `tests/support/ordinary-tools` puts what distributions do not package.
const TOOLS: &str = "RALPH_TEST_TOOLS";
/// The tiers.
pub(crate) const TIERS: [&str; 3] = ["full", "partial", "off"];

/// A small project, as people have them.
pub(crate) struct Project {
    /// Programs, and commands that must succeed: otherwise it is passed over.
    pub(crate) needs: &'static [&'static str],
    /// Files of the first commit.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// What the human ran after it, such as `npm ci`.
    pub(crate) prepare: &'static [&'static str],
    /// The check of its criterion.
    pub(crate) check: &'static str,
    /// The file that the agent writes, and what into it.
    pub(crate) work: (&'static str, &'static str),
}

/// A project on a machine.
pub(crate) struct Place {
    folder: TempDir,
    /// The repository, relative to the folder.
    root: PathBuf,
}

/// How a run ended.
pub(crate) struct Ran {
    code: Option<i32>,
    pub(crate) told: String,
    events: Vec<Event>,
}

impl Place {
    /// A machine with an empty repository.
    pub(crate) fn new(root: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder"), root: root.into() };
        for folder in [place.root(), place.beside("home"), place.beside("tmp")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        place.shell(
            "git init --quiet --initial-branch=main .
            git config --global user.name Human
            git config --global user.email human@example.com
            git config --global protocol.file.allow always",
        );
        place
    }

    /// A machine with a project that works as its human left it.
    pub(crate) fn of(project: &Project, front: &str) -> Self {
        let place = Self::new("repo");
        place.add(project, front);
        for line in project.prepare {
            place.shell(line);
        }
        place
    }

    /// Commits a project's files with a task.
    pub(crate) fn add(&self, project: &Project, front: &str) {
        for (path, text) in project.files {
            self.write(path, text);
        }
        let front = if front.is_empty() { String::new() } else { format!("---\n{front}\n---\n") };
        let check = project.check;
        let task = format!("{front}# Demo\n\n- [ ] it works\n  - verify: `{check}`\n");
        self.write("tasks/demo/TASK.md", &task);
        self.shell("git add --all && git commit --quiet --message start");
    }

    /// The working tree.
    pub(crate) fn root(&self) -> PathBuf {
        self.beside("").join(&self.root)
    }

    /// A path beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    /// Works in another folder from now on.
    pub(crate) fn enter(&mut self, root: &str) {
        self.root = root.into();
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// What the human runs, which must succeed.
    pub(crate) fn shell(&self, line: &str) -> String {
        let (ok, text) = self.try_shell(line);
        assert!(ok, "{line}\n{text}");
        text
    }

    fn try_shell(&self, line: &str) -> (bool, String) {
        let mut shell = self.command(["sh", "-ec", line]);
        let output = shell.output().expect("it runs");
        (output.status.success(), both(&output))
    }

    /// Runs the task: the agent writes what the project needs, ticks and commits.
    pub(crate) fn run(&self, project: &Project, tier: &str) -> Ran {
        let (path, text) = project.work;
        let work = json!({"path": path, "text": text});
        let script = format!(
            "turns:\n- steps:\n  - write: {work}\n  - tick: \"{{criterion}}\"\n  \
             - progress: made it work\n  - commit: make it work\n"
        );
        let agent = self.beside("agent.yaml");
        fs::write(&agent, script).expect("written");
        let agent = format!("'{PROGRAM}' agent '{}'", agent.display());
        let tier = format!("--sandbox={tier}");
        let words = [PROGRAM, "run", "demo", "--agent", &agent, &tier, "--json"];
        let more = ["--max-iterations", "1", "--stuck-threshold", "1"];
        let output = self.command(words.into_iter().chain(more)).output().expect("it runs");
        let events = String::from_utf8_lossy(&output.stdout);
        let events = events.lines().map(|line| serde_json::from_str(line).expect("an event"));
        Ran { code: output.status.code(), events: events.collect(), told: both(&output) }
    }

    fn command<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "2", LIMIT]).args(words).current_dir(self.root()).env_clear();
        command.envs(self.environment()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The environment of a shell in this HOME.
    fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("HOME", self.beside("home").into()),
            ("TMPDIR", self.beside("tmp").into()),
            ("PATH", path()),
            ("LANG", "C.UTF-8".into()),
            ("USER", "grace".into()),
            // It leaves files in /tmp otherwise.
            ("JAVA_TOOL_OPTIONS", "-XX:-UsePerfData".into()),
            // Java finds a home by the user's name.
            ("GRADLE_USER_HOME", self.beside("home/.gradle").into()),
            ("MAVEN_OPTS", format!("-Duser.home={}", self.beside("home").display()).into()),
        ]
    }
}

impl Ran {
    /// The criterion was proven by its check, in a room that had nothing to complain about.
    pub(crate) fn is_proven(&self) -> bool {
        let by_check = |event: &Event| match &event.kind {
            EventKind::VerdictReached { verdict, .. } => {
                verdict.result == VerdictResult::Pass(Proof::Check)
            }
            _ => false,
        };
        self.code == Some(0) && self.events.iter().any(by_check)
    }

    /// It stopped before an agent worked, with a line that says this.
    pub(crate) fn needs(&self, line: &str) -> bool {
        let started =
            self.events.iter().any(|event| matches!(event.kind, EventKind::AgentStarted { .. }));
        self.code == Some(7) && !started && self.told.contains(line)
    }
}

/// PATH of a shell on this machine: the system's folders, and our own tools.
fn path() -> OsString {
    let tools = std::env::var_os(TOOLS).map(|tools| Path::new(&tools).join("bin"));
    let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::join_paths(tools.into_iter().chain(system)).expect("a PATH")
}

/// The tiers in which a project is tried here; says what is passed over.
pub(crate) fn tiers(needs: &[&str]) -> Vec<&'static str> {
    tiers_of(needs, &TIERS)
}

/// The same, of these tiers.
pub(crate) fn tiers_of(needs: &[&str], only: &[&'static str]) -> Vec<&'static str> {
    let has = |need: &str| {
        let need = if need.contains(' ') { need.to_owned() } else { format!("command -v {need}") };
        let mut shell = Command::new("sh");
        shell.args(["-c", &need]).env("PATH", path()).stdin(Stdio::null());
        shell.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    if let Some(missing) = needs.iter().find(|need| !has(need)) {
        say(&format!("passed over: no {missing}"));
        return Vec::new();
    }
    let (tried, not): (Vec<_>, Vec<_>) = only.iter().copied().partition(|tier| has_tier(tier));
    if !not.is_empty() {
        say(&format!("passed over: no tier {}", not.join(", ")));
    }
    drawn(tried)
}

/// All of them, or the one that the seed draws for this test.
fn drawn(tiers: Vec<&'static str>) -> Vec<&'static str> {
    if sample::full() || tiers.is_empty() {
        return tiers;
    }
    let seed = usize::try_from(sample::seed() % 1000).expect("a number");
    // Not the same one for every test.
    let name = std::thread::current().name().map_or(0, str::len);
    vec![tiers[(seed + name) % tiers.len()]]
}

/// Proves a project's criterion in each tier, without any configuration.
pub(crate) fn proves(project: &Project) {
    proves_in(project, &TIERS);
}

/// The same in some tiers.
pub(crate) fn proves_in(project: &Project, only: &[&'static str]) {
    for tier in tiers_of(project.needs, only) {
        let ran = Place::of(project, "").run(project, tier);
        assert!(ran.is_proven(), "{tier}: {}", ran.told);
    }
}

/// Proves it in `full`; elsewhere it has to be said that `setup:` is needed, and with that line
/// it is proven there, too.
pub(crate) fn proves_with_setup(project: &Project, says: &str, setup: &str) {
    for tier in tiers(project.needs) {
        let ran = Place::of(project, "").run(project, tier);
        if tier == "full" {
            assert!(ran.is_proven(), "{tier}: {}", ran.told);
            continue;
        }
        assert!(ran.needs("setup:") && ran.needs(says), "{tier}: {}", ran.told);
        let front = format!("setup: [{}]", json!(setup));
        let ran = Place::of(project, &front).run(project, tier);
        assert!(ran.is_proven(), "{tier}, with setup: {}", ran.told);
    }
}

fn both(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{:?}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// The harness shows this with --nocapture.
fn say(text: &str) {
    drop(writeln!(std::io::stdout(), "{text}"));
}
