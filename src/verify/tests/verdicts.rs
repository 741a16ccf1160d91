//! Every line of what is refused and what is accepted, on real repositories: what the
//! agent did on disk, and the verdict on it.

mod accepted;
mod open;
mod red;
mod tampered;
mod work;

use super::test_repo::{TurnBegun, check};
use crate::model::{CheckStatus, FindingKind, Proof, Verdict, VerdictResult, Weight};

/// The kinds of what was found, without what is only said.
fn against(verdict: &Verdict) -> Vec<FindingKind> {
    let counts = |weight| weight != Weight::Said;
    verdict.findings.iter().filter(|f| counts(f.weight)).map(|f| f.kind).collect()
}

fn said(verdict: &Verdict) -> Vec<FindingKind> {
    let said = |finding: &&crate::model::Finding| finding.weight == Weight::Said;
    verdict.findings.iter().filter(said).map(|f| f.kind).collect()
}

/// The turn is judged, and must fail for exactly these reasons.
fn refused(begun: &TurnBegun<'_>, kinds: &[FindingKind]) -> Verdict {
    let verdict = begun.verdict();
    assert_eq!(against(&verdict), kinds, "{verdict:#?}");
    assert_eq!(verdict.result, VerdictResult::Fail, "{verdict:#?}");
    verdict
}

fn accepted(begun: &TurnBegun<'_>, proof: Proof) -> Verdict {
    let verdict = begun.verdict();
    assert_eq!(verdict.result, VerdictResult::Pass(proof), "{verdict:#?}");
    verdict
}

/// The check of the criterion in focus, red before the work and green after it.
fn with_check(begun: &mut TurnBegun<'_>) {
    begun.verify = vec!["sh tests/check.sh".into()];
    begun.before = vec![check("sh tests/check.sh", Some("one"), CheckStatus::Failed(1))];
    begun.after = vec![check("sh tests/check.sh", Some("one"), CheckStatus::Passed)];
}
