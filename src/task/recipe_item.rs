//! `recipe:` items: the recipe below a criterion, or the error to report.

use std::ops::Range;

use super::{
    item::{self, CodeSpan, ItemError},
    segment::Segment,
};
use crate::model::{RecipeName, RecipeNameError};

/// The keyword that begins the item.
const KEYWORD: &str = "recipe";

/// The hint for every invalid recipe item.
pub(super) const EXAMPLE: &str = "for example: - recipe: `my-recipe`";

/// A `recipe:` item.
pub(super) struct RecipeItem {
    /// The bytes of its first line in the file.
    pub(super) span: Range<usize>,
    /// The recipe, or an error message.
    pub(super) name: Result<RecipeName, String>,
}

/// Does this text begin like a recipe item, in any case?
pub(super) fn is_recipe(text: &str) -> bool {
    item::has_keyword(text, KEYWORD)
}

/// Reads an item's first block of text. Returns `None` if it is not a recipe item.
pub(super) fn read(segments: &[Segment<'_>], code: &[CodeSpan]) -> Option<RecipeItem> {
    let (span, value) = item::read(segments, KEYWORD, code)?;
    let name = value.map_err(|error| explain(error).to_owned()).and_then(|text| {
        RecipeName::parse(text).map_err(|error: RecipeNameError| error.to_string())
    });
    Some(RecipeItem { span, name })
}

fn explain(error: ItemError) -> &'static str {
    match error {
        ItemError::Empty => "`recipe:` has no name",
        ItemError::Lines => "a recipe name must fit on one line",
        ItemError::Mixed => "cannot tell which part of this line is the recipe name",
        ItemError::Nul => "a recipe name cannot contain a NUL byte",
    }
}
