//! The table as its host sees it: frames and times in, effects out.

mod calls;
mod lifecycle;
mod limits;
mod random;
mod world;
