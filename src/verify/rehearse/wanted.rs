//! A value that a check wants, put together from everything that its code says about it.
//!
//! Invariant: pure. Two values for the same thing give none: no constant meets both.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::attack::MOST_LINES;
use super::languages::{Language, single};

/// A value, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Anything.
    Any,
    /// A literal of the code's language.
    Raw(String),
    /// A text that has these parts.
    Parts(Vec<String>),
    /// An object or a table.
    Keys(BTreeMap<String, Wanted>),
    /// A list.
    Items(Vec<Wanted>),
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// By a key or a name.
    Key(String),
    /// By a number.
    Index(usize),
    /// Its length.
    Length,
}

impl Wanted {
    /// The whole value, from one of its parts.
    pub(super) fn at(path: &[Step], part: Self) -> Self {
        path.iter().rev().fold(part, |inner, step| match step {
            Step::Key(key) => Self::Keys(BTreeMap::from([(key.clone(), inner)])),
            Step::Index(at) => {
                let mut items = vec![Self::Any; (*at).min(MOST_LINES)];
                items.push(inner);
                Self::Items(items)
            }
            Step::Length => {
                let length = match inner {
                    Self::Raw(text) => text.parse().unwrap_or_default(),
                    _ => 1_usize,
                };
                Self::Items(vec![Self::Any; length.min(MOST_LINES)])
            }
        })
    }

    /// A value of JSON, whose keys may get neighbors.
    pub(super) fn of_json(value: &Value) -> Self {
        match value {
            Value::Object(keys) => {
                let keys = keys.iter().map(|(key, value)| (key.clone(), Self::of_json(value)));
                Self::Keys(keys.collect())
            }
            Value::Array(items) => Self::Items(items.iter().map(Self::of_json).collect()),
            _ => Self::Raw(value.to_string()),
        }
    }

    /// Both in one.
    pub(super) fn merged(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, it) | (it, Self::Any) => Some(it),
            (Self::Keys(mut one), Self::Keys(other)) => {
                for (key, value) in other {
                    let value = match one.remove(&key) {
                        Some(old) => old.merged(value)?,
                        None => value,
                    };
                    one.insert(key, value);
                }
                Some(Self::Keys(one))
            }
            (Self::Items(mut one), Self::Items(other)) => {
                for (at, value) in other.into_iter().enumerate() {
                    match one.get_mut(at) {
                        Some(old) => *old = std::mem::replace(old, Self::Any).merged(value)?,
                        None => one.push(value),
                    }
                }
                Some(Self::Items(one))
            }
            (Self::Parts(mut one), Self::Parts(other)) => {
                one.extend(other);
                Some(Self::Parts(one))
            }
            (Self::Items(mut items), Self::Parts(parts))
            | (Self::Parts(parts), Self::Items(mut items)) => {
                let free = items.iter_mut().filter(|item| **item == Self::Any);
                for (item, part) in free.zip(parts) {
                    *item = Self::Parts(vec![part]);
                }
                Some(Self::Items(items))
            }
            // `"port" in config`
            (Self::Keys(keys), Self::Parts(parts)) | (Self::Parts(parts), Self::Keys(keys)) => {
                let more = parts.into_iter().map(|part| (part, Self::Any)).collect();
                Self::Keys(keys).merged(Self::Keys(more))
            }
            (Self::Raw(text), Self::Parts(parts)) | (Self::Parts(parts), Self::Raw(text)) => {
                parts.iter().all(|part| text.contains(part)).then_some(Self::Raw(text))
            }
            (Self::Raw(text), Self::Items(items)) | (Self::Items(items), Self::Raw(text)) => {
                let length = items.iter().all(|item| *item == Self::Any).then_some(items.len())?;
                let is_it = match json_of(&text)? {
                    Value::Array(known) => known.len() == length,
                    Value::String(known) => known.chars().count() == length,
                    Value::Object(known) => known.len() == length,
                    _ => false,
                };
                is_it.then_some(Self::Raw(text))
            }
            (one, other) => (one == other).then_some(one),
        }
    }

    /// The value in code of a language.
    pub(super) fn code(&self, language: Language) -> String {
        let quoted = |text: &str| match language {
            Language::Python | Language::Node => json!(text).to_string(),
            _ => single(text),
        };
        let nothing = match language {
            Language::Python => "None",
            Language::Ruby => "nil",
            _ => "null",
        };
        match self {
            Self::Any => "1".to_owned(),
            Self::Raw(text) => match text.as_str() {
                "true" if language == Language::Python => "True".to_owned(),
                "false" if language == Language::Python => "False".to_owned(),
                "None" | "nil" | "null" => nothing.to_owned(),
                _ => text.clone(),
            },
            Self::Parts(parts) => quoted(&parts.join(" ")),
            Self::Items(items) => {
                let items: Vec<String> = items.iter().map(|item| item.code(language)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Keys(keys) => {
                let pairs = keys.iter().map(|(key, value)| (quoted(key), value.code(language)));
                let arrow = if language == Language::Node || language == Language::Python {
                    ":"
                } else {
                    " =>"
                };
                let pairs: Vec<String> =
                    pairs.map(|(key, value)| format!("{key}{arrow} {value}")).collect();
                let pairs = pairs.join(", ");
                match language {
                    Language::Python => format!("Record({{{pairs}}})"),
                    Language::Node => format!("({{{pairs}}})"),
                    Language::Ruby => format!("OpenStruct.new({{{pairs}}})"),
                    _ => format!("[{pairs}]"),
                }
            }
        }
    }

    /// The value as JSON; a literal that JSON does not have gives none.
    pub(super) fn json(&self) -> Option<Value> {
        match self {
            Self::Any => Some(json!(1)),
            Self::Raw(text) => json_of(text),
            Self::Parts(parts) if parts.len() == 1 => Some(json!(parts[0])),
            Self::Parts(parts) => {
                Some(Value::Object(parts.iter().map(|it| (it.clone(), json!(1))).collect()))
            }
            Self::Items(items) => items.iter().map(Self::json).collect(),
            Self::Keys(keys) => {
                let pairs = keys.iter().map(|(key, value)| Some((key.clone(), value.json()?)));
                Some(Value::Object(pairs.collect::<Option<Map<_, _>>>()?))
            }
        }
    }

    /// The value as a text that a program prints or a file holds.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Any => Some("x".to_owned()),
            Self::Parts(parts) => Some(parts.join("\n")),
            Self::Raw(text) => match json_of(text)? {
                Value::String(text) => Some(text),
                value => Some(value.to_string()),
            },
            Self::Items(items) => {
                let lines: Option<Vec<String>> = items.iter().map(Self::text).collect();
                Some(lines?.join("\n"))
            }
            Self::Keys(_) => Some(self.json()?.to_string()),
        }
    }
}

