//! The client against recorded transcripts and against agents made of frames, all over
//! pipes in this process.

mod calls;
mod client_scene;
mod decisions;
mod lines;
mod logs;
mod modes;
mod peer;
mod replay;
mod turns;
