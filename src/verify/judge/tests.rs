//! The judge on evidence made by hand: one good turn, spoiled in every way alone and in
//! pairs. What really happens on disk is told in the room's own tests.

use super::*;
use crate::model::{ChangeKind, CheckResult, CheckStatus, CriterionKey, Oid, PathChange};

fn key(text: &str) -> CriterionKey {
    CriterionKey { text: text.into(), occurrence: 0 }
}

fn changed(path: &str) -> Vec<PathChange> {
    vec![PathChange { path: path.into(), kind: ChangeKind::Modified }]
}

fn check(owner: Option<&str>, status: CheckStatus) -> CheckResult {
    CheckResult {
        criteria: owner.map(key).into_iter().collect(),
        whole_task: owner.is_none(),
        ..CheckResult::new(format!("sh {}.sh", owner.unwrap_or("all")), status)
    }
}

/// A turn with nothing against it, proven by its check.
fn good() -> Evidence {
    let ticked = TaskFileChange { focus_ticked: true, ..TaskFileChange::none(Attribution::Agent) };
    Evidence {
        commits: vec![CommitSeen {
            id: Oid::new("0123456789abcdef0123456789abcdef01234567"),
            subject: "ralph(demo): one - work".into(),
            ours: true,
            merge: false,
            paths: changed("src/lib.txt"),
            formatting: false,
        }],
        progress: true,
        checks: vec![check(Some("one"), CheckStatus::Passed), check(None, CheckStatus::Passed)],
        before: vec![check(Some("one"), CheckStatus::Failed(1)), check(None, CheckStatus::Passed)],
        ..Evidence::none(key("one"), ticked)
    }
}

type Spoil = (FindingKind, Weight, fn(&mut Evidence));

/// Every way to spoil a turn, and the finding it leads to.
const SPOILS: [Spoil; 28] = [
    (FindingKind::NotTicked, Weight::Fails, |e| e.task_file.focus_ticked = false),
    (FindingKind::OthersTicked, Weight::Fails, |e| e.task_file.others_ticked = vec![key("two")]),
    (FindingKind::Unticked, Weight::Fails, |e| e.task_file.unticked = vec![key("two")]),
    (FindingKind::CriteriaChanged, Weight::Fails, |e| e.task_file.removed = vec![key("two")]),
    (FindingKind::CriteriaChanged, Weight::Fails, |e| e.task_file.added = vec![key("new")]),
    (FindingKind::VerifyChanged, Weight::Fails, |e| e.task_file.verify_changed = true),
    (FindingKind::TaskTextChanged, Weight::Fails, |e| e.task_file.text_changed = true),
    (FindingKind::TaskUnreadable, Weight::Fails, |e| {
        e.task_file.unreadable = Some("no UTF-8".into());
    }),
    (FindingKind::TaskChangedByHuman, Weight::Unclear, |e| e.task_file.by = Attribution::Human),
    (FindingKind::NoCommit, Weight::Fails, |e| e.commits.clear()),
    (FindingKind::EmptyCommit, Weight::Fails, |e| {
        e.commits.iter_mut().for_each(|commit| commit.paths.clear());
    }),
    (FindingKind::EmptyCommit, Weight::Fails, |e| {
        e.commits.iter_mut().for_each(|commit| commit.merge = true);
    }),
    (FindingKind::HistoryRewritten, Weight::Fails, |e| e.history = History::Rewritten),
    (FindingKind::WrongBranch, Weight::Fails, |e| e.history = History::Detached),
    (FindingKind::WrongBranch, Weight::Fails, |e| {
        e.history = History::OtherBranch("refs/heads/x".into());
    }),
    (FindingKind::OperationInProgress, Weight::Fails, |e| e.in_progress = Some("merge".into())),
    (FindingKind::SecretCommitted, Weight::Fails, |e| e.secrets = changed(".env")),
    (FindingKind::Uncommitted, Weight::Fails, |e| e.uncommitted = changed("a")),
    (FindingKind::CheckFailed, Weight::Fails, |e| e.checks[0].status = CheckStatus::Failed(1)),
    (FindingKind::CheckFailed, Weight::Fails, |e| e.checks[1].status = CheckStatus::TimedOut(9)),
    // Another command ran in its place.
    (FindingKind::CheckFailed, Weight::Fails, |e| {
        e.checks[0].command.clear();
        e.checks[0].criteria.clear();
    }),
    (FindingKind::Regression, Weight::Fails, |e| {
        e.proven.push(key("zero"));
        e.checks.push(check(Some("zero"), CheckStatus::Failed(1)));
    }),
    (FindingKind::ProtectedChanged, Weight::Fails, |e| e.protected = changed("tests/a")),
    (FindingKind::HumanWorkTouched, Weight::Fails, |e| e.human = changed("notes")),
    (FindingKind::StateRewritten, Weight::Fails, |e| e.guardrails = SignsChange::Rewritten),
    (FindingKind::RecordsTampered, Weight::Tampering, |e| e.state_files = changed("state.json")),
    (FindingKind::SettingsChanged, Weight::Tampering, |e| e.settings = changed(".mcp.json")),
    (FindingKind::UndecidedCall, Weight::Tampering, |e| e.undecided = vec!["bash".into()]),
];

