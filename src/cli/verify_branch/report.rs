//! The findings of `verify`, for people and as JSON.
//!
//! Invariant: the JSON holds no path of this machine, no time, and no temporary name, so that two
//! clones give the same, but for `millis`.

use std::path::Path;

use globset::GlobSet;
use serde_json::{Value, json};

use crate::cli::args::VerifyArgs;
use crate::cli::context::TaskContext;
use crate::cli::failure::Failure;
use crate::cli::print::annotate;
use crate::model::{CheckStatus, Criterion, ExitCode, Oid, Proof, Task, in_quotes};
use crate::report::count;
use crate::verify::{
    Claims, Derived, DerivedTick, ProofStage, Remark, RemarkKind, Seen, TASK, globs,
};

/// The result of a criterion.
struct Row {
    line: usize,
    text: String,
    occurrence: usize,
    result: RowResult,
    /// The commit that ticks it, by its place in the branch.
    at: Option<usize>,
    claimed: Option<Proof>,
    why: Vec<String>,
    checks: Vec<Value>,
    /// How many of its hold-out checks passed.
    holdout: Option<String>,
    /// It may hold by rules that the branch changes.
    by_changed_rules: bool,
}

/// The kinds of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowResult {
    /// Red at the base, green at the tick and at the head.
    Check,
    /// A commit, and all its checks (if any) were green before.
    Commit,
    /// Ticked at the base.
    Before,
    /// Open at the head.
    Open,
    /// Accepted or ticked by hand.
    ByHand,
    /// It does not hold.
    Unproven,
    /// It does not hold, and the branch says that it does.
    Forged,
}

impl RowResult {
    fn word(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Commit => "commit",
            Self::Before => "ticked at the base",
            Self::Open => "open",
            Self::ByHand => "by hand",
            Self::Unproven => "not proven",
            Self::Forged => "forged",
        }
    }
}

/// The report.
pub(in crate::cli) struct Report<'a> {
    args: &'a VerifyArgs,
    base: &'a Oid,
    head: &'a Oid,
    seen: &'a [Seen],
    task: &'a Task,
    rows: Vec<Row>,
    remarks: Vec<Remark>,
    /// TASK.md, from the root.
    file: String,
}

impl<'a> Report<'a> {
    /// Combines the claims with the derived proofs.
    pub(super) fn new(
        at: &TaskContext,
        args: &'a VerifyArgs,
        (base, head): (&'a Oid, &'a Oid),
        seen: &'a [Seen],
        claims: &Claims,
        task: &'a Task,
        derived: Derived,
    ) -> Result<Self, Failure> {
        let mut remarks = claims.remarks.clone();
        let mut rows = Vec::new();
        for criterion in &task.criteria {
            let mut row = Row {
                line: criterion.line,
                text: criterion.key.text.clone(),
                occurrence: criterion.key.occurrence,
                result: RowResult::Open,
                at: None,
                claimed: None,
                why: Vec::new(),
                checks: Vec::new(),
                holdout: None,
                by_changed_rules: false,
            };
            if claims.before.contains(&criterion.key) {
                row.result = RowResult::Before;
            }
            for (_, command) in derived.broken.iter().filter(|(key, _)| *key == criterion.key) {
                row.result = RowResult::Unproven;
                row.why.push(format!("`{command}` passes at the base, and fails at the head"));
            }
            if let Some(tick) = derived.ticks.iter().find(|tick| tick.claim.key == criterion.key) {
                row.result = result(tick, args);
                row.holdout = tick.holdout.as_ref().map(ToString::to_string);
                if tick.holdout.as_ref().is_some_and(|count| !count.holds()) {
                    // The run may have had no hold-out checks.
                    row.result = RowResult::Unproven;
                }
                row.at = Some(tick.claim.at);
                row.claimed = tick.claim.claimed;
                row.why.clone_from(&tick.why);
                if row.result == RowResult::Forged && !args.allow_accepted {
                    // By the branch's own rules it may hold, and a human may have changed them.
                    let new = seen[seen.len() - 1].task.as_ref();
                    row.by_changed_rules = new.is_some_and(|new| differ(task, new, criterion));
                    row.by_changed_rules |= tick.after_human;
                }
                if row.by_changed_rules {
                    row.result = RowResult::Unproven;
                }
                if row.result == RowResult::Unproven && tick.proof.is_some() {
                    row.why.push("only a commit speaks for it, and checks are required".to_owned());
                }
                if matches!(row.result, RowResult::Unproven | RowResult::Forged)
                    && let Some(new) = new_checks(seen, criterion)
                {
                    row.why.push(format!("its checks are those of the base; at the head: {new}"));
                }
                row.checks = tick.checks.iter().map(check).collect();
                if row.result == RowResult::ByHand && tick.claim.claimed.is_none() {
                    let what = format!("ticks {} by hand", in_quotes(&row.text));
                    remarks.push(Remark { kind: RemarkKind::Human, at: tick.claim.at, what });
                }
            }
            rows.push(row);
        }
        remarks.extend(derived.other_tests.iter().map(|path| Remark {
            kind: RemarkKind::Listed,
            at: last_change(seen, path),
            what: format!("changes {}, and proofs hold with the old one", path.display()),
        }));
        let is_open = |row: &Row| row.result == RowResult::Open;
        if rows.iter().any(|row| row.at.is_some()) && !rows.iter().any(is_open) {
            remarks.extend(derived.still_red.iter().map(|command| Remark {
                kind: RemarkKind::Unproven,
                at: seen.len() - 1,
                what: format!(
                    "leaves no criterion open, but `{command}`, a check of the whole task, fails \
                     as at the base"
                ),
            }));
        }
        let protect = globs(&task.settings.protect)?;
        remarks.extend(protected(at, seen, claims, &protect)?);
        remarks.sort_by_key(|remark| remark.at);
        let file = at.layout.file(TASK).display().to_string();
        Ok(Self { args, base, head, seen, task, rows, remarks, file })
    }

