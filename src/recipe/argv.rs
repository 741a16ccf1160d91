//! The runner's command line.
//!
//! Invariant: pure; the recipe comes first and cannot be read as an option; the folder is
//! absolute.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::spill::{Placement, uri};
use crate::model::RecipeName;

/// Whether the steps run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecipeMode {
    /// They run.
    #[default]
    Run,
    /// They are only listed.
    Dry,
}

/// Does the runner stage the changes of its steps?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoStage {
    /// The runner's default: it does.
    #[default]
    On,
    /// It does not.
    Off,
}

/// Whether the runner reports each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShowProgress {
    /// It prints only its answer.
    #[default]
    Silent,
    /// It reports each step on standard error as it begins and ends.
    Shown,
}

/// A recipe to run, with its options.
#[derive(Clone, Debug)]
pub struct RecipeRequest {
    /// The recipe.
    pub recipe: RecipeName,
    /// The folder it works in; absolute.
    pub dir: PathBuf,
    /// Folders to search for recipes, as the user wrote them.
    pub recipe_dirs: Vec<PathBuf>,
    /// Its context values.
    pub context: Context,
    /// Whether the steps run.
    pub mode: RecipeMode,
    /// Whether the runner stages changes.
    pub auto_stage: AutoStage,
    /// Whether the runner reports each step.
    pub progress: ShowProgress,
}

/// The runner's arguments; spilled values are in `folder`.
pub(super) fn arguments(
    request: &RecipeRequest,
    places: &[Placement<'_>],
    folder: &Path,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![
        request.recipe.as_str().into(),
        "--output-format".into(),
        "json".into(),
        "-C".into(),
        request.dir.clone().into(),
    ];
    if request.mode == RecipeMode::Dry {
        words.push("--dry-run".into());
    }
    if request.auto_stage == AutoStage::Off {
        words.push("--no-auto-stage".into());
    }
    if request.progress == ShowProgress::Shown {
        words.push("--progress".into());
    }
    for dir in &request.recipe_dirs {
        words.push("-R".into());
        words.push(dir.clone().into());
    }
    for place in places {
        let pair = match place {
            Placement::Inline(value) => format!("{}={}", value.key, value.text),
            Placement::File(value, name) => format!("{}={}", value.key, uri(folder, name)),
        };
        words.push("--set".into());
        words.push(pair.into());
    }
    words
}
