//! Hold-out checks: the folder that the agent never sees, and `holdout init`.
//!
//! Invariant: the folder lies outside of the repository, and is read before an agent starts. What it
//! contains is never printed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::args::HoldoutInitArgs;
use super::context::TaskContext;
use super::failure::Failure;
use super::openings;
use super::paths::{self, canonical, typed};
use super::print::{complain, say};
use crate::config::{self, LayerSettings, Settings, Source};
use crate::engine::HoldOut;
use crate::model::{ExitCode, ProofMode, Severity, Task, Tier};
use crate::task;
use crate::verify::{Derived, GitRepo, HoldOuts, log_hold_out};

/// The hold-out checks of a run, or a notice that there are none for its task.
pub(super) fn load(
    at: &TaskContext,
    about: (&Task, &Settings, Tier),
    run: &str,
) -> Result<(Option<HoldOut>, Option<String>), Failure> {
    let (checks, missing) = usable(at, about)?;
    let Some(checks) = checks else { return Ok((None, missing)) };
    Ok((Some(HoldOut { checks, log: log_of(&about.0.name, run)? }), None))
}

/// The same without the file for what they say.
pub(super) fn usable(
    at: &TaskContext,
    (task, settings, tier): (&Task, &Settings, Tier),
) -> Result<(Option<HoldOuts>, Option<String>), Failure> {
    let Some(folder) = paths::holdout_folder(settings, &at.place.cwd) else {
        return Ok((None, None));
    };
    let refuse = |why: &str, hint: &str| {
        Err(Failure::new(ExitCode::Invalid, format!("hold-out checks {why}")).hint(hint))
    };
    // In `partial`, code under test can write below /dev/shm, where the agent looks later.
    if tier != Tier::Full && !settings.holdout_visible {
        return refuse(
            "can be hidden from the agent in the sandbox `full` alone",
            "`ralph-copilot doctor` says what is missing; `--holdout-visible` uses them all the same",
        );
    }
    if settings.proof == ProofMode::Tree {
        return refuse("run only in proof rooms", "use --proof room, or no hold-out checks");
    }
    for shown in openings::visible(settings, at.place.root())? {
        if shown.starts_with(&folder) || folder.starts_with(&shown) {
            return refuse(
                &format!("would be shown by `visible: {}`", shown.display()),
                "move their folder, or take that path out of `visible`",
            );
        }
    }
    Ok(match read(at, task, settings, &folder)? {
        Ok(checks) => (Some(checks), None),
        Err(missing) => (None, Some(missing)),
    })
}

/// What no sandbox shows: the folder, and the git folder of the repository that it lies in, whose
/// objects hold its files.
pub(super) fn hidden(settings: &Settings, cwd: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = paths::holdout_folder(settings, cwd);
    let repo = folder.as_ref().and_then(|folder| GitRepo::discover(folder).ok());
    folder.into_iter().chain(repo.map(|repo| canonical(repo.common_dir())))
}

/// The human's file for what hold-out checks say, in a folder that no sandbox shows.
fn log_of(task: &str, run: &str) -> Result<PathBuf, Failure> {
    let logs = paths::holdout().ok_or_else(|| {
        Failure::new(
            ExitCode::Invalid,
            "hold-out checks need a HOME, for the file with their output",
        )
    })?;
    let made = fs::create_dir_all(&logs)
        .and_then(|()| fs::set_permissions(&logs, fs::Permissions::from_mode(0o700)));
    made.map_err(|error| Failure::cannot_write(&logs, &error))?;
    Ok(logs.join(format!("{task}-{run}.txt")))
}

/// Says where the hold-out checks are that failed, and which prove nothing.
pub(super) fn tell(task: &str, derived: &Derived) -> Result<(), Failure> {
    derived.told.iter().for_each(|line| complain(&format!("note: {line}")));
    if derived.held_back.is_empty() {
        return Ok(());
    }
    let log = log_of(task, &format!("verify-{}", std::process::id()))?;
    for ran in &derived.held_back {
        log_hold_out(&log, "at the head", ran)?;
    }
    complain(&format!(
        "note: the hold-out checks that failed, with their output: {}",
        log.display()
    ));
    Ok(())
}

/// The hold-out checks of a task for a command without a run, from this folder or from the user's
/// settings.
pub(super) fn of_command(
    at: &TaskContext,
    task: &Task,
    settings: &Settings,
) -> Result<Option<HoldOuts>, Failure> {
    let Some(folder) = paths::holdout_folder(settings, &at.place.cwd) else { return Ok(None) };
    Ok(read(at, task, settings, &folder)?.ok())
}

