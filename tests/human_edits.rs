//! A human who works on TASK.md while a run does: before the first turn, in a turn, and
//! while verify commands run. Before a turn it is read again, and what cannot be worked on ends the
//! run with the reason. While an agent works that is not the Copilot CLI in its sandbox, nobody can
//! tell whose edit it is: it is taken back, kept in the run's folder, and nothing is lost.

#[path = "support/repo.rs"]
#[expect(dead_code, reason = "the command line's own tests use the rest of it")]
mod repo;

use ralph_copilot::model::EventKind;

use crate::repo::{Ran, Repo, finish, story};

/// The last word of a verify command may be a human's hand, see [`Moment::Checks`].
const TASK: &str = "\
---
allow: [\"sh wait.sh\"]
---
# Demo

- [ ] a is there
  - verify: `sh $HUMAN/checks.sh; test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
- [ ] c is there
";

/// Honest work on anything.
const HONEST: &str = r#"
turns:
- match: a is
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
- match: b is
  steps: [{write: {path: b.txt, text: b}}, {tick: "{criterion}"}, {progress: did b}, {commit: b}]
- match: c is
  steps: [{write: {path: c.txt, text: c}}, {tick: "{criterion}"}, {progress: did c}, {commit: c}]
- match: d is
  steps: [{write: {path: d.txt, text: d}}, {tick: "{criterion}"}, {progress: did d}, {commit: d}]
"#;

/// When the human saves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// When the agent starts: the criterion is chosen already.
    Start,
    /// In the first turn, in which the agent does nothing else.
    Turn,
    /// In the first turn, in the middle of honest work, which then commits all there is.
    Work,
    /// While the verify commands run after the first turn, in which the agent worked.
    Checks,
}

const MOMENTS: [Moment; 4] = [Moment::Start, Moment::Turn, Moment::Work, Moment::Checks];

/// Runs the task with a hand that does this at that moment, in the repository's root.
fn with_hand(repo: &Repo, moment: Moment, does: &str) -> Ran {
    let beside =
        |name: &str, text: String| std::fs::write(repo.beside(name), text).expect("written");
    let agent = repo.agent(HONEST);
    let agent = match moment {
        Moment::Start => {
            beside("hand.sh", format!("{does}\nexec {agent}\n"));
            "sh ../hand.sh".to_owned()
        }
        Moment::Turn => {
            beside("hand.sh", format!("{does}\ntouch ../done\n"));
            let idle =
                "- times: 1\n  steps: [{spawn: {command: sh ../hand.sh}}, {run: sh wait.sh}]";
            let rest = HONEST.trim_start().trim_start_matches("turns:\n");
            repo.agent(&format!("turns:\n{idle}\n{rest}"))
        }
        Moment::Work => {
            // Reading from the pipe waits for the hand, and no command runs meanwhile.
            beside("hand.sh", format!("{does}\necho done > pipe\n"));
            let made = std::process::Command::new("mkfifo").arg(repo.path("pipe")).status();
            assert!(made.expect("mkfifo runs").success());
            let steps = "[{write: {path: a.txt, text: a}}, {spawn: {command: sh ../hand.sh}}, \
                         {read: pipe}, {tick: \"{criterion}\"}, {progress: did a}, {commit: a}]";
            let rest = HONEST.trim_start().trim_start_matches("turns:\n");
            repo.agent(&format!("turns:\n- times: 1\n  steps: {steps}\n{rest}"))
        }
        Moment::Checks => {
            let once = "cd \"$HUMANS_REPO\"; test -e a.txt || exit 0; test -e ../done && exit 0; touch ../done";
            beside("checks.sh", format!("{once}\n{does}\n"));
            agent
        }
    };
    // The agent plays the human, who works outside of its sandbox.
    finish(repo.command(&["run", "demo", "--agent", &agent, "--json", "--sandbox=off"]))
}

fn new() -> Repo {
    let wait = "until test -e ../done; do sleep 0.01; done\n";
    Repo::with(TASK, &[("wait.sh", wait), (".gitignore", "/pipe\n")])
}

/// The outcome in the last event, which is the run's end in the journal, too.
fn ended(repo: &Repo, ran: &Ran) -> String {
    let events = ran.events();
    let last = events.last().unwrap_or_else(|| panic!("no events: {}", ran.stderr));
    let EventKind::RunEnded { exit_code, outcome, summary } = &last.kind else {
        panic!("the last event is {last:?}: {}", ran.stderr)
    };
    assert_eq!(Some(i32::from(*exit_code)), ran.code, "{}", ran.stderr);
    assert!(!summary.next.is_empty(), "it says what to do");
    let journal = repo.read(&format!(".ralph/runs/{}/events.jsonl", last.run.as_str()));
    assert_eq!(journal, ran.stdout);
    serde_json::to_string(outcome).expect("JSON")
}

/// What a human makes of TASK.md.
type Edit = (&'static str, fn(&str) -> String);

/// Edits after which the run goes on.
const EDITS: [Edit; 10] = [
    ("a criterion is added", |text| format!("{text}- [ ] d is there\n")),
    ("one is added above", |text| text.replace("- [ ] a", "- [ ] d is there\n- [ ] a")),
    ("another one is removed", |text| text.replace("- [ ] c is there\n", "")),
    ("they are put in another order", |text| {
        let (head, list) = text.split_at(text.find("- [ ] a").expect("a"));
        let (a, b) = list.split_at(list.find("- [ ] b").expect("b"));
        format!("{head}{b}{a}")
    }),
    ("the check of another one is changed", |text| text.replace("test -e b", "test -f b")),
    ("another one is reworded", |text| text.replace("c is there", "c is here")),
    ("the line ends become CRLF", |text| text.replace('\n', "\r\n")),
    ("a byte order mark is put in front", |text| format!("\u{feff}{text}")),
    ("the last newline is lost", |text| text.trim_end().to_owned()),
    ("text is added", |text| text.replace("# Demo\n", "# Demo\n\nMind the ümläut.\n")),
];

#[test]
fn an_edit_at_any_moment_is_read_again_or_taken_back_and_never_lost() {
    std::thread::scope(|scope| {
        for moment in MOMENTS {
            scope.spawn(move || {
                for (number, (name, edit)) in EDITS.iter().enumerate() {
                    let repo = new();
                    let edited = edit(&repo.task());
                    std::fs::write(repo.beside("new.md"), &edited).expect("written");
                    // Some editors write the file, others put a new one in its place.
                    let save = if number % 2 == 0 {
                        "cat ../new.md > tasks/demo/TASK.md"
                    } else {
                        "cp ../new.md tasks/demo/.TASK.md~; mv tasks/demo/.TASK.md~ tasks/demo/TASK.md"
                    };
                    let ran = with_hand(&repo, moment, save);
                    let told = format!("{name}, {moment:?}: {}\n{}", ran.stderr, story(&repo, &ran));
                    assert_eq!(ran.code, Some(0), "{told}");
                    ended(&repo, &ran);
                    assert_eq!(repo.status(), "", "{told}");
                    if moment == Moment::Start {
                        assert_eq!(repo.task(), edited.replace("[ ]", "[x]"), "{told}");
                    } else {
                        assert_eq!(repo.task(), TASK.replace("[ ]", "[x]"), "{told}");
                        assert!(told.contains("iteration 1: inconclusive"), "{told}");
                        assert!(told.contains("unclear: task_taken_back"), "{told}");
                        let open = taken_back(&repo).replace("[x]", "[ ]");
                        assert_eq!(open, edited, "{told}");
                    }
                    assert!(!told.contains(" attempts failed") || told.contains(", 0 attempts failed"), "{told}");
                }
            });
        }
    });
}

/// What the run kept of TASK.md before it put the file back.
fn taken_back(repo: &Repo) -> String {
    let runs = std::fs::read_dir(repo.path(".ralph/runs")).expect("runs");
    let mut kept =
        runs.filter_map(|run| std::fs::read_to_string(run.ok()?.path().join("TASK.md.1")).ok());
    kept.next().expect("the edit")
}

#[test]
fn the_criterion_in_focus_is_removed_and_the_others_are_worked_on() {
    let moment = Moment::Start;
    let repo = new();
    let (from, to) = (TASK.find("- [ ] a").expect("a"), TASK.find("- [ ] b").expect("b"));
    let edited = format!("{}{}", &TASK[..from], &TASK[to..]);
    std::fs::write(repo.beside("new.md"), &edited).expect("written");
    let ran = with_hand(&repo, moment, "cat ../new.md > tasks/demo/TASK.md");
    let told = format!("{moment:?}: {}\n{}", ran.stderr, story(&repo, &ran));
    assert_eq!(ran.code, Some(0), "{told}");
    assert_eq!(repo.task(), edited.replace("[ ]", "[x]"), "{told}");
}

/// Whatever it becomes, it comes back, and the run goes on.
#[test]
fn a_task_that_is_made_useless_in_a_turn_is_put_back() {
    for broken in &BROKEN {
        let repo = new();
        let ran = with_hand(&repo, Moment::Turn, broken.does);
        let told = format!("{}: {}\n{}", broken.name, ran.stderr, story(&repo, &ran));
        assert_eq!(ran.code, Some(0), "{told}");
        assert_eq!(repo.task(), TASK.replace("[ ]", "[x]"), "{told}");
    }
}

/// A way to make TASK.md useless.
struct Broken {
    name: &'static str,
    does: &'static str,
    says: &'static str,
}

const BROKEN: [Broken; 9] = [
    Broken { name: "deleted", does: "rm tasks/demo/TASK.md", says: "TASK.md: No such file" },
    Broken {
        name: "moved with its folder",
        does: "mv tasks/demo ../demo.away; mkdir tasks/demo",
        says: "TASK.md: No such file",
    },
    Broken {
        name: "a folder",
        does: "rm tasks/demo/TASK.md; mkdir tasks/demo/TASK.md",
        says: "it must be a regular file, not a link",
    },
    Broken {
        name: "a link",
        does: "mv tasks/demo/TASK.md ../real.md; ln -s ../../../real.md tasks/demo/TASK.md",
        says: "it must be a regular file, not a link",
    },
    Broken {
        name: "a pipe",
        does: "rm tasks/demo/TASK.md; mkfifo tasks/demo/TASK.md",
        says: "it must be a regular file, not a link",
    },
    Broken {
        name: "17 MiB",
        does: "yes more | head -c 17825792 > tasks/demo/TASK.md",
        says: "the file is larger than 16 MiB",
    },
    Broken {
        name: "no UTF-8",
        does: "printf -- '- [ ] \\377\\376\\n' >> tasks/demo/TASK.md",
        says: "has errors",
    },
    Broken { name: "empty", does: ": > tasks/demo/TASK.md", says: "the file is empty" },
    Broken {
        name: "half a thought",
        does: "echo dangling: '`' >> tasks/demo/TASK.md; sed -i.bak '2s/.*/alow: 3/' tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak",
        says: "did you mean `allow`?",
    },
];