    /// Does the branch leave no criterion open?
    pub(in crate::cli) fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| row.result != RowResult::Open)
    }

    /// Annotates the criteria and commits that do not hold, in GitHub Actions.
    pub(in crate::cli) fn annotate(&self) {
        let holds =
            |result| !matches!(result, RowResult::ByHand | RowResult::Unproven | RowResult::Forged);
        for row in self.rows.iter().filter(|row| !holds(row.result)) {
            let why = format!("{}: {}\n{}", row.result.word(), row.text, row.why.join("\n"));
            annotate("error", Some((&self.file, row.line)), why.trim());
        }
        for remark in self.remarks.iter().filter(|it| it.kind != RemarkKind::Listed) {
            let commit = &self.seen[remark.at].commit;
            annotate(
                "error",
                Some((&self.file, 1)),
                &format!("{}: {}", commit.id.short(), remark.what),
            );
        }
    }

    /// 10 forged, 4 not proven, 0 if all of it holds.
    pub(in crate::cli) fn exit_code(&self) -> u8 {
        let any = |result| self.rows.iter().any(|row| row.result == result);
        let remarked = |kind| self.remarks.iter().any(|remark| remark.kind == kind);
        let by_hand = remarked(RemarkKind::Human) && !self.args.allow_accepted;
        if any(RowResult::Forged) || remarked(RemarkKind::Forged) {
            ExitCode::Tampering.number()
        } else if any(RowResult::Unproven)
            || remarked(RemarkKind::Unproven)
            || remarked(RemarkKind::Outdated)
            || by_hand
        {
            ExitCode::Stuck.number()
        } else {
            ExitCode::Proven.number()
        }
    }

    pub(super) fn json(&self) -> Value {
        let criteria = self.rows.iter().map(|row| {
            json!({
                "line": row.line,
                "text": row.text,
                "occurrence": row.occurrence,
                "result": row.result.word(),
                "claimed": row.claimed,
                "commit": row.at.map(|at| &self.seen[at].commit.id),
                "author": row.at.map(|at| self.seen[at].commit.author.to_string()),
                "why": row.why,
                "holdout": row.holdout,
                "checks": row.checks,
            })
        });
        let remarks = self.remarks.iter().map(|remark| {
            let commit = &self.seen[remark.at].commit;
            json!({
                "kind": match remark.kind {
                    RemarkKind::Listed => "listed",
                    RemarkKind::Human => "by_hand",
                    RemarkKind::Unproven | RemarkKind::Outdated => "not_proven",
                    RemarkKind::Forged => "forged",
                },
                "commit": commit.id,
                "author": commit.author.to_string(),
                "what": remark.what,
            })
        });
        json!({
            "task": self.task.name,
            "base": self.base,
            "head": self.head,
            "exit_code": self.exit_code(),
            "complete": self.is_complete(),
            "criteria": criteria.collect::<Vec<_>>(),
            "remarks": remarks.collect::<Vec<_>>(),
        })
    }

    pub(in crate::cli) fn text(&self) -> String {
        let commits = self.seen.len() - 1;
        let mut text = format!(
            "{}: {} from {} to {}\n",
            self.task.name,
            count(commits as u64, "commit"),
            self.base.short(),
            self.head.short()
        );
        let word = |row: &Row| match row.result {
            RowResult::Commit => "committed",
            result => result.word(),
        };
        let width = self.rows.iter().map(|row| word(row).len()).max().unwrap_or(0);
        for row in &self.rows {
            let commit = row.at.map(|at| self.seen[at].commit.id.short().to_string());
            let holdout = row.holdout.as_ref().map(|count| format!("holdout: {count}"));
            let by: Vec<String> = commit.into_iter().chain(holdout).collect();
            let by = if by.is_empty() { String::new() } else { format!("  ({})", by.join(", ")) };
            let (line, word) = (row.line, word(row));
            text.push_str(&format!("\n{line:>5}  {word:<width$}  {}{by}", row.text));
        }
        for row in self.rows.iter().filter(|row| !row.why.is_empty()) {
            text.push_str(&format!("\n\n{}", in_quotes(&row.text)));
            row.why.iter().for_each(|why| text.push_str(&format!("\n  {why}")));
        }
        if !self.remarks.is_empty() {
            text.push('\n');
        }
        for remark in &self.remarks {
            let commit = &self.seen[remark.at].commit;
            let kind = match remark.kind {
                RemarkKind::Listed => "",
                RemarkKind::Human if self.args.allow_accepted => "allowed: ",
                RemarkKind::Human => "by hand: ",
                RemarkKind::Unproven | RemarkKind::Outdated => "not proven: ",
                RemarkKind::Forged => "forged: ",
            };
            let (id, what) = (commit.id.short(), &remark.what);
            text.push_str(&format!("\n{kind}{id} ({}) {what}", commit.author));
        }
        text.push_str(&format!("\n\n{}", self.end()));
        text
    }

    fn end(&self) -> String {
        let open = self.rows.iter().filter(|row| row.result == RowResult::Open).count();
        let open = match open {
            0 => String::new(),
            open => format!(
                " {} still open.",
                if open == 1 {
                    "1 criterion is".to_owned()
                } else {
                    format!("{open} criteria are")
                }
            ),
        };
        match self.exit_code() {
            0 if self.rows.iter().all(|row| row.at.is_none()) => {
                format!("The branch ticks nothing.{open}")
            }
            0 => format!("{}{open}", self.held()),
            10 => format!("Forged: the branch's records are false.{open}"),
            _ if self.only_by_hand() => format!(
                "Not proven: some ticks rest on a human's word, which an agent can imitate. If you \
                 know who wrote these commits, use `--allow-accepted`.{open}"
            ),
            _ if self.remarks.iter().any(|remark| remark.kind == RemarkKind::Outdated) => format!(
                "Not proven: the base has moved on. Rebase the branch on it, or merge it into the \
                 branch.{open}"
            ),
            _ if self.rows.iter().any(|row| row.by_changed_rules) && !self.args.allow_accepted => {
                format!(
                    "Not proven by the rules of the base: the branch changes TASK.md, or tests in a \
                     human's commit. If you know who wrote these commits, use \
                     `--allow-accepted`.{open}"
                )
            }
            _ => format!("Not proven.{open}"),
        }
    }

    /// What the ticks rest on, if all of them hold.
    fn held(&self) -> String {
        let number = |result| self.rows.iter().filter(|row| row.result == result).count();
        let parts: Vec<String> = [
            (RowResult::Check, "proven"),
            (RowResult::Commit, "committed without a check"),
            (RowResult::ByHand, "made by a human and allowed"),
        ]
        .into_iter()
        .map(|(result, said)| (number(result), said))
        .filter(|(number, _)| *number > 0)
        .map(|(number, said)| format!("{number} {said}"))
        .collect();
        match number(RowResult::Commit) + number(RowResult::ByHand) {
            0 => "Every tick of the branch is proven.".to_owned(),
            _ => format!("Every tick of the branch holds: {}.", parts.join(", ")),
        }
    }

    fn only_by_hand(&self) -> bool {
        !self.rows.iter().any(|row| row.result == RowResult::Unproven)
            && !self
                .remarks
                .iter()
                .any(|remark| matches!(remark.kind, RemarkKind::Unproven | RemarkKind::Outdated))
    }
}

