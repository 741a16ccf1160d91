//! `hooks install` and `hooks export`: install the hooks in a repository.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{HooksCommand, StageArgs};
use super::failure::Failure;
use super::print::{say, say_json};
use super::{hook, paths};
use crate::hooks::{
    ENGINE_VARIABLE, HookEngine, HookEngineError, HookFile, HookFileChange, HookFileError,
    StageXpia, XPIA_HOOK, find_engine, is_staged, staged_files,
};
use crate::model::ExitCode;
use crate::verify::GitRepo;

/// Said of a project's own XPIA hook.
const OWN_XPIA: &str = "the XPIA hook in .claude/tools/xpia/hooks is your own and was left alone; remove it and run \
     this command again to use the one that asks xpia-defend";

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
    let xpia = xpia_on_this_machine(mounted_xpia(root), hook::find_defender().is_some());
    let files = staged_files(engine, program.as_deref(), xpia).into_iter();
    files.map(|file| Ok((file.path, file.stage(root)?))).collect()
}

fn chosen_engine() -> Result<HookEngine, HookEngineError> {
    HookEngine::read(std::env::var_os(ENGINE_VARIABLE).as_deref())
}

fn engine_program() -> Option<PathBuf> {
    find_engine(&|name| which::which(name).ok(), etcetera::home_dir().ok().as_deref())
}

/// The XPIA hook that a folder already has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MountedXpia {
    None,
    /// Staged by us.
    Staged,
    /// The project's own. It decides by itself, so it needs neither our defender nor our files.
    Own,
}

fn mounted_xpia(root: &Path) -> MountedXpia {
    let path = root.join(XPIA_HOOK);
    if is_staged(&path) {
        MountedXpia::Staged
    } else if path.symlink_metadata().is_ok() {
        MountedXpia::Own
    } else {
        MountedXpia::None
    }
}

/// Whether to mount the XPIA hook on this machine. Without its defender it denies every shell
/// command, so it is only mounted there if it already is.
fn xpia_on_this_machine(mounted: MountedXpia, defended: bool) -> StageXpia {
    match mounted {
        MountedXpia::None if defended => StageXpia::Yes,
        MountedXpia::Staged => StageXpia::Yes,
        MountedXpia::None | MountedXpia::Own => StageXpia::No,
    }
}

/// Stages the files for this machine.
fn install(root: &Path, args: &StageArgs) -> Result<u8, Failure> {
    let engine = chosen_engine()?.resolve(engine_program().as_deref())?;
    let (mounted, defended) = (mounted_xpia(root), hook::find_defender().is_some());
    let mut notes = Vec::new();
    let xpia = if args.without_xpia {
        StageXpia::No
    } else {
        notes.extend(match mounted {
            MountedXpia::Own => Some(OWN_XPIA),
            MountedXpia::None | MountedXpia::Staged if defended => None,
            MountedXpia::None => Some(
                "xpia-defend was not found, so the XPIA hook is left out: install xpia-defend \
                 and run `ralph-copilot hooks install` again to add it",
            ),
            MountedXpia::Staged => Some(
                "xpia-defend was not found, and the XPIA hook in .claude/tools/xpia/hooks denies \
                 every shell command without it: install xpia-defend or remove the hook",
            ),
        });
        xpia_on_this_machine(mounted, defended)
    };
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
            notes.push("on machines without amplihack-hooks, the Python scripts run instead");
            chosen
        }
        resolved => resolved?,
    };
    let xpia = match (args.without_xpia, mounted_xpia(folder)) {
        (true, _) => StageXpia::No,
        (false, MountedXpia::Own) => {
            notes.push(OWN_XPIA);
            StageXpia::No
        }
        (false, MountedXpia::None | MountedXpia::Staged) => {
            notes.push(
                "on machines without xpia-defend, the XPIA hook denies every shell command; \
                 --without-xpia leaves it out",
            );
            StageXpia::Yes
        }
    };
    stage(folder, &staged_files(engine, None, xpia), engine, notes, args)
}

/// Writes the files below `root`, or only plans to, and reports the change of each.
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
            "hooks.json is your own and was left alone, so add the hooks to it yourself; \
             `ralph-copilot hooks export FOLDER` writes an example",
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
            format!("Left alone {path} (you wrote or edited it)")
        }
    }
}

impl From<HookEngineError> for Failure {
    fn from(error: HookEngineError) -> Self {
        let hint = error.hint();
        Self::new(ExitCode::Invalid, error).hints(hint.map(str::to_owned))
    }
}

impl From<HookFileError> for Failure {
    fn from(error: HookFileError) -> Self {
        Self::new(ExitCode::Write, error).hint(ExitCode::Write.hint())
    }
}
