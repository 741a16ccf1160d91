//! What git and its hooks make of the agent's commits: messages, forms, signatures, identities.

use super::around::program;
use super::{HONEST, TASK, ended};
use crate::repo::{Repo, finish, story};
use crate::tier::has_tier;

/// The subjects of all commits, newest first.
fn subjects(repo: &Repo) -> String {
    repo.git(&["log", "--format=%s"])
}

#[test]
fn a_ticket_that_a_hook_puts_in_front_costs_no_attempt() {
    let repo = Repo::new(TASK);
    let text = "#!/bin/sh\nsed -i.old '1s/^/AB-12 /' \"$1\"\nrm -f \"$1.old\"\n";
    program(&repo.path(".git/hooks/prepare-commit-msg"), text);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    ended(&repo, &ran);
    assert!(subjects(&repo).contains("AB-12 ralph(demo): "), "{}", subjects(&repo));
    assert_eq!(repo.task(), TASK.replace("[ ]", "[x]"));
}

#[test]
fn a_message_of_the_projects_own_form_costs_no_attempt() {
    let repo = Repo::new(TASK);
    let text = "#!/bin/sh\necho 'feat: a is there' > \"$1\"\n";
    program(&repo.path(".git/hooks/prepare-commit-msg"), text);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert!(story(&repo, &ran).contains("wrong_prefix"), "{}", story(&repo, &ran));
    let messages = repo.git(&["log", "--format=%B"]);
    assert!(messages.contains("Ralph-Criterion: a is there"), "{messages}");
}

#[test]
fn the_runners_commits_and_the_prompt_have_the_configured_prefix() {
    let repo = Repo::new(&format!("---\ncommit_prefix: 'chore:'\n---\n{TASK}"));
    let prompt = finish(repo.run_command(HONEST, &["--dry-run"])).stdout;
    assert!(prompt.contains("'chore: ralph(demo): [criterion]"), "{prompt}");
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(subjects(&repo).starts_with("chore: ralph(demo): state update"), "{}", subjects(&repo));
}

#[test]
fn a_hook_that_formats_the_task_changes_no_criterion() {
    let task = TASK.replace("- [ ]", "* [ ]");
    let repo = Repo::new(&task);
    let text = "#!/bin/sh\nsed -i.old 's/^\\* /- /' tasks/demo/TASK.md\n\
                rm -f tasks/demo/TASK.md.old\ngit add tasks/demo/TASK.md\n";
    program(&repo.path(".git/hooks/pre-commit"), text);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    ended(&repo, &ran);
    assert_eq!(repo.task(), task.replace("[ ]", "[x]"));
    assert!(repo.status().is_empty(), "{}", story(&repo, &ran));
}

#[test]
fn the_identity_of_a_conditional_include_commits_everything() {
    let repo = Repo::new(TASK);
    repo.git(&["remote", "add", "origin", "https://example.org/a.git"]);
    repo.write(".git/work", "[user]\n\temail = me@work.example\n");
    let condition = "includeIf.hasconfig:remote.*.url:https://example.org/**.path";
    repo.git(&["config", condition, "work"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let authors = repo.git(&["log", "--format=%ae", "-2"]);
    assert_eq!(authors, "me@work.example\n".repeat(2));
}

#[test]
fn in_a_sandbox_commits_are_unsigned_and_the_run_says_so() {
    for tier in ["full", "partial"] {
        if !has_tier(tier) {
            continue;
        }
        let repo = Repo::new(TASK);
        repo.git(&["config", "commit.gpgSign", "true"]);
        repo.git(&["config", "gpg.program", "/nonexistent/gpg"]);
        let ran = finish(repo.run_command(HONEST, &[&format!("--sandbox={tier}")]));
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("commits of the run are unsigned"), "{tier}: {}", ran.stdout);
    }
}
