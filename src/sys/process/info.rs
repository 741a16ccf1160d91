//! A process as the system shows it.

/// One row of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessInfo {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// 0 if the group began outside our container.
    pub(super) group: u32,
    /// 0 if the session is unknown or began outside our container.
    pub(super) session: u32,
    pub(super) zombie: bool,
    /// Start time in a system-specific unit; it tells a reused process id from the original.
    pub(super) start: u64,
}
