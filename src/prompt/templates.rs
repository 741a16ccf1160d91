//! Templates: the built-in ones, those that users put in their place, and rendering.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use handlebars::{Handlebars, RenderErrorReason, Template, no_escape};
use serde_json::Value;

use super::{
    error::PromptError,
    names::{CONTINUATION, GUARDRAILS, INSTRUCTIONS, ITERATION, PROGRESS, STOP, TASK},
    sample_values,
    sample_values::as_data,
    shorten::{self, CutStyle},
    unknown_value,
    values::{ContinuationValues, IterationValues, ScaffoldValues, StopValues},
};
use crate::model::{Cut, Prompt, Redact};

/// The default limit of a prompt, in bytes.
pub const DEFAULT_BUDGET: usize = 64 * 1024;

/// The number of lines of progress.md in a prompt.
const PROGRESS_LINES: usize = 50;

/// The built-in template of a TASK.md.
pub const TASK_TEMPLATE: &str = include_str!("../../templates/TASK.md");

/// All templates: file name and built-in text.
const BUILTIN: [(&str, &str); 7] = [
    (ITERATION, include_str!("../../templates/iteration.md")),
    (CONTINUATION, include_str!("../../templates/continuation.md")),
    (STOP, include_str!("../../templates/stop.md")),
    (INSTRUCTIONS, include_str!("../../templates/copilot-instructions.md")),
    (TASK, TASK_TEMPLATE),
    (GUARDRAILS, include_str!("../../templates/guardrails.md")),
    (PROGRESS, include_str!("../../templates/progress.md")),
];

/// The parts of a prompt that may be cut, in the order in which they are cut.
const PARTS: [Part; 6] = [
    Part { cut: "context", value: "project_context", floor: 0, keep: |_| CutStyle::Ends },
    Part { cut: "progress", value: "progress_content", floor: 2048, keep: |_| CutStyle::Tail },
    Part { cut: "guardrails", value: "guardrails_content", floor: 8192, keep: |_| CutStyle::Ends },
    Part { cut: "feedback", value: "feedback", floor: 4096, keep: |_| CutStyle::Head },
    Part { cut: "task", value: "task_content", floor: 8192, keep: CutStyle::Around },
    Part { cut: "reason", value: "reason", floor: 0, keep: |_| CutStyle::Head },
];

struct Part {
    /// The part's name in [`Cut`].
    cut: &'static str,
    /// The value that holds it.
    value: &'static str,
    /// The size below which it is only cut after all others reached theirs, in bytes.
    floor: usize,
    /// The part to keep, given the criterion's line.
    keep: fn(usize) -> CutStyle,
}

/// All templates, compiled.
#[derive(Debug)]
pub struct Templates {
    all: BTreeMap<&'static str, Entry>,
    budget: usize,
}

/// One template. Each has its own registry, so that templates cannot include each other
/// endlessly.
#[derive(Debug)]
struct Entry {
    /// The template's file, for messages.
    file: String,
    registry: Handlebars<'static>,
}

impl Templates {
    /// The built-in templates.
    ///
    /// # Errors
    /// Only if a built-in template is invalid, which a test rules out.
    pub fn builtin() -> Result<Self, PromptError> {
        let mut templates = Self { all: BTreeMap::new(), budget: DEFAULT_BUDGET };
        for (name, text) in BUILTIN {
            templates.register(name, name.to_owned(), text)?;
        }
        Ok(templates)
    }

