//! The operating system at its edges.

pub mod env;
