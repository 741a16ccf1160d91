//! The Agent Client Protocol; the only place that names the SDK.

pub mod serve;
