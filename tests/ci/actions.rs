//! A small GitHub: a bare repository, and a runner that executes the steps of a workflow.
//!
//! Each job gets a machine of its own: a folder, and a clone if it checks out. The jobs of a matrix
//! run at the same time. Actions are copies of files, `gh` is a script that records its arguments,
//! and an expression that is not known here fails the test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::repo::{PROGRAM, Repo, finish, in_place_of};
use crate::tier::has_tier;

const ACTION: &str = "me/ralph-copilot@3d3c42e5aac5ba805825da76410c181273ba90b1";

/// Answers as `gh` would, from files beside it.
const GH: &str = r#"#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$*" >>"$here/gh.log"
case "$1 $2" in
  "pr list" | "issue list") cat "$here/number" 2>/dev/null || true ;;
  "api repos/me/repo/git/ref/heads/"*)
    git --git-dir "$here/../github/me/repo" rev-parse "refs/heads/${2#*/heads/}" ;;
  "api repos/me/repo/collaborators/ann/permission") cat "$here/permission" ;;
  "pr create") if [ -e "$here/forbidden" ]; then echo "not permitted" >&2; exit 1; fi ;;
esac
"#;

/// The human's repository, the one on GitHub, and the workflow.
pub(crate) struct Hub {
    pub(crate) human: Repo,
    workflow: Value,
    /// The GitHub event with an issue, for runs that a label starts.
    pub(crate) event: Option<Value>,
    /// The inputs of the next run, for runs that are dispatched.
    inputs: Value,
    /// Replaces parts of the steps' text.
    pub(crate) instead: Vec<(&'static str, &'static str)>,
    jobs: AtomicU32,
    /// The number of the run.
    run: AtomicU32,
}

/// Is called before each step, with the job, the step's name, and the clone. A job of a matrix is
/// named with its criterion, as `work (a)`.
pub(crate) type Meddle<'a> = &'a (dyn Fn(&str, &str, &Path) + Sync);

/// A machine at work.
#[derive(Default)]
struct Machine {
    folder: PathBuf,
    /// Its place in the matrix, and its entry there.
    entry: (usize, Value),
    outputs: BTreeMap<String, String>,
    /// All that its steps printed.
    log: String,
    failed: bool,
}

/// The end of a job.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) failed: bool,
    pub(crate) skipped: bool,
    pub(crate) outputs: BTreeMap<String, String>,
    pub(crate) log: String,
}

/// The ends of jobs, by name.
pub(crate) type Jobs = BTreeMap<String, Ended>;

impl Hub {
    /// A repository on GitHub with a task, and the workflow that `init --ci` writes for it.
    pub(crate) fn new(task: &str, files: &[(&str, &str)]) -> Self {
        Self::with(task, files, "ralph.yml", &[])
    }

    /// The same for a fleet.
    pub(crate) fn fleet(task: &str, files: &[(&str, &str)]) -> Self {
        Self::with(task, files, "ralph-fleet.yml", &["--fleet=5"])
    }

    fn with(task: &str, files: &[(&str, &str)], name: &str, more: &[&str]) -> Self {
        let human = Repo::with(task, files);
        let init = ["init", "--ci", "--task", "demo", "--action", ACTION];
        let written = human.ralph(&[&init, more].concat());
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        human.commit("the workflow");
        let text = human.read(&format!(".github/workflows/{name}"));
        let workflow = serde_saphyr::from_str(&text).expect("YAML");
        let url = human.beside("github/me/repo");
        human.git(&["init", "--quiet", "--bare", "--initial-branch=main", path(&url)]);
        human.git(&["remote", "add", "origin", path(&url)]);
        human.git(&["push", "--quiet", "origin", "main"]);
        let bin = human.beside("bin");
        fs::create_dir_all(&bin).expect("a folder");
        fs::write(bin.join("gh"), GH).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(bin.join("gh"), mode).expect("a program");
        let inputs = json!({ "round": "1", "again": "" });
        let (event, instead) = (None, Vec::new());
        let (jobs, run) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { human, workflow, event, inputs, instead, jobs, run }
    }

    /// The refs on GitHub, without `main`.
    pub(crate) fn refs(&self) -> Vec<String> {
        let url = self.human.beside("github/me/repo");
        let list = ["--git-dir", path(&url), "for-each-ref", "--format=%(objectname) %(refname)"];
        let refs = self.human.git(&list);
        refs.lines().filter(|it| !it.ends_with("/main")).map(str::to_owned).collect()
    }

