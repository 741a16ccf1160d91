//! `hooks install` and `hooks export`: mount the hooks in a repository.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{HooksCommand, StageArgs};
use super::failure::{Failure, FailureKind, MAKE_ROOM};
use super::print::{say, say_json};
use super::{hook, paths};
use crate::hooks::{
    ENGINE_VARIABLE, HookEngine, HookEngineError, HookFile, HookFileChange, HookFileError,
    StageXpia, XPIA_HOOK, find_engine, staged_files,
};
use crate::verify::{GitRepo, Repo as _};

/// Runs a `hooks` command.
pub(super) fn hooks(directory: Option<&Path>, command: &HooksCommand) -> Result<u8, Failure> {
    let here = paths::directory(directory)?;
    match command {
        HooksCommand::Install(args) => {
            let repo = GitRepo::discover(&here);
            install(repo.as_ref().map_or(here.as_path(), |repo| repo.root()), args)
        }
        HooksCommand::Export(args) => {
            let folder = args.folder.as_ref().map_or_else(|| here.clone(), |to| here.join(to));
            export(&folder, &args.stage)
        }
    }
}

/// Stages the hooks before a launch, if the project has scripts for them.
pub(super) fn stage_for_launch(
    root: &Path,
) -> Result<Vec<(&'static str, HookFileChange)>, Failure> {
    let scripts = [".claude/tools/amplihack/hooks", ".claude/tools/xpia/hooks"];
    if !scripts.iter().any(|folder| root.join(folder).is_dir()) {
        return Ok(Vec::new());
    }
    let engine = chosen_engine()?.resolve(engine_program().as_deref())?;
    let program = std::env::current_exe().ok();
    let files = staged_files(engine, program.as_deref(), xpia_on_this_machine(root)).into_iter();
    files.map(|file| Ok((file.path, file.stage(root)?))).collect()
}

fn chosen_engine() -> Result<HookEngine, HookEngineError> {
    HookEngine::read(std::env::var_os(ENGINE_VARIABLE).as_deref())
}

fn engine_program() -> Option<PathBuf> {
    find_engine(&|name| which::which(name).ok(), etcetera::home_dir().ok().as_deref())
}

/// Whether to mount the XPIA hook on this machine. Without its defender it denies every shell
/// command, so it is only mounted there if it already is.
fn xpia_on_this_machine(root: &Path) -> StageXpia {
    let mounted = || root.join(XPIA_HOOK).symlink_metadata().is_ok();
    if hook::find_defender().is_some() || mounted() { StageXpia::Yes } else { StageXpia::No }
}

/// Stages the files for this machine.
fn install(root: &Path, args: &StageArgs) -> Result<u8, Failure> {
    let engine = chosen_engine()?.resolve(engine_program().as_deref())?;
    let xpia = if args.without_xpia { StageXpia::No } else { xpia_on_this_machine(root) };
    let mut notes = Vec::new();
    if !args.without_xpia && hook::find_defender().is_none() {
        notes.push(match xpia {
            StageXpia::No => {
                "xpia-defend was not found, so the XPIA hook is left out: install xpia-defend \
                 and run `ralph-copilot hooks install` again to mount it"
            }
            StageXpia::Yes => {
                "xpia-defend was not found, and the XPIA hook in .claude/tools/xpia/hooks denies \
                 every shell command without it: install xpia-defend or remove the hook"
            }
        });
    }
    let program = std::env::current_exe().ok();
    stage(root, &staged_files(engine, program.as_deref(), xpia), engine, notes, args)
}

/// Stages the files for other machines, on which the programs may be installed.
fn export(folder: &Path, args: &StageArgs) -> Result<u8, Failure> {
    if !folder.is_dir() && !args.dry_run {
        std::fs::create_dir_all(folder).map_err(|source| {
            let operation = "create";
            HookFileError::File { operation, path: folder.to_owned(), source }
        })?;
    }
    let chosen = chosen_engine()?;
    let mut notes = Vec::new();
    let engine = match chosen.resolve(engine_program().as_deref()) {
        Err(HookEngineError::Missing) => {
            notes.push("on machines without amplihack-hooks the scripts run in its place");
            chosen
        }
        resolved => resolved?,
    };
    let xpia = if args.without_xpia { StageXpia::No } else { StageXpia::Yes };
    if xpia == StageXpia::Yes {
        notes.push(
            "on machines without xpia-defend the XPIA hook denies every shell command; \
             --without-xpia leaves it out",
        );
    }
    stage(folder, &staged_files(engine, None, xpia), engine, notes, args)
}

/// Writes the files below `root`, or only plans to, and reports what became of each.
fn stage(
    root: &Path,
    files: &[HookFile],
    engine: HookEngine,
    mut notes: Vec<&str>,
    args: &StageArgs,
) -> Result<u8, Failure> {
    let mut done = Vec::new();
    for file in files {
        let change = if args.dry_run { file.plan(root)? } else { file.stage(root)? };
        done.push((file.path, change));
    }
    if done
        .iter()
        .any(|(path, change)| *change == HookFileChange::LeftAlone && path.ends_with(".json"))
    {
        notes.push(
            "hooks.json is yours and was left alone: it mounts the wrappers only once it names \
             them; `ralph-copilot hooks export FOLDER` writes one to copy from",
        );
    }
    if args.json {
        let with = |wanted: HookFileChange| -> Vec<&str> {
            done.iter().filter(|(_, change)| *change == wanted).map(|(path, _)| *path).collect()
        };
        say_json(&json!({
            "folder": root,
            "dry_run": args.dry_run,
            "engine": engine.word(),
            "created": with(HookFileChange::Created),
            "updated": with(HookFileChange::Updated),
            "unchanged": with(HookFileChange::Unchanged),
            "kept": with(HookFileChange::LeftAlone),
            "notes": notes,
        }));
        return Ok(0);
    }
    for (path, change) in &done {
        say(&line(path, *change, args.dry_run));
    }
    for note in notes {
        say(&format!("note: {note}"));
    }
    Ok(0)
}

fn line(path: &str, staged: HookFileChange, dry_run: bool) -> String {
    match (staged, dry_run) {
        (HookFileChange::Created, true) => format!("[DRY RUN] Would create {path}"),
        (HookFileChange::Created, false) => format!("✓ Created {path}"),
        (HookFileChange::Updated, true) => format!("[DRY RUN] Would update {path}"),
        (HookFileChange::Updated, false) => format!("✓ Updated {path}"),
        (HookFileChange::Unchanged, _) => format!("✓ Unchanged {path}"),
        (HookFileChange::LeftAlone, _) => {
            format!("Left alone {path} (it is not ours, or was edited)")
        }
    }
}

impl From<HookEngineError> for Failure {
    fn from(error: HookEngineError) -> Self {
        let hint = error.hint();
        let failure = Self::new(FailureKind::Invalid, error);
        hint.into_iter().fold(failure, Failure::hint)
    }
}

impl From<HookFileError> for Failure {
    fn from(error: HookFileError) -> Self {
        Self::new(FailureKind::Write, error).hint(MAKE_ROOM)
    }
}
