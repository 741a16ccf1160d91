//! The recipe bridge as a process, against a runner that is a script: what a user, a
//! recipe or a runner that misbehaves can see and do.

#[path = "../support/recipe_runner.rs"]
mod recipe_runner;
#[expect(dead_code, reason = "other test programs look at more")]
#[path = "../support/repo.rs"]
mod repo;

mod command;
mod criterion;
mod docs;
mod failures;
mod install;
mod real;
mod scene;