    /// What `gh` was asked, a line each.
    pub(crate) fn asked(&self) -> String {
        fs::read_to_string(self.human.beside("bin/gh.log")).unwrap_or_default()
    }

    /// Lets `gh` answer.
    pub(crate) fn answer(&self, name: &str, text: &str) {
        fs::write(self.human.beside("bin").join(name), text).expect("written");
    }

    /// A new machine, with a clone of what GitHub has if the job checks out.
    fn machine(&self, job: &Value, entry: (usize, Value)) -> Machine {
        let number = self.jobs.fetch_add(1, Ordering::Relaxed) + 1;
        let folder = self.human.beside(&format!("machine-{number}"));
        let at = folder.join("repo");
        fs::create_dir_all(folder.join("temp")).expect("a folder");
        fs::create_dir_all(&at).expect("a folder");
        let steps = job["steps"].as_array().into_iter().flatten();
        let mut actions = steps.filter_map(|step| step["uses"].as_str());
        if actions.any(|action| action.starts_with("actions/checkout@")) {
            let url = self.human.beside("github/me/repo");
            self.human.git(&["clone", "--quiet", path(&url), path(&at)]);
        }
        Machine { folder, entry, outputs: BTreeMap::new(), log: String::new(), failed: false }
    }

    /// The number of the run at hand.
    fn run_id(&self) -> String {
        self.run.load(Ordering::Relaxed).to_string()
    }

    /// The text of the last run's pull request.
    pub(crate) fn body(&self) -> String {
        let file = self.human.beside("artifacts").join(self.run_id()).join("ralph-body/body.md");
        fs::read_to_string(file).expect("a text")
    }

    /// One run of the workflow: all jobs.
    pub(crate) fn night(&self, script: &str, meddle: Meddle<'_>) -> Jobs {
        let agent = self.human.agent(script);
        self.run.fetch_add(1, Ordering::Relaxed);
        let mut jobs = Jobs::new();
        for name in ["plan", "work", "prove", "push", "tell"] {
            if self.workflow["jobs"].get(name).is_some() {
                let ended = self.job(name, &jobs, &agent, meddle);
                jobs.insert(name.to_owned(), ended);
            }
        }
        jobs
    }

    /// Does the last run begin another? Its inputs are those of the next one, then.
    pub(crate) fn dispatched(&mut self) -> bool {
        let asked = self.asked();
        let begun: Vec<_> = asked.lines().filter(|it| it.starts_with("workflow run ")).collect();
        let Some(line) = begun.last() else { return false };
        let given = |name: &str| {
            let value = line.split(&format!(" -f {name}=")).nth(1).expect("an input");
            value.split(' ').next().expect("a value").to_owned()
        };
        let inputs = json!({ "round": given("round"), "again": given("again") });
        let is_new = inputs != self.inputs;
        self.inputs = inputs;
        is_new
    }