fn commands(criterion: &Criterion) -> Vec<String> {
    criterion.verify.iter().map(|verify| format!("`{}`", verify.command)).collect()
}

/// The checks of a criterion at the head, if they are others than at the base.
fn new_checks(seen: &[Seen], criterion: &Criterion) -> Option<String> {
    let head = seen.last()?.task.as_ref()?;
    let new = head.criteria.iter().find(|it| it.key == criterion.key).map(commands)?;
    (new != commands(criterion)).then(|| match new.is_empty() {
        true => "none".to_owned(),
        false => new.join(", "),
    })
}

/// Do the rules for a criterion differ between two versions of TASK.md?
fn differ(old: &Task, new: &Task, criterion: &Criterion) -> bool {
    let new_one = new.criteria.iter().find(|it| it.key == criterion.key);
    old.settings != new.settings
        || new_one.is_none_or(|it| {
            commands(it) != commands(criterion) || it.may_change != criterion.may_change
        })
}

fn result(tick: &DerivedTick, args: &VerifyArgs) -> RowResult {
    match (tick.proof, tick.claim.claimed) {
        // A human's word stands for a proof, not for a check.
        (None, None | Some(Proof::Accepted)) if !tick.green_at_head => RowResult::Unproven,
        (_, Some(Proof::Accepted)) => RowResult::ByHand,
        (Some(Proof::Check), _) => RowResult::Check,
        (Some(_), _) if args.require_checks => RowResult::Unproven,
        (Some(_), _) => RowResult::Commit,
        // It says itself that no proof room saw it.
        (None, Some(Proof::Tree)) => RowResult::Unproven,
        (None, Some(_)) => RowResult::Forged,
        (None, None) => RowResult::ByHand,
    }
}

