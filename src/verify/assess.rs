//! What a proof says: the reasons why its checks prove nothing.
//!
//! Invariant: pure, and the only reader of a proof. The verdict, the proof at the end, held work,
//! `verify`, and `rehearse` differ in their words and in what follows, never in whether a check
//! holds.

use super::excerpt::said;
use super::prove::Proved;
use crate::model::{
    CheckResult, CheckWrote, CriterionKey, Evidence, FindingKind, HoldOutCount, MustFail,
    PutBackRun, Unmoved,
};

/// What a hold-out check is called wherever the agent may read it.
pub const HOLD_OUT: &str = "a hold-out check";

/// The results of a proof, wherever they are kept.
#[derive(Clone, Copy, Debug)]
pub struct Results<'p> {
    checks: &'p [CheckResult],
    flaky: &'p [String],
    wrote: &'p [CheckWrote],
    unmoved: &'p [Unmoved],
    put_back: Option<&'p PutBackRun>,
    holdout: &'p [HoldOutCount],
}

impl<'p> From<&'p Proved> for Results<'p> {
    fn from(proved: &'p Proved) -> Self {
        let Proved { checks, flaky, wrote, unmoved, put_back, holdout, held_back: _ } = proved;
        Self { checks, flaky, wrote, unmoved, put_back: put_back.as_ref(), holdout }
    }
}

impl<'p> From<&'p Evidence> for Results<'p> {
    fn from(evidence: &'p Evidence) -> Self {
        let Evidence { checks, flaky, wrote, unmoved, put_back, holdout, .. } = evidence;
        Self { checks, flaky, wrote, unmoved, put_back: put_back.as_ref(), holdout }
    }
}

