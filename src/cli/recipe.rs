//! `recipe`: the bridge to `recipe-runner-rs` at the command line.
//!
//! Its exit codes are its own, as listed in docs/recipes.md; see [`code`].

use super::args::{RecipeArgs, RecipeCommand};
use super::failure::Failure;
mod doctor;
mod install;
mod list;
mod run;
mod setup;

pub(super) use self::setup::bridge_under;

use std::path::Path;

/// Does it.
pub(super) fn recipe(directory: Option<&Path>, args: &RecipeArgs) -> Result<u8, Failure> {
    match &args.command {
        RecipeCommand::Run(args) => run::run(directory, args),
        RecipeCommand::List(args) => list::list(directory, args),
        RecipeCommand::Doctor(args) => doctor::doctor(directory, args),
        RecipeCommand::Install(args) => install::install(args),
    }
}
