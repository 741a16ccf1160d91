//! Parses the bytes of a WebSocket message into a JSON object with a type, or an error.
//!
//! Invariant: any bytes give a frame, and a frame over every limit is not parsed. Which limit
//! counts depends on the connection's state, so the size is judged later, by [`Frame::admit`],
//! and before the JSON.

use serde_json::{Map, Value};

use super::limits::{FRAME_SIZE, RESULT_SIZE};
use super::problem::{ErrorCode, Problem};
use crate::model::whole_letters;

/// Longest type that an error repeats.
const REPEATED: usize = 256;

/// A message as it came in.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderFrame {
    size: usize,
    content: Option<Fields>,
}

/// The object of a frame, with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fields {
    pub(super) kind: String,
    pub(super) map: Map<String, Value>,
}

/// A frame that was not admitted, and its type if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) problem: Problem,
    pub(super) kind: Option<String>,
}

impl ProviderFrame {
    /// Reads a message, text or binary.
    pub fn read(bytes: &[u8]) -> Self {
        let parse = || {
            // A text that a provider cut in the middle of a letter is JSON all the same.
            let parsed = serde_json::from_slice(bytes).ok();
            let parsed = parsed.or_else(|| serde_json::from_slice(&whole_letters(bytes)?).ok());
            let Some(Value::Object(mut map)) = parsed else { return None };
            match map.remove("type") {
                Some(Value::String(kind)) => Some(Fields { kind, map }),
                Some(_) | None => None,
            }
        };
        let content = if bytes.len() > RESULT_SIZE { None } else { parse() };
        Self { size: bytes.len(), content }
    }

    /// The type, if the frame has one.
    pub(super) fn kind(&self) -> Option<&str> {
        self.content.as_ref().map(|fields| fields.kind.as_str())
    }

    /// The type as an error repeats it.
    pub(super) fn reply_to(&self) -> Option<String> {
        self.kind().filter(|kind| kind.len() <= REPEATED).map(str::to_owned)
    }

    /// Is it the answer to a call?
    pub(super) fn is_result(&self) -> bool {
        self.kind() == Some("tool.result")
    }

    /// The object, if its size is allowed and it is one.
    pub(super) fn admit(self, bound: bool) -> Result<Fields, Refusal> {
        let limit = if bound && self.is_result() { RESULT_SIZE } else { FRAME_SIZE };
        let kind = self.reply_to();
        if self.size > limit {
            // A frame that was not parsed may be a result, whose limit is larger.
            let limit = if bound && self.content.is_none() && self.size > RESULT_SIZE {
                RESULT_SIZE
            } else {
                limit
            };
            let message = format!("the frame has {} bytes; the limit is {limit}", self.size);
            let problem = Problem::new(ErrorCode::PayloadTooLarge, message);
            return Err(Refusal { problem, kind });
        }
        let message = "a frame is a JSON object whose `type` is a string";
        let problem = Problem::new(ErrorCode::InvalidJson, message);
        self.content.ok_or(Refusal { problem, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(bytes: &[u8], bound: bool) -> Option<ErrorCode> {
        ProviderFrame::read(bytes).admit(bound).err().map(|refusal| refusal.problem.code)
    }

    #[test]
    fn what_is_no_object_with_a_text_type_is_invalid_json() {
        for text in ["", "x", "[]", "1", "null", "\"push\"", "{", "{}", r#"{"type":1}"#, "{}{}"] {
            assert_eq!(refused(text.as_bytes(), true), Some(ErrorCode::InvalidJson), "{text}");
        }
        assert_eq!(refused(b"{\"type\":\"\xff\"}", true), Some(ErrorCode::InvalidJson));
        let deep = format!(r#"{{"type":"push","x":{}"#, "[".repeat(100_000));
        assert_eq!(refused(deep.as_bytes(), true), Some(ErrorCode::InvalidJson));
        assert_eq!(refused(br#"{"type":"push"}"#, true), None);
    }

    #[test]
    fn half_a_letter_and_every_number_are_read() {
        let read = |data: &str| {
            let text = format!(r#"{{"type":"tool.result","data":{data}}}"#);
            let fields = ProviderFrame::read(text.as_bytes()).admit(true);
            fields.map(|fields| fields.map["data"].clone()).map_err(|it| it.problem.code)
        };
        assert_eq!(read(r#""a\ud83d""#), Ok("a\u{fffd}".into()));
        assert_eq!(read(r#""\ud83d" 1"#), Err(ErrorCode::InvalidJson));
        for number in [0.1 + 0.2, 5e-324, f64::MAX, 8.448_845_784_375_07e-73] {
            assert_eq!(read(&format!("{number:e}")), Ok(number.into()));
        }
    }

    #[test]
    fn the_size_is_judged_before_the_json() {
        let text = vec![b'x'; FRAME_SIZE + 1];
        assert_eq!(refused(&text, true), Some(ErrorCode::PayloadTooLarge));
        assert_eq!(refused(&text[1..], true), Some(ErrorCode::InvalidJson));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_frame(bytes: Vec<u8>, bound: bool) {
            let frame = ProviderFrame::read(&bytes);
            prop_assert_eq!(frame.size, bytes.len());
            drop(frame.admit(bound));
        }
    }
}
