//! Runs as a whole: from start to end, cut off and gone on with, stuck, and with agents
//! that fail in every way there is.

mod agents;
mod asking;
mod held;
mod humans;
mod morning;
mod order;
mod orphans;
mod parallel;
mod parallel_places;
mod places;
mod race;
mod signals;
mod stuck;
mod task_check;
mod ticked;
#[cfg(target_os = "linux")]
mod watch;
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

/// An agent that does these turns first, and honest work on whatever is left.
pub(crate) fn then_honest(turns: &str) -> String {
    HONEST.replacen("turns:\n", &format!("turns:\n{turns}"), 1)
}

/// An agent whose very first turn is these steps: whichever process of it comes after that
/// one works honestly.
pub(crate) fn once_then_honest(steps: &str) -> String {
    format!("memory: seen.txt\n{}", then_honest(&format!("- times: 1\n  steps: [{steps}]\n")))
}

/// The story of a run that proved the first criterion in this iteration, came to its limit,
/// and had nothing else to tell.
pub(crate) fn only_a_proven(iteration: u32) -> String {
    format!(
        "\
iteration {iteration}: pass check
exit 3: limit_reached
- [x] a is there
- [ ] b is there
- [ ] c is there
state: a is there, proven by check, 0 attempts failed
on refs/heads/main
commit: ralph(demo): [a is there] - a
commit: ralph(demo): state update
commit: ralph(demo): state update"
    )
}