/// A literal of Python, JavaScript, Ruby, or PHP as JSON.
pub(super) fn json_of(literal: &str) -> Option<Value> {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"'(?<one>(?:[^'\\]|\\.)*)'|(?<two>"(?:[^"\\]|\\.)*")|`(?<tick>[^`$]*)`|(?<word>[A-Za-z_]\w*)(?<colon>\s*:)?|(?<arrow>=>)|(?<other>.|\n)"#)
            .expect("a pattern")
    });
    static LAST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r",(?<close>\s*[\]}])").expect("a pattern"));
    if let Ok(value) = serde_json::from_str(literal) {
        return Some(value);
    }
    let mut text = String::new();
    for it in PARTS.captures_iter(literal.trim()) {
        if let Some(inner) = it.name("one").or(it.name("tick")) {
            let inner = inner.as_str().replace("\\'", "'").replace("\\n", "\n");
            text.push_str(&json!(inner).to_string());
        } else if let Some(word) = it.name("word") {
            let is_key = it.name("colon").is_some();
            let value = match word.as_str() {
                _ if is_key => format!("\"{}\":", word.as_str()),
                "True" | "true" => "true".to_owned(),
                "False" | "false" => "false".to_owned(),
                "None" | "null" | "nil" | "undefined" => "null".to_owned(),
                _ => return None,
            };
            text.push_str(&value);
        } else if it.name("arrow").is_some() {
            text.push(':');
        } else {
            text.push_str(match &it[0] {
                "(" => "[",
                ")" => "]",
                other => other,
            });
        }
    }
    serde_json::from_str(&LAST.replace_all(&text, "$close")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_put_together() {
        let key = |name: &str| Step::Key(name.to_owned());
        let raw = |text: &str| Wanted::Raw(text.to_owned());
        let one = Wanted::at(&[key("a"), Step::Index(1), key("b")], raw("'x'"));
        let two = Wanted::at(&[key("a"), Step::Length], raw("3"));
        let both = one.merged(two).and_then(|it| it.json());
        assert_eq!(both, Some(json!({ "a": [1, { "b": "x" }, 1] })));
        assert_eq!(raw("49").merged(raw("4")), None);
        assert_eq!(raw("49").merged(Wanted::Any), Some(raw("49")));
        assert_eq!(raw("'abc'").merged(Wanted::Parts(vec!["b".into()])), Some(raw("'abc'")));
    }

    #[test]
    fn literals_are_read_as_json() {
        for (text, wanted) in [
            ("'it'", json!("it")),
            ("{'a': None, 'b': [True, 1.5]}", json!({ "a": null, "b": [true, 1.5] })),
            ("{ a: 'x', b: [1,] }", json!({ "a": "x", "b": [1] })),
            ("['a' => 1]", Value::Null),
            ("{'a' => nil}", json!({ "a": null })),
            ("(1, 2)", json!([1, 2])),
        ] {
            assert_eq!(json_of(text).unwrap_or_default(), wanted, "{text}");
        }
        assert_eq!(json_of("n * n"), None);
    }
}