/// A reason why a check proves nothing.
#[derive(Clone, Copy, Debug)]
pub enum Reason<'p> {
    /// It was green and red on the same commit.
    Flaky(&'p CheckResult),
    /// It is red.
    Red(&'p CheckResult),
    /// It changes files that decide.
    Wrote(&'p CheckWrote),
    /// It is red with the harness put back.
    NeedsChanges(&'p CheckResult, &'p PutBackRun),
    /// It passes where it must fail.
    Unmoved(&'p Unmoved),
    /// Hold-out checks of a criterion are red.
    HoldOut(&'p HoldOutCount),
}

/// The reasons, those that weigh most first.
pub fn assess<'p>(results: impl Into<Results<'p>>) -> Vec<Reason<'p>> {
    let Results { checks, flaky, wrote, unmoved, put_back, holdout } = results.into();
    let is_flaky = |check: &CheckResult| flaky.contains(&check.command);
    let green = |command: &str| checks.iter().any(|it| it.command == command && it.passed());
    let red = checks.iter().filter(|check| is_flaky(check) || !check.passed());
    let red = red.map(|it| if is_flaky(it) { Reason::Flaky(it) } else { Reason::Red(it) });
    let needs = put_back.into_iter().flat_map(|run| {
        let red = run.checks.iter().filter(|it| !it.passed() && green(&it.command));
        red.map(move |check| Reason::NeedsChanges(check, run))
    });
    let found = red.chain(wrote.iter().map(Reason::Wrote)).chain(needs);
    let hidden = holdout.iter().filter(|it| !it.holds()).map(Reason::HoldOut);
    found.chain(unmoved.iter().map(Reason::Unmoved)).chain(hidden).collect()
}

/// The reasons why the checks of a criterion prove nothing, in words; empty if they hold. `at` says
/// where they ran, as in `at the head`.
pub fn reasons(proved: &Proved, key: &CriterionKey, at: &str) -> Vec<String> {
    let own = |reason: &Reason<'_>| {
        let mut checks = proved.checks.iter();
        match reason {
            Reason::HoldOut(count) => count.criterion == *key,
            reason => checks
                .any(|check| check.command == reason.command() && check.criteria.contains(key)),
        }
    };
    assess(proved).into_iter().filter(own).map(|it| it.said(at)).collect()
}

impl Reason<'_> {
    /// The check.
    pub fn command(&self) -> &str {
        match self {
            Self::Flaky(check) | Self::Red(check) | Self::NeedsChanges(check, _) => &check.command,
            Self::Wrote(wrote) => &wrote.command,
            Self::Unmoved(unmoved) => &unmoved.command,
            Self::HoldOut(_) => HOLD_OUT,
        }
    }

    /// The kind of finding that it is at the end.
    pub fn kind(&self) -> FindingKind {
        match self {
            Self::Flaky(_) => FindingKind::Flaky,
            Self::Red(_) => FindingKind::Regression,
            Self::Wrote(_) => FindingKind::CheckWrote,
            Self::NeedsChanges(..) => FindingKind::HarnessNeeded,
            Self::Unmoved(_) => FindingKind::Unmoved,
            Self::HoldOut(_) => FindingKind::HoldOutFailed,
        }
    }

    /// In words.
    pub fn said(&self, at: &str) -> String {
        let command = self.command();
        match self {
            Self::HoldOut(_) => format!("{HOLD_OUT} of this criterion fails {at}"),
            Self::Flaky(_) => format!("`{command}` passed and failed {at} on the same commit"),
            Self::Red(check) => {
                let (how, said) = (check.status.how(), said(&check.output));
                let end = if said.is_empty() { "" } else { "." };
                format!("`{command}` fails {at} ({how}){end}{said}")
            }
            Self::Wrote(wrote) => {
                let path = wrote.paths.first().map(|change| change.path.display().to_string());
                let path = path.unwrap_or_default();
                format!("`{command}` changes {path} {at}, a file that decides checks")
            }
            Self::NeedsChanges(_, run) => {
                let changed = run.harness.iter().map(|change| change.path.display().to_string());
                let changed = changed.collect::<Vec<_>>().join(", ");
                let missing =
                    run.missing.iter().map(|it| format!("; {it} now")).collect::<String>();
                format!("`{command}` fails {at}, with {changed} as it was{missing}")
            }
            Self::Unmoved(unmoved) => {
                let paths = unmoved.paths.iter().map(|path| path.display().to_string());
                let paths = paths.collect::<Vec<_>>().join(", ");
                let line = unmoved.line.map(|line| format!("line {line} of ")).unwrap_or_default();
                match unmoved.with {
                    MustFail::OtherExpectation => {
                        format!("`{command}` passes {at} whatever {line}{paths} expects")
                    }
                    MustFail::OldProduct => {
                        format!("`{command}` passes {at} with {paths} as it was before the work")
                    }
                    MustFail::NoAssertion => {
                        format!("`{command}` passes {at}, and {paths} asserts nothing")
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::model::{ChangeKind, CheckStatus, PathChange};

    fn check(command: &str, status: CheckStatus) -> CheckResult {
        let key = CriterionKey { text: "it works".into(), occurrence: 0 };
        CheckResult { criteria: vec![key], ..CheckResult::new(command, status) }
    }

    #[test]
    fn every_reader_of_a_proof_sees_the_same_reasons() {
        let path = PathBuf::from("tests/a.py");
        let changed = PathChange { path: path.clone(), kind: ChangeKind::Modified };
        let put_back = PutBackRun {
            harness: vec![changed.clone()],
            checks: vec![
                check("needs", CheckStatus::Failed(1)),
                check("red", CheckStatus::Failed(1)),
            ],
            ..PutBackRun::default()
        };
        let unmoved = Unmoved {
            command: "moved".into(),
            criteria: Vec::new(),
            with: MustFail::OldProduct,
            paths: vec![PathBuf::from("a.py")],
            line: None,
        };
        let green = ["needs", "moved", "writes"].map(|name| check(name, CheckStatus::Passed));
        let red = ["red", "flaky"].map(|name| check(name, CheckStatus::Failed(1)));
        let key = CriterionKey { text: "it works".into(), occurrence: 0 };
        let proved = Proved {
            checks: green.into_iter().chain(red).collect(),
            flaky: vec!["flaky".into()],
            wrote: vec![CheckWrote { command: "writes".into(), paths: vec![changed] }],
            unmoved: vec![unmoved],
            put_back: Some(put_back),
            holdout: vec![HoldOutCount { criterion: key.clone(), passed: 1, of: 2 }],
            held_back: Vec::new(),
        };
        let kinds: Vec<_> =
            assess(&proved).iter().map(|it| (it.command().to_owned(), it.kind())).collect();
        let expected = [
            ("red", FindingKind::Regression),
            ("flaky", FindingKind::Flaky),
            ("writes", FindingKind::CheckWrote),
            ("needs", FindingKind::HarnessNeeded),
            ("moved", FindingKind::Unmoved),
            (HOLD_OUT, FindingKind::HoldOutFailed),
        ];
        assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!(
            reasons(&proved, &key, "at the head"),
            [
                "`red` fails at the head (exit 1)",
                "`flaky` passed and failed at the head on the same commit",
                "`writes` changes tests/a.py at the head, a file that decides checks",
                "`needs` fails at the head, with tests/a.py as it was",
                "`moved` passes at the head with a.py as it was before the work",
                "a hold-out check of this criterion fails at the head",
            ]
        );
        let other = CriterionKey { text: "another".into(), occurrence: 0 };
        assert_eq!(reasons(&proved, &other, ""), Vec::<String>::new());
    }
}
