//! `ci push`: the job with rights, which runs nothing of the repository.
//!
//! Invariant: the branch moves only forward, from the tip that the proof began at, to exactly the
//! proven commit. A ref below `refs/ralph` is created, never moved.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::prove::moved;
use crate::cli::args::CiPushArgs;
use crate::cli::environment::variable;
use crate::cli::failure::Failure;
use crate::cli::print::{annotate, complain, say};
use crate::guard::{agent_setting, task_file};
use crate::model::ExitCode;
use crate::sys::env::is_git_context;
use crate::verify::BundleRefs;

/// Folders and files that change what machines run, or who must review a change.
const REFUSED: [&str; 4] = [".github", ".ralph", ".gitmodules", ".git"];

/// A bare clone of the repository on GitHub.
struct Bare {
    folder: tempfile::TempDir,
    url: String,
}

/// Pushes a proven commit.
pub(super) fn push(args: &CiPushArgs) -> Result<u8, Failure> {
    let (of, head) = (&args.of, args.of.head());
    let is_id = |id: &str| id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id(&args.proven) || !(args.known.is_empty() || is_id(&args.known)) {
        return Err(Failure::new(ExitCode::Usage, "--proven and --known are whole ids of commits")
            .hint("use the outputs of `ralph-copilot ci prove`"));
    }
    let told = |name: &str| {
        variable(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            Failure::new(ExitCode::Usage, format!("{name} is not set"))
                .hint("run it as a step of a workflow")
        })
    };
    let (server, name) = (told("GITHUB_SERVER_URL")?, told("GITHUB_REPOSITORY")?);
    let bare = Bare::clone(format!("{server}/{name}"))?;
    if bare.tip(&head)?.unwrap_or_default() != args.known {
        moved(&of.branch());
        return Ok(0);
    }
    let refs = of.take(bare.folder.path())?;
    let tip = refs.get(&head).map_or("", |tip| tip.as_str());
    if bare.grows(tip, &args.proven).is_err() {
        return Err(refused(format!("the bundle's branch does not have {}", args.proven)));
    }
    if !args.known.is_empty() && bare.grows(&args.proven, &args.known).is_err() {
        return Err(refused(format!("{} would not be a fast-forward", args.proven)));
    }
    // Its own TASK.md was judged; nobody judges those of other tasks here.
    let is_of_another_task = |path: &Path| {
        let folder = path.parent().and_then(Path::file_name);
        task_file(path) && folder.is_none_or(|it| it.to_string_lossy() != of.task)
    };
    let kept: Vec<_> = refs.iter().filter(|(name, _)| **name != head).collect();
    let ids = kept.iter().map(|(_, id)| id.as_str()).chain([args.proven.as_str()]);
    if let Some(path) = bare
        .changed(&ids.collect::<Vec<_>>())?
        .into_iter()
        .find(|it| is_refused(it) || is_of_another_task(it))
    {
        let path = path.display();
        return Err(refused(format!("a commit changes {path}, which only a human may change")));
    }
    bare.git(&[
        "push",
        "--quiet",
        "--no-verify",
        &format!("--force-with-lease={head}:{}", args.known),
        &bare.url,
        &format!("{}:{head}", args.proven),
    ])?;
    say(&format!("pushed {} to {}", args.proven, of.branch()));
    bare.create(&refs, &head)?;
    pull_request(args, &server, &name)
}

/// Is this a path that a machine must not change? Compared without case, as on macOS.
pub(in crate::cli) fn is_refused(path: &Path) -> bool {
    let low = PathBuf::from(path.to_string_lossy().to_lowercase());
    let owners = low.file_name().is_some_and(|name| name == "codeowners");
    owners
        || agent_setting(path)
        || low.iter().next().is_some_and(|first| REFUSED.iter().any(|it| first == *it))
        || low.iter().any(|name| name == ".gitmodules")
}

fn refused(why: String) -> Failure {
    Failure::new(ExitCode::Tampering, why).hint("nothing was pushed; look at the job that worked")
}

impl Bare {
    fn clone(url: String) -> Result<Self, Failure> {
        let folder = tempfile::tempdir();
        let folder =
            folder.map_err(|error| Failure::cannot_write(&std::env::temp_dir(), &error))?;
        let bare = Self { folder, url };
        bare.git(&["init", "--quiet", "--bare", "--template=", "."])?;
        let refs = ["+refs/heads/*:refs/heads/*", "+refs/ralph/*:refs/ralph/*"];
        bare.git(&[&["fetch", "--quiet", "--no-tags", &bare.url], &refs[..]].concat())?;
        Ok(bare)
    }

