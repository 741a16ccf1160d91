//! Whose commits a branch holds: humans', or those of agents' turns, which end with a commit of the
//! runner.
//!
//! Invariant: pure. An agent cannot commit for the runner without being noticed in its turn, so the
//! runner's commit says where the turn began. Where that cannot be found, everything since the
//! runner's commit before belongs to the turn.

use super::layout::Layout;
use super::repo::Ancestor;
use crate::model::Oid;

/// The trailer of a runner's commit that names the task.
pub const TASK_TRAILER: &str = "Ralph-Task";
/// The trailer that names the commit on which the turns before it began.
pub const BASE_TRAILER: &str = "Ralph-Base";
/// The trailer that names a criterion which was proven.
pub const CRITERION_TRAILER: &str = "Ralph-Criterion";

/// Commits in a row that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// A human's, from the first one's parent to the last one.
    Human {
        /// The commit before them.
        from: Oid,
        /// The last one.
        to: Oid,
    },
    /// Those of turns.
    Turns {
        /// The runner's commit at the end.
        commit: Oid,
        /// The criteria that were proven, as its trailers name them.
        proven: Vec<String>,
    },
}

/// The stretches of a history, the oldest first. `commits` begin with the newest one, and each is
/// the parent of the one before it.
pub fn stretches(commits: &[Ancestor], layout: &Layout) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut rest = commits;
    while let Some((commit, older)) = rest.split_first() {
        if is_runner(commit, layout) {
            let proven = values(commit, CRITERION_TRAILER).map(str::to_owned).collect();
            found.push(Stretch::Turns { commit: commit.id.clone(), proven });
            rest = &older[turns(commit, older, layout)..];
            continue;
        }
        rest = older;
        let Some(parent) = &commit.parent else { continue };
        // Such a commit was made for an agent, or by one before the runner was killed.
        if layout.marks(&commit.subject) {
            continue;
        }
        match found.last_mut() {
            Some(Stretch::Human { from, .. }) if *from == commit.id => from.clone_from(parent),
            Some(_) | None => {
                found.push(Stretch::Human { from: parent.clone(), to: commit.id.clone() });
            }
        }
    }
    found.reverse();
    found
}

/// How many commits before the runner's belong to its turns.
fn turns(commit: &Ancestor, older: &[Ancestor], layout: &Layout) -> usize {
    let base = values(commit, BASE_TRAILER).next();
    let is_base = |it: &Oid| base == Some(it.as_str());
    let oldest = older.last().and_then(|it| it.parent.as_ref());
    let begun = older.iter().position(|it| is_base(&it.id));
    let begun = begun.or_else(|| oldest.is_some_and(is_base).then_some(older.len()));
    let ends = || older.iter().position(|it| is_runner(it, layout));
    begun.or_else(ends).unwrap_or(older.len())
}

/// Is it a commit of the runner, as a turn or a run ends with?
fn is_runner(commit: &Ancestor, layout: &Layout) -> bool {
    layout.is_state_message(&commit.subject)
        && values(commit, TASK_TRAILER).any(|task| task == layout.task())
}

fn values<'a>(commit: &'a Ancestor, name: &'a str) -> impl Iterator<Item = &'a str> {
    let named = commit.trailers.iter().filter(move |(it, _)| it == name);
    named.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNER: &str = "ralph(demo): state update";

    /// A history, from the oldest commit on: subjects and, for the runner, where a turn began.
    fn history(commits: &[(&str, Option<&str>)]) -> Vec<Ancestor> {
        let mut history = Vec::new();
        let mut parent = Some(Oid::new("start"));
        for (number, (subject, base)) in commits.iter().enumerate() {
            let id = Oid::new(format!("c{number}"));
            let mut trailers = Vec::new();
            if *subject == RUNNER {
                let pairs = [(TASK_TRAILER, "demo"), (CRITERION_TRAILER, "a is there")];
                let base = base.map(|base| (BASE_TRAILER, base));
                trailers.extend(pairs.into_iter().chain(base));
            }
            let trailers = trailers.iter().map(|(name, it)| ((*name).into(), (*it).into()));
            let (trailers, subject) = (trailers.collect(), (*subject).to_owned());
            history.push(Ancestor { id: id.clone(), parent, subject, trailers });
            parent = Some(id);
        }
        history.reverse();
        history
    }

    fn shown(commits: &[(&str, Option<&str>)]) -> Vec<String> {
        let found = stretches(&history(commits), &Layout::new("demo", "tasks/demo"));
        let shown = found.into_iter().map(|stretch| match stretch {
            Stretch::Human { from, to } => format!("human {}..{}", from.as_str(), to.as_str()),
            Stretch::Turns { commit, proven } => {
                assert_eq!(proven, ["a is there"]);
                format!("turns ..{}", commit.as_str())
            }
        });
        shown.collect()
    }

    #[test]
    fn humans_commit_between_turns() {
        let commits = [
            ("a fix", None),
            ("ralph(demo): work", None),
            (RUNNER, Some("c0")),
            ("tests", None),
            ("more tests", None),
            ("ralph(demo): more work", None),
            (RUNNER, Some("c4")),
            ("in the morning", None),
        ];
        assert_eq!(
            shown(&commits),
            ["human start..c0", "turns ..c2", "human c2..c4", "turns ..c6", "human c6..c7"]
        );
    }

    #[test]
    fn what_an_agent_commits_in_a_turn_is_its_own_whatever_it_says() {
        let commits = [("by a human", None), (RUNNER, Some("start"))];
        assert_eq!(shown(&commits), ["turns ..c1"]);
        // Such a commit of the agent is within the turn that the real one ends.
        let commits = [("weaker", None), (RUNNER, Some("c0")), (RUNNER, Some("start"))];
        assert_eq!(shown(&commits), ["turns ..c2"]);
    }

    #[test]
    fn without_a_base_everything_since_the_runner_s_commit_before_is_the_agent_s() {
        for base in [None, Some("rebased")] {
            let commits = [("a", None), (RUNNER, Some("start")), ("b", None), (RUNNER, base)];
            assert_eq!(shown(&commits), ["turns ..c1", "turns ..c3"], "{base:?}");
            assert_eq!(shown(&[("a", None), (RUNNER, base)]), ["turns ..c1"], "{base:?}");
        }
    }

    #[test]
    fn work_that_no_runner_ended_is_nobody_s() {
        let commits = [("ralph(demo): cut off", None), ("a human's", None)];
        assert_eq!(shown(&commits), ["human c0..c1"]);
        assert_eq!(shown(&[]), <[String; 0]>::default());
    }

    #[test]
    fn the_commits_of_another_task_count_like_a_human_s() {
        let commits = [("ralph(other): work", None), ("ralph(other): state update", Some("start"))];
        assert_eq!(shown(&commits), ["human start..c1"]);
        let mut commits = history(&[("a human's", None), (RUNNER, Some("c0"))]);
        commits[0].trailers[0].1 = "other".into();
        let found = stretches(&commits, &Layout::new("demo", "tasks/demo"));
        let human = Stretch::Human { from: Oid::new("start"), to: Oid::new("c0") };
        assert_eq!(found, [human], "a title alone is no runner's commit");
    }
}
