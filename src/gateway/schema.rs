//! The schema of a provider's tool without control sequences for a terminal.
//!
//! Invariant: only texts for a reader change. Names and values are part of a call, so one with
//! control characters is refused.

use serde_json::{Map, Value};

use super::plain_text::{is_plain, plain_text};

/// The keywords whose texts are for a reader.
const TEXTS: [&str; 3] = ["title", "description", "$comment"];
/// The keywords that hold schemas by names.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// The keywords that hold values as a call would.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// A name or a value has control characters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ControlCharacters;

/// Cleans the titles and descriptions of a schema and of the schemas in it.
pub(super) fn clean_schema(schema: &mut Map<String, Value>) -> Result<(), ControlCharacters> {
    for (keyword, value) in schema {
        plain(keyword)?;
        let keyword = keyword.as_str();
        match value {
            Value::String(text) if TEXTS.contains(&keyword) => *text = plain_text(text),
            Value::Object(schemas) if NAMED.contains(&keyword) => {
                for (name, schema) in schemas {
                    plain(name)?;
                    clean(schema)?;
                }
            }
            value if VALUES.contains(&keyword) => plain_value(value)?,
            value => clean(value)?,
        }
    }
    Ok(())
}

fn clean(value: &mut Value) -> Result<(), ControlCharacters> {
    match value {
        Value::Object(schema) => clean_schema(schema),
        Value::Array(schemas) => schemas.iter_mut().try_for_each(clean),
        Value::String(text) => plain(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn plain_value(value: &Value) -> Result<(), ControlCharacters> {
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            plain(name)?;
            plain_value(value)
        }),
        Value::Array(values) => values.iter().try_for_each(plain_value),
        Value::String(text) => plain(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn plain(text: &str) -> Result<(), ControlCharacters> {
    if is_plain(text) { Ok(()) } else { Err(ControlCharacters) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cleaned(mut schema: Value) -> Result<Value, ControlCharacters> {
        clean_schema(schema.as_object_mut().expect("an object")).map(|()| schema)
    }

    #[test]
    fn texts_for_a_reader_are_cleaned_wherever_they_are() {
        let of = |text: &str| {
            let inner = json!({"type": "string", "title": text, "description": text});
            json!({
                "title": text,
                "$comment": text,
                "properties": {"a": inner, "title": inner, "enum": inner},
                "items": [inner, {"anyOf": [inner]}],
                "additionalProperties": inner,
                "$defs": {"d": {"if": inner}},
                "required": ["a", "title"],
            })
        };
        assert_eq!(cleaned(of("x\u{1b}[31my\u{202e}\r\n\tz")), Ok(of("x[31my\n\tz")));
    }

    #[test]
    fn names_and_values_are_kept_as_they_are_or_refused() {
        let of = |text: &str| {
            [
                json!({"properties": {text: {}}}),
                json!({"properties": {"a": {"properties": {text: {}}}}}),
                json!({"properties": {"a": {"enum": ["b", text]}}}),
                json!({"enum": [{"title": text}]}),
                json!({"const": {text: 1}}),
                json!({"default": {"description": text}}),
                json!({"examples": [[text]]}),
                json!({"required": [text]}),
                json!({"pattern": text}),
                json!({"dependentRequired": {text: ["a"]}}),
                json!({"title": [text]}),
                json!({text: 1}),
            ]
        };
        for schema in of("a\n\tb é") {
            assert_eq!(cleaned(schema.clone()), Ok(schema));
        }
        for text in ["a\u{1b}b", "a\0", "a\u{202e}"] {
            for schema in of(text) {
                assert_eq!(cleaned(schema.clone()), Err(ControlCharacters), "{schema}");
            }
        }
    }
}
