//! The program as a process, in temporary repositories, with the built-in scripted agent
//! over real ACP pipes: what a user, a script or an agent that lies can see and do.

#[path = "../support/repo.rs"]
mod repo;

mod verdicts;
