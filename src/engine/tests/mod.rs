//! The loop on a real repository, with whole lists of events.

mod faults;
mod loops;
mod scene;
mod stops;
