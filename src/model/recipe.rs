//! Recipes: their names, and the results of their steps.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest name that is not a path, in bytes.
const LONGEST_NAME: usize = 128;

/// Folders of a repository in which a runner looks for recipes by name. Their content is run
/// without further checks, so no agent may change it.
pub const RECIPE_FOLDERS: [&str; 3] =
    ["amplifier-bundle/recipes", "src/amplihack/amplifier-bundle/recipes", ".claude/recipes"];

/// The name of a recipe: letters, digits, `_`, `/` and `-`, at most 128 of them, or an
/// absolute path. It is never an option of the runner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecipeName(String);

/// The reason why a text is not a recipe's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipeNameError {
    /// Nothing at all.
    #[error("a recipe's name is missing")]
    Empty,
    /// More than 128 bytes, and no absolute path.
    #[error("a recipe's name has at most 128 characters")]
    TooLong,
    /// A character that may not stand in it.
    #[error(
        "a recipe's name is made of letters, digits, `_`, `/` and `-`, or it is an absolute path"
    )]
    Character,
    /// The runner would take it for an option.
    #[error("a recipe's name does not begin with `-`")]
    Option,
}

impl RecipeName {
    /// Takes a name, if it is one.
    ///
    /// # Errors
    /// If the runner could not be asked for a recipe of that name.
    pub fn parse(text: &str) -> Result<Self, RecipeNameError> {
        if text.is_empty() {
            return Err(RecipeNameError::Empty);
        }
        if text.starts_with('/') {
            let plain = !text.chars().any(char::is_control);
            return if plain { Ok(Self(text.to_owned())) } else { Err(RecipeNameError::Character) };
        }
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_/-".contains(&byte);
        if !text.bytes().all(allowed) {
            Err(RecipeNameError::Character)
        } else if text.len() > LONGEST_NAME {
            Err(RecipeNameError::TooLong)
        } else if text.starts_with('-') {
            Err(RecipeNameError::Option)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The name shown for one that holds a secret.
    pub(super) fn redacted() -> Self {
        Self("REDACTED".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RecipeName {
    type Error = RecipeNameError;

    fn try_from(text: String) -> Result<Self, RecipeNameError> {
        Self::parse(&text)
    }
}

impl From<RecipeName> for String {
    fn from(name: RecipeName) -> Self {
        name.0
    }
}

/// The status of a step, in the runner's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StepStatus {
    /// It was not begun.
    Pending,
    /// It runs.
    Running,
    /// It is done.
    Completed,
    /// Its condition did not hold.
    Skipped,
    /// It failed, or the runner used a word that is not known.
    Failed,
    /// It is done, with something missing.
    Degraded,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecipeStep {
    /// Its name in the recipe.
    pub step_id: String,
    /// Its status.
    pub status: StepStatus,
    /// Its output.
    #[serde(default)]
    pub output: String,
    /// Its error; empty on success.
    #[serde(default)]
    pub error: String,
    /// Seconds it took, if the runner reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
}

/// Why a recipe did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipeFault {
    /// Which kind, as listed in docs/recipes.md.
    pub kind: String,
    /// In a sentence or two, redacted.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_absolute_paths_and_nothing_else() {
        let longest = "a".repeat(128);
        for good in ["hello", "smart-orchestrator", "a/b_C-9", "/opt/my recipes/x.yaml", &longest] {
            assert_eq!(RecipeName::parse(good).map(String::from), Ok(good.to_owned()));
        }
        let long = "a".repeat(129);
        for (bad, why) in [
            ("", RecipeNameError::Empty),
            (long.as_str(), RecipeNameError::TooLong),
            ("../x", RecipeNameError::Character),
            ("x.yaml", RecipeNameError::Character),
            ("a b", RecipeNameError::Character),
            ("a;b", RecipeNameError::Character),
            ("é", RecipeNameError::Character),
            ("/a\nb", RecipeNameError::Character),
            ("--dry-run", RecipeNameError::Option),
            ("-R", RecipeNameError::Option),
        ] {
            assert_eq!(RecipeName::parse(bad), Err(why), "{bad:?}");
        }
    }
}
