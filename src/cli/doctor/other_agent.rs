//! What is known of an agent other than the Copilot CLI: its row in the table, and its folders.

use std::path::Path;

use super::finding::DoctorFinding;
use crate::agent::{AgentCommand, AgentKind};
use crate::cli::agent_folders;

/// The findings about an agent before it is started.
pub(super) fn findings(command: &AgentCommand) -> Vec<DoctorFinding> {
    // The built-in scripted agent has no name of its own here.
    if command.kind == AgentKind::Copilot || command.own_name().is_none() {
        return Vec::new();
    }
    let home = etcetera::home_dir().unwrap_or_default();
    let mut found = vec![match command.known() {
        Some(known) => {
            let tried = known.tried.map_or_else(
                || "its folders are known, but it was not tried".to_owned(),
                |(registry, package, version)| {
                    format!("tried with {package} {version} ({registry})")
                },
            );
            DoctorFinding::good("known", format!("{}: {tried}", known.name))
        }
        None => DoctorFinding::note(
            "known",
            "this agent was not tried",
            "see ralph-copilot's docs/agents.md for those that were",
        ),
    }];
    if let Some((what, place)) = command.known().and_then(|known| known.set) {
        let default = "its default settings may run tools without asking";
        found.push(DoctorFinding::note("asking", default, &format!("set {what} in {place}")));
    }
    let folders = agent_folders::own_folders(&home, command, &agent_folders::os);
    let shown = folders.iter().map(|folder| {
        let path = folder.strip_prefix(&home).map_or_else(
            |_| folder.display().to_string(),
            |path| Path::new("~").join(path).display().to_string(),
        );
        if folder.exists() { path } else { format!("{path} (missing)") }
    });
    let shown: Vec<_> = shown.collect();
    found.push(match shown.is_empty() {
        false => DoctorFinding::good("folders", format!("its own: {}", shown.join(", "))),
        true => DoctorFinding::note(
            "folders",
            "it has no folder of its own name in HOME",
            "in a sandbox it sees no other settings: pass its login in variables that end with _API_KEY",
        ),
    });
    found
}
