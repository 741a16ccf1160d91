//! The numbers of the protocol. Sizes are bytes of UTF-8 and inclusive.

use std::time::Duration;

/// The only protocol version.
pub(super) const PROTOCOL_VERSION: u64 = 2;
/// Largest `tool.result` of a bound provider.
pub(super) const RESULT_SIZE: usize = 5 << 20;
/// Largest frame of any other kind, in either direction.
pub(super) const FRAME_SIZE: usize = 2 << 20;
/// Largest message that a socket reads. It is more than any frame may have, so that a frame
/// that is too large gets an error instead of a hang-up.
pub(super) const SOCKET_SIZE: usize = 8 << 20;
/// Most tools of a provider.
pub(super) const TOOLS: usize = 100;
/// A call's time, if its tool names none.
pub(super) const CALL_TIME: Duration = Duration::from_secs(120);
/// Most connections that have not authenticated; one more ends the oldest.
pub(super) const STRANGERS: usize = 64;
/// How long a connection may take to authenticate.
pub(super) const AUTH_TIME: Duration = Duration::from_secs(10);
/// Time between two pings.
pub(super) const PING_EVERY: Duration = Duration::from_secs(15);
/// A connection that was silent this long is dead.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// Frames that may come at once, before the rate counts.
pub(super) const BURST: u32 = 1000;
/// Frames a second, after the burst.
pub(super) const RATE: u32 = 500;
/// A session's changed tools are announced this long after the last change, ...
pub(super) const ANNOUNCE_AFTER: Duration = Duration::from_millis(200);
/// ... and this long after the first one at the latest.
pub(super) const ANNOUNCE_WITHIN: Duration = Duration::from_secs(1);
/// How long providers get to clean up at the end of a session.
pub const SHUTDOWN_TIME: Duration = Duration::from_secs(10);
/// Largest text of an injected event.
pub(super) const INJECTED_SIZE: usize = 4 << 10;
/// Most injected events of an iteration.
pub(super) const INJECTED: u32 = 5;
/// Frames that are read and not yet handled, in bytes, of all connections together.
pub(super) const UNHANDLED_SIZE: usize = 16 << 20;
/// Frames that a provider has not read, in bytes; with more it is cut off.
pub(super) const UNREAD_SIZE: usize = 16 << 20;
/// How long a connection that was closed may take to say so.
pub(super) const CLOSE_TIME: Duration = Duration::from_secs(2);
