//! The runner's command line.
//!
//! Invariant: pure; the recipe stands first and is no option, the folder is absolute.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::spill::{Placement, uri};
use crate::model::RecipeName;

/// Whether the steps are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecipeMode {
    /// They are.
    #[default]
    Run,
    /// They are only told of.
    Dry,
}

/// Whether the runner stages what its steps changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoStage {
    /// As it does by itself.
    #[default]
    On,
    /// It does not.
    Off,
}

/// Whether the runner tells of each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShowProgress {
    /// Only its answer counts.
    #[default]
    Silent,
    /// On standard error, as it happens.
    Told,
}

/// What a runner is asked for.
#[derive(Clone, Debug)]
pub struct RecipeRequest {
    /// The recipe.
    pub recipe: RecipeName,
    /// Where it works; absolute.
    pub dir: PathBuf,
    /// Folders that are searched for recipes, as given.
    pub recipe_dirs: Vec<PathBuf>,
    /// Its values.
    pub context: Context,
    /// Whether the steps are run.
    pub mode: RecipeMode,
    /// Whether changes are staged.
    pub auto_stage: AutoStage,
    /// Whether it tells of each step.
    pub progress: ShowProgress,
}

/// The arguments behind the runner's name, with spilled values in this folder.
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
    if request.progress == ShowProgress::Told {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::spill::plan;

    fn words(request: &RecipeRequest) -> Vec<String> {
        let places = plan(&request.context, &|value| value.key == "secret");
        let words = arguments(request, &places, Path::new("/tmp/s"));
        words.into_iter().map(|word| word.into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn the_command_is_the_documented_one() {
        let mut request = RecipeRequest {
            recipe: RecipeName::parse("hello").expect("a name"),
            dir: "/work".into(),
            recipe_dirs: Vec::new(),
            context: Context::default(),
            mode: RecipeMode::Run,
            auto_stage: AutoStage::On,
            progress: ShowProgress::Silent,
        };
        assert_eq!(words(&request), ["hello", "--output-format", "json", "-C", "/work"]);
        request.mode = RecipeMode::Dry;
        request.auto_stage = AutoStage::Off;
        request.progress = ShowProgress::Told;
        request.recipe_dirs = vec!["a".into(), "/b".into()];
        request.context.set("who", "you").expect("set");
        request.context.set("secret", "s3cret").expect("set");
        request.context.set("empty", "").expect("set");
        assert_eq!(
            words(&request)[5..],
            [
                "--dry-run",
                "--no-auto-stage",
                "--progress",
                "-R",
                "a",
                "-R",
                "/b",
                "--set",
                "who=you",
                "--set",
                "secret=file:///tmp/s/secret",
                "--set",
                "empty=",
            ]
        );
    }
}