fn check(check: &crate::verify::DerivedCheck) -> Value {
    let result = &check.result;
    json!({
        "command": result.command,
        "stage": match check.stage {
            ProofStage::Base => "base",
            ProofStage::Tick => "tick",
            ProofStage::TickWithOldHarness => "tick_with_old_harness",
            ProofStage::Head => "head",
            ProofStage::HeadWithOldHarness => "head_with_old_harness",
        },
        "status": match &result.status {
            CheckStatus::NotRun(_) => json!("not_run"),
            status => json!(status),
        },
        "millis": result.millis,
    })
}

/// Changes of files that the task protects.
fn protected(
    at: &TaskContext,
    seen: &[Seen],
    claims: &Claims,
    protect: &GlobSet,
) -> Result<Vec<Remark>, Failure> {
    let (start, head) = (claims.start_commit(seen), &seen[seen.len() - 1].commit.id);
    let changes = at.place.repo.between(start, head)?;
    let task = at.layout.file(TASK);
    let changed = changes.into_iter().map(|change| change.path);
    let changed = changed.filter(|path| protect.is_match(path) && *path != task);
    let remarks = changed.map(|path| {
        let at = last_change(seen, &path);
        let what = format!("changes {}, which the task protects", path.display());
        Remark { kind: RemarkKind::Unproven, at, what }
    });
    Ok(remarks.collect())
}

/// The place of the last commit that changes a path.
fn last_change(seen: &[Seen], path: &Path) -> usize {
    let last = seen.iter().rposition(|seen| seen.commit.changes.iter().any(|it| it.path == path));
    last.unwrap_or(seen.len() - 1)
}