    /// Loads the templates: a file in `dir` (`.ralph/templates/`) replaces the built-in template of
    /// the same name.
    ///
    /// # Errors
    /// If a file cannot be read, has a syntax error, uses an unknown value, or is not named like
    /// a template.
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
                // With a misspelled name the built-in template would be used unnoticed.
                None if path.extension().is_some_and(|it| it == "md") && !is_readme(&path) => {
                    return Err(PromptError::UnknownTemplate {
                        path,
                        known: BUILTIN.map(|(name, _)| name).join(", "),
                    });
                }
                None => {}
            }
        }
        Ok(templates)
    }

    /// Sets the limit of a prompt, in bytes.
    #[must_use]
    pub fn with_budget(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// Renders the prompt of an iteration.
    ///
    /// If the prompt is too long, parts are cut, the least important first. The template's own
    /// text, the criterion and its commands are never cut.
    ///
    /// # Errors
    /// If the template cannot be rendered, or the prompt is too long even after all cuts.
    pub fn iteration(
        &self,
        values: &IterationValues,
        redact: &dyn Redact,
    ) -> Result<Prompt, PromptError> {
        let mut data = redacted(redact, as_data(values)?);
        for name in ["progress_content", "guardrails_content", "task_content"] {
            let whole = data[name].as_str().unwrap_or_default().to_owned();
            let shown = match name {
                "progress_content" => shorten::last_lines(&whole, PROGRESS_LINES),
                _ => &whole,
            };
            data[name] = shown.trim_end().into();
        }
        self.bounded(ITERATION, data, values.next_line)
    }

    /// Renders the prompt that continues after a denial ended the turn.
    ///
    /// # Errors
    /// As for [`Self::iteration`].
    pub fn continuation(
        &self,
        values: &ContinuationValues,
        redact: &dyn Redact,
    ) -> Result<Prompt, PromptError> {
        self.bounded(CONTINUATION, redacted(redact, as_data(values)?), values.next_line)
    }

    /// Renders the message to an agent that wants to end its turn although the work would not
    /// pass.
    ///
    /// # Errors
    /// As for [`Self::iteration`].
    pub fn stop(&self, values: &StopValues, redact: &dyn Redact) -> Result<Prompt, PromptError> {
        self.bounded(STOP, redacted(redact, as_data(values)?), values.next_line)
    }

    /// Renders `.github/copilot-instructions.md`, the project's instructions for the agent.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn instructions(&self) -> Result<String, PromptError> {
        self.render(INSTRUCTIONS, &Value::Object(serde_json::Map::new()))
    }

    /// Renders a new TASK.md.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn task(&self, values: &ScaffoldValues) -> Result<String, PromptError> {
        self.render(TASK, &as_data(values)?)
    }

    /// Renders a new guardrails.md.
    ///
    /// # Errors
    /// If the template cannot be rendered.
    pub fn guardrails(&self, values: &ScaffoldValues) -> Result<String, PromptError> {
        self.render(GUARDRAILS, &as_data(values)?)
    }

    /// Renders a new progress.md.
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
            return Err(PromptError::UnknownValue {
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
        // Report every other mistake now, not in the middle of a run.
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
                RenderErrorReason::MissingVariable(Some(variable)) => PromptError::UnknownValue {
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
            // The CLI would run this as a command instead of sending it to the model.
            Some('/') => Ok(format!("{PLAIN_START}{text}")),
            Some(_) => Ok(text),
        }
    }

    fn bounded(&self, name: &str, mut data: Value, line: usize) -> Result<Prompt, PromptError> {
        let text = self.prompt(name, &data)?;
        if text.len() <= self.budget {
            return Ok(Prompt { text, cuts: Vec::new() });
        }
        let parts: Vec<UncutPart> =
            PARTS.iter().filter_map(|part| UncutPart::of(part, &data)).collect();
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
        // A template may use a part twice or not at all, so search for the amount to cut.
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

/// Redacts all values. Only their contents count as secrets: the names are not the user's.
fn redacted(redact: &dyn Redact, mut data: Value) -> Value {
    for value in data.as_object_mut().into_iter().flat_map(|values| values.values_mut()) {
        *value = redact.json(value);
    }
    data
}

/// How many bytes more than necessary may be cut.
const PRECISION: usize = 64;

/// The prefix for a prompt that would begin with `/`.
const PLAIN_START: &str = "The task:\n";

/// A part of one prompt, before any cut.
struct UncutPart {
    part: &'static Part,
    whole: String,
}

impl UncutPart {
    fn of(part: &'static Part, data: &Value) -> Option<Self> {
        let whole = data.get(part.value)?.as_str()?.to_owned();
        Some(Self { part, whole })
    }
}

/// The limit of each part after cutting `bytes` in total: first each part in turn down to its
/// floor, then below.
fn limits(parts: &[UncutPart], mut bytes: usize) -> Vec<usize> {
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
