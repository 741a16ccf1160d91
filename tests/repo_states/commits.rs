//! What git and its hooks make of the agent's commits: messages, forms, signatures, identities.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::around::program;
use ralph_copilot::model::EventKind;

use super::{HONEST, TASK, ended};
use crate::repo::{Ran, Repo, finish, story, until};
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

/// A hook as commitlint's: it wants a type in front of the title.
const COMMITLINT: &str = "#!/bin/sh\ngrep -qE '^(feat|fix|chore)(\\(.*\\))?: ' \"$1\" && exit 0\n\
    printf '\\033[31mtype must be one of [feat, fix, chore] [type-enum]\\033[0m\\n'\nexit 1\n";

/// A hook that wants a ticket in front of the title.
const TICKETS: &str = "#!/bin/sh\ngrep -qE '^AB-[0-9]+ ' \"$1\" && exit 0\n\
    printf '\\033[31mthe title has no ticket [AB-1]\\033[0m\\n'\nexit 1\n";

/// An agent that commits nothing.
const IDLE: &str = "turns: [{steps: [{say: nothing}]}]\n";

/// What the run told the human about hooks.
fn about_hooks(ran: &Ran) -> Vec<String> {
    let said = ran.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { message } => Some(message),
        _ => None,
    });
    said.filter(|message| message.contains(" hook refuses ")).collect()
}

#[test]
fn a_hook_that_refuses_the_title_is_named_before_the_first_turn() {
    // Where git itself keeps hooks, in the tree as husky does it, and outside the repository.
    for place in [".git/hooks", ".husky/_", "OUTSIDE"] {
        for tier in ["off", "partial", "full"] {
            if !has_tier(tier) {
                continue;
            }
            let repo = Repo::with(TASK, &[(".gitignore", ".husky/_/\n")]);
            let folder = match place {
                "OUTSIDE" => repo.beside("home").join("hooks"),
                inside => repo.path(inside),
            };
            std::fs::create_dir_all(&folder).expect("a folder");
            program(&folder.join("check"), TICKETS);
            program(&folder.join("commit-msg"), "#!/bin/sh\n\"$(dirname \"$0\")\"/check \"$1\"\n");
            if place != ".git/hooks" {
                let named = if place == "OUTSIDE" { "~/hooks" } else { place };
                repo.git(&["config", "core.hooksPath", named]);
            }
            let tier = format!("--sandbox={tier}");
            let ran = repo.run(IDLE, &["--max-iterations=1", &tier]);
            let notice = about_hooks(&ran).join("");
            let refused = "the commit-msg hook refuses the message `ralph(demo): state update`; it printed: the title has no";
            assert!(notice.starts_with(refused), "{place} {tier}: {notice}");
            assert!(
                notice.contains("a ticket or another beginning, set `commit_prefix`"),
                "{notice}"
            );
            let run = ran.events()[0].run.clone();
            let log = repo.read(&format!(".ralph/runs/{}/wire.log", run.as_str()));
            assert!(log.contains("commit-msg hook refused the message"), "{place} {tier}: {log}");
            let doctor = repo.ralph(&["doctor", "demo", &tier, "--agent", &repo.agent(IDLE)]);
            assert!(
                doctor.stdout.contains("the title has no ticket"),
                "{place} {tier}: {}",
                doctor.stdout
            );
            let with_prefix = ["doctor", &tier, "--agent", &repo.agent(IDLE)];
            repo.write(".ralph/config.toml", "commit_prefix = 'AB-1'\n");
            let doctor = repo.ralph(&with_prefix);
            assert!(!doctor.stdout.contains("hook refuses"), "{place} {tier}: {}", doctor.stdout);
        }
    }
}

/// Nobody has to configure the form that most such hooks want.
#[test]
fn a_hook_that_wants_conventional_commits_gets_them() {
    let repo = Repo::new(TASK);
    program(&repo.path(".git/hooks/commit-msg"), COMMITLINT);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    ended(&repo, &ran);
    assert!(story(&repo, &ran).starts_with("iteration 1: pass check\n"), "{}", story(&repo, &ran));
    let titles = subjects(&repo);
    assert!(titles.starts_with("chore: ralph(demo): state update\n"), "{titles}");
    assert!(titles.contains("chore: ralph(demo): [a is there]"), "{titles}");
    let about = about_hooks(&ran);
    assert_eq!(about.len(), 1, "{about:?}");
    let what = "commits of this run begin with `chore:`, which it accepts: to choose another \
                beginning, set `commit_prefix` in TASK.md";
    assert!(about[0].ends_with(what), "{about:?}");
}

