//! The templates themselves: built in, replaced by the user's, rendered.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use handlebars::{Handlebars, RenderErrorReason, Template, no_escape};
use serde_json::Value;

use super::{
    PromptError, sample_values,
    sample_values::as_data,
    shorten::{self, CutStyle},
    unknown_value,
    values::{ContinuationValues, IterationValues, ScaffoldValues, StopValues},
};
use crate::model::{Cut, Prompt};

/// The most bytes a prompt has unless it is said otherwise.
pub const DEFAULT_BUDGET: usize = 64 * 1024;

/// Lines of progress.md that a prompt shows.
const PROGRESS_LINES: usize = 50;

/// The templates there are: name of the file, and the text that is built in.
const BUILTIN: [(&str, &str); 7] = [
    (ITERATION, include_str!("../../templates/iteration.md")),
    (CONTINUATION, include_str!("../../templates/continuation.md")),
    (STOP, include_str!("../../templates/stop.md")),
    (INSTRUCTIONS, include_str!("../../templates/copilot-instructions.md")),
    (TASK, include_str!("../../templates/TASK.md")),
    (GUARDRAILS, include_str!("../../templates/guardrails.md")),
    (PROGRESS, include_str!("../../templates/progress.md")),
];

pub(super) const ITERATION: &str = "iteration.md";
pub(super) const CONTINUATION: &str = "continuation.md";
pub(super) const STOP: &str = "stop.md";
pub(super) const INSTRUCTIONS: &str = "copilot-instructions.md";
const TASK: &str = "TASK.md";
const GUARDRAILS: &str = "guardrails.md";
const PROGRESS: &str = "progress.md";

/// A part of a prompt that may be cut, in the order in which they are.
const PARTS: [Part; 6] = [
    Part { cut: "context", value: "project_context", floor: 0, keep: |_| CutStyle::Ends },
    Part { cut: "progress", value: "progress_content", floor: 2048, keep: |_| CutStyle::Tail },
    Part { cut: "guardrails", value: "guardrails_content", floor: 8192, keep: |_| CutStyle::Ends },
    Part { cut: "feedback", value: "feedback", floor: 4096, keep: |_| CutStyle::Head },
    Part { cut: "task", value: "task_content", floor: 8192, keep: CutStyle::Around },
    Part { cut: "reason", value: "reason", floor: 0, keep: |_| CutStyle::Head },
];

struct Part {
    /// Its name in [`Cut`].
    cut: &'static str,
    /// The value that holds it.
    value: &'static str,
    /// What it keeps, in bytes, while others have more than their own floor.
    floor: usize,
    /// Which of its ends matters, given the line of the criterion.
    keep: fn(usize) -> CutStyle,
}

/// All templates, ready to be rendered.
#[derive(Debug)]
pub struct Templates {
    all: BTreeMap<&'static str, Entry>,
    budget: usize,
}

/// One template. Each has a registry of its own: none can include another, and so
/// none can include itself through another without end.
#[derive(Debug)]
struct Entry {
    /// Where the template stands, for messages.
    file: String,
    registry: Handlebars<'static>,
}

impl Templates {
    /// The built-in templates.
    ///
    /// # Errors
    /// Only if a built-in template is wrong, which a test rules out.
    pub fn builtin() -> Result<Self, PromptError> {
        let mut templates = Self { all: BTreeMap::new(), budget: DEFAULT_BUDGET };
        for (name, text) in BUILTIN {
            templates.register(name, name.to_owned(), text)?;
        }
        Ok(templates)
    }

