//! The CLI's hooks: wire forms and the guard's plugin.
