//! A `recipe:` item below a criterion: the recipe it names, or what is wrong with it.
//!
//! Invariant: as with a verify command, the name is taken only where it is plain which
//! characters belong to it.

use std::ops::Range;

use super::scan::Segment;
use super::verify_item::{ItemError, value};
use crate::model::{RecipeName, RecipeNameError};

/// The word an item begins with.
const WORD: &str = "recipe:";

/// How a recipe is written.
pub(super) const EXAMPLE: &str = "write it as in - recipe: `my-recipe`";

/// A `recipe:` item that was read.
pub(super) struct RecipeItem {
    /// Its first line's bytes in the file.
    pub(super) span: Range<usize>,
    /// The recipe, or what is wrong.
    pub(super) name: Result<RecipeName, String>,
}

/// Whether a text begins as a recipe item does, in any case.
pub(super) fn is_recipe(text: &str) -> bool {
    text.get(..WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(WORD))
}

/// Reads an item's first block of text, where it is a recipe item at all.
pub(super) fn read(
    segments: &[Segment<'_>],
    code: &[(Range<usize>, String)],
) -> Option<RecipeItem> {
    let first = segments.first().filter(|first| is_recipe(first.text))?;
    let name = if segments[1..].iter().all(|segment| segment.text.is_empty()) {
        value(first, WORD, code).map_err(explain).and_then(|text| {
            RecipeName::parse(text).map_err(|error: RecipeNameError| error.to_string())
        })
    } else {
        Err(explain(ItemError::Lines))
    };
    Some(RecipeItem { span: first.span(), name })
}

fn explain(problem: ItemError) -> String {
    match problem {
        ItemError::Empty => "a recipe item without a name",
        ItemError::Lines => "a recipe's name must stand on one line",
        ItemError::Mixed => "it is not plain which part of this line is the recipe's name",
        ItemError::Nul => "a recipe's name with a NUL byte in it",
    }
    .to_owned()
}
