//! The loop on a real repository, with whole lists of events.

mod fakes;
mod faults;
mod format;
mod loops;
mod stops;
mod test_run;
mod work_tree;
