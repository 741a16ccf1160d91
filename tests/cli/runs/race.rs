//! Two runs of one working tree, started together, again and again.

use std::process::{Child, Stdio};

use rustix::process::Signal;

use super::THREE;
use crate::repo::{Repo, collect, signal, until};
use crate::sample;

/// Pairs that race at the same time: enough that the machine is busy.
const LANES: usize = 5;
/// Pairs one after the other, in each lane, and those of a sample.
const PAIRS: usize = 10;
const SAMPLE: usize = 2;

fn start(repo: &Repo) -> Child {
    let mut command = repo.run_command("turns: [{steps: [{hang: }]}]", &["--no-baseline"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

#[test]
fn of_each_pair_exactly_one_gets_the_tree() {
    let pairs = if sample::full() { PAIRS } else { SAMPLE };
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                let repo = Repo::new(THREE);
                for _ in 0..pairs {
                    let (mut first, mut second) = (start(&repo), start(&repo));
                    let first_lost = until("one that gives up", || {
                        let first = first.try_wait().expect("asked").is_some();
                        let second = second.try_wait().expect("asked").is_some();
                        (first || second).then_some(first)
                    });
                    let (loser, winner) =
                        if first_lost { (first, second) } else { (second, first) };
                    let loser = collect(loser);
                    assert_eq!(loser.code, Some(9), "{}", loser.stderr);
                    assert!(
                        loser.stderr.contains("is already working in this repository"),
                        "{}",
                        loser.stderr
                    );
                    // The winner hangs until it is ended: had it lost too, it had said 9.
                    signal(winner.id(), Signal::INT);
                    let winner = collect(winner);
                    assert_eq!(winner.code, Some(130), "{}", winner.stderr);
                }
            });
        }
    });
}
