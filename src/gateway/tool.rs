//! A provider's tool, as `hello` and `tools.update` define it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::limits::{CALL_TIME, TOOLS};
use super::plain_text::plain_text;
use super::problem::{ErrorCode, Problem};
use super::schema::{ControlCharacters, clean_schema};

/// Longest name of a tool. With the prefix of the server it must fit the model's API, where
/// one bad name fails every request.
const NAME: usize = 56;
/// Longest name of a provider.
const PROVIDER_NAME: usize = 64;

/// A tool of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderTool {
    /// Its name, unique in a session.
    pub name: String,
    /// Its description, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: always of an object.
    pub parameters: Map<String, Value>,
    /// How long a call may take.
    pub timeout: Duration,
}

/// Reads a list of tools. Whether their names are free is not judged here.
pub(super) fn read_tools(list: &Value) -> Result<Vec<ProviderTool>, Problem> {
    let list = list.as_array().ok_or_else(|| Problem::invalid("`tools` is not a list"))?;
    if list.len() > TOOLS {
        let message = format!("{} tools; the limit is {TOOLS}", list.len());
        return Err(Problem::new(ErrorCode::PayloadTooLarge, message));
    }
    list.iter().enumerate().map(|(at, tool)| read_tool(at, tool)).collect()
}

fn read_tool(at: usize, tool: &Value) -> Result<ProviderTool, Problem> {
    let tool = tool.as_object().ok_or_else(|| invalid(at, "is not an object"))?;
    let name = tool.get("name").and_then(Value::as_str).filter(|name| is_name(name, NAME));
    let name = name.ok_or_else(|| {
        invalid(at, "needs a `name` of 1 to 56 letters, digits, underscores and hyphens")
    })?;
    let description = tool.get("description").and_then(Value::as_str);
    let description = description.ok_or_else(|| invalid(at, "needs a `description`"))?;
    let parameters = tool.get("parameters").and_then(Value::as_object);
    let parameters = parameters.and_then(object_schema);
    let mut parameters = parameters
        .ok_or_else(|| invalid(at, "needs `parameters`: the JSON Schema of an object"))?;
    clean_schema(&mut parameters).map_err(|ControlCharacters| {
        invalid(at, "has control characters in a name or a value of `parameters`")
    })?;
    let timeout = match tool.get("timeout") {
        None => CALL_TIME,
        Some(given) => milliseconds(given)
            .ok_or_else(|| invalid(at, "has a `timeout` that is not a positive number"))?,
    };
    Ok(ProviderTool {
        name: name.into(),
        description: plain_text(description),
        parameters,
        timeout,
    })
}

fn invalid(at: usize, what: &str) -> Problem {
    Problem::invalid(format!("tools[{at}] {what}"))
}

/// The schema with its type named; none if it is not an object's.
fn object_schema(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let of_type = |key: &str, right: fn(&Value) -> bool| schema.get(key).is_none_or(right);
    let texts = |list: &Value| {
        list.as_array().is_some_and(|list| list.iter().all(serde_json::Value::is_string))
    };
    let right = of_type("type", |kind| kind == "object")
        && of_type("properties", Value::is_object)
        && of_type("required", texts);
    right.then(|| {
        let mut schema = schema.clone();
        schema.entry("type").or_insert_with(|| json!("object"));
        schema
    })
}

/// A positive number of milliseconds. The longest is 49 days.
fn milliseconds(given: &Value) -> Option<Duration> {
    let given = given.as_f64().filter(|given| *given > 0.0)?;
    let longest = f64::from(u32::MAX);
    Some(Duration::from_secs_f64((given.min(longest) / 1000.0).max(0.001)))
}

fn is_name(name: &str, longest: usize) -> bool {
    let letter = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
    (1..=longest).contains(&name.len()) && name.bytes().all(letter)
}

/// Can a provider have this name?
pub(super) fn is_provider_name(name: &str) -> bool {
    is_name(name, PROVIDER_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(tools: Value) -> Option<ErrorCode> {
        read_tools(&tools).err().map(|problem| problem.code)
    }

    #[test]
    fn a_tool_has_name_description_parameters_and_a_positive_timeout() {
        let good = json!({"name": "greet", "description": "", "parameters": {}});
        assert_eq!(refused(json!([good])), None);
        for (key, bad) in [
            ("name", json!("")),
            ("name", json!("a b")),
            ("name", json!("é")),
            ("name", json!("x".repeat(57))),
            ("name", json!(1)),
            ("name", Value::Null),
            ("description", Value::Null),
            ("parameters", Value::Null),
            ("parameters", json!([])),
            ("parameters", json!({"type": "string"})),
            ("parameters", json!({"type": ["object"]})),
            ("parameters", json!({"properties": 1})),
            ("parameters", json!({"required": "a"})),
            ("timeout", json!(0)),
            ("timeout", json!(-1)),
            ("timeout", json!("1")),
            ("timeout", Value::Null),
        ] {
            let mut tool = good.clone();
            tool[key] = bad.clone();
            assert_eq!(refused(json!([tool])), Some(ErrorCode::UnknownType), "{key}: {bad}");
        }
        for missing in ["name", "description", "parameters"] {
            let mut tool = good.clone();
            tool.as_object_mut().expect("an object").remove(missing);
            assert_eq!(refused(json!([tool])), Some(ErrorCode::UnknownType), "{missing}");
        }
        assert_eq!(refused(json!({})), Some(ErrorCode::UnknownType));
        assert_eq!(refused(json!([1])), Some(ErrorCode::UnknownType));
    }

    #[test]
    fn defaults_are_filled_in_and_annotations_dropped() {
        let tools = json!([
            {"name": "a", "description": "d", "parameters": {}, "annotations": {"readOnlyHint": true}},
            {"name": "b-_9", "description": "d", "parameters": {"type": "object"}, "timeout": 0.5},
            {"name": "c", "description": "d", "parameters": {}, "timeout": 1e300},
        ]);
        let tools = read_tools(&tools).expect("valid");
        assert_eq!(tools[0].parameters["type"], "object");
        assert_eq!(tools[0].timeout, Duration::from_secs(120));
        assert_eq!(tools[1].timeout, Duration::from_millis(1));
        assert_eq!(tools[2].timeout, Duration::from_millis(u32::MAX.into()));
    }

    #[test]
    fn a_description_has_nothing_that_a_terminal_obeys() {
        let tool = json!([{"name": "a", "description": "x\u{1b}[2Jy\u{202e}z", "parameters": {}}]);
        assert_eq!(read_tools(&tool).expect("read")[0].description, "x[2Jyz");
    }

    #[test]
    fn a_schema_is_cleaned_or_refused() {
        let of = |name: &str, description: &str| {
            let properties = json!({name: {"type": "string", "description": description}});
            json!([{"name": "a", "description": "", "parameters": {"properties": properties}}])
        };
        let tools = read_tools(&of("to", "x\u{1b}[2Jy")).expect("read");
        assert_eq!(tools[0].parameters["properties"]["to"]["description"], "x[2Jy");
        let problem = read_tools(&of("t\u{1b}o", "x")).expect_err("refused");
        assert_eq!(problem.code, ErrorCode::UnknownType);
        assert!(problem.message.starts_with("tools[0] has control characters"));
    }
}
