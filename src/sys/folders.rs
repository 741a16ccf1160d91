//! Folders of a tree, visited by several threads.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

/// More threads do not list folders faster.
const MOST_THREADS: usize = 4;
/// As many folders are found before the threads divide them.
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
    let size = waiting.len().div_ceil(threads).max(1);
    let below = |mut waiting: Vec<F>| {
        let mut found = R::default();
        while let Some(folder) = waiting.pop() {
            waiting.extend(visit(folder, &mut found));
        }
        found
    };
    thread::scope(|scope| {
        let mut running = Vec::new();
        while !waiting.is_empty() {
            let part: Vec<F> = waiting.drain(..size.min(waiting.len())).collect();
            running.push(scope.spawn(|| below(part)));
        }
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
