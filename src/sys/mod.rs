//! The operating system at its edges.
