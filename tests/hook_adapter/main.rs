//! `ralph-copilot hook` without a run, and what `ralph-copilot hooks` stages, as processes:
//! real hook scripts of a project, in a path with a space and a quote.

#[path = "../support/project.rs"]
mod project;

mod decides;
mod install;
mod page;
mod precedence;
mod staged;
mod xpia;
