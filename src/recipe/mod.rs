//! The bridge to `recipe-runner-rs`: finds and checks the runner, runs recipes with it, and
//! reads its answers.
//!
//! Invariant: a runner that fails a check is never started. Pure functions decide the input of a
//! recipe: its arguments, its environment, its large values. Each way of ending without an answer
//! has its own error. Not in this room: whether a criterion is met, printing, and the guard for the
//! launches inside a recipe.

mod argv;
mod bridge;
mod context;
mod discover;
mod environment;
mod error;
mod execute;
mod folders;
mod install;
mod progress;
mod response;
mod runner_stderr;
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
