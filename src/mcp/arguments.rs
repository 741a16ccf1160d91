//! The arguments of a call, and the schema that describes them.

use serde_json::{Map, Value, json};

use super::tools::ToolAnswer;
use crate::sys::depth::MAX_DEPTH;

/// Longest text that becomes an argument of a program, in bytes. Linux takes 128 KiB.
const LONGEST_WORD: usize = 100_000;

/// The parameter with the number of agents around a call.
const DEPTH: &str = "_depth";

/// The arguments of one call; a value of the wrong type is a tool error that names it.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// Parses the client's arguments.
    pub fn of(arguments: &'a Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// A text that must be there and not be blank.
    ///
    /// # Errors
    /// If it is missing, blank, or no text.
    pub fn text(self, name: &str) -> Result<&'a str, ToolAnswer> {
        match self.optional_text(name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(ToolAnswer::error(format!("`{name}` is empty"))),
            None => Err(ToolAnswer::error(format!("`{name}` is missing"))),
        }
    }

    /// A text that can be an argument of a program: without a NUL, and not too long for one.
    ///
    /// # Errors
    /// If it is missing, blank, no text, or cannot be an argument.
    pub fn word(self, name: &str) -> Result<&'a str, ToolAnswer> {
        let text = self.text(name)?;
        if text.contains('\0') {
            return Err(ToolAnswer::error(format!("`{name}` contains a NUL byte")));
        }
        if text.len() > LONGEST_WORD {
            let why = format!("`{name}` is longer than {LONGEST_WORD} bytes");
            return Err(ToolAnswer::error(why));
        }
        Ok(text)
    }

    /// A text that may be missing.
    ///
    /// # Errors
    /// If it is not a string.
    pub fn optional_text(self, name: &str) -> Result<Option<&'a str>, ToolAnswer> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ToolAnswer::error(format!("`{name}` must be a string"))),
        }
    }

    /// A text on one line that may be missing: a name, or another word without control characters.
    ///
    /// # Errors
    /// If it is not a string, is blank or too long, or has control characters.
    pub fn optional_line(self, name: &str) -> Result<Option<&'a str>, ToolAnswer> {
        if self.optional_text(name)?.is_none() {
            return Ok(None);
        }
        let text = self.word(name)?;
        if text.contains(char::is_control) {
            return Err(ToolAnswer::error(format!("`{name}` contains a control character")));
        }
        Ok(Some(text))
    }

    /// A yes or no; no if it is missing.
    ///
    /// # Errors
    /// If it is neither.
    pub fn flag(self, name: &str) -> Result<bool, ToolAnswer> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(ToolAnswer::error(format!("`{name}` must be true or false"))),
        }
    }

    /// A whole number within `from..=to`, or `missing`.
    ///
    /// # Errors
    /// If it is another value.
    pub fn count(
        self,
        name: &str,
        missing: u64,
        (from, to): (u64, u64),
    ) -> Result<u64, ToolAnswer> {
        let given = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(missing),
            Some(given) => given.as_u64(),
        };
        given.filter(|number| (from..=to).contains(number)).ok_or_else(|| {
            ToolAnswer::error(format!("`{name}` must be a whole number from {from} to {to}"))
        })
    }

    /// The depth of the call, the larger of the argument and of `around`, this process's own.
    ///
    /// # Errors
    /// If it is invalid or the limit is reached: then nothing may start.
    pub fn depth(self, around: u32) -> Result<u32, ToolAnswer> {
        let given = match self.0.get(DEPTH) {
            None => 0,
            Some(depth) => depth
                .as_u64()
                .ok_or_else(|| ToolAnswer::error("`_depth` must be a whole number from 0"))?,
        };
        let depth = u32::try_from(given).unwrap_or(u32::MAX).max(around);
        if depth >= MAX_DEPTH {
            return Err(ToolAnswer::error(format!("Maximum call depth ({MAX_DEPTH}) exceeded")));
        }
        Ok(depth)
    }
}

