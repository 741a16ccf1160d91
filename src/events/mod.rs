//! The journal, and the fold that reads it back.
