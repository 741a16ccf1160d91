//! The client against recorded transcripts and against agents made of frames, all over
//! pipes in this process.

mod decisions;
mod lines;
mod logs;
mod modes;
mod peer;
mod replay;
mod scene;
mod turns;