/// A prefix helps with neither: what the hook accepts instead is tried, and told to both.
#[test]
fn a_hook_that_wants_a_sign_off_or_a_short_title_is_named_with_what_it_accepts() {
    let sign_off = "#!/bin/sh\ngrep -q '^Signed-off-by: Human' \"$1\" && exit 0\necho not signed off\nexit 1\n";
    let short =
        "#!/bin/sh\n[ $(head -1 \"$1\" | wc -c) -le 50 ] && exit 0\necho title too long\nexit 1\n";
    let long = "# T\n\n- [ ] the client retries three times and then gives up\n";
    for (hook, task, said, human, agent) in [
        (sign_off, TASK, "not signed off", "a `Signed-off-by` line", "`git commit -s`."),
        (short, long, "title too long", "a shorter message", "accepts a shorter message."),
    ] {
        let repo = Repo::new(task);
        program(&repo.path(".git/hooks/commit-msg"), hook);
        let ran = repo.run(IDLE, &["--max-iterations=1"]);
        let notice = about_hooks(&ran).join("");
        assert!(
            notice.contains(said) && notice.contains(&format!("; it accepts {human}")),
            "{notice}"
        );
        assert!(!notice.contains("commit_prefix"), "{notice}");
        let run = ran.events()[0].run.clone();
        let log = repo.read(&format!(".ralph/runs/{}/wire.log", run.as_str()));
        assert!(log.contains(agent), "{log}");
    }
}

