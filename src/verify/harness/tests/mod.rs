//! Honest changes next to cheats, ecosystem by ecosystem.

mod cheats;
mod flips;
mod forms;
mod honest;
mod judged_forms;
mod judging;
mod known;
mod mutants;
mod outside;
mod runners;
mod started;
mod test_code;
pub(super) mod tree;
