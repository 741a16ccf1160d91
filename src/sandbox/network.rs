//! Which network a sandbox has.

/// Which network a sandbox has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Network {
    /// Only a private loopback.
    #[default]
    Own,
    /// The host's.
    Host,
}
