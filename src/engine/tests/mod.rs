//! The loop on a real repository, with whole lists of events.

mod fakes;
mod faults;
mod loops;
mod place;
mod scene;
mod stops;
mod told;
