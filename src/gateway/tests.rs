//! The table as its host sees it: frames and times in, effects out. The scripts in
//! `tests/corpus/gateway` play most of the protocol, over real sockets.

mod random;
mod states;
mod world;
