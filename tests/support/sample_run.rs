//! A made-up run with every kind of event and with difficult texts (wide letters, quotes, escape
//! codes, several lines).

use chrono::{DateTime, TimeDelta, Utc};
use ralph_copilot::model::{
    Activity, AgentIdentity, Answer, Asked, Attribution, CallStatus, Cell, ChangeKind, CheckResult,
    CheckStatus, Checkpoint, CommitSeen, ContextFill, Credits, CriterionKey, CriterionSummary, Cut,
    Decided, Event, EventKind, EventLevel, Evidence, ExecutedCall, Fault, FaultClass, Finding,
    FindingKind, GivenWith, History, Oid, OnStuck, Outcome, PathChange, Proof, RecipeName, Repair,
    RunId, RunSummary, SessionId, SignsChange, StepStatus, TaskFileChange, Tier, Totals, Turn,
    TurnEnd, Usage, Verdict, VerdictResult, Weight,
};
use serde_json::{Value, json};

/// Start of the run.
pub(crate) const BEGIN: &str = "2026-11-21T14:03:00Z";

/// The run's name.
pub(crate) const RUN: &str = "20261121T140300Z-4711";

/// A criterion by its text.
pub(crate) fn key(text: &str) -> CriterionKey {
    CriterionKey { text: text.to_owned(), occurrence: 0 }
}

fn checkpoint(head: &str) -> Checkpoint {
    Checkpoint { head: Oid::new(head.repeat(20)), branch: "refs/heads/main".to_owned() }
}

fn check(command: &str, status: CheckStatus, millis: u64) -> CheckResult {
    CheckResult {
        criteria: vec![key(RETRY)],
        millis,
        output: "test client::retry ... ok\n".to_owned(),
        ..CheckResult::new(command, status)
    }
}

/// The first criterion.
pub(crate) const RETRY: &str = "The client retries three times on 503";
/// A criterion with wide letters.
pub(crate) const WIDE: &str = "Zeitüberschreitung (タイムアウト) ist einstellbar";
/// The ref with work that is held for review.
const HELD: &str = "refs/ralph/retry/held/log";
/// Why it is held.
const WHY_HELD: &str =
    "With tests, scripts and configuration as they were, `make log` fails (exit 2).";
/// A long criterion with a newline and an escape code.
pub(crate) const LONG: &str = "The log says for each attempt which host was asked, how long it took,\n  \
                        and \x1b[31mwhy it failed\x1b[0m, so that a human can tell a slow host from one that is down";

fn evidence(focus: &str, commits: usize) -> Evidence {
    let commit = |number: usize| CommitSeen {
        id: Oid::new(format!("{number:040x}")),
        subject: format!("ralph(retry): step {number}"),
        ours: true,
        merge: false,
        paths: vec![PathChange { path: "src/client.rs".into(), kind: ChangeKind::Modified }],
        formatting: false,
    };
    Evidence {
        focus: key(focus),
        task_file: TaskFileChange {
            by: Attribution::Agent,
            focus_ticked: true,
            others_ticked: vec![],
            unticked: vec![],
            removed: vec![],
            added: vec![],
            verify_changed: false,
            text_changed: false,
            reformatted: false,
            unreadable: None,
        },
        history: History::Straight,
        in_progress: None,
        secrets: Vec::new(),
        commits: (1..=commits).map(commit).collect(),
        worked_before: false,
        guardrails: SignsChange::Unchanged,
        state_uncommitted: vec![],
        uncommitted: vec![],
        repositories: vec![],
        protected: vec![],
        human: vec![],
        human_committed: false,
        state_files: vec![],
        settings: vec![],
        around: vec![],
        progress: true,
        progress_rewritten: false,
        blocked_by: None,
        checks: vec![check("cargo test -p client retry", CheckStatus::Passed, 3_200)],
        flaky: Vec::new(),
        wrote: Vec::new(),
        unmoved: Vec::new(),
        put_back: None,
        holdout: Vec::new(),
        red_at_start: Vec::new(),
        before: vec![check("cargo test -p client retry", CheckStatus::Failed(101), 2_900)],
        undecided: vec![],
        proven: vec![],
    }
}

