//! The values of the prompts. The templates redact them.

use super::EngineError;
use super::iteration::Iteration;
use super::ledger::Ledger;
use crate::model::{Finding, Prompt, Weight};
use crate::prompt::{ContinuationValues, IterationValues, StopValues};
use crate::verify::{GUARDRAILS, Layout, PROGRESS};

impl Ledger {
    /// The prompt of an iteration.
    pub(super) fn prompt_for(&self, iteration: &Iteration) -> Result<Prompt, EngineError> {
        let parts = &self.parts;
        let text_of = |name| {
            let bytes = iteration.files.bytes(&parts.layout.file(name)).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let criterion = &iteration.criterion;
        let own = criterion.verify.iter().map(|verify| &verify.command);
        let verify_commands = own.chain(&iteration.task.settings.verify);
        let feedback = self.feedback.get(&criterion.key).map(Vec::as_slice).unwrap_or_default();
        let human = &parts.preflight.human;
        let values = IterationValues {
            iteration: iteration.number,
            task_name: parts.layout.task().to_owned(),
            commit_prefix: parts.layout.prefix(),
            task_folder: folder_of(&parts.layout),
            task_content: iteration.task.source.clone(),
            guardrails_content: text_of(GUARDRAILS),
            progress_content: text_of(PROGRESS),
            next_criterion: criterion.key.text.clone(),
            next_line: criterion.line,
            verify_commands: verify_commands.cloned().collect(),
            passed_before: self.state.passed_first(criterion, &self.baseline.before()),
            feedback: useful(feedback).map(|finding| finding.message.clone()).collect(),
            lessons: self.lessons_for(&criterion.key.text),
            project_context: parts.project_context.clone(),
            commit_hooks: self.told_of_hooks(),
            human_changes: human.paths().map(|path| path.to_string_lossy().into_owned()).collect(),
            attempt: iteration.attempt,
            max_attempts: parts.limits.attempts,
            date: iteration.date,
        };
        Ok(parts.templates.iteration(&values, parts.gate.redactor().as_ref())?)
    }

    /// The prompt after a denial cut the turn short.
    pub(super) fn continuation_for(
        &self,
        iteration: &Iteration,
        reason: &str,
    ) -> Result<Prompt, EngineError> {
        let parts = &self.parts;
        let values = ContinuationValues {
            iteration: iteration.number,
            task_name: parts.layout.task().to_owned(),
            commit_prefix: parts.layout.prefix(),
            task_folder: folder_of(&parts.layout),
            next_criterion: iteration.criterion.key.text.clone(),
            next_line: iteration.criterion.line,
            reason: reason.to_owned(),
            project_context: parts.project_context.clone(),
        };
        Ok(parts.templates.continuation(&values, parts.gate.redactor().as_ref())?)
    }

    /// The prompt that sends the agent back to work when it wants to end its turn.
    pub(super) fn stop_prompt_for(
        &self,
        iteration: &Iteration,
        findings: &[Finding],
    ) -> Result<Prompt, EngineError> {
        let parts = &self.parts;
        let values = StopValues {
            iteration: iteration.number,
            task_name: parts.layout.task().to_owned(),
            commit_prefix: parts.layout.prefix(),
            task_folder: folder_of(&parts.layout),
            next_criterion: iteration.criterion.key.text.clone(),
            next_line: iteration.criterion.line,
            feedback: useful(findings).map(|finding| finding.message.clone()).collect(),
        };
        Ok(parts.templates.stop(&values, parts.gate.redactor().as_ref())?)
    }
}

/// The task's folder as prompts and events name it.
pub(super) fn folder_of(layout: &Layout) -> String {
    let folder = layout.folder().to_string_lossy().into_owned();
    if folder.is_empty() { ".".to_owned() } else { folder }
}

/// The findings that an agent can act on.
fn useful(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| match finding.weight {
        Weight::Fails | Weight::Held | Weight::Tampering | Weight::Unclear => true,
        Weight::Said => false,
    })
}
