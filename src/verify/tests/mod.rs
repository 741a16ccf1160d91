//! The room as a whole, on real repositories.

mod checks;
mod clashes;
mod index_follows;
mod links;
mod preflight;
mod rescue;
mod room;
mod room_look;
mod room_trees;
mod status;
mod test_repo;
mod tree;
mod verdicts;
