//! Settings: as written in their layers, then resolved once and immutable.
//!
//! A layer holds the settings of one source. For each setting, `resolve` uses the first layer
//! that sets it, and keeps the source for `doctor`. This room also reads the files and the
//! environment. The meaning of a setting is defined in the rooms that use it.

mod environment;
mod error;
mod gateway;
mod layer;
mod policy;
mod read;
mod resolve;
mod span;
mod unknown;

pub use environment::{from_environment, from_one};
pub use error::ConfigError;
pub use gateway::GatewayLayer;
pub use layer::{Layer, LayerSettings, MemoryLayer, Source};
pub use read::{from_file, from_task, from_text, user_file};
pub use resolve::{MemorySettings, SettingOrigin, Settings, Sourced, resolve};
pub use span::{Span, SpanError};
pub use unknown::unknown_variables;