/// The advice stands where the run ends, and the attempts of an agent cannot give it.
#[test]
fn a_run_that_got_stuck_on_a_hook_ends_with_what_helps() {
    let repo = Repo::new(TASK);
    program(&repo.path(".git/hooks/commit-msg"), TICKETS);
    let ran = finish(repo.run_command(HONEST, &["--stuck-threshold=1"]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let end = ran.stdout.split("\nStuck: ").nth(1).expect("its end");
    let end = end.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(end.contains("Next: the commit-msg hook refuses the message `ralph(demo): "), "{end}");
    assert!(end.contains("set `commit_prefix` in TASK.md"), "{end}");
    // What it says is enough.
    let task = format!("---\ncommit_prefix: 'AB-1'\n---\n{}", repo.task());
    repo.write("tasks/demo/TASK.md", task);
    repo.ralph(&["retry", "demo"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
}

#[test]
fn a_hook_that_accepts_is_not_mentioned_and_one_that_rewrites_comes_first() {
    let repo = Repo::new(&format!("---\ncommit_prefix: 'feat:'\n---\n{TASK}"));
    program(&repo.path(".git/hooks/commit-msg"), COMMITLINT);
    program(
        &repo.path(".git/hooks/pre-commit"),
        "#!/bin/sh\ngit diff --cached --name-only | grep -q TASK.md\n",
    );
    let ran = repo.run(IDLE, &["--max-iterations=1"]);
    assert_eq!(about_hooks(&ran), [] as [String; 0]);
    let repo = Repo::new(TASK);
    program(&repo.path(".git/hooks/commit-msg"), COMMITLINT);
    let text = "#!/bin/sh\nsed -i.old '1s/^/feat: /' \"$1\"\nrm -f \"$1.old\"\n";
    program(&repo.path(".git/hooks/prepare-commit-msg"), text);
    program(&repo.path(".git/hooks/pre-commit"), "#!/bin/sh\necho no commits on main\nexit 1\n");
    let ran = repo.run(IDLE, &["--max-iterations=1"]);
    let about = about_hooks(&ran);
    assert_eq!(about.len(), 1, "{about:?}");
    assert!(about[0].starts_with(
        "the pre-commit hook refuses even a commit of TASK.md alone; it printed: no commits on main"
    ));
    assert!(repo.status().is_empty(), "{}", repo.status());
}

#[test]
fn a_hook_that_refuses_the_content_is_named_in_the_feedback() {
    let repo = Repo::new(TASK);
    let text = "#!/bin/sh\ngit diff --cached --name-only | grep -q a.txt || exit 0\n\
                echo 'a.txt: trailing white space'\nexit 1\n";
    program(&repo.path(".git/hooks/pre-commit"), text);
    let writes = "turns: [{steps: [{write: {path: a.txt, text: \"a \"}}]}]\n";
    let ran = repo.run(writes, &["--max-iterations=2"]);
    assert_eq!(about_hooks(&ran), [] as [String; 0]);
    let run = ran.events()[0].run.clone();
    let log = repo.read(&format!(".ralph/runs/{}/wire.log", run.as_str()));
    let feedback = "the pre-commit hook refuses this work; it printed: a.txt: trailing white space";
    assert!(log.contains(feedback), "{log}");
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

/// A hook as those of pre-commit: it fixes staged files, and fails if it fixed one.
const FIXER: &str = "#!/bin/sh\nfixed=0\n\
    for file in $(git diff --cached --name-only --diff-filter=ACM); do\n\
    sed -e 's/ *$//' -e 's/^\\* /- /' \"$file\" > .git/fixed\n\
    cmp -s .git/fixed \"$file\" && continue\n\
    cat .git/fixed > \"$file\"\necho \"Fixing $file\"\nfixed=1\ndone\nexit $fixed\n";

/// Work that the hook fixes, if it is not there yet, and one commit; `then` runs if it fails.
fn commits_or(then: &str) -> String {
    format!(
        "turns:\n- match: a is there\n  steps:\n  - run: \"test -e a.txt || echo 'a  ' > a.txt\"\n  \
         - tick: \"{{criterion}}\"\n  - progress: did a\n  \
         - run: \"git add -A && git commit -qm 'ralph(demo): a' || {then}\"\n"
    )
}

#[test]
fn a_hook_that_fixes_the_work_and_fails_costs_one_attempt_at_most() {
    let repo = Repo::new(TASK);
    program(&repo.path(".git/hooks/pre-commit"), FIXER);
    let ran = repo.run(&commits_or("true"), &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    let told = story(&repo, &ran);
    assert!(told.starts_with("iteration 1: fail") && told.contains("iteration 2: pass"), "{told}");
    assert_eq!(repo.read("a.txt"), "a\n");
}

/// As those of the framework named pre-commit do: what they change has to be staged again.
#[test]
fn a_hook_that_only_formats_the_task_and_fails_has_its_form_before_the_first_turn() {
    const STARS: &str = "#!/bin/sh\nfile=tasks/demo/TASK.md\nsed 's/^- /* /' $file > .git/new\n\
        cmp -s .git/new $file && exit 0\ncat .git/new > $file\necho formatted\nexit 1\n";
    let task = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n- [ ] b\n";
    let repo = Repo::new(task);
    program(&repo.path(".git/hooks/pre-commit"), STARS);
    let doctor = finish(repo.command(&["doctor", "demo", "--agent", &repo.agent(HONEST)]));
    assert!(
        doctor.stdout.contains("a run commits TASK.md in the hook's form"),
        "{}",
        doctor.stdout
    );
    let script = format!(
        "{HONEST}- steps: [{{write: {{path: b.txt, text: b}}}}, {{tick: b}}, {{commit: b}}]\n"
    );
    let ran = repo.run(&script, &["--stuck-threshold=1"]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    assert!(ran.stdout.contains("the form that the pre-commit hook gives"), "{}", ran.stdout);
    assert!(story(&repo, &ran).contains("iteration 2: pass"), "{}", story(&repo, &ran));
    assert_eq!(repo.task(), task.replace("\n- ", "\n* ").replace("[ ]", "[x]"));
    assert_eq!(repo.status(), "");
    // The runner's commit with that form is nobody's edit of the task.
    let base = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let verified = repo.ralph(&["verify", "demo", "--base", base.trim()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

/// The words of a criterion stay the human's.
#[test]
fn a_hook_that_changes_more_than_the_form_of_the_task_changes_nothing() {
    const WORDS: &str = "#!/bin/sh\nfile=tasks/demo/TASK.md\ngrep -q 'a is there' $file || exit 0\n\
        sed -i.bak 's/a is there/all is well/' $file; rm -f $file.bak\nexit 1\n";
    let repo = Repo::new(TASK);
    program(&repo.path(".git/hooks/pre-commit"), WORDS);
    let ran = repo.run(HONEST, &["--stuck-threshold=1"]);
    assert_eq!(ran.code, Some(4), "{}", story(&repo, &ran));
    assert_eq!(repo.task(), TASK);
}

#[test]
fn a_hook_that_formats_more_than_the_task_and_fails_is_named_to_agent_and_human() {
    let task = TASK.replace("- [ ]", "* [ ]");
    let fixer = FIXER.replace("git diff --cached --name-only --diff-filter=ACM", "git ls-files");
    let refused = "the pre-commit hook refuses even a commit of TASK.md alone and changes \
                   README.md, tasks/demo/TASK.md; it printed: Fixing README.md / Fixing \
                   tasks/demo/TASK.md";
    // An agent that does as it is told, and one that does not.
    for (then, code) in [("{ git add -A && git commit -qm again; }", 0), ("true", 4)] {
        let repo = Repo::new(&task);
        repo.write("README.md", "# A project \n");
        repo.commit("unformatted");
        program(&repo.path(".git/hooks/pre-commit"), &fixer);
        let ran = finish(repo.run_command(&commits_or(then), &["--stuck-threshold=2"]));
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("note: {refused}")), "{said}");
        if code == 4 {
            assert!(said.contains(&format!("Before the first turn, {refused}")), "{said}");
            assert!(said.contains(&format!("Next: {refused}")), "{said}");
        }
        let run = ran.stdout.split_whitespace().nth(2).expect("its name").trim_end_matches(':');
        let log = repo.read(&format!(".ralph/runs/{run}/wire.log"));
        assert!(log.contains("stage its changes with `git add`, and commit again"), "{log}");
    }
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

/// Git fails if it may not read what `includeIf` names, and takes another identity if that is not
/// there.
#[test]
fn a_configuration_for_work_in_a_folder_that_sandboxes_hide_applies_in_them() {
    for tier in ["full", "partial"].into_iter().filter(|tier| has_tier(tier)) {
        let repo = Repo::new(TASK);
        let home = repo.beside("home");
        for name in ["user.name", "user.email"] {
            repo.git(&["config", "--unset", name]);
        }
        let here = format!("includeIf.gitdir:{}.path", repo.beside("").display());
        for (name, value) in
            [("user.name", "Me"), ("user.email", "me@home"), (&here, "~/office/gitconfig")]
        {
            repo.git(&["config", "--global", name, value]);
        }
        std::fs::create_dir_all(home.join("office")).expect("a folder");
        let text = "[user]\n\temail = me@work\n[core]\n\tcommentChar = @\n";
        std::fs::write(home.join("office/gitconfig"), text).expect("written");
        std::fs::write(home.join("office/letter"), "private\n").expect("written");
        let steps = "steps: [{run: \"git config core.commentChar > b.txt\"}, \
            {run: \"cat $HOME/office/letter >> b.txt 2>&1; true\"}, ";
        let script = HONEST.replace("steps: [", steps);
        let ran = finish(repo.run_command(&script, &[&format!("--sandbox={tier}")]));
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        let people = repo.git(&["log", "--format=%ae %ce", "-2"]);
        assert_eq!(people, "me@work me@work\n".repeat(2), "{tier}");
        let seen = repo.read("b.txt");
        assert!(seen.starts_with("@\n") && !seen.contains("private"), "{tier}: {seen}");
    }
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

/// A key agent that ends with the test.
struct KeyAgent {
    child: Child,
    /// What ends it, if it left the child.
    end: Option<Command>,
}

impl Drop for KeyAgent {
    fn drop(&mut self) {
        drop(self.end.as_mut().map(Command::status));
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs a program of the test's own and checks that it succeeds.
fn succeeds(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An SSH agent at this socket, whose key git signs with. The key's file is gone: only the agent
/// has it.
fn ssh_signs(repo: &Repo, socket: &Path) -> KeyAgent {
    let mut agent = Command::new("ssh-agent");
    agent.args(["-D", "-a"]).arg(socket).stdout(Stdio::null());
    let agent = KeyAgent { child: agent.spawn().expect("ssh-agent starts"), end: None };
    until("the SSH agent", || UnixStream::connect(socket).ok());
    let key = repo.beside("home/.ssh/id_ed25519");
    std::fs::create_dir_all(key.parent().expect("a folder")).expect("made");
    succeeds(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
    succeeds(Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", socket));
    std::fs::remove_file(&key).expect("there");
    let public = std::fs::read_to_string(key.with_extension("pub")).expect("there");
    let signers = repo.beside("signers");
    std::fs::write(&signers, format!("human@example.com {public}")).expect("written");
    repo.git(&["config", "gpg.format", "ssh"]);
    repo.git(&["config", "gpg.ssh.allowedSignersFile", signers.to_str().expect("UTF-8")]);
    repo.git(&["config", "user.signingKey", "~/.ssh/id_ed25519.pub"]);
    agent
}

/// A gpg-agent whose folder is in the repository's HOME, with a key that git signs with.
#[cfg(target_os = "linux")]
fn gpg_signs(repo: &Repo) -> KeyAgent {
    use std::os::unix::fs::DirBuilderExt as _;
    let home = repo.beside("home/.gnupg");
    std::fs::DirBuilder::new().mode(0o700).create(&home).expect("made");
    let gpg = |program: &str| {
        let mut command = Command::new(program);
        command.env("HOME", repo.beside("home")).env_remove("GNUPGHOME");
        command
    };
    let mut agent = gpg("gpg-agent");
    agent.args(["--quiet", "--daemon"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut end = gpg("gpgconf");
    end.args(["--kill", "gpg-agent"]);
    let mut agent = KeyAgent { child: agent.spawn().expect("gpg-agent starts"), end: Some(end) };
    agent.child.wait().expect("it is in the background");
    let person = "Human <human@example.com>";
    succeeds(gpg("gpg").args(["--batch", "--passphrase", "", "--quick-gen-key", person]));
    agent
}

/// The commits since the start, newest first, and whether they are signed.
fn signed(repo: &Repo) -> String {
    repo.git(&["log", "--format=%G? %s"])
}

#[test]
fn with_sign_the_humans_key_agent_signs_the_agents_commits() {
    for tier in ["full", "partial"].into_iter().filter(|tier| has_tier(tier)) {
        let repo = Repo::new(TASK);
        let socket = repo.beside("agent.sock");
        let _agent = ssh_signs(&repo, &socket);
        repo.git(&["config", "commit.gpgSign", "true"]);
        let mut run = repo.run_command(HONEST, &[&format!("--sandbox={tier}"), "--sign"]);
        run.env("SSH_AUTH_SOCK", &socket);
        let ran = finish(run);
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("your key agent signs"), "{tier}: {}", ran.stdout);
        let signed = signed(&repo);
        assert!(signed.contains("\nG ralph(demo): ["), "{tier}: {signed}");
        assert!(signed.starts_with("N ralph(demo): state update"), "{tier}: {signed}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn with_sign_gpg_s_agent_signs_in_the_sandbox() {
    for tier in ["full", "partial"].into_iter().filter(|tier| has_tier(tier)) {
        let repo = Repo::new(TASK);
        let _agent = gpg_signs(&repo);
        repo.git(&["config", "commit.gpgSign", "true"]);
        let ran = finish(repo.run_command(HONEST, &[&format!("--sandbox={tier}"), "--sign"]));
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        let signed = signed(&repo);
        assert!(signed.contains("\nG ralph(demo): ["), "{tier}: {signed}");
    }
}

#[test]
fn sign_without_a_key_agent_is_refused_at_once() {
    let Some(tier) = ["full", "partial"].into_iter().find(|tier| has_tier(tier)) else { return };
    let repo = Repo::new(&format!("---\nsign: true\n---\n{TASK}"));
    let sandbox = format!("--sandbox={tier}");
    let run = |words: &[&str]| {
        let mut command =
            repo.command(&[words, &["--agent", &repo.agent(HONEST), &sandbox]].concat());
        command.env("SSH_AUTH_SOCK", repo.beside("gone.sock")).env_remove("GNUPGHOME");
        finish(command)
    };
    let ran = run(&["run", "demo"]);
    assert!(ran.stdout.contains("`sign` has no effect"), "{}", ran.stdout);
    repo.git(&["config", "commit.gpgSign", "true"]);
    for (format, missing) in [("ssh", "no SSH agent listens"), ("openpgp", "no gpg-agent listens")]
    {
        repo.git(&["config", "gpg.format", format]);
        let ran = run(&["run", "demo"]);
        assert_eq!(ran.code, Some(7), "{format}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(&format!("error: {missing}")), "{}", ran.stderr);
        let told = run(&["doctor", "demo"]).stdout;
        assert!(told.contains(missing), "{told}");
    }
}
