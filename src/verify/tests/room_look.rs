//! What a check leaves in a warm room is found by a look at each file, however it is hidden.

use std::time::Duration;

use super::room::{head, rooms, run_on};
use super::test_repo::TestRepo;
use crate::verify::Dirt;

/// Longer than the clock of files stands still: only then a look decides without git.
const SETTLED: Duration = Duration::from_millis(250);

/// What a check does, and what it changes.
const CHANGES: [(&str, &[&str]); 15] = [
    ("true", &[]),
    ("echo more >> src/lib.txt", &["src/lib.txt"]),
    // The same size and time.
    (
        "cp -p src/lib.txt ../kept; echo edoc > src/lib.txt; touch -r ../kept src/lib.txt",
        &["src/lib.txt"],
    ),
    ("cp src/lib.txt new; echo edoc > new; mv new src/lib.txt", &["src/lib.txt"]),
    ("ln -f tests/other.py src/lib.txt", &["src/lib.txt"]),
    ("rm src/lib.txt", &["src/lib.txt"]),
    ("rm src/lib.txt; mkdir src/lib.txt; echo x > src/lib.txt/in", &["src/lib.txt"]),
    ("rm src/lib.txt; ln -s ../tests/other.py src/lib.txt", &["src/lib.txt"]),
    // The files in it are the same.
    ("rm -rf ../moved; mv src ../moved; ln -s ../moved src", &["src", "src/lib.txt"]),
    ("rm -rf src; echo x > src", &["src", "src/lib.txt"]),
    ("chmod +x src/lib.txt", &[]),
    ("echo x > src/new; mkdir -p a/b; echo x > a/b/c", &["a/b/c", "src/new"]),
    ("echo '*' > src/.gitignore; echo x > src/hidden", &["src/hidden"]),
    ("mkdir -p a; mkfifo a/.gitignore src/.gitignore; echo x > a/b", &["a/.gitignore", "a/b"]),
    ("echo 'tests/new*' >> .gitignore; echo x > tests/new", &[".gitignore", "tests/new"]),
];

#[test]
fn whatever_a_check_changes_is_put_back() {
    let scene = TestRepo::new();
    let (mut rooms, head) = (rooms(&scene, Dirt::Refuse), head(&scene));
    let state = ["git status --porcelain --untracked-files=all; cat src/lib.txt tests/other.py"];
    let mut wrong = Vec::new();
    for wait in [Duration::ZERO, SETTLED] {
        for (change, paths) in CHANGES {
            std::thread::sleep(wait);
            // A check that is green runs twice.
            let told = run_on(&mut rooms, &head, &[], &[&format!("{change}; exit 1")]);
            let mut found: Vec<&str> =
                told[0].split_whitespace().nth(1).unwrap_or_default().split(',').collect();
            found.retain(|path| !path.is_empty());
            found.sort_unstable();
            if found != paths {
                wrong.push(format!("{change}: {told:?}"));
            }
            let told = run_on(&mut rooms, &head, &[], &state);
            if told != ["green  code\nassert True"] {
                wrong.push(format!("{change}: then {told:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A repository of its own hides what is in it.
#[test]
fn a_repository_in_a_folder_of_the_room_goes() {
    let scene = TestRepo::new();
    let (mut rooms, head) = (rooms(&scene, Dirt::Refuse), head(&scene));
    let change = "git init -q src; echo edoc > src/lib.txt; exit 1";
    let told = run_on(&mut rooms, &head, &[], &[change, "cat src/lib.txt"]);
    assert_eq!(told[1], "green  code", "{told:?}");
}
