//! Folders of a tree, visited by several threads.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// More threads do not list folders faster.
const MOST_THREADS: usize = 4;
/// As many folders are found before the threads share them.
const ENOUGH: usize = 64;

/// Visits a folder, and those that a visit returns. Returns what each thread found.
///
/// # Panics
/// If a visit does.
pub fn visit<F: Send, R: Default + Send>(
    first: F,
    visit: impl Fn(F, &mut R) -> Vec<F> + Sync,
) -> Vec<R> {
    let mut waiting = VecDeque::from([first]);
    let mut found = R::default();
    while waiting.len() < ENOUGH
        && let Some(folder) = waiting.pop_front()
    {
        waiting.extend(visit(folder, &mut found));
    }
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    let threads = threads.min(waiting.len());
    let shared = Mutex::new(waiting);
    let next = || shared.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let (mut below, mut found) = (Vec::new(), R::default());
        while let Some(folder) = below.pop().or_else(next) {
            below.extend(visit(folder, &mut found));
        }
        found
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let others = running.into_iter().map(|it| it.join().unwrap_or_else(|it| resume_unwind(it)));
        std::iter::once(found).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::visit;

    #[test]
    fn every_folder_is_visited_once() {
        // A tree of three folders in each folder, four deep.
        for branches in [0, 1, 3, 9] {
            let found: Vec<Vec<String>> = visit(String::new(), |path, seen: &mut Vec<String>| {
                let below = if path.len() < 4 { branches } else { 0 };
                let below = (0..below).map(|at| format!("{path}{at}")).collect();
                seen.push(path);
                below
            });
            let mut all: Vec<String> = found.into_iter().flatten().collect();
            let visited = all.len();
            all.sort_unstable();
            all.dedup();
            let expected: usize = (0..=4).map(|depth| usize::pow(branches, depth)).sum();
            assert_eq!((visited, all.len()), (expected, expected), "{branches}");
        }
    }
}
