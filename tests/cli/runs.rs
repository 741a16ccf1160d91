//! Runs as a whole: from start to end, cut off and gone on with, stuck, and with agents
//! that fail in every way there is.

mod agents;
mod asking;
mod humans;
mod orphans;
mod places;
mod race;
mod signals;
mod stuck;
mod whole;

/// Three criteria, each with a check.
pub(crate) const THREE: &str = "\
# Three

- [ ] a is there
  - verify: `test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
- [ ] c is there
  - verify: `test -e c.txt`
";

/// Honest work on each of them.
pub(crate) const HONEST: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
- match: b is there
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
- match: c is there
  steps: [{write: {path: c.txt, text: c}}, {tick: "{criterion}"}, {progress: did c}, {commit: c}]
"#;
