//! What is known about programs by their names and words alone, without files or a policy.

mod exact;
pub(super) mod git_refused;
pub(super) mod refused;
pub(super) mod table;
pub(super) mod verbs;

pub(super) use exact::exactly;
pub(super) use refused::lists;
