//! A JSON value that a filter of `jq` accepts, by its path and its comparison.
//!
//! Invariant: pure. What cannot be understood gives a value that may not be accepted.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

/// One step of a path.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(?:\.(?<name>[A-Za-z_]\w*)|\.?\[?"(?<key>[^"]*)"\]?|\.?\[(?<at>\d*)\]|\.)\??"#)
        .expect("a pattern")
});

static LENGTH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\(?length\b(?:\s*(?<how>==|>=|>|<=|<)\s*(?<number>\d+))?").expect("a pattern")
});

static HAS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^has\("(?<key>[^"]*)"\)"#).expect("a pattern"));

static TYPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^type\s*==\s*"(?<type>\w+)""#).expect("a pattern"));

static EQUAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(?<how>==|>=|>|<=)\s*(?<value>"[^"]*"|-?\d+|true|false|null|\[\]|\{\})"#)
        .expect("a pattern")
});

/// What the value at the end of a path is, if the filter does not say so.
pub(super) struct Leaf {
    /// The value.
    pub(super) value: Value,
    /// The length of what is counted.
    pub(super) length: usize,
}

/// A value that the filter accepts.
pub(super) fn shaped(filter: &str, leaf: &Leaf) -> Value {
    let parts = filter.split(" and ").map(|part| part.trim().trim_start_matches('('));
    parts.map(|part| one(part, leaf)).reduce(merged).unwrap_or(Value::Null)
}

fn one(filter: &str, leaf: &Leaf) -> Value {
    let filter = filter.trim_start_matches(['|', ' ', '(']);
    if filter.is_empty() || filter == "." {
        return leaf.value.clone();
    }
    if let Some(it) = LENGTH.captures(filter) {
        let number = it.name("number").and_then(|number| number.as_str().parse().ok());
        let more = usize::from(it.name("how").is_some_and(|how| how.as_str() == ">"));
        let length = number.map_or(leaf.length, |number: usize| number + more);
        return Value::Array(vec![json!(0); length.min(super::attack::MOST_LINES)]);
    }
    if let Some(it) = HAS.captures(filter) {
        return object(&it["key"], leaf.value.clone());
    }
    if let Some(it) = TYPE.captures(filter) {
        return match &it["type"] {
            "array" => json!([]),
            "object" => json!({}),
            "string" => json!("x"),
            "boolean" => json!(true),
            "null" => Value::Null,
            _ => json!(1),
        };
    }
    if let Some(it) = EQUAL.captures(filter) {
        let value: Value = serde_json::from_str(&it["value"]).unwrap_or_default();
        return match value.as_i64().filter(|_| &it["how"] == ">") {
            Some(number) => json!(number + 1),
            None => value,
        };
    }
    let Some(step) = STEP.captures(filter) else { return leaf.value.clone() };
    let rest = one(&filter[step[0].len()..], leaf);
    match (step.name("name").or(step.name("key")), step.name("at")) {
        (Some(key), _) => object(key.as_str(), rest),
        (None, Some(at)) => {
            let at: usize = at.as_str().parse().unwrap_or_default();
            Value::Array(vec![rest; at.min(super::attack::MOST_LINES) + 1])
        }
        (None, None) => rest,
    }
}

fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// Both values in one: those of the other where they do not fit.
pub(super) fn merged(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (key, value) in other {
                let value = match one.remove(&key) {
                    Some(old) => merged(old, value),
                    None => value,
                };
                one.insert(key, value);
            }
            Value::Object(one)
        }
        (Value::Array(one), Value::Array(other)) => {
            Value::Array(if one.len() > other.len() { one } else { other })
        }
        (_, other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_accepts_its_shape() {
        let leaf = Leaf { value: json!(1), length: 4 };
        for (filter, wanted) in [
            (".paths[\"/a\"].get", json!({ "paths": { "/a": { "get": 1 } } })),
            (".\"a.b\" == 1", json!({ "a.b": 1 })),
            ("length >= 3", json!([0, 0, 0])),
            (".items | length > 1", json!({ "items": [0, 0] })),
            (".items|length", json!({ "items": [0, 0, 0, 0] })),
            ("has(\"info\") and .version == \"2.0\"", json!({ "info": 1, "version": "2.0" })),
            (".a[1].b", json!({ "a": [{ "b": 1 }, { "b": 1 }] })),
            ("type == \"array\"", json!([])),
        ] {
            assert_eq!(shaped(filter, &leaf), wanted, "{filter}");
        }
    }
}