fn finding(kind: FindingKind, weight: Weight, message: &str) -> Finding {
    Finding { kind, weight, message: message.to_owned() }
}

fn verdict(
    iteration: u32,
    criterion: &str,
    commits: usize,
    result: VerdictResult,
    findings: Vec<Finding>,
    repairs: Vec<Repair>,
) -> EventKind {
    EventKind::VerdictReached {
        iteration,
        criterion: key(criterion),
        evidence: Box::new(evidence(criterion, commits)),
        verdict: Verdict { result, findings, repairs: repairs.clone() },
        repairs,
    }
}

fn decided(
    iteration: u32,
    call: Option<&str>,
    tool: &str,
    input: Value,
    answer: Answer,
    reason: &str,
) -> EventKind {
    EventKind::ToolDecided {
        iteration,
        session: SessionId::new(format!("s-{iteration}")),
        call: call.map(str::to_owned),
        tool: tool.to_owned(),
        input,
        asked: if call.is_some() { Asked::Permission } else { Asked::Hook },
        answer,
        rule: match answer {
            Answer::Allow => "workspace.write".to_owned(),
            Answer::Deny => "git.push".to_owned(),
        },
        reason: reason.to_owned(),
    }
}

fn finished(
    iteration: u32,
    id: &str,
    kind: &str,
    input: Value,
    status: CallStatus,
    exit: Option<i64>,
) -> EventKind {
    EventKind::ToolFinished {
        decided: Decided::Yes,
        iteration,
        call: ExecutedCall {
            id: id.to_owned(),
            kind: kind.to_owned(),
            title: "the agent's own words".to_owned(),
            input,
            status,
            exit,
        },
    }
}

fn started(iteration: u32, criterion: &str, line: usize, attempt: u32) -> EventKind {
    EventKind::IterationStarted {
        iteration,
        criterion: key(criterion),
        line,
        attempt,
        checkpoint: checkpoint(&format!("{iteration:02}")),
        worker: None,
        turn_millis: 0,
    }
}

fn prompt(iteration: u32, again: bool) -> EventKind {
    EventKind::PromptSent {
        iteration,
        session: SessionId::new(format!("s-{iteration}")),
        bytes: 4_096,
        cuts: if again { vec![] } else { vec![Cut { part: "progress".to_owned(), bytes: 900 }] },
        again,
        model: Some("claude-sonnet-4.5".to_owned()),
        premium: true,
    }
}

fn turn(iteration: u32, end: TurnEnd, tokens: Option<u64>, fault: Option<Fault>) -> EventKind {
    EventKind::TurnEnded {
        iteration,
        turn: Turn {
            end,
            denied: 1,
            updates: 42,
            usage: tokens.map(|total| Usage {
                input: total - 40,
                output: 40,
                total,
                cached: total / 2,
                credits: Some(Credits::Milli(1234)),
            }),
            context: tokens.map(|used| ContextFill { used, size: 200_000 }),
            said: "All done!".to_owned(),
            fault,
            millis: 30_000,
            ..Turn::default()
        },
    }
}