    /// The built-in templates, each replaced by the file of the same name in `dir`
    /// (`.ralph/templates/`), where there is one.
    ///
    /// # Errors
    /// If a file cannot be read, is no template, asks for a value that does not exist,
    /// or replaces no template.
    pub fn load(dir: &Path) -> Result<Self, PromptError> {
        let mut templates = Self::builtin()?;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PromptError::Read { path, source }
        };
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(templates),
            Err(error) => return Err(failed(dir)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed(dir))?;
            let path = entry.path();
            match BUILTIN.iter().find(|(name, _)| entry.file_name() == *name) {
                Some((name, _)) => {
                    let text = fs::read_to_string(&path).map_err(failed(&path))?;
                    templates.register(name, path.display().to_string(), &text)?;
                }
                // A misspelt name would leave the built-in template in force unnoticed.
                None if path.extension().is_some_and(|it| it == "md") && !is_readme(&path) => {
                    return Err(PromptError::Superfluous {
                        path,
                        known: BUILTIN.map(|(name, _)| name).join(", "),
                    });
                }
                None => {}
            }
        }
        Ok(templates)
    }

    /// The same templates with another bound for prompts, in bytes.
    #[must_use]
    pub fn with_budget(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// The prompt of an iteration.
    ///
    /// Where it is longer than the bound, parts are cut in the order of what matters
    /// least; the template's own text, the criterion and its commands never are.
    ///
    /// # Errors
    /// If the template cannot be rendered, or what must not be cut is too long.
    pub fn iteration(&self, values: &IterationValues) -> Result<Prompt, PromptError> {
        let mut data = as_data(values)?;
        let progress = shorten::last_lines(&values.progress_content, PROGRESS_LINES);
        data["progress_content"] = progress.trim_end().into();
        data["guardrails_content"] = values.guardrails_content.trim_end().into();
        data["task_content"] = values.task_content.trim_end().into();
        self.bounded(ITERATION, data, values.next_line)
    }

    /// The prompt that goes on after a denial of ours ended the turn.
    ///
    /// # Errors
    /// As for [`Self::iteration`].
    pub fn continuation(&self, values: &ContinuationValues) -> Result<Prompt, PromptError> {
        self.bounded(CONTINUATION, as_data(values)?, values.next_line)
    }

    /// The message that the agent gets when it wants to end its turn and the work would
    /// not pass.
    ///
    /// # Errors
    /// As for [`Self::iteration`].
    pub fn stop(&self, values: &StopValues) -> Result<Prompt, PromptError> {
        self.bounded(STOP, as_data(values)?, values.next_line)
    }

    /// The project's instructions for the agent, `.github/copilot-instructions.md`.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn instructions(&self) -> Result<String, PromptError> {
        self.render(INSTRUCTIONS, &Value::Object(serde_json::Map::new()))
    }

    /// A TASK.md to begin with.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn task(&self, values: &ScaffoldValues) -> Result<String, PromptError> {
        self.render(TASK, &as_data(values)?)
    }

    /// A guardrails.md to begin with.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn guardrails(&self, values: &ScaffoldValues) -> Result<String, PromptError> {
        self.render(GUARDRAILS, &as_data(values)?)
    }

    /// A progress.md to begin with.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn progress(&self, values: &ScaffoldValues) -> Result<String, PromptError> {
        self.render(PROGRESS, &as_data(values)?)
    }

    fn register(
        &mut self,
        name: &'static str,
        file: String,
        text: &str,
    ) -> Result<(), PromptError> {
        let template = Template::compile(text).map_err(|error| {
            let (line, column) = error.pos().unwrap_or_default();
            PromptError::Syntax {
                file: file.clone(),
                line,
                column,
                reason: error.reason().to_string(),
            }
        })?;
        let samples = sample_values::of(name)?;
        let known: BTreeSet<&str> = samples.iter().flat_map(names_in).collect();
        if let Some(unknown) = unknown_value::first_unknown(&template, &known) {
            return Err(PromptError::Unknown {
                file,
                line: unknown.line,
                column: unknown.column,
                name: unknown.name,
                known: Vec::from_iter(known).join(", "),
            });
        }
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(no_escape);
        registry.register_template(name, template);
        self.all.insert(name, Entry { file, registry });
        // What else is wrong is said now, and not in the middle of a night.
        samples.iter().try_for_each(|sample| match name {
            ITERATION | CONTINUATION | STOP => self.prompt(name, sample).map(drop),
            _ => self.render(name, sample).map(drop),
        })
    }

    fn render(&self, name: &str, data: &Value) -> Result<String, PromptError> {
        let entry = &self.all[name];
        entry.registry.render(name, data).map_err(|error| {
            let file = entry.file.clone();
            let (line, column) =
                (error.line_no.unwrap_or_default(), error.column_no.unwrap_or_default());
            match error.reason() {
                RenderErrorReason::MissingVariable(Some(variable)) => PromptError::Unknown {
                    file,
                    line,
                    column,
                    name: variable.clone(),
                    known: Vec::from_iter(names_in(data)).join(", "),
                },
                reason => PromptError::Render { file, line, column, reason: reason.to_string() },
            }
        })
    }

    fn prompt(&self, name: &str, data: &Value) -> Result<String, PromptError> {
        let text = self.render(name, data)?;
        match text.chars().find(|letter| letter.is_ascii_graphic() || letter.is_alphanumeric()) {
            None => Err(PromptError::Empty { file: self.all[name].file.clone() }),
            // The CLI would run it as a command of its own, and ask no model.
            Some('/') => Ok(format!("{PLAIN_START}{text}")),
            Some(_) => Ok(text),
        }
    }

    fn bounded(&self, name: &str, mut data: Value, line: usize) -> Result<Prompt, PromptError> {
        let text = self.prompt(name, &data)?;
        if text.len() <= self.budget {
            return Ok(Prompt { text, cuts: Vec::new() });
        }
        let parts: Vec<Open> = PARTS.iter().filter_map(|part| Open::of(part, &data)).collect();
        let mut without = |bytes: usize| {
            let mut cuts = Vec::new();
            for (open, limit) in parts.iter().zip(limits(&parts, bytes)) {
                let short = shorten::shorten(&open.whole, limit, (open.part.keep)(line));
                data[open.part.value] = short.text.into();
                if short.left_out > 0 {
                    cuts.push(Cut { part: open.part.cut.to_owned(), bytes: short.left_out });
                }
            }
            Ok(Prompt { text: self.prompt(name, &data)?, cuts })
        };
        // A template may show a part twice, or not at all, so how much must go is tried.
        let (mut too_little, mut enough) = (0, parts.iter().map(|open| open.whole.len()).sum());
        let mut shortest = without(enough)?;
        if shortest.text.len() > self.budget {
            return Err(PromptError::TooLong {
                file: self.all[name].file.clone(),
                bytes: shortest.text.len(),
                budget: self.budget,
            });
        }
        while enough - too_little > PRECISION {
            let bytes = usize::midpoint(too_little, enough);
            let prompt = without(bytes)?;
            if prompt.text.len() <= self.budget {
                (shortest, enough) = (prompt, bytes);
            } else {
                too_little = bytes;
            }
        }
        Ok(shortest)
    }
}

/// How many bytes more than necessary may be cut.
const PRECISION: usize = 64;

/// What stands before a prompt that begins with `/`.
const PLAIN_START: &str = "The task:\n";

/// A part in one prompt, with its text before any cut.
struct Open {
    part: &'static Part,
    whole: String,
}

impl Open {
    fn of(part: &'static Part, data: &Value) -> Option<Self> {
        let whole = data.get(part.value)?.as_str()?.to_owned();
        Some(Self { part, whole })
    }
}

/// What each part may have when so many bytes must go: first all of them down to their
/// floors, one after the other, then below.
fn limits(parts: &[Open], mut bytes: usize) -> Vec<usize> {
    let mut limits: Vec<usize> = parts.iter().map(|open| open.whole.len()).collect();
    for floors in [true, false] {
        for (open, limit) in parts.iter().zip(&mut limits) {
            let floor = if floors { open.part.floor } else { 0 };
            let taken = bytes.min(limit.saturating_sub(floor));
            *limit -= taken;
            bytes -= taken;
        }
    }
    limits
}

fn is_readme(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"))
}

fn names_in(data: &Value) -> impl Iterator<Item = &str> {
    data.as_object().into_iter().flat_map(|object| object.keys().map(String::as_str))
}
