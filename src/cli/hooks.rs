//! `hooks install` and `hooks export`: mount the hooks in a repository.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::{Failure, FailureKind, MAKE_ROOM};
use super::{context, hook, say, say_json};
use crate::hooks::{
    ENGINE_VARIABLE, HookEngine, HookEngineError, HookFileChange, HookFileError, StageXpia,
    find_engine, staged_files,
};
use crate::verify::{GitRepo, Repo as _};

/// What can be done with hooks.
#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// Mount the hooks in this repository, for this machine
    #[command(after_help = "Files that are not ours, and those of ours that somebody edited, are \
left alone and named.
AMPLIHACK_HOOK_ENGINE (python, rust or auto) chooses whose amplihack hooks are called.")]
    Install(StageArgs),
    /// Write the same files into any folder, for other machines: ralph-copilot is looked for
    /// in PATH there
    Export(ExportArgs),
}

/// Flags of both.
#[derive(Args, Debug)]
pub(crate) struct StageArgs {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Leave the XPIA hook out; with it, and without xpia-defend, no shell command passes
    #[arg(long)]
    without_xpia: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The folder [default: the current one]
    folder: Option<PathBuf>,
    #[command(flatten)]
    stage: StageArgs,
}

/// Runs one of them.
pub(super) fn hooks(directory: Option<&Path>, command: &HooksCommand) -> Result<u8, Failure> {
    let here = context::directory(directory)?;
    match command {
        HooksCommand::Install(args) => {
            let repo = GitRepo::discover(&here);
            let root = repo.as_ref().map_or(here.as_path(), |repo| repo.root());
            let program = std::env::current_exe().ok();
            stage(root, program.as_deref(), args)
        }
        HooksCommand::Export(args) => {
            let folder = args.folder.as_ref().map_or_else(|| here.clone(), |to| here.join(to));
            if !folder.is_dir() && !args.stage.dry_run {
                std::fs::create_dir_all(&folder).map_err(|source| {
                    let operation = "make";
                    HookFileError::File { operation, path: folder.clone(), source }
                })?;
            }
            stage(&folder, None, &args.stage)
        }
    }
}

/// Stages the hooks before a where the project has scripts for them. The XPIA hook
/// is left out where its judge is missing: it would deny every shell command.
pub(super) fn stage_for_launch(
    root: &Path,
) -> Result<Vec<(&'static str, HookFileChange)>, Failure> {
    let scripts = [".claude/tools/amplihack/hooks", ".claude/tools/xpia/hooks"];
    if !scripts.iter().any(|folder| root.join(folder).is_dir()) {
        return Ok(Vec::new());
    }
    let (engine, _) = engine()?;
    let judged = root.join(scripts[1]).is_dir() || hook::find_defender().is_some();
    let xpia = if judged { StageXpia::Yes } else { StageXpia::No };
    let program = std::env::current_exe().ok();
    let files = staged_files(engine, program.as_deref(), xpia).into_iter();
    files.map(|file| Ok((file.path, file.stage(root)?))).collect()
}

/// Whose amplihack hooks are called, and whether the native ones are there.
fn engine() -> Result<(HookEngine, bool), Failure> {
    let chosen = HookEngine::read(std::env::var_os(ENGINE_VARIABLE).as_deref())?;
    let which = |name: &str| which::which(name).ok();
    let native = find_engine(&which, etcetera::home_dir().ok().as_deref()).is_some();
    Ok(match (chosen, native) {
        (HookEngine::Auto, true) => (HookEngine::Rust, native),
        (HookEngine::Auto, false) => (HookEngine::Python, native),
        (HookEngine::Python | HookEngine::Rust, _) => (chosen, native),
    })
}

fn stage(root: &Path, program: Option<&Path>, args: &StageArgs) -> Result<u8, Failure> {
    let (engine, native) = engine()?;
    let xpia = if args.without_xpia { StageXpia::No } else { StageXpia::Yes };
    let mut notes = Vec::new();
    if engine == HookEngine::Rust && !native {
        notes.push(
            "amplihack-hooks is not found on this machine: the scripts are run until it is"
                .to_owned(),
        );
    }
    if xpia == StageXpia::Yes && hook::find_defender().is_none() {
        notes.push(
            "xpia-defend is not found on this machine: until it is installed the XPIA hook \
             denies every shell command of a session here; --without-xpia leaves it out"
                .to_owned(),
        );
    }
    let mut done = Vec::new();
    for file in staged_files(engine, program, xpia) {
        let staged = if args.dry_run { file.plan(root)? } else { file.stage(root)? };
        done.push((file.path, staged));
    }
    if done
        .iter()
        .any(|(path, staged)| *staged == HookFileChange::LeftAlone && path.ends_with(".json"))
    {
        notes.push(
            "hooks.json is yours and stays as it is: it mounts the wrappers only once it names \
             them; `ralph-copilot hooks export FOLDER` writes one to copy from"
                .to_owned(),
        );
    }
    if args.json {
        let of = |wanted: HookFileChange| -> Vec<&str> {
            done.iter().filter(|(_, staged)| *staged == wanted).map(|(path, _)| *path).collect()
        };
        say_json(&json!({
            "folder": root,
            "dry_run": args.dry_run,
            "engine": engine.word(),
            "created": of(HookFileChange::Created),
            "updated": of(HookFileChange::Updated),
            "unchanged": of(HookFileChange::Unchanged),
            "kept": of(HookFileChange::LeftAlone),
            "notes": notes,
        }));
        return Ok(0);
    }
    for (path, staged) in &done {
        say(&line(path, *staged, args.dry_run));
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
        Self::new(FailureKind::Invalid, error)
    }
}

impl From<HookFileError> for Failure {
    fn from(error: HookFileError) -> Self {
        Self::new(FailureKind::Write, error).hint(MAKE_ROOM)
    }
}