/// The schema of a tool with these parameters; every tool has a `_depth`, too.
pub fn schema(parameters: Value, required: &[&str]) -> Map<String, Value> {
    let mut properties = match parameters {
        Value::Object(properties) => properties,
        _ => Map::new(),
    };
    let depth = json!({
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "How many agents called each other to get here; leave it out",
    });
    properties.insert(DEPTH.to_owned(), depth);
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(arguments: Value, around: u32) -> Result<u32, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        Arguments::of(&arguments).depth(around).map_err(|answer| answer.text)
    }

    #[test]
    fn the_larger_depth_counts_and_three_is_too_deep() {
        assert_eq!(depth(json!({}), 0), Ok(0));
        assert_eq!(depth(json!({"_depth": 2}), 1), Ok(2));
        assert_eq!(depth(json!({"_depth": 1}), 2), Ok(2));
        let exceeded = Err("Maximum call depth (3) exceeded".to_owned());
        for (arguments, around) in [
            (json!({"_depth": 3}), 0),
            (json!({}), 3),
            (json!({"_depth": 0}), 4),
            (json!({"_depth": u64::MAX}), 0),
        ] {
            assert_eq!(depth(arguments, around), exceeded);
        }
    }

    #[test]
    fn a_depth_of_another_type_is_an_error() {
        let invalid = Err("`_depth` must be a whole number from 0".to_owned());
        for odd in [json!("1"), json!(-1), json!(1.5), json!(null), json!([])] {
            assert_eq!(depth(json!({"_depth": odd}), 0), invalid);
        }
    }

    #[test]
    fn a_word_can_be_an_argument_of_a_program() {
        let arguments = json!({"good": "git push", "nul": "t\0", "long": "x".repeat(3_000_000)});
        let Value::Object(arguments) = arguments else { panic!("no object") };
        let word = |name| Arguments::of(&arguments).word(name).map_err(|answer| answer.text);
        assert_eq!(word("good"), Ok("git push"));
        assert_eq!(word("nul"), Err("`nul` contains a NUL byte".to_owned()));
        assert_eq!(word("long"), Err("`long` is longer than 100000 bytes".to_owned()));
        assert_eq!(word("none"), Err("`none` is missing".to_owned()));
    }

    #[test]
    fn a_line_has_no_control_characters() {
        let arguments = json!({"good": "gpt 5 é", "nul": "t\0", "escape": "a\u{1b}[2J", "two": "a\nb",
            "empty": " ", "odd": 1, "null": null});
        let Value::Object(arguments) = arguments else { panic!("no object") };
        let line = |name| Arguments::of(&arguments).optional_line(name).map_err(|it| it.text);
        assert_eq!(line("good"), Ok(Some("gpt 5 é")));
        assert_eq!((line("none"), line("null")), (Ok(None), Ok(None)));
        for (name, why) in [
            ("nul", "contains a NUL byte"),
            ("escape", "contains a control character"),
            ("two", "contains a control character"),
            ("empty", "is empty"),
            ("odd", "must be a string"),
        ] {
            assert_eq!(line(name), Err(format!("`{name}` {why}")));
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let arguments = json!({"a": 1, "b": " ", "c": 51, "d": "yes", "e": null});
        let Value::Object(arguments) = arguments else { panic!("no object") };
        let read = Arguments::of(&arguments);
        let said = |answer: ToolAnswer| answer.text;
        assert_eq!(read.text("a").map_err(said), Err("`a` must be a string".to_owned()));
        assert_eq!(read.text("b").map_err(said), Err("`b` is empty".to_owned()));
        assert_eq!(read.text("x").map_err(said), Err("`x` is missing".to_owned()));
        assert_eq!(read.optional_text("e").map_err(said), Ok(None));
        assert_eq!(read.flag("d").map_err(said), Err("`d` must be true or false".to_owned()));
        let range = "`c` must be a whole number from 1 to 50".to_owned();
        assert_eq!(read.count("c", 5, (1, 50)).map_err(said), Err(range));
        assert_eq!(read.count("x", 5, (1, 50)).map_err(said), Ok(5));
    }
}
