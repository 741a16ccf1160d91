//! What the proofs of a task rest on, besides the commit.

use globset::GlobSet;

use super::classify::Table;
use super::git::GitRepo;
use super::holdout::HoldOuts;
use super::layout::Layout;
use super::plan::PlannedCheck;
use super::setup::RoomSetup;
use crate::model::{CriterionKey, FirstSeen, FirstStatus, Oid};

/// The basis of a task's proofs.
#[derive(Clone, Copy)]
pub struct ProofRules<'a> {
    /// Where objects are.
    pub repo: &'a GitRepo,
    /// The task's files, which have their own rules.
    pub layout: &'a Layout,
    /// Which paths are harness by convention.
    pub table: &'a Table,
    /// A commit or a tree with the harness that counts; none where nothing is put back.
    pub harness: Option<&'a Oid>,
    /// The commit that the work on the criterion began on, where it is known. What other criteria
    /// changed before it is no part of the work that new tests must need.
    pub began: Option<&'a Oid>,
    /// Paths of the harness that may change.
    pub may_change: &'a GlobSet,
    /// Paths that the human protected.
    pub protect: &'a GlobSet,
    /// How commands ended at the start.
    pub first_seen: &'a [FirstSeen],
    /// The commands that prepare the room.
    pub setup: &'a RoomSetup,
    /// Asks whether new tests pass with the old harness, since they become part of it.
    pub learns: bool,
    /// The criteria whose checks run where they must fail, too: those that nobody proved yet.
    pub deep: &'a [CriterionKey],
    /// The hold-out checks that run once everything else held, and the criteria that they are of.
    pub holdout: Option<(&'a HoldOuts, &'a [CriterionKey])>,
    /// Tries a red check again in a room without the output of earlier checks, which may be in its
    /// way: `mkdir build`.
    pub retries: bool,
}

impl ProofRules<'_> {
    pub(super) fn first_seen(&self, command: &str) -> Option<&FirstSeen> {
        self.first_seen.iter().find(|seen| seen.command == command)
    }

    /// Whether the test of a command was not there at the start.
    pub(super) fn is_test_new(&self, command: &str) -> bool {
        self.first_seen(command).is_some_and(|seen| seen.status == FirstStatus::Missing)
    }

    /// Whether a check has to fail where it must.
    pub(super) fn is_deep(&self, check: &PlannedCheck) -> bool {
        check.criteria.iter().any(|key| self.deep.contains(key))
    }

    pub(super) fn is_deep_command(&self, planned: &[PlannedCheck], command: &str) -> bool {
        planned.iter().any(|check| check.command == command && self.is_deep(check))
    }

    /// Did a runner count the tests of a check at the start?
    pub(super) fn counts_tests(&self, check: &PlannedCheck) -> bool {
        let seen = self.first_seen(&check.command);
        seen.is_some_and(|seen| seen.tests.iter().any(|count| count.ran > 0))
    }

    /// The harness that a command has to pass besides the start's.
    pub(super) fn later_harness(&self, command: &str) -> Option<&Oid> {
        self.first_seen(command)?.harness.as_ref()
    }
}
