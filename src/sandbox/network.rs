//! Which network a sandbox has.

/// Which network a sandbox has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Network {
    /// A loopback of its own, and nothing else.
    #[default]
    Own,
    /// The host's.
    Host,
}
