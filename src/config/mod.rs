//! Settings: as written in their layers, then resolved once and immutable.
//!
//! A layer says what somebody wrote and nothing else; `resolve` picks, for each
//! setting, the first layer that says something, and remembers which one it was
//! so that `doctor` can tell. Reading the files and the environment is done here
//! too; what a setting means is decided in the rooms that use it.

mod layer;
mod policy;
mod read;
mod resolve;
mod span;

pub use layer::{Layer, LayerSettings, Source};
pub use read::{
    ConfigError, from_environment, from_file, from_one, from_task, unknown_variables, user_file,
};
pub use resolve::{SettingOrigin, Settings, resolve};
pub use span::{Span, SpanError};
