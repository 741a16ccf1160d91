//! Names of connections, sessions and calls.

use std::fmt;

/// A connection, numbered from 1 as they come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// The name that a provider and people see.
    pub(super) fn provider_id(self) -> String {
        format!("p-{:04x}", self.0)
    }
}

/// A session, which keeps its key while its providers clean up and its id is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub(super) u64);

/// A call, as the host that made it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey(pub u64);

/// A call, as its provider knows it: unique in the gateway, since it names its connection.
/// So a connection's last number tells which ids were ever given to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallId {
    pub(super) connection: ConnectionId,
    pub(super) number: u64,
}

impl CallId {
    /// Parses the text form of a [`CallId`], and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (connection, number) = text.strip_prefix("call-")?.split_once('-')?;
        let connection = ConnectionId(connection.parse().ok()?);
        let id = Self { connection, number: number.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call-{}-{}", self.connection.0, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_read() {
        let id = CallId { connection: ConnectionId(3), number: 17 };
        assert_eq!(CallId::parse(&id.to_string()), Some(id));
        for other in
            ["", "call-3", "call-3-", "call-03-17", "call-+3-17", "call-3-17 ", "Call-3-17"]
        {
            assert_eq!(CallId::parse(other), None, "{other}");
        }
    }
}