fn verdict(evidence: &Evidence) -> Verdict {
    let layout = Layout::new("demo", "tasks/demo");
    judge(evidence, &JudgeRules { layout: &layout, commits_alone: CommitsAlone::Accepted })
}

#[test]
fn each_spoiled_turn_is_refused_for_its_own_reason_alone() {
    for (kind, weight, spoil) in SPOILS {
        let mut evidence = good();
        spoil(&mut evidence);
        let verdict = verdict(&evidence);
        let found: Vec<_> = verdict.findings.iter().map(|f| (f.kind, f.weight)).collect();
        let said_too = kind == FindingKind::TaskChangedByHuman;
        assert_eq!(found[0], (kind, weight), "{verdict:#?}");
        assert_eq!(found.len(), if said_too { 2 } else { 1 }, "{verdict:#?}");
        assert!(!matches!(verdict.result, VerdictResult::Pass(_)), "{kind:?}");
        assert_eq!(verdict.tampered(), weight == Weight::Tampering, "{kind:?}");
    }
}

#[test]
fn a_red_check_is_told_before_an_open_box() {
    let mut evidence = good();
    evidence.task_file.focus_ticked = false;
    evidence.checks[0].status = CheckStatus::Failed(1);
    let kinds: Vec<_> = verdict(&evidence).findings.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FindingKind::CheckFailed, FindingKind::NotTicked]);
}

#[test]
fn no_second_fault_turns_a_refusal_into_a_pass() {
    for (first, heavy, spoil) in SPOILS {
        for (second, other, also) in SPOILS {
            let mut evidence = good();
            spoil(&mut evidence);
            also(&mut evidence);
            let verdict = verdict(&evidence);
            let pair = format!("{first:?} and {second:?}");
            assert!(!matches!(verdict.result, VerdictResult::Pass(_)), "{pair}");
            let tampering = [heavy, other].contains(&Weight::Tampering);
            assert_eq!(verdict.tampered(), tampering, "{pair}");
            let sorted = verdict.findings.is_sorted_by_key(|finding| finding.weight);
            assert!(sorted, "{pair}: the weightiest first");
            let inconclusive = [heavy, other].contains(&Weight::Unclear) && !tampering;
            let expected =
                if inconclusive { VerdictResult::Inconclusive } else { VerdictResult::Fail };
            assert_eq!(verdict.result, expected, "{pair}");
        }
    }
}

#[test]
fn every_message_is_one_a_reader_can_use() {
    for (kind, _, spoil) in SPOILS {
        let mut evidence = good();
        spoil(&mut evidence);
        for finding in verdict(&evidence).findings {
            let first = finding.message.lines().next().unwrap_or_default();
            assert!(first.ends_with('.') && first.len() > 30, "{kind:?}: {first}");
        }
    }
}
