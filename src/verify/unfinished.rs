//! Whether green checks ran to their end, where their judge loads the code under test.
//!
//! Invariant: only a judge whose failure turns the check red is blamed for one that it never reached.

use super::checks::{CheckOptions, Checks};
use super::classify::{JudgeEnd, TreeEdit};
use super::error::VerifyError;
use super::plan::PlannedCheck;
use super::proof_room::{ProofRoom, Shown};
use crate::model::{Cell, CheckResult, CheckStatus};

/// A check that takes longer does not run again.
const QUICK: u64 = 60_000;

/// Takes back the green of checks that ended before their judge did.
pub(super) async fn take_back(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    results: &mut [CheckResult],
    ends: &[&JudgeEnd],
    to_run: (&dyn Checks, &CheckOptions),
) -> Result<(), VerifyError> {
    for result in results {
        // A runner's summary says that it ended; CTest counts each program that ends with 0.
        let ended = result.tests.iter().any(|counts| counts.runner != "ctest");
        if !result.passed() || ended || result.millis >= QUICK {
            continue;
        }
        for end in ends.iter().filter(|end| end.check == result.command) {
            if is_green(room, shown, (result, &end.at_end), to_run).await?
                && !is_green(room, shown, (result, &end.at_start), to_run).await?
            {
                let why = format!("{} ended before its last line", end.name);
                result.status = CheckStatus::Incomplete(why);
                break;
            }
        }
    }
    Ok(())
}

async fn is_green(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    (result, edit): (&CheckResult, &TreeEdit),
    (checks, options): (&dyn Checks, &CheckOptions),
) -> Result<bool, VerifyError> {
    let edits: Vec<TreeEdit> = shown.edits.iter().chain([edit]).cloned().collect();
    let command = result.command.clone();
    let check = PlannedCheck { command, criteria: Vec::new(), whole_task: false };
    let shown = Shown { edits: &edits, ..shown };
    let options = CheckOptions { cell: Cell::EndMark, ..options.clone() };
    let ran = room.run(shown, &[check], checks, &options).await?;
    Ok(ran.iter().all(|check| check.result.passed()))
}