    fn tip(&self, name: &str) -> Result<Option<String>, Failure> {
        let said = self.git(&["for-each-ref", "--format=%(objectname)", name])?;
        Ok(Some(said.trim().to_owned()).filter(|id| !id.is_empty()))
    }

    /// Fails unless one commit descends from another, or is it.
    fn grows(&self, from: &str, ancestor: &str) -> Result<(), Failure> {
        self.git(&["merge-base", "--is-ancestor", ancestor, from]).map(drop)
    }

    /// Every path that a commit changes which no branch on GitHub has, against each parent.
    fn changed(&self, commits: &[&str]) -> Result<Vec<PathBuf>, Failure> {
        let log = ["log", "-z", "-m", "--root", "--no-renames", "--name-only", "--format="];
        let said = self.git(&[&log[..], commits, &["--not", "--branches"]].concat())?;
        Ok(said.split(['\0', '\n']).filter(|it| !it.is_empty()).map(PathBuf::from).collect())
    }

    /// Creates the kept attempts and held work that GitHub does not have.
    fn create(&self, refs: &BundleRefs, head: &str) -> Result<(), Failure> {
        let mut new = Vec::new();
        for (name, id) in refs.iter().filter(|(name, _)| *name != head) {
            match self.tip(name)? {
                None => new.push((format!("--force-with-lease={name}:"), format!("{id}:{name}"))),
                Some(tip) if tip == id.as_str() => {}
                Some(_) => complain(&format!("note: {name} exists and stays as it is")),
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let leases = new.iter().map(|(lease, _)| lease.as_str());
        let words = ["push", "--quiet", "--no-verify"].into_iter().chain(leases);
        let words = words.chain([self.url.as_str()]).chain(new.iter().map(|(_, to)| to.as_str()));
        self.git(&words.collect::<Vec<_>>()).map(drop)
    }

    /// Runs git with nobody's settings, and with the token of the job.
    fn git(&self, args: &[&str]) -> Result<String, Failure> {
        let mut git = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if is_git_context(&name.to_string_lossy()) {
                git.env_remove(name);
            }
        }
        let helper = r#"!f() { echo username=x-access-token; echo "password=$GH_TOKEN"; }; f"#;
        git.args(args).current_dir(self.folder.path()).env("GIT_DIR", self.folder.path());
        git.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        git.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("LC_ALL", "C")]);
        git.envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "credential.helper")]);
        git.env("GIT_CONFIG_VALUE_0", helper);
        done(git, &format!("git {}", args[0]))
    }
}

/// Opens a draft pull request, or updates it; where that is forbidden, tells how to.
fn pull_request(args: &CiPushArgs, server: &str, name: &str) -> Result<u8, Failure> {
    let (of, body) = (&args.of, args.body.display().to_string());
    let branch = of.branch();
    let gh = |words: &[&str]| {
        let mut gh = Command::new("gh");
        gh.args(["pr", words[0], "--repo", name]).args(&words[1..]);
        done(gh, &format!("gh pr {}", words[0]))
    };
    // Another repository may have a branch of this name.
    let ours = "[.[] | select(.isCrossRepository | not)][0].number // empty";
    let open = ["--state", "open", "--json", "number,isCrossRepository", "--jq", ours];
    let done = gh(&[&["list", "--head", &branch], &open[..]].concat()).and_then(|number| {
        let number = number.trim();
        if !number.is_empty() {
            return gh(&["edit", number, "--body-file", &body]);
        }
        let title = format!("ralph: {}", of.task);
        let to = ["--base", &of.base, "--title", &title, "--body-file", &body];
        gh(&[&["create", "--draft", "--head", &branch], &to[..]].concat())
    });
    match done {
        Ok(said) => say(said.trim()),
        Err(failure) => {
            let link = format!("{server}/{name}/compare/{}...{branch}?expand=1", of.base);
            complain(&format!("note: {}", failure.reason()));
            say(&format!("Open the pull request yourself: {link}"));
            annotate("notice", None, &format!("open the pull request yourself: {link}"));
        }
    }
    Ok(0)
}

fn done(mut command: Command, what: &str) -> Result<String, Failure> {
    let failed = |why: &str| Failure::new(ExitCode::Repository, format!("{what}: {}", why.trim()));
    let output = command.output().map_err(|error| failed(&error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(&String::from_utf8_lossy(&output.stderr))),
    }
}
