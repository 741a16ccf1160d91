//! The room as a whole, on real repositories.

mod checks;
mod clean;
mod preflight;
mod rescue;
mod scene;
mod tree;
mod verdicts;
