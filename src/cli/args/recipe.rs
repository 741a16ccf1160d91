//! Arguments of `recipe`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::Span;

/// The `recipe` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum RecipeCommand {
    /// Run a recipe
    #[command(
        after_help = "Exit codes: 0 succeeded, 1 the recipe failed, 2 usage, 3 the runner is not \
usable, 4 the runner gave no valid answer, 5 nested too deep, 11 cannot write, 124 timed out, \
129/130/143 signals. See ralph-copilot's docs/recipes.md."
    )]
    Run(Box<RunRecipeArgs>),
    /// List the recipes and the folders that are searched for them
    List(ListArgs),
    /// Check the recipe runner
    Doctor(RecipeDoctorArgs),
    /// Install the recipe runner from its repository with cargo
    Install(InstallRunnerArgs),
}

/// Flags of `recipe`.
#[derive(Args, Debug)]
pub(crate) struct RecipeArgs {
    /// The command
    #[command(subcommand)]
    pub(crate) command: RecipeCommand,
}

/// Flags of `recipe run`.
#[derive(Args, Debug)]
pub(crate) struct RunRecipeArgs {
    /// The name of the recipe, or the absolute path of its file
    pub(crate) recipe: String,
    /// A value for the recipe; repeatable, and overrides `--context`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// A JSON file with an object of values for the recipe
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Search only this folder for recipes; repeatable
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    pub(crate) recipe_dirs: Vec<PathBuf>,
    /// Show the steps without running them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show each step as it begins and ends
    #[arg(long)]
    pub(crate) progress: bool,
    /// Do not stage the changes of the steps in git
    #[arg(long)]
    pub(crate) no_auto_stage: bool,
    /// End the recipe after this long
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub(crate) timeout: Span,
    /// Print the command, the names of its variables, and the keys of values that are passed
    /// in files, as JSON; run nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `recipe list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Search only this folder; repeatable
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    pub(crate) recipe_dirs: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `recipe doctor`.
#[derive(Args, Debug)]
pub(crate) struct RecipeDoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `recipe install`.
#[derive(Args, Debug)]
pub(crate) struct InstallRunnerArgs {
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Install even if a usable runner is already installed
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
