//! `docs/reliability.md` is whole: each fault has a row, and each test that a row names is
//! one that runs.

use std::collections::BTreeSet;
use std::path::Path;

/// How many faults there are.
const FAULTS: usize = 27;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row of the table: its fault's number, and its tests with the files they stand in.
struct Row {
    fault: usize,
    cells: usize,
    tests: Vec<(String, String)>,
}

fn rows(page: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        let fault = cells[0].parse().ok()?;
        let links = cells.last()?.trim_end_matches(" |").split("<br>");
        let tests = links.map(|link| {
            let link = link.strip_prefix('[').and_then(|link| link.strip_suffix(')'));
            let (name, path) = link.and_then(|link| link.split_once("](../")).expect("a link");
            (name.to_owned(), path.to_owned())
        });
        Some(Row { fault, cells: cells.len(), tests: tests.collect() })
    };
    page.lines().filter_map(row).collect()
}

/// Names of the functions that an attribute makes tests; those that are ignored are none.
fn tests_in(source: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut attributes = String::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push_str(line);
            continue;
        }
        let function = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = function.and_then(|rest| rest.split('(').next()) {
            let test = attributes.contains("#[test]") || attributes.contains("#[tokio::test");
            if test && !attributes.contains("#[ignore") {
                found.insert(name);
            }
        }
        if !line.starts_with("//") {
            attributes.clear();
        }
    }
    found
}

#[test]
fn each_fault_has_a_row_with_tests() {
    let rows = rows(&read("docs/reliability.md"));
    let faults: Vec<usize> = rows.iter().map(|row| row.fault).collect();
    assert_eq!(faults, (1..=FAULTS).collect::<Vec<_>>());
    for row in rows {
        assert_eq!(row.cells, 5, "fault {}", row.fault);
        assert!(!row.tests.is_empty(), "fault {}", row.fault);
    }
}

#[test]
fn each_test_that_the_page_names_is_there() {
    let mut gone = Vec::new();
    for row in rows(&read("docs/reliability.md")) {
        for (name, path) in row.tests {
            if !tests_in(&read(&path)).contains(name.as_str()) {
                gone.push(format!("fault {}: {name} in {path}", row.fault));
            }
        }
    }
    assert_eq!(gone, Vec::<String>::new());
}

#[test]
fn a_test_is_told_from_a_function_and_from_one_that_is_ignored() {
    let source = "#[test]\n/// Words.\n#[cfg(unix)]\nfn one() {}\nfn two() {}\n\
                  #[tokio::test(start_paused = true)]\nasync fn three() {}\n\
                  #[test]\n#[ignore]\nfn four() {}\n";
    assert_eq!(tests_in(source), BTreeSet::from(["one", "three"]));
}
