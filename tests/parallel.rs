//! Several workers prove what one proves: random tasks, agents with random delays, lies, failures,
//! and conflicts, with one job and with several.
//!
//! `tests/soak` plays twenty tasks; `tests/run` one that the seed draws.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "other test programs look at more")]
#[path = "support/repo.rs"]
mod repo;
#[path = "support/sample.rs"]
mod sample;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ralph_copilot::model::EventKind;

use crate::repo::{Ran, Repo};

/// A generator of numbers that a seed repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A task, and an agent whose work depends on nothing but the tree that it finds.
struct Play {
    task: String,
    script: String,
}

fn play(dice: &mut Dice) -> Play {
    let (mut task, mut script) = ("# Random\n\n".to_owned(), "turns:\n".to_owned());
    for number in 0..5 + dice.below(4) {
        let name = format!("c{number}");
        writeln!(task, "- [ ] {name} is there\n  - verify: `test -e {name}.txt`\n  - id: {name}")
            .expect("written");
        let before: Vec<String> =
            (0..number).filter(|_| dice.below(5) == 0).map(|it| format!("c{it}")).collect();
        if !before.is_empty() {
            writeln!(task, "  - after: {}", before.join(", ")).expect("written");
        }
        let delay = dice.below(8);
        let work = match dice.below(8) {
            // A lie about a file that another criterion makes.
            0 => "echo lie > c0.txt.lie".to_owned(),
            // The first attempt is a lie, the second is not.
            1 | 2 => format!(
                "if test -e try-{name}; then echo {name} > {name}.txt; else touch \
                              try-{name}; fi"
            ),
            // Several write one file.
            3 | 4 => format!("echo {name} > {name}.txt; echo {name} >> shared"),
            _ => format!("echo {name} > {name}.txt"),
        };
        writeln!(
            script,
            "- match: {name} is there\n  steps: [{{run: 'sleep 0.{delay}; {work}'}}, \
             {{tick: '{{criterion}}'}}, {{commit: {name}}}]"
        )
        .expect("written");
    }
    Play { task, script }
}

/// The result of a run: the proven criteria, and the files with their lines in order.
#[derive(Debug, PartialEq, Eq)]
struct End {
    code: Option<i32>,
    proven: BTreeSet<String>,
    files: BTreeSet<(String, Vec<String>)>,
}

fn end(repo: &Repo, ran: &Ran) -> End {
    let state = repo.state();
    let entries = state["criteria"].as_array().into_iter().flatten();
    let proven = entries.filter(|entry| entry["proof"].is_string());
    let proven = proven.map(|entry| entry["text"].as_str().expect("a text").to_owned()).collect();
    let names = repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    // An attempt that failed is not undone in a run with one job, and never lands with several.
    let names = names.lines().filter(|it| !it.starts_with("tasks/") && !it.ends_with(".lie"));
    let files = names.filter(|it| !it.starts_with("try-")).map(|name| {
        let mut lines: Vec<String> = repo.read(name).lines().map(str::to_owned).collect();
        lines.sort();
        (name.to_owned(), lines)
    });
    End { code: ran.code, proven, files: files.collect() }
}

fn played(play: &Play, jobs: u64) -> (Repo, Ran) {
    let repo = Repo::new(&play.task);
    let args = [&format!("--jobs={jobs}"), "--on-stuck=skip", "--stuck-threshold=2"];
    let ran = repo.run(&play.script, &[args[0], args[1], args[2], "--max-iterations=60"]);
    (repo, ran)
}

/// Every landing has the file of its criterion, and every commit of every turn is kept.
fn nothing_is_lost(repo: &Repo, ran: &Ran) {
    for line in repo.git(&["log", "--first-parent", "--merges", "--format=%H %s"]).lines() {
        let (landing, subject) = line.split_once(' ').expect("two words");
        let name = subject.split_once('[').and_then(|(_, rest)| rest.split_once(' '));
        let (name, _) = name.expect("a criterion");
        repo.git(&["cat-file", "-e", &format!("{landing}:{name}.txt")]);
    }
    let all = repo.git(&["rev-list", "--all"]);
    let all: BTreeSet<&str> = all.lines().collect();
    for event in ran.events() {
        if let EventKind::VerdictReached { evidence, .. } = event.kind {
            for commit in &evidence.commits {
                assert!(all.contains(commit.id.as_str()), "{} is lost", commit.id.as_str());
            }
        }
    }
    assert_eq!(repo.status(), "");
}

#[test]
fn several_workers_prove_what_one_proves() {
    let seed = sample::seed();
    let count = if sample::full() { 20 } else { 1 };
    for number in 0..count {
        let mut dice = Dice((seed + number).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let play = play(&mut dice);
        let (one, alone) = played(&play, 1);
        let expected = end(&one, &alone);
        let jobs = 2 + dice.below(7);
        let (many, together) = played(&play, jobs);
        let told = format!("seed {}, {jobs} jobs\n{}\n{}", seed + number, play.task, play.script);
        assert_eq!(end(&many, &together), expected, "{told}\n{}", together.stdout);
        nothing_is_lost(&many, &together);
    }
}
