//! Why the gateway ends a connection.

/// A reason to end a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// An error of the provider that is fatal; an `error` frame told it.
    Refused,
    /// It did not authenticate in time.
    Unauthenticated,
    /// Too many others wait for authentication.
    Crowded,
    /// It said nothing for too long, pongs included.
    Silent,
    /// A frame that cannot be assigned to one of several calls.
    Ambiguous,
    /// The provider said goodbye.
    Goodbye,
    /// The session has ended.
    SessionEnded,
    /// It does not read its frames.
    Unread,
    /// It sent data that is not a message, or a message that is far too large.
    Broken,
    /// The connection broke, or the provider closed it.
    Lost,
}

impl CloseReason {
    /// The status code of the WebSocket's close frame.
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Goodbye | Self::Lost => 1000,
            Self::SessionEnded => 1001,
            Self::Broken => 1002,
            Self::Refused
            | Self::Unauthenticated
            | Self::Crowded
            | Self::Silent
            | Self::Ambiguous
            | Self::Unread => 1008,
        }
    }

    /// The reason for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unauthenticated => "no authentication in time",
            Self::Crowded => "too many connections wait for authentication",
            Self::Silent => "silent for too long",
            Self::Ambiguous => "a frame that belongs to none of several calls",
            Self::Goodbye => "goodbye",
            Self::SessionEnded => "the session has ended",
            Self::Unread => "the provider does not read its frames",
            Self::Broken => "not a message, or larger than 8 MiB",
            Self::Lost => "connection lost",
        }
    }
}
