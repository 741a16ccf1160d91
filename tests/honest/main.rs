//! Honest work has the same result in a sandbox as outside: hundreds of shell calls as coding
//! agents make them, in small projects of nine languages, on a developer's machine with its
//! version managers. Each runs outside and in the tiers that this machine has, on fresh copies;
//! exit codes, output and files are compared.
//!
//! `tests/soak` runs all of them, `tests/run` a few. What a machine lacks is passed over.
#![cfg(target_os = "linux")]

mod compare;
mod corpus;
mod place;
#[path = "../support/sample.rs"]
mod sample;
#[path = "../support/tier.rs"]
mod tier;

use std::io::Write as _;

use ralph_copilot::model::Tier;

use self::corpus::{Call, Project, projects};
use self::place::Place;
use self::tier::has_tier;

const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");
/// Tiers, and the share of calls that must have the same result, in percent.
const TIERS: [(Tier, &str, usize); 2] = [(Tier::Full, "full", 99), (Tier::Partial, "partial", 97)];
/// How a shell and its programs say that a tool is not installed.
const MISSING: [&str; 7] = [
    "command not found",
    ": not found",
    "No module named",
    "is not a git command",
    "is not installed",
    "unable to find a build program",
    "Can't locate",
];
/// Runs the call of this line of the collection alone.
const CALL: &str = "RALPH_TEST_CALL";
/// Calls that a sample runs.
const SAMPLE: usize = 8;

#[test]
fn the_collection_is_large_and_has_few_exceptions() {
    let calls: Vec<Call> = projects().into_iter().flat_map(|project| project.calls).collect();
    assert!(calls.len() >= 400, "{}", calls.len());
    for (_, tier, percent) in TIERS {
        let different = calls.iter().filter(|call| call.may_differ(tier)).count();
        let same = (calls.len() - different) * 100;
        assert!(same >= calls.len() * percent, "{tier}: {different} of {}", calls.len());
    }
}

macro_rules! work {
    ($($test:ident: $project:literal, $least:literal;)*) => {
        $(#[test]
        fn $test() {
            work_in($project, $least);
        })*

        #[test]
        fn every_project_is_worked_in() {
            let names: Vec<String> = projects().into_iter().map(|project| project.name).collect();
            assert_eq!(names, [$($project),*]);
        }
    };
}

// The project, and how many of its calls run at least where its language is installed.
work! {
    work_in_a_rust_project: "rust", 80;
    work_in_a_node_project: "node", 60;
    work_in_a_python_project: "python", 70;
    work_in_a_go_project: "go", 35;
    work_in_a_java_project: "java", 20;
    work_in_a_c_project: "c", 100;
    work_in_a_ruby_project: "ruby", 15;
    work_in_a_php_project: "php", 18;
    work_in_a_perl_project: "perl", 10;
}

/// What came of the calls of a project.
#[derive(Default)]
struct Report {
    ran: usize,
    /// By tier: calls whose result was the same.
    same: [usize; 2],
    /// By tier: calls that the guard allowed.
    allowed: [usize; 2],
    /// Calls that do not do outside what the collection says.
    wrong: Vec<String>,
    different: Vec<String>,
}

fn work_in(name: &str, least: usize) {
    let mut project = projects().into_iter().find(|it| it.name == name).expect("a project");
    let tiers: Vec<usize> = (0..TIERS.len()).filter(|at| has_tier(TIERS[*at].1)).collect();
    if which::which(&project.needs).is_err() || tiers.is_empty() {
        say(&format!("passed over: no {}, or no sandbox", project.needs));
        return;
    }
    if let Ok(line) = std::env::var(CALL) {
        project.calls.retain(|call| call.line.to_string() == line);
    } else if !sample::full() {
        draw(&mut project);
    }
    if project.calls.is_empty() {
        return;
    }
    let (place, mut report) = (Place::new(&project), Report::default());
    for call in &project.calls {
        work(&place, call, &tiers, &mut report);
    }
    let Report { ran, same, allowed, wrong, different } = report;
    for at in tiers {
        let (tier, same, allowed) = (TIERS[at].1, same[at], allowed[at]);
        say(&format!("{name}, {tier}: {same} of {ran} the same, {allowed} allowed"));
    }
    let told = [wrong.join("\n"), different.join("\n")];
    assert!(told.iter().all(String::is_empty), "wrong:\n{}\n\ndifferent:\n{}", told[0], told[1]);
    let least = if sample::full() && std::env::var_os(CALL).is_none() { least } else { 1 };
    assert!(ran >= least, "only {ran} calls ran");
}

/// Draws two projects and a few of their calls; none of another project.
fn draw(project: &mut Project) {
    let seed = usize::try_from(sample::seed() % (1 << 31)).expect("a number");
    // Outside, these leave files in /tmp, whatever TMPDIR is.
    let is_tidy = |project: &Project| !["java", "php"].contains(&project.name.as_str());
    let installed =
        projects().into_iter().filter(|it| is_tidy(it) && which::which(&it.needs).is_ok());
    let names: Vec<String> = installed.map(|it| it.name).collect();
    let turns = [seed % names.len(), (seed / names.len()) % names.len()];
    let is_drawn = turns.iter().any(|turn| names[*turn] == project.name);
    let all = project.calls.len();
    let mut at = 0;
    project.calls.retain(|_| {
        at += 1;
        is_drawn && (at * SAMPLE + seed) % all < SAMPLE
    });
}

fn work(place: &Place, call: &Call, tiers: &[usize], report: &mut Report) {
    let shown = format!("{}: {}", call.line, call.commands.join("\n& "));
    let outside = place.outside(call);
    let first = outside.seen.first().expect("a command");
    let is_missing = |text: &str| MISSING.iter().any(|words| text.contains(words));
    let not_found = call.exit != 127 && first.status == "exit 127";
    if not_found || outside.seen.iter().any(|it| is_missing(&it.stderr) || is_missing(&it.stdout)) {
        say(&format!("passed over: {shown}"));
        return;
    }
    if first.status != format!("exit {}", call.exit) {
        report.wrong.push(format!("{shown}\n    {first:?}"));
        return;
    }
    report.ran += 1;
    for at in tiers {
        let (tier, name, _) = TIERS[*at];
        let (inside, denied) = place.inside(call, tier);
        report.allowed[*at] += usize::from(denied.is_empty());
        for denial in denied {
            say(&format!("{name}: denied {shown}\n    {denial}"));
        }
        let mut difference = inside.difference(&outside);
        if !difference.is_empty() && !call.may_differ(name) {
            // A busy machine is late with a server now and then.
            difference = place.inside(call, tier).0.difference(&outside);
        }
        if difference.is_empty() {
            report.same[*at] += 1;
            continue;
        }
        let again = place.outside(call).difference(&outside);
        let told = format!("{name}: {shown}\n{difference}");
        if !again.is_empty() {
            report.wrong.push(format!("{shown}\n    differs outside:\n{again}"));
        } else if call.may_differ(name) {
            say(&told);
        } else {
            report.different.push(told);
        }
    }
}

/// Shown with `--nocapture`, and when a test fails.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("said");
}
