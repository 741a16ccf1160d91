//! A small GitHub: a bare repository, and a runner that executes the steps of the workflow.
//!
//! Each job gets a machine of its own: a folder, and a clone if it checks out. Actions are copies of
//! files, `gh` is a script that records its arguments, and an expression that is not known here
//! fails the test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::repo::{PROGRAM, Repo, finish, in_place_of};
use crate::tier::has_tier;

const ACTION: &str = "me/ralph-copilot@3d3c42e5aac5ba805825da76410c181273ba90b1";

/// Answers as `gh` would, from files beside it.
const GH: &str = r#"#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$*" >>"$here/gh.log"
case "$1 $2" in
  "pr list" | "issue list") cat "$here/number" 2>/dev/null || true ;;
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
    /// Replaces parts of the steps' text.
    pub(crate) instead: Vec<(&'static str, &'static str)>,
    jobs: std::cell::Cell<u32>,
}

/// A machine at work.
struct Machine {
    folder: PathBuf,
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
        let human = Repo::with(task, files);
        let written = human.ralph(&["init", "--ci", "--task", "demo", "--action", ACTION]);
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        human.commit("the workflow");
        let text = human.read(".github/workflows/ralph.yml");
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
        let (event, instead, jobs) = (None, Vec::new(), std::cell::Cell::new(0));
        Self { human, workflow, event, instead, jobs }
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
    fn machine(&self, job: &Value) -> Machine {
        let number = self.jobs.get() + 1;
        self.jobs.set(number);
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
        Machine { folder, outputs: BTreeMap::new(), log: String::new(), failed: false }
    }

    /// One night: all jobs. `meddle` is called before each step, with the job, the step's name, and
    /// the clone.
    pub(crate) fn night(&self, script: &str, meddle: &dyn Fn(&str, &str, &Path)) -> Jobs {
        let agent = self.human.agent(script);
        let mut jobs = Jobs::new();
        drop(fs::remove_dir_all(self.human.beside("artifacts")));
        for name in ["work", "prove", "push", "tell"] {
            let ended = self.job(name, &jobs, &agent, meddle);
            jobs.insert(name.to_owned(), ended);
        }
        jobs
    }

    fn job(
        &self,
        name: &str,
        jobs: &Jobs,
        agent: &str,
        meddle: &dyn Fn(&str, &str, &Path),
    ) -> Ended {
        let job = &self.workflow["jobs"][name];
        let needs: Vec<&str> = match &job["needs"] {
            Value::String(one) => vec![one],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let failed = needs.iter().any(|it| jobs[*it].failed);
        let bad = failed || needs.iter().any(|it| jobs[*it].skipped);
        let mut machine = self.machine(job);
        let condition = job["if"].as_str().unwrap_or("success()");
        if !self.holds(condition, (bad, failed), &machine, jobs) {
            return Ended { skipped: true, ..Ended::default() };
        }
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
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_SERVER_URL", format!("file://{}", self.human.beside("github").display()))
            .env("GITHUB_REPOSITORY", "me/repo")
            .env("GITHUB_RUN_ID", "1")
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
                let from = machine.folder.join("repo").join(with("path"));
                if from.exists() {
                    let to = kept.join(with("name"));
                    fs::create_dir_all(&to).expect("a folder");
                    let dot = if from.is_dir() { "/." } else { "" };
                    sh(&format!("cp -r '{}{dot}' '{}'", from.display(), to.display()));
                }
            }
            "actions/download-artifact" => {
                let to = with("path");
                fs::create_dir_all(&to).expect("a folder");
                match with("name").as_str() {
                    "" => sh(&format!("cp -r '{}/.' '{to}'", kept.display())),
                    name => sh(&format!("cp -r '{}/.' '{to}'", kept.join(name).display())),
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
        match name {
            "github.event.repository.default_branch" => "main".to_owned(),
            "github.event.issue.number" => number().unwrap_or_default(),
            "github.event.sender.login" => "ann".to_owned(),
            "github.event.label.name" if label => "ralph".to_owned(),
            "github.event_name" => if label { "issues" } else { "schedule" }.to_owned(),
            "github.token" | "secrets.COPILOT_GITHUB_TOKEN" => "token-of-the-job".to_owned(),
            "needs.prove.result" => {
                let prove = &jobs["prove"];
                if prove.failed || prove.skipped { "failure" } else { "success" }.to_owned()
            }
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

/// Runs a line of shell, which must succeed.
fn sh(line: &str) {
    let status = Command::new("sh").args(["-ec", line]).status().expect("it runs");
    assert!(status.success(), "{line}");
}