/// Reads the list and the files. `Err` in the answer says that the user's folder has none for this
/// task.
fn read(
    at: &TaskContext,
    task: &Task,
    settings: &Settings,
    folder: &Path,
) -> Result<Result<HoldOuts, String>, Failure> {
    let root = canonical(at.place.root());
    let invalid = |what: String| Failure::new(ExitCode::Invalid, what);
    if folder.starts_with(&root) || root.starts_with(folder) {
        let what = format!("{} is not outside of the repository", folder.display());
        return Err(invalid(format!("hold-out checks: {what}"))
            .hint("the agent must not see them: use a folder elsewhere"));
    }
    let is_ours = |repo: GitRepo| repo.common_dir() == at.place.repo.common_dir();
    if GitRepo::discover(folder).is_ok_and(is_ours) {
        let what = format!("{} is in another working tree of the repository", folder.display());
        return Err(invalid(format!("hold-out checks: {what}"))
            .hint("the agent can read what is committed there: use a folder elsewhere"));
    }
    let file = folder.join(format!("{}.md", task.name));
    for path in [file.clone(), folder.join(&task.name)] {
        if path.canonicalize().is_ok_and(|real| !real.starts_with(canonical(folder))) {
            let what = format!("{} leads out of the folder of hold-outs", path.display());
            return Err(invalid(format!("hold-out checks: {what}"))
                .hint("the agent may see what is elsewhere: move it there"));
        }
    }
    let bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let missing =
                format!("no hold-out checks for this task: {} is missing", file.display());
            let is_user = settings.holdout.as_ref().map(|it| &it.source);
            return match is_user {
                Some(Source::User(_)) => Ok(Err(missing)),
                _ => Err(invalid(missing)
                    .hint(format!("create it: ralph-copilot holdout init {}", task.name))),
            };
        }
        Err(error) => return Err(invalid(format!("cannot read {}: {error}", file.display()))),
    };
    let list = task::parse(&task.name, &bytes);
    let is_empty = list.criteria.is_empty();
    let empty = is_empty.then(|| "it lists no check: take them out of their comments".to_owned());
    let wrong = list.diagnostics.iter().find(|it| it.severity == Severity::Error || it.unread);
    let wrong = wrong.map(|it| format!("line {}: {}", it.line, it.message));
    let wrong = empty.or(wrong).or_else(|| {
        let whole = !list.settings.verify.is_empty();
        whole.then(|| "write `- verify:` below a criterion, not in the front matter".to_owned())
    });
    let read = match wrong {
        Some(wrong) => Err(wrong),
        None => HoldOuts::new(&list, &folder.join(&task.name), task),
    };
    read.map(Ok).map_err(|why| {
        invalid(format!("{}: {why}", file.display())).hint(
            "it has the form of TASK.md: a criterion, by its `id` or text, and `- verify:` below",
        )
    })
}

/// The advice of a new list.
const ADVICE: &str = "Other inputs than those of the check: not the same number twice.
Composed features: two criteria in one command.
The error cases: empty input, a wrong type, a missing file.";

/// Writes the list of a task with each criterion and its own check, as a comment.
pub(super) fn init(directory: Option<&Path>, args: &HoldoutInitArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    let task = at.usable()?;
    let named = args.holdout.as_ref().map(|path| typed(directory, path)).transpose()?;
    let flags = LayerSettings { holdout: named, ..LayerSettings::default() };
    let settings = config::resolve(&at.place.layers(flags, Some(&task))?);
    let Some(folder) = paths::holdout_folder(&settings, &at.place.cwd) else {
        return Err(Failure::new(ExitCode::Usage, "no folder for hold-out checks")
            .hint("name one outside of the repository: --holdout DIR"));
    };
    if folder.starts_with(canonical(at.place.root())) {
        let what = format!("{} is not outside of the repository", folder.display());
        return Err(Failure::new(ExitCode::Invalid, what).hint("use a folder elsewhere"));
    }
    let mut text = format!("# Hold-out checks of {}\n\n{ADVICE}\n\n", task.name);
    for criterion in &task.criteria {
        let name = criterion.id.as_ref().unwrap_or(&criterion.key.text);
        text.push_str(&format!("<!-- - [ ] {name}\n"));
        for verify in &criterion.verify {
            // Two hyphens could end the comment.
            text.push_str(&format!("  - verify: `{}`\n", verify.command.replace("-->", "-- >")));
        }
        text.push_str("-->\n");
    }
    let file = folder.join(format!("{}.md", task.name));
    let written = fs::create_dir_all(&folder)
        .and_then(|()| fs::File::create_new(&file))
        .and_then(|mut list| list.write_all(text.as_bytes()));
    let made = match written {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
        written => written.map(|()| true).map_err(|error| Failure::cannot_write(&file, &error))?,
    };
    say(&match made {
        true => format!("created  {}", file.display()),
        false => format!("kept     {} (already exists)", file.display()),
    });
    let files = folder.join(&task.name);
    say(&format!(
        "\nNext: write checks in it, and files for them below {}, then start with `--holdout {}`.",
        files.display(),
        folder.display()
    ));
    Ok(0)
}
