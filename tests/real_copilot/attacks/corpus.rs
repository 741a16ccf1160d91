//! Attacks as data: `tests/corpus/attacks.jsonl`, one per line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// Something that an agent may try, and that must change or reveal nothing outside.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attack {
    pub(crate) name: String,
    /// What it would touch; for people.
    #[expect(dead_code, reason = "for people")]
    touches: String,
    /// Files that it needs, in the folder in which it runs.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// A shell command...
    #[serde(default)]
    pub(crate) run: Option<String>,
    /// ...or a tool, with its arguments.
    #[serde(default)]
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) arguments: Value,
    /// Does it end the processes that the others run in?
    #[serde(default)]
    pub(crate) alone: bool,
    /// Does it change settings of git or of agents in the workspace? Where nothing prevents that,
    /// the runner must find it.
    #[serde(default)]
    pub(crate) found: bool,
    /// Would it damage the machine itself if root ran it without walls?
    #[serde(default)]
    pub(crate) not_as_root: bool,
    /// Why the tier `partial` cannot stop it; docs/security.md says the same.
    #[serde(default)]
    pub(crate) partial: Option<String>,
}

/// Names of the attacks that are to run, by a part of each, such as `git-,udp`.
const SELECTED: &str = "RALPH_ATTACK";

/// Were some attacks named?
pub(crate) fn is_selected() -> bool {
    std::env::var_os(SELECTED).is_some()
}

/// The attacks that a tier must stop, with the places of this test in their text.
pub(crate) fn attacks(tier: &str, places: &[(&str, String)]) -> Vec<Attack> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/attacks.jsonl");
    let text = std::fs::read_to_string(path).expect("the corpus");
    let selected = std::env::var(SELECTED).unwrap_or_default();
    let root = rustix::process::geteuid().is_root();
    text.lines()
        .map(|line| {
            let placed = places
                .iter()
                .fold(line.to_owned(), |text, (name, value)| text.replace(name, value));
            serde_json::from_str::<Attack>(&placed)
                .unwrap_or_else(|error| panic!("{line}: {error}"))
        })
        .filter(|attack| tier == "full" || attack.partial.is_none())
        .filter(|attack| !(root && attack.not_as_root))
        .filter(|attack| {
            selected.is_empty() || selected.split(',').any(|part| attack.name.contains(part))
        })
        .collect()
}
