//! Arguments of `recipe`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::Span;

/// What `recipe` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum RecipeCommand {
    /// Run a recipe
    #[command(
        after_help = "Exit codes: 0 done, 1 the recipe failed, 2 usage, 3 the runner is not usable, \
4 the runner gave no answer, 5 nested too deep, 11 cannot write, 124 out of time, 129/130/143 \
signals. `docs/recipes.md` tells more."
    )]
    Run(Box<RunRecipeArgs>),
    /// Show where recipes are looked for, and which ones there are
    List(ListArgs),
    /// Show which runner would be used, and what is wrong with it
    Doctor(RecipeDoctorArgs),
    /// Install the runner with cargo from its repository
    Install(InstallRunnerArgs),
}

/// Flags of `recipe`.
#[derive(Args, Debug)]
pub(crate) struct RecipeArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: RecipeCommand,
}

/// Flags of `recipe run`.
#[derive(Args, Debug)]
pub(crate) struct RunRecipeArgs {
    /// The recipe: its name, or the absolute path of its file
    pub(crate) recipe: String,
    /// A value for the recipe; repeatable, and stronger than the file of `--context`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Values for the recipe: a file with a JSON object
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Look for recipes here and nowhere else; repeatable
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    pub(crate) recipe_dirs: Vec<PathBuf>,
    /// Tell of the steps without running them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show each step as it begins and ends
    #[arg(long)]
    pub(crate) progress: bool,
    /// Do not let the runner stage what the steps changed
    #[arg(long)]
    pub(crate) no_auto_stage: bool,
    /// The recipe may not take longer than this
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub(crate) timeout: Span,
    /// Print the command, the names of its environment and the spilled keys as JSON; run
    /// nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Print what came of it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `recipe list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Look here and nowhere else; repeatable
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
    /// Do it without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Install although a runner that can be used is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print what came of it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
