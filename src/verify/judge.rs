//! The verdict on the evidence of a turn: a pure function.
//!
//! Invariant: a criterion passes only if nothing speaks against it; missing evidence never
//! counts in its favor. A human's edit makes the verdict inconclusive and costs no attempt;
//! tampering outweighs everything. Collecting evidence and acting on a verdict live elsewhere.

mod checks;

use super::format;
use super::layout::{GUARDRAILS, Layout, PROGRESS};
use crate::model::{
    Attribution, Blocked, CommitSeen, Evidence, Finding, FindingKind, History, Oid, Proof, Repair,
    SignsChange, TaskFileChange, Verdict, VerdictResult, Weight,
};

/// The rules of a run.
#[derive(Clone, Copy, Debug)]
pub struct JudgeRules<'a> {
    /// The task's name and folder.
    pub layout: &'a Layout,
    /// Does a commit alone suffice for a criterion?
    pub commits_alone: CommitsAlone,
}

/// Does a criterion pass that only a commit speaks for?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitsAlone {
    /// Yes; the summary says so.
    Accepted,
    /// No: `--require-checks`.
    Refused,
}

/// The verdict on one iteration.
pub fn judge(evidence: &Evidence, rules: &JudgeRules<'_>) -> Verdict {
    let mut case = Case { evidence, rules, findings: Vec::new(), repairs: Vec::new() };
    case.guard();
    case.history();
    case.operation();
    case.secrets();
    case.around();
    case.task_file();
    case.state();
    case.commits();
    case.tree();
    case.checks();
    let proof = case.proof();
    case.met_anyway(proof);
    case.close(proof)
}

/// The verdict in the making.
struct Case<'a> {
    evidence: &'a Evidence,
    rules: &'a JudgeRules<'a>,
    findings: Vec<Finding>,
    repairs: Vec<Repair>,
}

