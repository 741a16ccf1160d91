//! Refused: what the verify commands say against it.

use super::super::test_repo::{TestRepo, check, key};
use super::{accepted, refused, said, with_check};
use crate::model::{CheckStatus, FindingKind, Proof};
use crate::verify::CommitsAlone;

#[test]
fn a_criterion_that_passed_before_is_broken() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.before = vec![check("sh zero.sh", Some("zero"), CheckStatus::Passed)];
    begun.after = vec![check("sh zero.sh", Some("zero"), CheckStatus::Failed(1))];
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::Regression]);
    assert!(verdict.findings[0].message.contains("\"zero\""));

    // Without a baseline, what was proven before must still hold.
    begun.before.clear();
    begun.proven = vec![key("zero")];
    refused(&begun, &[FindingKind::Regression]);
}

#[test]
fn its_own_check_is_red() {
    for status in [
        CheckStatus::Failed(1),
        CheckStatus::Signalled(9),
        CheckStatus::TimedOut(600),
        CheckStatus::NotRun("no shell".into()),
    ] {
        let scene = TestRepo::new();
        let mut begun = scene.turn();
        with_check(&mut begun);
        scene.honest_work();
        begun.after[0].status = status;
        begun.after[0].output = "line\nexpected work\n".into();
        let verdict = refused(&begun, &[FindingKind::CheckFailed]);
        assert!(verdict.findings[0].message.ends_with("\nline\nexpected work"));
    }
}

#[test]
fn the_tasks_check_turned_red() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.after = vec![check("make", None, CheckStatus::Failed(2))];
    scene.honest_work();
    // Without a result before the work there is no excuse.
    refused(&begun, &[FindingKind::CheckFailed]);
    begun.before = vec![check("make", None, CheckStatus::Passed)];
    refused(&begun, &[FindingKind::CheckFailed]);
}

#[test]
fn a_commit_alone_where_checks_are_required() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.commits_alone = CommitsAlone::Refused;
    scene.honest_work();
    refused(&begun, &[FindingKind::CheckRequired]);

    // A check that was green before the work is none.
    with_check(&mut begun);
    accepted(&begun, Proof::Check);
    begun.before[0].status = CheckStatus::Passed;
    let verdict = refused(&begun, &[FindingKind::CheckRequired]);
    assert_eq!(said(&verdict), [FindingKind::GreenBefore]);
    begun.before.clear();
    refused(&begun, &[FindingKind::CheckRequired]);
}

#[test]
fn a_check_that_was_not_run_is_not_green() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    with_check(&mut begun);
    begun.after.clear();
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::CheckFailed]);
    assert!(verdict.findings[0].message.contains("was not run"));
    begun.before = vec![check("make", None, CheckStatus::Passed)];
    refused(&begun, &[FindingKind::CheckFailed]);
    // Those of other criteria may be left out.
    begun.before = vec![check("sh zero.sh", Some("zero"), CheckStatus::Passed)];
    accepted(&begun, Proof::Commit);
}
