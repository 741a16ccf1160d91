//! The context values of a recipe, in the form that the runner takes.
//!
//! Invariant: pure; each key occurs once and the later value wins; a key that the runner
//! would split at another `=` is refused.

use serde_json::Map;

use super::error::RecipeError;

/// One value, serialized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextValue {
    /// Its key.
    pub key: String,
    /// The text after `--set key=`.
    pub text: String,
}

/// The values of one run of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    values: Vec<ContextValue>,
}

impl Context {
    /// Sets a value; replaces an earlier one with the same key.
    ///
    /// # Errors
    /// If the key is empty or holds a `=` or NUL byte, or the value holds a NUL byte.
    pub fn set(&mut self, key: &str, text: impl Into<String>) -> Result<(), RecipeError> {
        let text = text.into();
        let refused = |why| Err(RecipeError::Value { argument: key.to_owned(), why });
        if key.is_empty() {
            return refused("the key is empty");
        }
        if key.contains('=') {
            return refused("a key cannot contain `=`");
        }
        if key.contains('\0') || text.contains('\0') {
            return refused("it contains a NUL byte");
        }
        match self.values.iter_mut().find(|value| value.key == key) {
            Some(known) => known.text = text,
            None => self.values.push(ContextValue { key: key.to_owned(), text }),
        }
        Ok(())
    }

    /// Sets a value written as `key=value`; everything after the first `=` is the value.
    ///
    /// # Errors
    /// As [`Self::set`], and if `=` is missing.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), RecipeError> {
        match pair.split_once('=') {
            Some((key, text)) => self.set(key, text),
            None => {
                let argument = pair.to_owned();
                Err(RecipeError::Value { argument, why: "it is not written as `key=value`" })
            }
        }
    }

    /// Sets all fields of a JSON object.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_all(&mut self, fields: &Map<String, serde_json::Value>) -> Result<(), RecipeError> {
        fields.iter().try_for_each(|(key, value)| self.set(key, serialized(value)))
    }

    /// The values, in the order in which their keys first occurred.
    pub fn values(&self) -> &[ContextValue] {
        &self.values
    }
}

/// The form from which the runner reads a value: text unchanged, anything else as JSON.
fn serialized(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
