//! The redactor: known values, known shapes, and values after the names of secrets.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use crate::model::Redact;

use super::mark::{REDACTED, replace};
use super::{pairs, shapes};

/// Shortest value of a secret variable that is looked for: shorter ones would
/// hit ordinary words.
const SHORTEST_VALUE: usize = 6;

/// Finds secrets by their shape, by the name before them, and by value.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// The values of known secrets; `None` if there are any and they could not be put together.
    values: Option<AhoCorasick>,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new(std::iter::empty::<String>())
    }
}

impl Redactor {
    /// A redactor that also knows the values of secrets, such as those of the
    /// runner's own environment. Values shorter than six characters are ignored.
    pub fn new<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Self {
        let mut forms: Vec<String> = Vec::new();
        for value in values {
            let value = value.as_ref().trim();
            if value.len() < SHORTEST_VALUE {
                continue;
            }
            let escaped = Value::String(value.to_owned()).to_string();
            forms.extend([value.to_owned(), percent(value), escaped.trim_matches('"').to_owned()]);
            // A value of several lines is also printed line by line.
            forms.extend(
                value.lines().map(str::trim).filter(|line| line.len() >= 16).map(str::to_owned),
            );
        }
        // A longer value may begin with a shorter one.
        let values = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        Self { values: values.ok() }
    }

    /// Whether a variable of this name holds a secret whose value should be known
    /// to the redactor.
    pub fn is_secret_variable(name: &str) -> bool {
        crate::guard::secrets::variable(name)
    }

    /// The text without its secrets.
    pub fn redact_str<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let out = replace(self.without_known_values(text), shapes::redact);
        replace(out, pairs::redact)
    }

    /// The text without the known values. What only looks like a secret stays.
    pub fn without_known_values<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // Values that cannot be searched for may be anywhere.
        let Some(values) = &self.values else { return Cow::Borrowed(REDACTED) };
        if values.patterns_len() == 0 || !values.is_match(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(values.replace_all(text, &vec![REDACTED; values.patterns_len()]))
    }

    /// The value of the header `Authorization` without its secret.
    fn redact_header(&self, text: &str) -> Value {
        const NAME: &str = "authorization: ";
        let line = self.redact_str(&format!("{NAME}{text}")).into_owned();
        Value::String(line.strip_prefix(NAME).unwrap_or(REDACTED).to_owned())
    }

    /// The value without its secrets: strings are redacted, and the
    /// values of secret names are replaced. Keys stay as they are.
    pub fn redact_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_str(text).into_owned()),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.redact_json(item)).collect())
            }
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, field)| {
                        let hidden =
                            field.as_str().is_some_and(|text| pairs::is_secret(name, text));
                        let field = match field {
                            Value::String(_) if hidden => Value::String(REDACTED.to_owned()),
                            Value::String(text) if is_header(name) => self.redact_header(text),
                            field => self.redact_json(field),
                        };
                        (name.clone(), field)
                    })
                    .collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Does a field hold the credentials of a request?
fn is_header(name: &str) -> bool {
    name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("proxy-authorization")
}

impl Redact for Redactor {
    fn text(&self, text: &str) -> String {
        self.redact_str(text).into_owned()
    }

    fn json(&self, value: &Value) -> Value {
        self.redact_json(value)
    }
}

/// The value as written in a URL.
fn percent(value: &str) -> String {
    value
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
