//! The scripted agent as a client sees it: frames on a pipe, files and commits on disk.

mod actions;
mod client;
mod docs;
mod example;
mod faults;
mod repo;
