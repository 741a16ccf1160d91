//! The bridge to `recipe-runner-rs`: found, checked, asked, and not believed.
//!
//! Invariant: nothing is run that a rule of this room refuses; what a recipe gets (its
//! arguments, its environment, its large values) is decided by pure functions; what it says
//! is read, and a runner that ended without saying it is an error with a name of its own.
//! What does NOT live here: whether a criterion is met, printing, and the guard that the
//! launches inside a recipe stand under.

mod argv;
mod bridge;
mod context;
mod discover;
mod environment;
mod error;
mod execute;
mod failure;
mod folders;
mod install;
mod progress;
mod response;
mod spill;
mod version;

pub use argv::{AutoStage, RecipeMode, RecipeRequest, ShowProgress};
pub use bridge::{Bridge, BridgeConfig, IsSecret, RecipePlan, RecipeReport, Runner};
pub use context::{Context, ContextValue};
pub use discover::{DiscoveryRule, FoundRunner, RunnerCandidate};
pub use environment::{
    AGENT_VARIABLE, ALLOWED, ALLOWED_PREFIXES, LAUNCHER_VARIABLE, NestedLaunch, REFUSED,
    SOCKET_VARIABLE,
};
pub use error::RecipeError;
pub use folders::{ENDINGS, folders};
pub use install::{INSTALL_VARIABLE, install, install_command, install_limit};
pub use progress::{ProgressLine, read_line};
pub use version::{MINIMUM, Version, VersionProblem};
