//! `recipe doctor`: which runner, found by which rule, and whether it may be run.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setup::bridge;
use super::setup::code;
use crate::cli::args::RecipeDoctorArgs;
use crate::cli::failure::Failure;
use crate::cli::paths;
use crate::cli::print::{say, say_json};
use crate::cli::runtime::runtime;
use crate::recipe::{
    AGENT_VARIABLE, Bridge, FoundRunner, LAUNCHER_VARIABLE, MINIMUM, RecipeError, RunnerCandidate,
};
use crate::sys::depth::Depth;

/// Looks at everything; the exit code is that of the first problem.
pub(super) fn doctor(directory: Option<&Path>, args: &RecipeDoctorArgs) -> Result<u8, Failure> {
    // Too deep to launch is one of the things to tell, and no reason to tell nothing.
    let depth = Depth::current();
    let counted = match depth {
        Ok(depth) => depth,
        Err(_) => Depth::read(None).map_err(RecipeError::from)?,
    };
    let dir = paths::directory(directory)?;
    let bridge = bridge(counted, paths::temporary())?;
    let looked = bridge.candidates();
    let found = FoundRunner::first(&looked);
    let checked = runtime()?.block_on(bridge.runner());
    let version = checked.as_ref().ok().map(|runner| runner.version.to_string());
    let problems: Vec<RecipeError> =
        [checked.err(), depth.err().map(RecipeError::from)].into_iter().flatten().collect();
    let seen = Seen { dir, bridge, looked, found, version };
    if args.json {
        say_json(&as_json(&seen, &problems));
    } else {
        say(&as_text(&seen, &problems));
    }
    Ok(problems.first().map_or(0, code))
}

struct Seen {
    dir: PathBuf,
    bridge: Bridge,
    looked: Vec<RunnerCandidate>,
    found: Option<FoundRunner>,
    version: Option<String>,
}

impl Seen {
    fn environment(&self) -> Vec<(String, String)> {
        let path = self.found.as_ref().map(|found| found.path.as_path());
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let all = self.bridge.environment(path, Some(&self.dir));
        all.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        self.environment().into_iter().find(|(it, _)| it == name).map(|(_, value)| value)
    }

    fn mode(&self) -> Option<u32> {
        let found = self.found.as_ref()?.path.metadata().ok()?;
        Some(found.permissions().mode() & 0o7777)
    }
}

fn minimum() -> String {
    MINIMUM.map(|number| number.to_string()).join(".")
}

fn as_json(seen: &Seen, problems: &[RecipeError]) -> Value {
    let looked: Vec<Value> = seen
        .looked
        .iter()
        .map(|it| json!({ "rule": it.rule.name(), "wanted": it.wanted, "found": it.found }))
        .collect();
    let problems: Vec<Value> = problems
        .iter()
        .map(|it| json!({ "kind": it.kind(), "message": it.to_string(), "hint": it.hint() }))
        .collect();
    let names: Vec<String> = seen.environment().into_iter().map(|(name, _)| name).collect();
    json!({
        "usable": problems.is_empty(),
        "runner": seen.found.as_ref().map(|found| json!({
            "path": found.path,
            "rule": found.rule.name(),
            "version": seen.version,
            "mode": seen.mode().map(|mode| format!("{mode:o}")),
        })),
        "minimum": minimum(),
        "looked": looked,
        "agent": seen.value(AGENT_VARIABLE),
        "launcher": seen.value(LAUNCHER_VARIABLE),
        "environment": names,
        "problems": problems,
    })
}

fn as_text(seen: &Seen, problems: &[RecipeError]) -> String {
    let mut lines = Vec::new();
    match &seen.found {
        Some(found) => {
            lines.push(format!("runner       {}", found.path.display()));
            lines.push(format!("found by     {}", found.rule.name()));
        }
        None => lines.push("runner       none".to_owned()),
    }
    let version = seen.version.as_deref().unwrap_or("not usable");
    lines.push(format!("version      {version} (at least {})", minimum()));
    if let Some(mode) = seen.mode() {
        lines.push(format!("permissions  {mode:o}"));
    }
    for it in &seen.looked {
        let state =
            it.found.as_ref().map_or("not found".to_owned(), |path| path.display().to_string());
        lines.push(format!("searched     {}: {state}", it.describe()));
    }
    let shown = |name: &str| seen.value(name).unwrap_or_else(|| "the runner's own".to_owned());
    lines.push(format!("agent        {}", shown(AGENT_VARIABLE)));
    lines.push(format!("launcher     {}", shown(LAUNCHER_VARIABLE)));
    let names: Vec<String> = seen.environment().into_iter().map(|(name, _)| name).collect();
    lines.push(format!("environment  {}", names.join(" ")));
    for problem in problems {
        lines.push(format!("\nproblem: {problem}"));
        if let Some(hint) = problem.hint() {
            lines.push(format!("hint: {hint}"));
        }
    }
    if problems.is_empty() {
        lines.push("\nrecipes can be run".to_owned());
    }
    lines.join("\n")
}
