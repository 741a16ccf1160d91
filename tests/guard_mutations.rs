//! The labelled lines, mutated: every one is decided, whatever becomes of the parser, and
//! what is allowed writes nowhere but below the workspace and never where it is protected.
//!
//! A few thousand mutations by default, always the same; `RALPH_FUZZ_SECONDS=300` goes on
//! for that long, from a new seed. `fuzz/` has the same with coverage.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_copilot::guard::{OsFiles, Policy, decide};
use ralph_copilot::model::{Asked, SessionId, ToolRequest};
use serde_json::{Value, json};

/// Mutations without a time to go on for.
const USUAL: usize = 3000;

/// What is put into lines.
const BITS: &[&str] = &[
    " ",
    "\n",
    "\t",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "${",
    "$((",
    "))",
    "`",
    "'",
    "\"",
    "\\",
    "$",
    "*",
    "?",
    "[",
    "]",
    "~",
    "#",
    "<<EOF\n",
    "\nEOF\n",
    "<<<",
    "<(",
    ">(",
    ">",
    ">>",
    "2>&1",
    "=",
    "!",
    "-",
    "--",
    "..",
    "/",
    "é",
    "\u{200b}",
    "\r",
    "[[",
    "]]",
    "case x in",
    "esac",
    "if",
    "then",
    "fi",
    "for i in",
    "do",
    "done",
    "rm ",
    "x=",
    "$x",
    "${x%/*}",
    "eval ",
    "bash -c ",
    "xargs ",
    "env ",
    "cd ",
    "git -c ",
    "{a,b}",
    "{1..3}",
    "$'\\x72'",
    "function f",
];

/// A small generator of numbers: mutations can be repeated from their seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit.max(1) as u64)).unwrap_or_default()
    }

    fn place(&mut self, line: &str) -> usize {
        line.floor_char_boundary(self.below(line.len() + 1))
    }

    fn mutate(&mut self, line: &str, other: &str) -> String {
        let (one, two) = (self.place(line), self.place(line));
        let (from, to) = (one.min(two), one.max(two));
        match self.below(6) {
            0 => format!("{}{}{}", &line[..one], BITS[self.below(BITS.len())], &line[one..]),
            1 => format!("{}{}", &line[..from], &line[to..]),
            2 => format!("{}{}{}", &line[..to], &line[from..to], &line[to..]),
            3 => format!("{}{}", &line[..one], &other[self.place(other)..]),
            4 => format!("{}{}{}", &line[..from], BITS[self.below(BITS.len())], &line[to..]),
            _ => format!("{line}{}{other}", BITS[self.below(BITS.len())]),
        }
    }
}

/// Every labelled shell line.
fn lines() -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let read = |file: &str| fs::read_to_string(corpus.join(file)).expect("the corpus");
    let own = read("lines.txt");
    let own = own.lines().filter_map(|line| line.strip_prefix(['+', '-']));
    let own = own.map(|line| line.trim_start().replace("\\n", "\n"));
    let labelled = read("policy.jsonl");
    let labelled = labelled.lines().filter_map(|line| {
        let case: Value = serde_json::from_str(line).expect("JSON");
        case["command"].as_str().filter(|line| line.len() < 1000).map(str::to_owned)
    });
    own.chain(labelled).collect()
}

fn place(root: &Path) -> PathBuf {
    let repo = root.canonicalize().expect("canonical").join("repo");
    for folder in ["src", "tasks/demo", ".git", "sub"] {
        fs::create_dir_all(repo.join(folder)).expect("a folder");
    }
    for file in ["src/lib.rs", "src/a.rs", ".env", "README.md", "tasks/demo/TASK.md", ".git/config"]
    {
        fs::write(repo.join(file), "x\n").expect("a file");
    }
    repo
}

#[test]
fn mutated_lines_are_decided_and_allowed_ones_write_only_where_they_may() {
    let seconds = std::env::var("RALPH_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = seconds.map_or(0x5eed, |seconds| seconds ^ u64::from(std::process::id()) << 20);
    let mut dice = Dice(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let repo = place(folder.path());
    let policy = Policy::new(&repo, repo.join("tasks/demo"));
    let lines = lines();
    let mut done = 0_usize;
    loop {
        let mut line = lines[dice.below(lines.len())].clone();
        for _ in 0..=dice.below(4) {
            let other = &lines[dice.below(lines.len())];
            line = dice.mutate(&line, other);
        }
        let request = ToolRequest {
            session: SessionId::new("s"),
            call: None,
            tool: "bash".to_owned(),
            input: json!({ "command": line }),
            asked: Asked::Hook,
        };
        let decision = decide(&request, &policy, &OsFiles);
        // A fault of the parser is contained, and a denial.
        let fault = decision.reason.contains("could not be checked");
        assert!(!(fault && decision.allowed()), "{seed}: {line:?}");
        for path in &decision.writes {
            let below = path.strip_prefix(&repo).unwrap_or(Path::new(".git"));
            let whole = [".env", "tasks/demo/TASK.md"].iter().any(|it| below == Path::new(it));
            let kept = whole || below.starts_with(".git");
            assert!(!kept, "{seed}: {line:?} writes {}", path.display());
        }
        done += 1;
        if end.map_or(done >= USUAL, |end| Instant::now() >= end) {
            break;
        }
    }
    assert!(done > 100, "only {done} lines were tried");
}
