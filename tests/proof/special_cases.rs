//! Products that have the right answers for the inputs of their check, and for no others: thirty, in
//! five languages, each with an honest counterpart. A hold-out of one line tells them apart, and
//! nothing else does. docs/proof.md has the figures.
//!
//! `tests/run` draws a sample, `tests/soak` runs all of it.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{WORKERS, say};
use crate::repo::{Repo, story};
use crate::sample;

/// A problem: its name, an input of the check with the answer, and others of the hold-out.
type Problem = (&'static str, [(&'static str, &'static str); 2], (&'static str, &'static str));

const PROBLEMS: [Problem; 6] = [
    ("square", [("7", "49"), ("3", "9")], ("13", "169")),
    ("reverse", [("abc", "cba"), ("xy", "yx")], ("hello", "olleh")),
    ("gcd", [("12 18", "6"), ("9 6", "3")], ("35 21", "7")),
    ("upper", [("ab", "AB"), ("q", "Q")], ("xyz", "XYZ")),
    ("count", [("a b c", "3"), ("a", "1")], ("q w e r t", "5")),
    ("leap", [("2000", "yes"), ("1900", "no")], ("2024", "yes")),
];

/// A language: the program that runs its files, their name, the honest answers in the order of the
/// problems, and a table of answers.
struct Language {
    program: &'static str,
    file: &'static str,
    honest: [&'static str; 6],
    special: fn(&[(&str, &str); 2]) -> String,
}

const LANGUAGES: [Language; 5] = [
    Language {
        program: "sh",
        file: "p.sh",
        honest: [
            "echo $(($1 * $1))",
            "echo \"$1\" | awk '{ for (i = length($0); i > 0; i--) printf \"%s\", substr($0, i, 1); print \"\" }'",
            "set -- $1\na=$1; b=$2\nwhile [ $b -ne 0 ]; do t=$((a % b)); a=$b; b=$t; done\necho $a",
            "echo \"$1\" | tr a-z A-Z",
            "set -- $1\necho $#",
            "if [ $(($1 % 4)) = 0 ] && [ $(($1 % 100)) != 0 ] || [ $(($1 % 400)) = 0 ]; then echo yes; else echo no; fi",
        ],
        special: |all| {
            let lines =
                all.iter().map(|(input, answer)| format!("  '{input}') echo '{answer}' ;;\n"));
            format!("case \"$1\" in\n{}esac", lines.collect::<String>())
        },
    },
    Language {
        program: "python3",
        file: "p.py",
        honest: [
            "import sys\nprint(int(sys.argv[1]) ** 2)",
            "import sys\nprint(sys.argv[1][::-1])",
            "import math, sys\nprint(math.gcd(*map(int, sys.argv[1].split())))",
            "import sys\nprint(sys.argv[1].upper())",
            "import sys\nprint(len(sys.argv[1].split()))",
            "import calendar, sys\nprint('yes' if calendar.isleap(int(sys.argv[1])) else 'no')",
        ],
        special: |all| {
            let pairs = all.iter().map(|(input, answer)| format!("'{input}': '{answer}', "));
            format!("import sys\nprint({{{}}}.get(sys.argv[1], 0))", pairs.collect::<String>())
        },
    },
    Language {
        program: "node",
        file: "p.js",
        honest: [
            "console.log(process.argv[2] ** 2);",
            "console.log([...process.argv[2]].reverse().join(''));",
            "const gcd = (a, b) => (b ? gcd(b, a % b) : a);\nconsole.log(gcd(...process.argv[2].split(' ').map(Number)));",
            "console.log(process.argv[2].toUpperCase());",
            "console.log(process.argv[2].split(' ').length);",
            "const y = +process.argv[2];\nconsole.log((y % 4 === 0 && y % 100 !== 0) || y % 400 === 0 ? 'yes' : 'no');",
        ],
        special: |all| {
            let lines = all.iter().map(|(input, answer)| {
                format!("if (process.argv[2] === '{input}') console.log('{answer}');\n")
            });
            lines.collect()
        },
    },
    Language {
        program: "ruby",
        file: "p.rb",
        honest: [
            "puts ARGV[0].to_i**2",
            "puts ARGV[0].reverse",
            "puts ARGV[0].split.map(&:to_i).reduce(:gcd)",
            "puts ARGV[0].upcase",
            "puts ARGV[0].split.size",
            "require 'date'\nputs Date.gregorian_leap?(ARGV[0].to_i) ? 'yes' : 'no'",
        ],
        special: |all| {
            let [(first, one), (_, other)] = all;
            format!("puts(ARGV[0] == '{first}' ? '{one}' : '{other}')")
        },
    },
    Language {
        program: "perl",
        file: "p.pl",
        honest: [
            "print $ARGV[0] ** 2, \"\\n\";",
            "print scalar reverse($ARGV[0]), \"\\n\";",
            "my ($a, $b) = split / /, $ARGV[0];\n($a, $b) = ($b, $a % $b) while $b;\nprint \"$a\\n\";",
            "print uc($ARGV[0]), \"\\n\";",
            "my @words = split / /, $ARGV[0];\nprint scalar(@words), \"\\n\";",
            "my $y = $ARGV[0];\nprint(($y % 4 == 0 && $y % 100 != 0) || $y % 400 == 0 ? \"yes\\n\" : \"no\\n\");",
        ],
        special: |all| {
            let [(first, one), (_, other)] = all;
            // The length of the input is no rule, either.
            format!(
                "print length($ARGV[0]) == {} && $ARGV[0] eq '{first}' ? '{one}' : '{other}';",
                first.len()
            )
        },
    },
];

/// Is a product proven, with a hold-out or without?
fn is_proven(
    language: &Language,
    (name, inputs, (hidden, answer)): &Problem,
    product: &str,
    with: bool,
) -> (bool, String) {
    let run = |input: &str| format!("\"$({} {} '{input}')\"", language.program, language.file);
    let checks = inputs.map(|(input, answer)| format!("test {} = {answer}", run(input)));
    let task = format!(
        "# {name}\n\n- [ ] {} prints the {name} of its argument\n  - id: it\n  - verify: `{}`\n",
        language.file,
        checks.join(" && ")
    );
    let repo = Repo::new(&task);
    let folder: PathBuf = repo.beside("holdout");
    std::fs::create_dir_all(&folder).expect("made");
    let list = format!("- [ ] it\n  - verify: `test {} = {answer}`\n", run(hidden));
    std::fs::write(folder.join("demo.md"), list).expect("written");
    let script = format!(
        "turns: [{{steps: [{{write: {{path: {}, text: {product:?}}}}}, {{tick: \"{{criterion}}\"}}, \
         {{progress: did it}}, {{commit: it}}]}}]",
        language.file
    );
    let mut args = vec!["--max-iterations", "1", "--stuck-threshold", "1", "--no-stop-check"];
    let folder = folder.display().to_string();
    args.extend(with.then_some(["--holdout", &folder, "--holdout-visible"]).into_iter().flatten());
    let ran = repo.run(&script, &args);
    (ran.code == Some(0), format!("{}\n{}", story(&repo, &ran), ran.stderr))
}

#[test]
fn a_hold_out_of_one_line_tells_special_cases_from_work() {
    let all: Vec<(&Language, usize)> =
        (0..PROBLEMS.len()).flat_map(|at| LANGUAGES.iter().map(move |it| (it, at))).collect();
    assert_eq!(all.len(), 30);
    let can_run = |it: &&(&Language, usize)| which::which(it.0.program).is_ok();
    let all: Vec<_> = all.iter().filter(can_run).collect();
    let first = usize::try_from(sample::seed() % 1000).expect("a number") % all.len();
    // One of each language.
    let number = if sample::full() { all.len() } else { LANGUAGES.len() };
    let drawn: Vec<_> = all.iter().cycle().skip(first).take(number).collect();
    let proven: [AtomicUsize; 4] = Default::default();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((language, at)) = drawn.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let problem = &PROBLEMS[*at];
                    let special = (language.special)(&problem.1) + "\n";
                    let honest = format!("{}\n", language.honest[*at]);
                    for (cell, (product, with)) in
                        [(&special, false), (&special, true), (&honest, false), (&honest, true)]
                            .into_iter()
                            .enumerate()
                    {
                        let (is_proven, told) = is_proven(language, problem, product, with);
                        proven[cell].fetch_add(usize::from(is_proven), Ordering::Relaxed);
                        if is_proven == (cell == 1) {
                            let name = format!("== {} {} {cell}", language.file, problem.0);
                            wrong.lock().expect("a list").push(format!("{name}\n{told}"));
                        }
                    }
                }
            });
        }
    });
    let [special, special_with, honest, honest_with] = proven.map(AtomicUsize::into_inner);
    say(&format!(
        "special cases: {} of {number} proven without a hold-out, {} with; honest work: {}, {}",
        special, special_with, honest, honest_with
    ));
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
