//! The errors of a frame, and the failures of a call.

use strum::IntoStaticStr;

/// The code of an `error` frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The token is missing or wrong. Ends the connection.
    AuthFailed,
    /// The protocol version is not 2. Ends the connection.
    UnsupportedVersion,
    /// `hello` names no session that is open.
    InvalidSession,
    /// A tool name is taken.
    ToolConflict,
    /// A frame or a list is over its limit.
    PayloadTooLarge,
    /// Too many frames a second.
    RateLimited,
    /// Not a JSON object with a `type`.
    InvalidJson,
    /// An unknown type, a type that does not fit the state, or invalid fields.
    UnknownType,
}

impl ErrorCode {
    /// The code on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Does the connection end after this error?
    pub(super) fn is_fatal(self) -> bool {
        matches!(self, Self::AuthFailed | Self::UnsupportedVersion)
    }
}

/// An error about a frame, as its sender reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Invalid fields without their own code.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::UnknownType, message)
    }
}

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum FailureCode {
    /// The tool or session does not exist, or the provider says so.
    NotFound,
    /// The call's time is over.
    Timeout,
    /// The host cancelled the call.
    Cancelled,
    /// The provider failed.
    Internal,
    /// The provider's connection ended first.
    Disconnected,
    /// The provider's answer, or the call itself, was against the protocol.
    Protocol(ErrorCode),
}

impl FailureCode {
    /// The code as agents and programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Protocol(code) => code.name(),
            other => other.into(),
        }
    }

    /// The code that a provider gave; one that is not the protocol's is an internal error.
    pub(super) fn of_provider(code: Option<&str>) -> Self {
        match code {
            Some("NOT_FOUND") => Self::NotFound,
            Some("TIMEOUT") => Self::Timeout,
            Some("CANCELLED") => Self::Cancelled,
            Some(_) | None => Self::Internal,
        }
    }
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub struct CallFailure {
    /// Why, for programs.
    pub code: FailureCode,
    /// Why, in words: the provider's, or ours.
    pub message: String,
}

impl CallFailure {
    pub(super) fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