#[test]
fn a_task_that_cannot_be_worked_on_any_more_ends_the_run_and_stays_as_it_was_left() {
    std::thread::scope(|scope| {
        for half in BROKEN.chunks(3) {
            scope.spawn(move || {
                let moment = Moment::Start;
                for broken in half {
                    let repo = new();
                    // A tick that was not proven by then may be taken back: one byte.
                    let look = "ls -l tasks/demo/TASK.md | cut -c1-10; sed 's/[[]x[]]/[ ]/' tasks/demo/TASK.md | cksum; readlink tasks/demo/TASK.md";
                    std::fs::write(repo.beside("look.sh"), format!("test -p tasks/demo/TASK.md || {{ {look}; }}")).expect("written");
                    let ran = with_hand(&repo, moment, &format!("{}\nsh ../look.sh > ../seen 2>&1", broken.does));
                    let told = format!("{}, {moment:?}: {}", broken.name, ran.stderr);
                    assert_eq!(ran.code, Some(7), "{told}");
                    let outcome = ended(&repo, &ran);
                    assert!(outcome.contains("\"obstacle\":\"invalid\""), "{told} {outcome}");
                    assert!(ran.stderr.contains(broken.says), "{told}");
                    assert!(ran.stderr.contains("\nhint: "), "{told}");
                    assert!(ran.stderr.len() < 2000, "one screen: {told}");
                    let now = std::process::Command::new("sh").args(["-c", "sh ../look.sh 2>&1"]).current_dir(repo.root()).output();
                    let seen = std::fs::read(repo.beside("seen")).expect("seen");
                    assert_eq!(now.expect("sh runs").stdout, seen, "{told}");
                    // No commit took the criteria away, and what was reached is kept.
                    let held = repo.git(&["show", "HEAD:tasks/demo/TASK.md"]);
                    assert!(held.contains("a is there") && held.len() < 1000, "{told} {held}");
                    // Put back, it goes on.
                    repo.git(&["rm", "-rq", "--cached", "tasks/demo/TASK.md"]);
                    let _gone = std::fs::remove_file(repo.path("tasks/demo/TASK.md"));
                    let _gone = std::fs::remove_dir_all(repo.path("tasks/demo/TASK.md"));
                    repo.git(&["checkout", "--quiet", "HEAD", "--", "tasks"]);
                    let next = repo.run(HONEST, &[]);
                    assert_eq!(next.code, Some(0), "{told} {}", next.stderr);
                }
            });
        }
    });
}

/// A tick by hand is no proof, but it is the human's and stays.
#[test]
fn a_box_that_the_human_ticks_stays_ticked_and_is_not_called_proven() {
    let repo = new();
    let tick = "sed -i.bak 's/\\[ \\] c/[x] c/' tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak";
    let ran = with_hand(&repo, Moment::Start, tick);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ended(&repo, &ran).contains("ticked but not proven: `c is there`"));
    assert_eq!(repo.task(), TASK.replace("[ ]", "[x]"));
}
