//! The room as a whole, on real repositories.

mod checks;
mod clean;
mod preflight;
mod rescue;
mod test_repo;
mod tree;
mod verdicts;
