//! JSON-RPC on lines: parsing a client's line, and the answer to a line that is not a message.
//!
//! Invariant: a line that asks for an answer gets one, with its id where it can be read; no line
//! ends the server.

use rmcp::model::{ClientNotification, ClientRequest, ErrorCode, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Longest line, in bytes.
const LONGEST: usize = 16 << 20;
/// Requests that are understood with the right parameters only.
const KNOWN: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

/// A line of a client.
#[derive(Debug)]
pub(super) enum Line {
    /// A message.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Something else, with the answer to it.
    Refused(Value),
    /// Something else that asks for no answer.
    Nothing,
}

impl Line {
    /// Reads a line.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return Self::Nothing;
        }
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => {
                let why = format!("Parse error: {error}");
                return refused(ErrorCode::PARSE_ERROR, why, None);
            }
        };
        let Value::Object(message) = &value else {
            let why = "Invalid request: a line is one JSON object; batches are not supported";
            return refused(ErrorCode::INVALID_REQUEST, why, None);
        };
        if let Some(wrong) = wrong(message) {
            let why = format!("Invalid request: {wrong}");
            return refused(ErrorCode::INVALID_REQUEST, why, id(message));
        }
        let (method, id) = (message.get("method").and_then(Value::as_str), id(message));
        // Read from the text: numbers keep their form.
        match (serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(bytes), method, id) {
            (Ok(message), Some(method), Some(id)) if wrong_parameters(&message, method) => {
                let why = format!("Invalid params of {method}");
                refused(ErrorCode::INVALID_PARAMS, why, Some(id))
            }
            (Ok(message), ..) if is_unknown_notification(&message) => Self::Nothing,
            (Ok(message), ..) => Self::Message(Box::new(message)),
            (Err(error), Some(method), Some(id)) => {
                let why = format!("Invalid params of {method}: {error}");
                refused(ErrorCode::INVALID_PARAMS, why, Some(id))
            }
            // Notifications and answers that mean nothing are not answered.
            (Err(_), ..) => Self::Nothing,
        }
    }

    /// The answer to a line that is too long to be read.
    fn too_long() -> Self {
        let why = format!("Invalid request: longer than {LONGEST} bytes");
        refused(ErrorCode::INVALID_REQUEST, why, None)
    }
}

fn refused(code: ErrorCode, why: impl Into<String>, id: Option<&Value>) -> Line {
    let error = json!({"code": code.0, "message": why.into()});
    Line::Refused(json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// The id, if it is one that an answer may have.
fn id(message: &Map<String, Value>) -> Option<&Value> {
    message.get("id").filter(|id| id.is_string() || id.is_i64())
}

/// The errors of a message's envelope.
fn wrong(message: &Map<String, Value>) -> Option<&'static str> {
    let has = |key: &str| message.contains_key(key);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some("`jsonrpc` must be \"2.0\"");
    }
    if has("id") && id(message).is_none() && !has("error") {
        return Some("`id` must be a string or a whole number");
    }
    match message.get("method") {
        Some(Value::String(_)) => None,
        Some(_) => Some("`method` must be a string"),
        None if has("result") || has("error") => None,
        None => Some("`method` is missing"),
    }
}

/// The library takes a request whose parameters do not fit for one of a method that it does not
/// know.
fn wrong_parameters(message: &RxJsonRpcMessage<RoleServer>, method: &str) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    KNOWN.contains(&method) && matches!(request.request, ClientRequest::CustomRequest(_))
}

fn is_unknown_notification(message: &RxJsonRpcMessage<RoleServer>) -> bool {
    let JsonRpcMessage::Notification(notification) = message else { return false };
    matches!(notification.notification, ClientNotification::CustomNotification(_))
}

/// Reads lines of a stream, as far as they are not too long.
pub(super) struct ClientLines<R> {
    from: R,
    line: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncBufRead + Unpin> ClientLines<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, line: Vec::new(), too_long: false }
    }

    /// The next line; none at the end of the stream. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let Ok(there) = self.from.fill_buf().await else { return None };
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |end| end + 1);
            if self.line.len() + taken > LONGEST {
                self.too_long = true;
                self.line.clear();
            }
            if !self.too_long {
                self.line.extend_from_slice(&there[..taken]);
            }
            self.from.consume(taken);
            let at_end = taken == 0;
            if at_end && self.line.is_empty() && !self.too_long {
                return None;
            }
            if at_end || end.is_some() {
                let line = std::mem::take(&mut self.line);
                let too_long = std::mem::take(&mut self.too_long);
                return Some(if too_long { Line::too_long() } else { Line::of(&line) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> Option<(i64, Value)> {
        match Line::of(line.as_bytes()) {
            Line::Refused(answer) => {
                assert_eq!(answer["jsonrpc"], "2.0");
                let code = answer["error"]["code"].as_i64().expect("a code");
                assert!(answer.as_object().is_some_and(|it| it.contains_key("id")), "{answer}");
                Some((code, answer["id"].clone()))
            }
            Line::Message(_) | Line::Nothing => None,
        }
    }

    #[test]
    fn what_is_no_message_is_answered_with_the_id_where_there_is_one() {
        let call = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
        };
        for (line, code, id) in [
            ("not json", -32700, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1"#, -32700, json!(null)),
            ("\u{0}\u{1}\u{fffd}", -32700, json!(null)),
            ("[]", -32600, json!(null)),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, json!(null)),
            ("\"text\"", -32600, json!(null)),
            ("{}", -32600, json!(null)),
            (r#"{"jsonrpc":"1.0","id":5,"method":"tools/list"}"#, -32600, json!(5)),
            (r#"{"id":"a","method":"tools/list"}"#, -32600, json!("a")),
            (r#"{"jsonrpc":"2.0","id":5}"#, -32600, json!(5)),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, -32600, json!(5)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, -32600, json!(null)),
            (&call("{}"), -32602, json!(7)),
            (&call(r#"{"name": 1}"#), -32602, json!(7)),
            (&call(r#"{"name": "x", "arguments": []}"#), -32602, json!(7)),
            (&call("[]"), -32602, json!(7)),
            (&call("null"), -32602, json!(7)),
        ] {
            assert_eq!(refusal(line), Some((code, id)), "{line}");
        }
    }

    #[test]
    fn messages_pass_and_what_asks_for_nothing_gets_nothing() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n",
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"of/others","params":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
        ] {
            assert!(matches!(Line::of(line.as_bytes()), Line::Message(_)), "{line}");
        }
        for line in [
            "",
            " \r\n",
            r#"{"jsonrpc":"2.0","method":"notifications/of-others","params":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":3}"#,
        ] {
            assert!(matches!(Line::of(line.as_bytes()), Line::Nothing), "{line}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_and_the_next_is_read() {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        let text = format!("{}\n{ping}\n{ping}", "x".repeat(LONGEST + 1));
        let mut lines = ClientLines::new(text.as_bytes());
        assert!(matches!(lines.next().await, Some(Line::Refused(_))));
        assert!(matches!(lines.next().await, Some(Line::Message(_))));
        // The last line needs no end.
        assert!(matches!(lines.next().await, Some(Line::Message(_))));
        assert!(lines.next().await.is_none());
        assert!(lines.next().await.is_none());
    }
}
