//! The collection of calls, as written in `tests/corpus/honest_calls.txt`.

use std::path::{Path, PathBuf};

/// What a developer's project is, and what an agent runs in it.
pub(crate) struct Project {
    pub(crate) name: String,
    /// The program without which nothing of it runs.
    pub(crate) needs: String,
    /// Prepares it, before it is copied for each call.
    pub(crate) setup: String,
    pub(crate) calls: Vec<Call>,
}

/// Calls of one session, in their order.
pub(crate) struct Call {
    pub(crate) line: usize,
    pub(crate) commands: Vec<String>,
    /// The exit code of the first one.
    pub(crate) exit: i32,
    /// The tiers in which its result may differ, with the reason.
    pub(crate) differs: String,
}

impl Call {
    /// Is this tier known not to do what happens outside?
    pub(crate) fn may_differ(&self, tier: &str) -> bool {
        self.differs.split(':').next().is_some_and(|tiers| tiers.contains(tier))
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// All projects.
pub(crate) fn projects() -> Vec<Project> {
    let text = std::fs::read_to_string(folder().join("honest_calls.txt")).expect("the corpus");
    let mut found: Vec<Project> = Vec::new();
    let (mut differs, mut blank) = (String::new(), false);
    for (number, line) in text.lines().enumerate() {
        let was_blank = std::mem::replace(&mut blank, line.is_empty());
        if let Some(header) = line.strip_prefix("== ") {
            let (name, needs) = header.split_once(' ').expect("a name and a program");
            let (name, needs) = (name.to_owned(), needs.to_owned());
            found.push(Project { name, needs, setup: String::new(), calls: Vec::new() });
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let project = found.last_mut().expect("a project comes first");
        if let Some(more) = line.strip_prefix("  ") {
            let command = project.calls.last_mut().and_then(|call| call.commands.last_mut());
            let command = command.expect("a call comes first");
            command.push_str(if was_blank { "\n\n" } else { "\n" });
            command.push_str(more);
            continue;
        }
        let (mark, rest) = line.split_once(' ').expect("a mark and a command");
        match mark {
            ">" => rest.clone_into(&mut project.setup),
            "!" => rest.clone_into(&mut differs),
            "&" => {
                let call = project.calls.last_mut().expect("a call comes first");
                call.commands.push(rest.to_owned());
            }
            _ => {
                let code = mark.strip_suffix('$').expect("a call");
                project.calls.push(Call {
                    line: number + 1,
                    commands: vec![rest.to_owned()],
                    exit: if code.is_empty() { 0 } else { code.parse().expect("an exit code") },
                    differs: std::mem::take(&mut differs),
                });
            }
        }
    }
    found
}
