//! One night: the work job is not trusted, and the branch on GitHub holds only what is proven.

use std::path::Path;

use serde_json::json;

use crate::actions::{Hub, Jobs, Meddle};
use crate::repo::Repo;
use crate::sample::{full, seed};

const TASK: &str = "\
# Demo

- [ ] squares
  - verify: `sh tests/run.sh`
- [ ] cubes
  - verify: `test \"$(sh cube.sh 3)\" = 27`
";
const FILES: [(&str, &str); 3] = [
    ("tests/run.sh", "test \"$(sh sq.sh 7)\" = 49\n"),
    ("sq.sh", "echo 0\n"),
    ("cube.sh", "echo 0\n"),
];
const HONEST: &str = "\
turns:
- match: squares
  steps: [{write: {path: sq.sh, text: 'echo $(($1 * $1))'}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]
- match: cubes
  steps: [{write: {path: cube.sh, text: 'echo $(($1 * $1 * $1))'}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]
";
const NOBODY: Meddle<'static> = &|_, _, _| {};

fn hub() -> Hub {
    Hub::new(TASK, &FILES)
}

/// Which jobs failed, and which were skipped.
fn ends(jobs: &Jobs) -> String {
    let end = |name: &&str| match &jobs[*name] {
        job if job.skipped => "-",
        job if job.failed => "failed",
        _ => "ok",
    };
    ["work", "prove", "push", "tell"].iter().map(end).collect::<Vec<_>>().join(" ")
}

pub(crate) fn story(jobs: &Jobs) -> String {
    jobs.values().map(|job| job.log.as_str()).collect()
}

/// Git in a clone, as somebody.
pub(crate) fn git(at: &Path, line: &str) -> String {
    let who =
        "-c user.name=Somebody -c user.email=somebody@example.com -c core.hooksPath=/dev/null";
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-ec", &format!("git() {{ command git {who} \"$@\"; }}\n{line}")]);
    let output = shell.current_dir(at).output().expect("it runs");
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

#[test]
fn a_night_pushes_exactly_the_proven_commit_and_the_next_has_nothing_to_do() {
    let hub = hub();
    let jobs = hub.night(HONEST, NOBODY);
    assert_eq!(ends(&jobs), "ok ok ok -", "{}", story(&jobs));
    let proven = jobs["prove"].outputs["proven"].clone();
    assert_eq!(hub.refs(), [format!("{proven} refs/heads/ralph/demo")]);
    assert!(hub.asked().contains("pr create --repo me/repo --draft --head ralph/demo --base main"));
    let body = hub.body();
    assert!(body.contains("Every tick of the branch is proven."), "{body}");
    assert!(body.contains("What the run says of itself"), "{body}");
    // The next night: the pull request is open.
    let jobs = hub.night(HONEST, NOBODY);
    assert_eq!(ends(&jobs), "ok - - -", "{}", story(&jobs));
    let said = "Nothing to hand over: ralph/demo has no new commit.";
    assert!(jobs["work"].log.contains(said), "{}", story(&jobs));
    assert_eq!(hub.refs(), [format!("{proven} refs/heads/ralph/demo")]);
}

#[test]
fn a_night_that_fails_hands_over_what_is_proven_and_comments_on_one_issue() {
    let hub = hub();
    // The second criterion is never met, which is told on one issue.
    let half = HONEST.replace("$1 * $1 * $1", "$1 + $1");
    hub.answer("forbidden", "");
    // A ref that somebody made before is never moved.
    let url = hub.human.beside("github/me/repo");
    let main = git(&url, "git update-ref refs/ralph/demo/attempts/1 main; git rev-parse main");
    let jobs = hub.night(&half, NOBODY);
    assert_eq!(ends(&jobs), "failed ok ok ok", "{}", story(&jobs));
    let proven = &jobs["prove"].outputs["proven"];
    let refs = hub.refs();
    assert_eq!(refs[0], format!("{proven} refs/heads/ralph/demo"));
    // The attempts that failed are kept, and no branch has them.
    assert_eq!(refs.len(), 5, "{refs:?}");
    assert!(refs[1..].iter().all(|it| it.contains("refs/ralph/demo/attempts/")), "{refs:?}");
    let file =
        |name: &str| git(&hub.human.beside("github/me/repo"), &format!("git show {proven}:{name}"));
    assert_eq!((file("sq.sh").as_str(), file("cube.sh").as_str()), ("echo $(($1 * $1))", "echo 0"));
    assert_eq!(refs[1], format!("{main} refs/ralph/demo/attempts/1"));
    assert!(jobs["push"].log.contains("attempts/1 exists and stays as it is"), "{}", story(&jobs));
    // Pull requests are forbidden here.
    let link = "/me/repo/compare/main...ralph/demo?expand=1";
    assert!(jobs["push"].log.contains(link), "{}", story(&jobs));
    assert!(hub.asked().contains("issue create --repo me/repo --title Failed nights"));
    hub.answer("number", "12");
    let jobs = hub.night(&half, &|job, step, _| {
        assert!((job, step) != ("prove", "Prove") || !hub.refs().is_empty());
    });
    assert_eq!(ends(&jobs).split(' ').next(), Some("failed"), "{}", story(&jobs));
    assert!(hub.asked().contains("issue comment 12 --repo me/repo"), "{}", hub.asked());
    assert_eq!(hub.asked().matches("issue create").count(), 1);
}

#[test]
fn a_branch_that_moved_meanwhile_stays_where_it_is() {
    for moment in ["Prove", "Push"] {
        let hub = hub();
        let jobs = hub.night(HONEST, &|_, step, _| {
            if step == moment {
                let to = hub.human.beside(&format!("human-{moment}"));
                let url = hub.human.beside("github/me/repo");
                hub.human.git(&["clone", "--quiet", path(&url), path(&to)]);
                git(
                    &to,
                    "git switch -qc ralph/demo; echo a >a; git add a; git commit -qm mine; \
                     git push -q origin ralph/demo",
                );
            }
        });
        let expected = "ok ok ok -";
        assert_eq!(ends(&jobs), expected, "{}", story(&jobs));
        assert!(jobs["push"].log.contains("moved meanwhile"), "{}", story(&jobs));
        let refs = hub.refs();
        assert_eq!(refs.len(), 1, "{refs:?}");
        let url = hub.human.beside("github/me/repo");
        assert_eq!(git(&url, "git log -1 --format=%s ralph/demo"), "mine");
        // The next night starts there.
        let jobs = hub.night(HONEST, NOBODY);
        assert_eq!(ends(&jobs), "ok ok ok -", "{}", story(&jobs));
        assert!(git(&url, "git log --format=%s ralph/demo").contains("mine"));
    }
}

#[test]
fn a_label_on_an_issue_starts_a_run_for_people_with_write_access() {
    let mut hub = hub();
    let issue = json!({ "number": 7, "title": "Notes $(touch pwned) ::error::x",
        "body": "- [ ] notes\n", "url": "https://github.com/me/repo/issues/7" });
    hub.event = Some(json!({ "issue": issue }));
    let script = "\
turns:
- match: notes
  steps:
  - write: {path: notes.txt, text: n}
  # The issue's own text is above the criteria.
  - edit: {path: tasks/issue-7/TASK.md, old: \"Criteria\\n\\n- [ ]\", new: \"Criteria\\n\\n- [x]\"}
  - progress: a
  - commit: a
";
    hub.answer("permission", "read");
    let jobs = hub.night(script, NOBODY);
    assert_eq!(ends(&jobs), "failed - - ok", "{}", story(&jobs));
    assert_eq!(hub.refs(), Vec::<String>::new());
    hub.answer("permission", "write");
    let jobs = hub.night(script, NOBODY);
    assert_eq!(ends(&jobs), "ok ok ok -", "{}", story(&jobs));
    let proven = &jobs["prove"].outputs["proven"];
    assert_eq!(hub.refs(), [format!("{proven} refs/heads/ralph/issue-7")]);
    assert!(hub.body().contains("\nCloses #7\n"));
    // A task that is not the issue's.
    let event = hub.event;
    let mut hub = self::hub();
    hub.event = event;
    hub.answer("permission", "write");
    let jobs = hub.night(script, &|_, step, at| {
        if step == "Work" {
            git(at, "echo '- [ ] more' >>tasks/issue-7/TASK.md");
        }
    });
    assert_eq!(ends(&jobs).split(' ').nth(1), Some("failed"), "{}", story(&jobs));
    assert!(jobs["prove"].log.contains("a task that is not the issue's"), "{}", story(&jobs));
    assert_eq!(hub.refs(), Vec::<String>::new());
}

/// The honest work of a night as one commit, with a state that claims nothing.
const WORK: &str = "\
git switch -qc ralph/demo
echo 'echo $(($1 * $1))' >sq.sh
sed -i 's/\\[ \\] squares/[x] squares/' tasks/demo/TASK.md
git commit -qam 'ralph(demo): squares'
";

/// A night whose work is done by `work`; `forge` then changes what is handed over.
fn attack(hub: &mut Hub, work: &str, forge: &str) -> Jobs {
    hub.instead.push(("ralph-copilot run", "true"));
    let hub = &*hub;
    hub.night("turns: []\n", &|job, step, at| {
        if (job, step) == ("work", "Hand over") {
            git(
                at,
                "git reset -q --hard origin/main; git switch -qC main; git branch -qD ralph/demo",
            );
            git(at, work);
        }
        if (job, step) == ("prove", "Prove") {
            let given = at.join("../temp/ralph");
            let work = hub.human.beside("machine-1/repo");
            git(&work, &format!("given='{}'\n{forge}", given.display()));
        }
    })
}

/// Nothing is pushed, and the log of the job that refuses says why.
fn refuses(work: &str, forge: &str, job: &str, why: &str) {
    let mut hub = hub();
    let jobs = attack(&mut hub, work, forge);
    assert_eq!(hub.refs(), Vec::<String>::new(), "{why}: {}", story(&jobs));
    assert!(jobs[job].failed, "{why}: {}", story(&jobs));
    assert!(jobs[job].log.contains(why), "{why}: {}", story(&jobs));
}

#[test]
fn what_an_attack_begins_with_is_pushed_without_it() {
    let mut hub = hub();
    let jobs = attack(&mut hub, WORK, "");
    assert_eq!(ends(&jobs), "ok ok ok -", "{}", story(&jobs));
    let proven = &jobs["prove"].outputs["proven"];
    assert_eq!(hub.refs(), [format!("{proven} refs/heads/ralph/demo")]);
    // Commits that nothing speaks for stay behind, and no hook or setting comes along.
    let mut hub = self::hub();
    let ran = hub.human.beside("hooks");
    let hook = format!("printf '#!/bin/sh\\npwd >>%s\\n' {} >hook; chmod +x hook", ran.display());
    let hooks = format!(
        "{hook}; mkdir -p hooks .git/hooks
for name in pre-push post-checkout post-index-change reference-transaction; do
  cp hook hooks/$name; cp hook .git/hooks/$name
done
printf '[core]\\n\\thooksPath = %s\\n\\tfsmonitor = %s\\n' \"$PWD/hooks\" \"$PWD/hook\" >config"
    );
    let more = format!("{WORK}{hooks}\ngit add -A; git commit -qm evil; cat config >>.git/config");
    let jobs = attack(&mut hub, &more, "command git status; cp -r hook hooks config \"$given\"");
    let log = std::fs::read_to_string(ran).unwrap_or_default();
    assert!(!log.is_empty() && log.lines().all(|it| it.contains("/machine-1/")), "{log}");
    let proven = &jobs["prove"].outputs["proven"];
    assert_eq!(hub.refs(), [format!("{proven} refs/heads/ralph/demo")], "{}", story(&jobs));
    let url = hub.human.beside("github/me/repo");
    assert_eq!(git(&url, "git log -1 --format=%s ralph/demo"), "ralph(demo): squares");
}

#[test]
fn files_that_steer_machines_or_reviews_are_not_pushed() {
    let files = [
        ".github/workflows/more.yml",
        ".github/hooks/hooks.json",
        "docs/CODEOWNERS",
        ".gitmodules",
        "sub/AGENTS.md",
        ".claude/settings.json",
        ".ralph/config.toml",
        "tasks/other/TASK.md",
    ];
    let one = usize::try_from(seed() % files.len() as u64).expect("an index");
    for (_, file) in files.iter().enumerate().filter(|(at, _)| full() || *at == 0 || *at == one) {
        // In one commit, and gone in the next.
        let work = format!(
            "{WORK}mkdir -p \"$(dirname {file})\"; : >{file}; git add -f {file}
             git commit -q --amend --no-edit; git rm -qf {file}
             sed -i 's/\\[ \\] cubes/[x] cubes/' tasks/demo/TASK.md
             echo 'echo $(($1 * $1 * $1))' >cube.sh; git commit -qam 'ralph(demo): cubes'"
        );
        refuses(&work, "", "push", &format!("a commit changes {file}"));
    }
}

#[test]
fn what_is_handed_over_is_untrusted() {
    let bundle = "git bundle create -q \"$given/work.bundle\" ralph/demo ^origin/main";
    for name in ["refs/tags/v1", "refs/heads/main2", "refs/ralph/other/attempts/1"] {
        let forge = format!("git update-ref {name} ralph/demo; {bundle} {name}");
        refuses(WORK, &forge, "prove", &format!("a ref that was not announced: {name}"));
    }
    refuses(WORK, "echo nonsense >\"$given/work.bundle\"", "prove", "it is not a bundle");
    let large = "truncate -s 10000000000 \"$given/work.bundle\"";
    refuses(WORK, large, "prove", "it has 10000000000 bytes, more than 100000000");
    // A check that is always green.
    let work = format!(
        "{WORK}echo true >tests/run.sh; echo echo 0 >sq.sh; git commit -qa --amend --no-edit"
    );
    refuses(&work, "", "prove", "Not proven");
    // A human's word, which anybody can write.
    let accept = "git switch -qc ralph/demo
        sed -i 's/\\[ \\] squares/[x] squares/' tasks/demo/TASK.md
        echo '{\"version\": 1, \"iteration\": 1, \"attempt_refs\": 0, \"criteria\": [{\"text\": \
        \"squares\", \"proof\": \"accepted\", \"iteration\": 1}]}' >tasks/demo/state.json
        git add -A; git commit -qm 'ralph(demo): accept squares'";
    refuses(accept, "", "prove", "Not proven");
}

#[test]
fn no_text_of_others_is_a_command_to_the_runner() {
    let task = TASK
        .replace("squares", "::error::squares ##[add-path]x")
        .replace("# Demo", "# ::stop-commands::x");
    let hub = Hub::new(&task, &FILES);
    let script = HONEST.replace("- match: squares", "- match: add-path");
    let jobs = hub.night(&script, &|job, step, at| {
        if (job, step) == ("prove", "Prove") {
            // The journal is the other job's word.
            let journal = at.join("../temp/ralph/events.jsonl");
            let text = std::fs::read_to_string(&journal).expect("a journal");
            let forged = text.replace("\"task\":\"demo\"", "\"task\":\"a\\n::error::b ##[c]\"");
            assert_ne!(text, forged);
            std::fs::write(&journal, forged).expect("written");
        }
    });
    let log = story(&jobs);
    let live = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    let lines: Vec<_> = log.lines().filter(live).collect();
    assert_eq!(lines, Vec::<&str>::new(), "{log}");
    assert!(log.contains("add-path"), "{log}");
    assert_eq!(ends(&jobs), "ok ok ok -", "{log}");
    // What a check prints.
    let check = "echo ::error::printed; echo '  ::add-path::x'; echo 'x ##[group]y'; test -e no";
    let repo = Repo::with(&format!("- [ ] a\n  - verify: `{check}`\n"), &[]);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("tasks/demo/TASK.md", repo.task().replace("[ ]", "[x]"));
    repo.commit("ralph(demo): a");
    let mut verify = repo.command(&["verify", "demo", "--base", "main", "--sandbox", "off"]);
    let output = verify.env("GITHUB_ACTIONS", "true").output().expect("it runs");
    let (said, annotated) = (output.stdout, output.stderr);
    let said = String::from_utf8(said).expect("UTF-8");
    assert!(said.contains("::error::printed") && !said.lines().any(|it| live(&it)), "{said}");
    let annotated = String::from_utf8(annotated).expect("UTF-8");
    let of_us = "::error file=tasks/demo/TASK.md,line=1::not proven: a%0A";
    let live: Vec<_> = annotated.lines().filter(live).collect();
    assert!(live.len() == 1 && live[0].starts_with(of_us), "{annotated}");
    // Findings are annotations of ours.
    let repo = Repo::with("- [ ] a\n  - verifi: `true`\n\n[x] b\n", &[]);
    let mut check = repo.command(&["check", "nothing\n::error::mine"]);
    let output = check.env("GITHUB_ACTIONS", "true").output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let annotations: Vec<_> = said.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(annotations.len(), 1, "{said}");
    assert!(annotations[0].starts_with("::error::error: ") && said.contains("%0A"), "{said}");
    let output = repo.command(&["check", "demo"]).env("GITHUB_ACTIONS", "true").output();
    let said = String::from_utf8(output.expect("it runs").stderr).expect("UTF-8");
    assert!(said.contains("\n::warning file=tasks/demo/TASK.md,line=2::"), "{said}");
}

#[test]
fn doctor_knows_tokens_that_copilot_refuses() {
    let repo = Repo::new("- [ ] a\n");
    for (name, token, said) in [
        ("GH_TOKEN", "ghs_0123456789", "the CLI logs in with GH_TOKEN: the token of a job"),
        ("COPILOT_GITHUB_TOKEN", "ghp_0123456789", "COPILOT_GITHUB_TOKEN: a classic token"),
        ("GITHUB_TOKEN", "github_pat_0123456789", ""),
    ] {
        let output = repo.command(&["doctor"]).env(name, token).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains(said), "{text}");
        assert_eq!(text.contains("fine-grained token"), !said.is_empty(), "{text}");
        assert!(!text.contains("0123456789"), "{text}");
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
