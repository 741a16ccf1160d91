//! The commands beside `run`: what they print, whole, and what they change.

mod check;
mod doctor;
mod help;
mod limits;
mod lookup;
mod odd;
mod status;
mod unread;
mod write;
