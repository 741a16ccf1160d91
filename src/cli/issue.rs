//! A task from a GitHub issue, or from its JSON.
//!
//! Invariant: title and body are context in a code block: nothing in them is a criterion, a check, or
//! a setting. Only the items of the task list become criteria.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::failure::Failure;
use super::inert::inert;
use super::paths::read_named;
use super::print::complain;
use crate::model::ExitCode;
use crate::plan::{fence, slug};
use crate::report::count;
use crate::task::{issue_items, parse};

/// An issue.
pub(super) struct Issue {
    title: String,
    body: String,
    /// Its number and address, as far as known.
    from: String,
    number: Option<u64>,
}

impl Issue {
    /// Asks the GitHub CLI.
    pub(super) fn of_github(root: &Path, number: u64) -> Result<Self, Failure> {
        let failed = |why: String| {
            Failure::new(ExitCode::Invalid, format!("cannot read issue {number}: {why}")).hint(
                "install and log in the GitHub CLI (`gh auth login`), or save \
                 `gh issue view N --json number,title,body,url` and use --from-file",
            )
        };
        let mut gh = Command::new("gh");
        gh.args(["issue", "view", &number.to_string(), "--json", "number,title,body,url"]);
        let output =
            gh.current_dir(root).output().map_err(|error| failed(format!("gh: {error}")))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Self::of_json(&String::from_utf8_lossy(&output.stdout))
    }

    /// Reads a file: that JSON, or a GitHub event with an issue.
    pub(super) fn of_file(path: &Path) -> Result<Self, Failure> {
        Self::of_json(&read_named(path)?)
            .map_err(|failure| failure.hint(format!("read from {}", path.display())))
    }

    fn of_json(text: &str) -> Result<Self, Failure> {
        let invalid = |why: String| {
            Failure::new(ExitCode::Invalid, format!("not an issue: {why}")).hint(
                "it is the output of `gh issue view N --json number,title,body,url`, or a GitHub \
                 event with an `issue`",
            )
        };
        let all: Value = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
        let issue = all.get("issue").unwrap_or(&all);
        let text = |key: &str| issue[key].as_str().unwrap_or_default().replace("\r\n", "\n");
        let title = text("title").trim().to_owned();
        if title.is_empty() {
            return Err(invalid("it has no `title`".to_owned()));
        }
        let address = ["url", "html_url"].map(text).into_iter().find(|it| it.starts_with("https:"));
        let number = issue["number"].as_u64();
        let from = [number.map(|number| format!("Issue #{number}")), address]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ");
        Ok(Self { title, body: text("body"), from, number })
    }

    /// A name for its task.
    pub(super) fn name(&self) -> String {
        slug(&self.title)
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.number
    }

    /// Its TASK.md.
    pub(super) fn task(&self, name: &str) -> Result<String, Failure> {
        let items = issue_items(&self.body);
        let done = items.iter().filter(|item| item.done).count();
        if done > 0 {
            let items = count(done as u64, "ticked item");
            complain(&format!("note: left out {items} of the issue"));
        }
        let open = items.iter().filter(|item| !item.done).map(|item| inert(&item.text));
        let mut criteria: Vec<String> = open.collect();
        if items.is_empty() {
            criteria.push(inert(&self.title));
        }
        if criteria.is_empty() {
            return Err(Failure::new(ExitCode::Invalid, "every item of the issue is ticked"));
        }
        let context = format!("{}\n{}\n\n{}", self.from, self.title, self.body);
        let (context, around) = (context.trim(), fence(&context, 3));
        let boxes: String = criteria.iter().map(|text| format!("- [ ] {text}\n")).collect();
        let task = format!(
            "# {name}\n\n{around}text\n{context}\n{around}\n\n## Success Criteria\n\n{boxes}"
        );
        let read = parse(name, task.as_bytes());
        let texts: Vec<&str> = read.criteria.iter().map(|it| it.key.text.as_str()).collect();
        let checks = read.criteria.iter().map(|it| it.verify.len()).sum::<usize>();
        if texts != criteria || checks + read.settings.verify.len() > 0 {
            let why = "the issue cannot be written as a TASK.md";
            return Err(Failure::new(ExitCode::Internal, why).hint("write the task by hand"));
        }
        Ok(task)
    }
}
