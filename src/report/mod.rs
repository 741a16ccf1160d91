//! Reporters: the only ones that speak, with `cli`.