    /// All machines of a job, at the same time.
    fn job(&self, name: &str, jobs: &Jobs, agent: &str, meddle: Meddle<'_>) -> Ended {
        let job = &self.workflow["jobs"][name];
        let needs: Vec<&str> = match &job["needs"] {
            Value::String(one) => vec![one],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let failed = needs.iter().any(|it| jobs[*it].failed);
        let bad = failed || needs.iter().any(|it| jobs[*it].skipped);
        let nowhere = Machine::default();
        let condition = job["if"].as_str().unwrap_or("success()");
        if !self.holds(condition, (bad, failed), &nowhere, jobs) {
            return Ended { skipped: true, ..Ended::default() };
        }
        let Some(matrix) = job["strategy"]["matrix"].as_str() else {
            return self.on_machine(name, job, (0, Value::Null), jobs, (agent, meddle));
        };
        let matrix: Value = serde_json::from_str(&self.text(matrix, &nowhere, jobs)).expect("JSON");
        let entries = matrix["include"].as_array().expect("a matrix").iter().enumerate();
        thread::scope(|scope| {
            let work = |(at, entry): (usize, &Value)| {
                let (title, entry) =
                    (format!("{name} ({})", word(&entry["criterion"])), entry.clone());
                scope
                    .spawn(move || self.on_machine(&title, job, (at, entry), jobs, (agent, meddle)))
            };
            let all: Vec<_> = entries.map(work).collect();
            let all = all.into_iter().map(|it| it.join().expect("a machine"));
            all.fold(Ended::default(), |mut all, one| {
                all.failed |= one.failed;
                all.log.push_str(&one.log);
                all
            })
        })
    }

    /// The steps of a job on a machine of their own.
    fn on_machine(
        &self,
        name: &str,
        job: &Value,
        entry: (usize, Value),
        jobs: &Jobs,
        (agent, meddle): (&str, Meddle<'_>),
    ) -> Ended {
        let mut machine = self.machine(job, entry);
        for step in job["steps"].as_array().expect("steps") {
            let condition = step["if"].as_str().unwrap_or("success()");
            if !self.holds(condition, (machine.failed, machine.failed), &machine, jobs) {
                continue;
            }
            let title = step["name"].as_str().or(step["uses"].as_str()).expect("a name");
            meddle(name, title, &machine.folder.join("repo"));
            match step["run"].as_str() {
                Some(text) => self.run(step, title, text, &mut machine, (jobs, agent)),
                None => self.uses(step, &machine, jobs),
            }
        }
        let outputs = job["outputs"].as_object().into_iter().flatten();
        let outputs = outputs.map(|(key, text)| {
            (key.clone(), self.text(text.as_str().expect("a text"), &machine, jobs))
        });
        let outputs = outputs.collect();
        Ended { failed: machine.failed, skipped: false, outputs, log: machine.log }
    }

    fn run(
        &self,
        step: &Value,
        title: &str,
        text: &str,
        machine: &mut Machine,
        (jobs, agent): (&Jobs, &str),
    ) {
        let text = self.instead.iter().fold(text.to_owned(), |text, (a, b)| text.replace(a, b));
        let like = self.human.command(&[]);
        let mut shell = in_place_of(&like, "bash");
        let programs = Path::new(PROGRAM).parent().expect("a folder");
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{}:{path}", path_of(&self.human.beside("bin")), path_of(programs));
        let output = machine.folder.join("output");
        let event = machine.folder.join("event.json");
        fs::write(&output, "").expect("written");
        fs::write(&event, self.event.clone().unwrap_or_default().to_string()).expect("written");
        shell
            .args(["-e", "-c", &text])
            .current_dir(machine.folder.join("repo"))
            .env("PATH", path)
            .env("RALPH_COPILOT_AGENT", agent)
            // Only a job that says so needs walls: they take most of the time of a small check.
            .env("RALPH_COPILOT_SANDBOX", "off")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_SERVER_URL", format!("file://{}", self.human.beside("github").display()))
            .env("GITHUB_REPOSITORY", "me/repo")
            .env("GITHUB_RUN_ID", self.run_id())
            .env("GITHUB_EVENT_PATH", event)
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_STEP_SUMMARY", machine.folder.join("summary.md"))
            .env("RUNNER_TEMP", machine.folder.join("temp"));
        for env in [&self.workflow["env"], &step["env"]] {
            for (name, value) in env.as_object().into_iter().flatten() {
                let value = self.text(value.as_str().expect("a text"), machine, jobs);
                // A machine without namespaces has no better one.
                let lesser = value == "full" && !has_tier("full");
                shell.env(name, if lesser { "auto" } else { &value });
            }
        }
        let ran = finish(shell);
        machine.failed |= ran.code != Some(0);
        write!(machine.log, "== {title}: {:?}\n{}{}", ran.code, ran.stdout, ran.stderr)
            .expect("written");
        let id = step["id"].as_str().unwrap_or_default();
        for line in fs::read_to_string(output).expect("an output").lines() {
            let (name, value) = line.split_once('=').expect("an output");
            machine.outputs.insert(format!("{id}.{name}"), value.to_owned());
        }
    }

    fn uses(&self, step: &Value, machine: &Machine, jobs: &Jobs) {
        let action = step["uses"].as_str().expect("an action").split('@').next();
        let with =
            |key: &str| self.text(step["with"][key].as_str().unwrap_or_default(), machine, jobs);
        let kept = self.human.beside("artifacts");
        match action.expect("a name") {
            "actions/checkout" | "me/ralph-copilot" => {}
            "actions/upload-artifact" => {
                let to = kept.join(self.run_id()).join(with("name"));
                for from in with("path").lines() {
                    let from = machine.folder.join("repo").join(from);
                    // A folder alone gives what is in it; with others, it is one of them.
                    let dot =
                        if from.is_dir() && with("path").lines().count() == 1 { "/." } else { "" };
                    if from.exists() {
                        fs::create_dir_all(&to).expect("a folder");
                        sh(&format!("cp -r '{}{dot}' '{}'", from.display(), to.display()));
                    }
                }
            }
            "actions/download-artifact" => {
                let (to, run) = (with("path"), with("run-id"));
                let from = kept.join(if run.is_empty() { self.run_id() } else { run });
                let from = path_of(&from);
                fs::create_dir_all(&to).expect("a folder");
                match with("name").as_str() {
                    "" => sh(&format!(
                        "shopt -s nullglob; for it in '{from}'/{}; do cp -r \"$it\" '{to}'; done",
                        with("pattern")
                    )),
                    name => sh(&format!("cp -r '{from}/{name}/.' '{to}'")),
                }
            }
            other => panic!("{other} is not known here"),
        }
    }

    /// A text with its expressions replaced.
    fn text(&self, text: &str, machine: &Machine, jobs: &Jobs) -> String {
        let mut made = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{ ") {
            let (inner, after) = after.split_once(" }}").expect("an end");
            made = made + before + &self.value(inner, machine, jobs);
            rest = after;
        }
        made + rest
    }

    fn value(&self, name: &str, machine: &Machine, jobs: &Jobs) -> String {
        let number = || self.event.as_ref().map(|it| it["issue"]["number"].to_string());
        if name.contains(" && format('issue-{0}'") {
            return number().map_or("demo".to_owned(), |number| format!("issue-{number}"));
        }
        if let Some(output) = name.strip_prefix("steps.") {
            let output = output.replace("outputs.", "");
            return machine.outputs.get(&output).cloned().unwrap_or_default();
        }
        if let Some((job, output)) =
            name.strip_prefix("needs.").and_then(|it| it.split_once(".outputs."))
        {
            return jobs[job].outputs.get(output).cloned().unwrap_or_default();
        }
        let label = self.event.is_some();
        if let Some(key) = name.strip_prefix("matrix.") {
            return word(&machine.entry.1[key]);
        }
        if let Some(key) = name.strip_prefix("inputs.") {
            return word(&self.inputs[key]);
        }
        let result = |job: &str| {
            let job = &jobs[job];
            if job.failed || job.skipped { "failure" } else { "success" }.to_owned()
        };
        match name {
            "github.event.repository.default_branch" => "main".to_owned(),
            "github.event.issue.number" => number().unwrap_or_default(),
            "github.event.sender.login" => "ann".to_owned(),
            "github.event.label.name" if label => "ralph".to_owned(),
            "github.event_name" => if label { "issues" } else { "schedule" }.to_owned(),
            "github.token" | "secrets.COPILOT_GITHUB_TOKEN" => "token-of-the-job".to_owned(),
            "fromJSON(needs.plan.outputs.matrix)" => jobs["plan"].outputs["matrix"].clone(),
            "needs.plan.result" => result("plan"),
            "needs.prove.result" => result("prove"),
            "strategy.job-index" => machine.entry.0.to_string(),
            "runner.temp" => path_of(&machine.folder.join("temp")),
            other => panic!("the expression {other} is not known here"),
        }
    }

    fn holds(
        &self,
        text: &str,
        (bad, failed): (bool, bool),
        machine: &Machine,
        jobs: &Jobs,
    ) -> bool {
        let text = text.trim_start_matches("${{ ").trim_end_matches(" }}");
        let atom = |atom: &str| match atom {
            "!cancelled()" => true,
            "failure()" => failed,
            "success()" => !bad,
            other => {
                let (name, value, equal) = match other.split_once(" == ") {
                    Some((name, value)) => (name, value, true),
                    None => {
                        let (name, value) = other.split_once(" != ").expect("a comparison");
                        (name, value, false)
                    }
                };
                (self.value(name, machine, jobs) == value.trim_matches('\'')) == equal
            }
        };
        let status = ["cancelled()", "failure()", "success()"];
        let has_status = status.iter().any(|it| text.contains(it));
        (has_status || !bad) && text.split(" || ").any(|all| all.split(" && ").all(atom))
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn path_of(it: &Path) -> String {
    path(it).to_owned()
}

/// A value as a word.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Runs a line of shell, which must succeed.
fn sh(line: &str) {
    let status = Command::new("bash").args(["-ec", line]).status().expect("it runs");
    assert!(status.success(), "{line}");
}