/// The events, each with the milliseconds since the previous one.
pub(crate) fn kinds() -> Vec<(i64, EventKind)> {
    use EventKind::{
        AgentStarted, BaselineChecked, CheckFinished, CriterionBlocked, CriterionHeld,
        CriterionReopened, CriterionSkipped, EventPushed, EventsInjected, GatewayStarted,
        IterationEnded, Notice, ProviderBound, ProviderCalled, ProviderLeft, RecipeEnded,
        RecipeProgress, RecipeStarted, RunEnded, RunStarted, SignAdded, TaskCheckFailed,
        ToolsChanged, Waiting, WorkerHandedIn, WorkerStarted,
    };
    let test = "cargo test -p client retry";
    let step = |status| RecipeProgress { iteration: 5, step: "collect \x1b[2J".to_owned(), status };
    let edit = json!({"path": "src/client.rs", "old_str": "once", "new_str": "thrice"});
    let build = json!({"command": "cargo build", "description": "build it"});
    let push = json!({"command": "git push origin main", "description": "publish \x1b[2J it"});
    let out_of_the_way = || {
        vec![
            finding(
                FindingKind::NotTicked,
                Weight::Fails,
                "the box of the criterion is still open",
            ),
            finding(
                FindingKind::NoCommit,
                Weight::Fails,
                "there is no commit since the checkpoint",
            ),
            finding(FindingKind::RedBefore, Weight::Said, "`make lint` was red before the work"),
        ]
    };
    let summary = |text: &str, line, checked, blocked, proof, attempts| CriterionSummary {
        key: key(text),
        line,
        checked,
        blocked,
        blocked_by: None,
        held: None,
        skipped: false,
        reason: None,
        proof,
        attempts,
    };
    vec![
        (
            0,
            RunStarted {
                task: "retry".to_owned(),
                folder: "tasks/retry".to_owned(),
                agent: "copilot --acp".to_owned(),
                model: Some("claude-sonnet-4.5".to_owned()),
                sandbox: Tier::Full,
                version: "0.1.0".to_owned(),
                pid: 4711,
                checkpoint: checkpoint("ab"),
                start: None,
                criteria: Totals { total: 4, open: 3 },
                max_iterations: 20,
                max_seconds: None,
                human: 0,
                flags: Vec::new(),
            },
        ),
        (10, Notice { message: "no git identity: ralph <ralph@localhost> is used".to_owned() }),
        (
            2_900,
            BaselineChecked {
                checks: vec![
                    check(test, CheckStatus::Failed(101), 2_900),
                    check("make lint", CheckStatus::Passed, 400),
                ],
            },
        ),
        (
            1_100,
            AgentStarted {
                agent: Some(AgentIdentity {
                    name: "Copilot".to_owned(),
                    version: "1.0.102".to_owned(),
                }),
                pid: 4720,
            },
        ),
        // An honest iteration: a call decided by both layers, a denied one, a failed one.
        (0, started(1, RETRY, 7, 1)),
        (50, prompt(1, false)),
        (4_000, decided(1, None, "edit", edit.clone(), Answer::Allow, "writes src/client.rs")),
        (
            5,
            decided(1, Some("call_1"), "edit", edit.clone(), Answer::Allow, "writes src/client.rs"),
        ),
        (200, finished(1, "call_1", "edit", edit, CallStatus::Completed, None)),
        (900, decided(1, None, "bash", build.clone(), Answer::Allow, "builds")),
        (
            3,
            decided(
                1,
                Some("call_2"),
                "execute",
                json!({"command": "cargo build", "commands": ["cargo build"]}),
                Answer::Allow,
                "builds",
            ),
        ),
        (1_900, finished(1, "call_2", "execute", build, CallStatus::Completed, Some(101))),
        (
            700,
            decided(
                1,
                None,
                "bash",
                push.clone(),
                Answer::Deny,
                "pushing is yours to do, not the agent's",
            ),
        ),
        (10, finished(1, "call_3", "execute", push, CallStatus::Failed, None)),
        (
            20_000,
            turn(
                1,
                TurnEnd::CutByDenial { reason: "pushing is yours to do".to_owned() },
                Some(12_000),
                None,
            ),
        ),
        (10, prompt(1, true)),
        (9_000, turn(1, TurnEnd::EndTurn, Some(6_240), None)),
        (3_200, CheckFinished { iteration: 1, check: check(test, CheckStatus::Passed, 3_200) }),
        (
            20,
            verdict(
                1,
                RETRY,
                2,
                VerdictResult::Pass(Proof::Check),
                vec![finding(
                    FindingKind::HarnessChanged,
                    Weight::Said,
                    "Tests, scripts or configuration changed: changed tests/client.rs. The checks pass without these changes, too.",
                )],
                vec![Repair::ProgressLine, Repair::StateCommit],
            ),
        ),
        (15, IterationEnded { iteration: 1, millis: 41_000, premium_requests: 2 }),
        // An iteration that only claims success.
        (0, started(2, WIDE, 9, 1)),
        (40, prompt(2, false)),
        (
            0,
            EventKind::StopChecked {
                iteration: 2,
                session: SessionId::new("0d4d079d"),
                findings: vec![finding(
                    FindingKind::NotTicked,
                    Weight::Fails,
                    "The box is still open.",
                )],
                sent_back: true,
                checks: Vec::new(),
                millis: 12,
            },
        ),
        (5_000, turn(2, TurnEnd::EndTurn, None, None)),
        (
            20,
            verdict(
                2,
                WIDE,
                0,
                VerdictResult::Fail,
                out_of_the_way(),
                vec![Repair::RestoreTask { keep_tick: false }],
            ),
        ),
        (15, IterationEnded { iteration: 2, millis: 5_100, premium_requests: 1 }),
        // An inconclusive iteration, after a wait.
        (0, started(3, WIDE, 9, 2)),
        (40, prompt(3, false)),
        (
            900,
            turn(
                3,
                TurnEnd::EndTurn,
                None,
                Some(Fault::new(FaultClass::RateLimit, "429 Rate limit reached for requests")),
            ),
        ),
        (
            1,
            Waiting {
                until: at("2026-11-21T15:00:00Z"),
                reason: "rate limit, the CLI's log says so".to_owned(),
                fault: Some(FaultClass::RateLimit),
                worker: None,
            },
        ),
        (3_360_000, prompt(3, false)),
        (60_000, turn(3, TurnEnd::EndTurn, Some(900), None)),
        (
            10,
            verdict(
                3,
                WIDE,
                0,
                VerdictResult::Inconclusive,
                vec![finding(
                    FindingKind::TaskChangedByHuman,
                    Weight::Unclear,
                    "TASK.md was changed by a human meanwhile: it is read again",
                )],
                vec![],
            ),
        ),
        (15, IterationEnded { iteration: 3, millis: 3_421_000, premium_requests: 2 }),
        // The last attempt.
        (0, started(4, WIDE, 9, 3)),
        (40, prompt(4, false)),
        (7_000, turn(4, TurnEnd::EndTurn, Some(100), None)),
        (30, verdict(4, WIDE, 1, VerdictResult::Fail, out_of_the_way(), vec![])),
        (
            1,
            SignAdded {
                criterion: key(WIDE),
                sign: format!("- Criterion '{WIDE}' caused loop: the box was never ticked"),
            },
        ),
        (
            1,
            CriterionBlocked {
                criterion: key(WIDE),
                then: OnStuck::Skip,
                kept: Some("refs/ralph/retry/attempts/1".to_owned()),
                denied: Some("the guard denied 2 calls: no push".to_owned()),
            },
        ),
        (15, IterationEnded { iteration: 4, millis: 7_100, premium_requests: 1 }),
        (0, started(5, LONG, 11, 1)),
        (40, prompt(5, false)),
        // A real iteration has a prompt or a recipe; the sample has both.
        (
            0,
            RecipeStarted {
                iteration: 5,
                recipe: RecipeName::parse("long").expect("a name"),
                runner: "/home/ada/.cargo/bin/recipe-runner-rs".to_owned(),
                version: "0.3.6".to_owned(),
            },
        ),
        (0, step(StepStatus::Running)),
        (0, step(StepStatus::Completed)),
        (
            0,
            RecipeEnded {
                iteration: 5,
                recipe: RecipeName::parse("long").expect("a name"),
                steps: 1,
                error: None,
                millis: 200,
            },
        ),
        (61_000, turn(5, TurnEnd::EndTurn, Some(163_200), None)),
        (30, verdict(5, LONG, 1, VerdictResult::Pass(Proof::Commit), vec![], vec![])),
        (15, IterationEnded { iteration: 5, millis: 61_100, premium_requests: 1 }),
        (
            4_000,
            CriterionReopened {
                criterion: key(LONG),
                reason: "`make log` fails in a new proof room (exit 2)".to_owned(),
            },
        ),
        (
            10,
            CriterionHeld {
                criterion: key(LONG),
                kept: HELD.to_owned(),
                reason: WHY_HELD.to_owned(),
            },
        ),
        (
            5,
            TaskCheckFailed {
                command: "make lint".to_owned(),
                reason: "`make lint` fails at the end (exit 2). It is a check of the whole task, \
                         and also failed before the work: add a criterion for it, fix it \
                         yourself, or remove it from `verify`."
                    .to_owned(),
            },
        ),
        // Tool providers, which may come and go at any time.
        (
            0,
            GatewayStarted {
                port: 9400,
                token_file: Some("/home/ada/.copilot/extensions/tap/.provider-token".to_owned()),
            },
        ),
        (0, ProviderBound { provider: "ci".to_owned(), id: "p-0003".to_owned() }),
        (0, ToolsChanged { tools: vec!["builds".to_owned(), "logs".to_owned()] }),
        (
            0,
            ProviderCalled {
                id: Some("call-3-1".to_owned()),
                tool: "logs".to_owned(),
                error: Some("NOT_FOUND: no \x1b[2J build 7".to_owned()),
                bytes: 0,
            },
        ),
        (
            0,
            EventPushed {
                provider: "ci".to_owned(),
                stream: "builds".to_owned(),
                level: EventLevel::Inject,
                text: "build 7 is \x1b[31mred\x1b[0m".to_owned(),
                metadata: Some(json!({"build": 7})),
                surfaced: true,
                injected: true,
            },
        ),
        (
            0,
            EventsInjected {
                iteration: 5,
                session: SessionId::new("s-5"),
                with: GivenWith::Stop,
                providers: vec!["ci".to_owned()],
            },
        ),
        (
            0,
            ProviderLeft {
                provider: "ci".to_owned(),
                id: "p-0003".to_owned(),
                reason: "goodbye".to_owned(),
            },
        ),
        (
            0,
            CriterionSkipped {
                criterion: key(LONG),
                because: key(WIDE),
                reason: format!("`{WIDE}` before it is stuck"),
            },
        ),
        (0, WorkerStarted { worker: 2, criterion: key(RETRY), line: 7, attempt: 1 }),
        (0, WorkerHandedIn { worker: 2, criterion: key(RETRY) }),
        (
            0,
            EventKind::Activity {
                worker: None,
                activity: Activity::Alive {
                    context: Some(ContextFill { used: 82_000, size: 200_000 }),
                },
            },
        ),
        (
            0,
            EventKind::Activity {
                worker: None,
                activity: Activity::Checking {
                    command: "make log".to_owned(),
                    cell: Cell::Work,
                    number: 2,
                    of: 5,
                },
            },
        ),
        (
            10,
            RunEnded {
                outcome: Outcome::Stuck {
                    reason: format!("\"{WIDE}\" used up its attempts and was skipped"),
                },
                exit_code: 4,
                summary: RunSummary {
                    criteria: vec![
                        summary(RETRY, 7, true, false, Some(Proof::Check), 0),
                        summary("The README mentions retry", 8, true, false, None, 0),
                        summary(WIDE, 9, false, true, None, 3),
                        CriterionSummary {
                            held: Some(HELD.to_owned()),
                            reason: Some(WHY_HELD.to_owned()),
                            ..summary(LONG, 11, false, false, None, 1)
                        },
                    ],
                    iterations: 5,
                    millis: 3_543_000,
                    premium_requests: 7,
                    tokens: Some(182_440),
                    unasked: false,
                    cached: 91_220,
                    credits: Some(Credits::Milli(8638)),
                    next: vec![
                        "ralph-copilot log retry  (what happened)".to_owned(),
                        "ralph-copilot retry retry  (try the stuck criterion again)".to_owned(),
                    ],
                },
            },
        ),
    ]
}

/// Parses a time.
pub(crate) fn at(time: &str) -> DateTime<Utc> {
    time.parse().expect("a time")
}

/// The run's events, numbered and timed.
pub(crate) fn events() -> Vec<Event> {
    let mut time = at(BEGIN);
    (1..)
        .zip(kinds())
        .map(|(seq, (millis, kind))| {
            time += TimeDelta::milliseconds(millis);
            Event { seq, time, run: RunId::new(RUN), kind }
        })
        .collect()
}
