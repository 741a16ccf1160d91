//! Honest changes next to cheats, ecosystem by ecosystem.

mod cheats;
mod forms;
mod honest;
mod judging;
mod known;
mod outside;
mod runners;
mod started;
mod tree;