impl Case<'_> {
    fn find(&mut self, kind: FindingKind, weight: Weight, message: impl Into<String>) {
        self.findings.push(Finding { kind, weight, message: message.into() });
    }

    fn fails(&mut self, kind: FindingKind, message: impl Into<String>) {
        self.find(kind, Weight::Fails, message);
    }

    fn says(&mut self, kind: FindingKind, message: impl Into<String>) {
        self.find(kind, Weight::Said, message);
    }

    /// Bypassing the guard ends the run; changed records stay as they are, for a human to look
    /// at.
    fn guard(&mut self) {
        let evidence = self.evidence;
        if !evidence.undecided.is_empty() {
            let calls = format::list(&evidence.undecided);
            self.find(
                FindingKind::UndecidedCall,
                Weight::Tampering,
                format!("Tool calls ran without a decision by the guard: {calls}."),
            );
        }
        if !evidence.settings.is_empty() {
            let paths = format::changes(&evidence.settings);
            self.find(
                FindingKind::SettingsChanged,
                Weight::Tampering,
                format!("Hooks or agent settings changed during the turn: {paths}."),
            );
        }
        if !evidence.state_files.is_empty() {
            let paths = format::changes(&evidence.state_files);
            self.find(
                FindingKind::RecordsTampered,
                Weight::Tampering,
                format!("The runner's own records changed during the turn: {paths}."),
            );
        }
    }

    /// In the middle of a merge or a rebase nothing can be judged or committed.
    fn operation(&mut self) {
        let Some(what) = &self.evidence.in_progress else { return };
        self.fails(
            FindingKind::OperationInProgress,
            format!(
                "A {what} is in progress. Only add commits; never merge, rebase, \
                 cherry-pick, revert or bisect."
            ),
        );
        self.repairs.push(Repair::BackToCheckpoint);
    }

    /// A secret in the history goes wherever the branch is pushed, even if a later commit
    /// removes it: the commits go, and stay under the attempt's ref on this machine.
    fn secrets(&mut self) {
        if self.evidence.secrets.is_empty() {
            return;
        }
        let paths = format::changes(&self.evidence.secrets);
        self.fails(
            FindingKind::SecretCommitted,
            format!(
                "Files with the names of secrets were committed: {paths}. The commits are undone; \
                 commit your own files by name, and add such files to .gitignore."
            ),
        );
        self.repairs.push(Repair::BackToCheckpoint);
    }

    /// A check that uses them could mean something else than at the start.
    fn around(&mut self) {
        if self.evidence.around.is_empty() {
            return;
        }
        let paths = format::paths(&self.evidence.around);
        self.fails(
            FindingKind::AroundChanged,
            format!(
                "Programs or configuration outside the repository, which the checks or the agent \
                 use, changed since the run began: {paths}. Put them back; only a new run accepts \
                 the change."
            ),
        );
    }

    fn history(&mut self) {
        let message = match &self.evidence.history {
            History::Straight => return,
            History::Rewritten => (
                FindingKind::HistoryRewritten,
                "History was rewritten: the commit that the turn began on is no longer in the \
                 branch. Only add commits; never amend, rebase or reset."
                    .to_owned(),
            ),
            History::OtherBranch(name) => (
                FindingKind::WrongBranch,
                format!(
                    "HEAD is on {name:?} now. Stay on the branch that is checked out, and commit \
                     there."
                ),
            ),
            History::Detached => (
                FindingKind::WrongBranch,
                "HEAD is on no branch now. Stay on the branch that is checked out, and commit \
                 there."
                    .to_owned(),
            ),
        };
        self.find(message.0, Weight::Fails, message.1);
        self.repairs.push(Repair::BackToCheckpoint);
    }

    fn task_file(&mut self) {
        let change = &self.evidence.task_file;
        match change.by {
            Attribution::Human => {
                self.find(
                    FindingKind::TaskChangedByHuman,
                    Weight::Unclear,
                    "A human edited TASK.md: it is read again, and this turn has no verdict.",
                );
                if change.focus_ticked {
                    self.says(
                        FindingKind::TaskChangedByHuman,
                        "The box of the criterion in focus was ticked outside of the turn: the tick \
                         is removed.",
                    );
                    self.repairs.push(Repair::Untick);
                }
            }
            Attribution::Unknown if change.is_beyond_tick() => self.find(
                FindingKind::TaskTakenBack,
                Weight::Unclear,
                format!(
                    "TASK.md changed beyond the tick while an agent's command could run, so it is \
                     unknown who changed it ({}). The change is undone, and this turn has no \
                     verdict.",
                    format::task_change(change)
                ),
            ),
            Attribution::Agent | Attribution::Unknown | Attribution::Unchanged => {
                self.ticks(change);
            }
        }
    }

    /// The agent's changes to TASK.md; all but its own tick are undone.
    fn ticks(&mut self, change: &TaskFileChange) {
        if let Some(why) = &change.unreadable {
            self.fails(
                FindingKind::TaskUnreadable,
                format!("TASK.md can no longer be read: {why}. Only tick the box."),
            );
        } else if !change.focus_ticked {
            self.fails(
                FindingKind::NotTicked,
                format!(
                    "The box of {} is still open. When the work is done and committed, change \
                     its `[ ]` to `[x]`.",
                    format::criterion(&self.evidence.focus)
                ),
            );
        }
        let boxes = format::criteria;
        if !change.others_ticked.is_empty() {
            let which = boxes(&change.others_ticked);
            self.fails(
                FindingKind::OthersTicked,
                format!(
                    "Boxes of other criteria were ticked: {which}. Tick only the one in focus."
                ),
            );
        }
        if !change.unticked.is_empty() {
            let which = boxes(&change.unticked);
            self.fails(
                FindingKind::Unticked,
                format!(
                    "The boxes of other criteria were unticked: {which}. Leave other boxes as \
                         they are."
                ),
            );
        }
        if !change.removed.is_empty() || !change.added.is_empty() {
            let mut what = Vec::new();
            if !change.removed.is_empty() {
                what.push(format!("gone or reworded: {}", boxes(&change.removed)));
            }
            if !change.added.is_empty() {
                what.push(format!("new: {}", boxes(&change.added)));
            }
            self.fails(
                FindingKind::CriteriaChanged,
                format!(
                    "Criteria of TASK.md changed; {}. Only the human may change them.",
                    what.join("; ")
                ),
            );
        }
        if change.verify_changed {
            self.fails(
                FindingKind::VerifyChanged,
                "Verify commands in TASK.md were changed or removed. Only the human may change them.",
            );
        }
        if change.reformatted {
            self.says(
                FindingKind::TaskReformatted,
                "TASK.md was formatted anew with the same content, as a `pre-commit` hook that \
                 formats Markdown does: the runner puts the human's form back.",
            );
        }
        if change.text_changed {
            self.fails(
                FindingKind::TaskTextChanged,
                "Text of TASK.md was changed. Only the box of the criterion in focus may change.",
            );
        }
    }

    fn state(&mut self) {
        let evidence = self.evidence;
        match evidence.guardrails {
            SignsChange::Unchanged => {}
            SignsChange::AppendedByHuman => self.find(
                FindingKind::StateRewritten,
                Weight::Unclear,
                format!(
                    "A human added a sign to {GUARDRAILS}: it counts from the next prompt on, and this \
                     turn has no verdict."
                ),
            ),
            SignsChange::Rewritten => {
                self.fails(FindingKind::StateRewritten, format!("{GUARDRAILS} was changed. It is restored; do not edit it."),
                );
                self.restore(GUARDRAILS);
            }
        }
        if evidence.progress_rewritten {
            self.fails(
                FindingKind::StateRewritten,
                format!("Old lines of {PROGRESS} were changed. It is restored; only append to it."),
            );
            self.restore(PROGRESS);
        }
        if !evidence.progress {
            self.says(
                FindingKind::NoProgressEntry,
                format!("{PROGRESS} has no entry for this iteration: the runner adds one."),
            );
            self.repairs.push(Repair::ProgressLine);
        }
        if !evidence.state_uncommitted.is_empty() {
            self.repairs.push(Repair::StateCommit);
        }
    }

    fn restore(&mut self, name: &str) {
        self.repairs.push(Repair::RestoreFile(self.rules.layout.file(name)));
    }

    fn commits(&mut self) {
        let evidence = self.evidence;
        let prefix = self.rules.layout.prefix();
        let foreign: Vec<String> = evidence
            .commits
            .iter()
            .filter(|commit| !commit.ours)
            .map(|commit| format!("{} {:?}", commit.id.short(), format::short(&commit.subject)))
            .collect();
        if !foreign.is_empty() {
            self.says(FindingKind::WrongPrefix, format!(
                    "Commit messages do not begin with `{prefix}`: {}. The runner's commit after the \
                     turn names the criterion.",
                    format::list(&foreign)
                ),
            );
        }
        if evidence.commits.iter().any(counts) || evidence.worked_before {
            return;
        }
        let mut how = format!("Commit the work with `git commit -m '{prefix}…'`.");
        if self.claims_met() {
            how = format!(
                "Its check passed before any work, so it cannot prove that nothing is left to do. If \
                 nothing is, leave the box open and say so in {PROGRESS}: only the human can tick \
                 it (`ralph-copilot tick`), or give it a check that fails. {how}"
            );
        }
        if evidence.commits.is_empty() {
            self.fails(FindingKind::NoCommit, format!("This turn made no commit. {how}"));
        } else {
            self.fails(
                FindingKind::EmptyCommit,
                format!(
                    "This turn's commits change only the task's state files, and contain no work. \
                     {how}"
                ),
            );
        }
    }

    /// The files of a repository inside this one cannot be committed here, only a link to them.
    fn repositories(&mut self) {
        if self.evidence.repositories.is_empty() {
            return;
        }
        let paths = format::paths(&self.evidence.repositories);
        self.fails(FindingKind::Uncommitted, format!(
                "A git repository of its own was made inside this one: {paths}. Its files cannot be \
                 committed here. The work is undone; do it again without `git init`, `git clone` or \
                 `git worktree add` (many generators have an option such as `--no-git`), or run \
                 `rm -rf PATH/.git` before you commit."
            ),
        );
        self.repairs.push(Repair::BackToCheckpoint);
    }

    fn tree(&mut self) {
        self.repositories();
        let evidence = self.evidence;
        if !evidence.uncommitted.is_empty() {
            let paths = format::changes(&evidence.uncommitted);
            self.fails(
                FindingKind::Uncommitted,
                format!("Work was left uncommitted: {paths}. Commit it, or remove it."),
            );
        }
        if !evidence.protected.is_empty() {
            let paths = format::changes(&evidence.protected);
            self.fails(
                FindingKind::ProtectedChanged,
                format!(
                    "Protected files changed: {paths}. Meet the criterion without changing them."
                ),
            );
            for change in &evidence.protected {
                self.repairs.push(Repair::RestoreFile(change.path.clone()));
            }
        }
        if !evidence.human.is_empty() {
            let paths = format::changes(&evidence.human);
            let undone =
                if evidence.human_committed { "The turn's commits are undone. " } else { "" };
            self.fails(
                FindingKind::HumanWorkTouched,
                format!(
                    "The human's uncommitted files were committed, changed or removed: {paths}. \
                     {undone}Do not touch them, and commit your own files by name."
                ),
            );
            if evidence.human_committed {
                // The files stay in the working tree, uncommitted as they were.
                self.repairs.push(Repair::BackToCheckpoint);
            }
        }
    }

    /// That the criterion cannot be met is a claim, too: where its check turned green, it is met, and
    /// the runner ticks it.
    fn met_anyway(&mut self, proof: Proof) {
        if self.evidence.blocked_by.is_some() && proof == Proof::Check {
            self.findings.retain(|finding| finding.kind != FindingKind::NotTicked);
        }
    }

    /// Why the agent says that the criterion cannot be met, if it did not work on it.
    fn blocked_by(&self) -> Option<&Blocked> {
        let evidence = self.evidence;
        let is_idle = |finding: &Finding| {
            use FindingKind::{CheckFailed, EmptyCommit, NoCommit, NotTicked};
            let kinds = [CheckFailed, EmptyCommit, NoCommit, NotTicked];
            finding.weight != Weight::Fails || kinds.contains(&finding.kind)
        };
        let worked = evidence.commits.iter().any(counts) || evidence.task_file.focus_ticked;
        let fails = self.findings.iter().any(|finding| finding.weight == Weight::Fails);
        let is_blocked = fails && !worked && self.findings.iter().all(is_idle);
        evidence.blocked_by.as_ref().filter(|_| is_blocked)
    }

    /// Weighs the findings.
    fn close(mut self, proof: Proof) -> Verdict {
        // People and the next prompt read the first finding first. A red check says what is wrong
        // with the work; an open box or a missing commit only says that it is not done.
        let red = |kind| matches!(kind, FindingKind::CheckFailed | FindingKind::Regression);
        // Checks see only committed files.
        let any_red = self.evidence.uncommitted.is_empty()
            && self.findings.iter().any(|finding| red(finding.kind));
        self.findings
            .sort_by_key(|finding| (finding.weight, any_red && finding.kind.is_unfinished()));
        let has = |weight| self.findings.iter().any(|finding| finding.weight == weight);
        let result = if has(Weight::Tampering) {
            VerdictResult::Fail
        } else if has(Weight::Unclear) {
            VerdictResult::Inconclusive
        } else if let Some(why) = self.blocked_by() {
            let message = format!("{why}.");
            self.findings.retain(|finding| finding.weight == Weight::Said);
            let finding = Finding { kind: FindingKind::Blocked, weight: Weight::Held, message };
            self.findings.insert(0, finding);
            VerdictResult::Blocked
        } else if has(Weight::Fails) {
            VerdictResult::Fail
        } else if has(Weight::Held) {
            self.repairs.push(Repair::Hold);
            VerdictResult::Held
        } else {
            VerdictResult::Pass(proof)
        };
        let mut repairs = Vec::new();
        // Branch and tree first: later repairs write on top of them.
        if self.repairs.contains(&Repair::BackToCheckpoint) {
            repairs.push(Repair::BackToCheckpoint);
        }
        repairs.extend(self.task_mend(&result));
        for mend in self.repairs {
            if !repairs.contains(&mend) {
                repairs.push(mend);
            }
        }
        Verdict { result, findings: self.findings, repairs }
    }

    /// A tick is kept only on a pass, and even then no other difference in TASK.md. A file that the
    /// human changed is never restored as a whole.
    fn task_mend(&self, result: &VerdictResult) -> Option<Repair> {
        let change = &self.evidence.task_file;
        match (change.by, result) {
            (Attribution::Unchanged | Attribution::Human, _) => None,
            (Attribution::Agent | Attribution::Unknown, VerdictResult::Pass(_)) => {
                change.reformatted.then_some(Repair::RestoreTask { keep_tick: true })
            }
            (
                Attribution::Agent | Attribution::Unknown,
                VerdictResult::Fail
                | VerdictResult::Held
                | VerdictResult::Blocked
                | VerdictResult::Inconclusive,
            ) => Some(Repair::RestoreTask { keep_tick: false }),
        }
    }
}

/// The last commit of a turn that counts as work, whatever its verdict: a later attempt at the same
/// criterion needs no other.
pub fn worked(evidence: &Evidence) -> Option<&Oid> {
    let straight = evidence.history == History::Straight;
    evidence
        .commits
        .iter()
        .rfind(|commit| straight && counts(commit) && !commit.formatting)
        .map(|commit| &commit.id)
}

/// Does a commit count as work on the task? It needs a change outside the state files, whatever its
/// message says. A merge brings other people's work, so neither it nor they count.
pub(super) fn counts(commit: &CommitSeen) -> bool {
    !commit.merge && !commit.paths.is_empty()
}

#[cfg(test)]
mod tests;
