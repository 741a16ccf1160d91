//! What a tool's words tell by their names alone: that they publish, destroy, install or run
//! another program; and how that is refused. What is done about them is decided beside it.

use crate::guard::denial::Denial;
use crate::guard::shell::ShellValue;

/// What makes programs out of files.
pub(super) const COMPILERS: &str =
    "gcc g++ cc c++ clang clang++ gfortran rustc javac kotlinc ghc go tsc esbuild";

/// Whether a word makes a compiler run a program that is named in it, or in a file.
pub(super) fn links_elsewhere(tool: &str, word: &ShellValue) -> bool {
    let head = word.head();
    match tool {
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "gfortran" => {
            head.starts_with("-B") || head.starts_with('@') || head.contains("-fuse-ld=/")
        }
        "rustc" => {
            head.starts_with('@')
                || head.contains("linker=")
                || head.contains("link-arg")
                || head.contains("backend=")
        }
        "nim" => matches!(head, "e" | "r") || head.starts_with("--eval"),
        "ghc" => head.starts_with("-e") || head.starts_with("-F") || head.starts_with('@'),
        "kotlinc" => head.starts_with("-script") || head.starts_with('@'),
        "javac" => ["@", "-Xplugin", "-J"].iter().any(|bad| head.starts_with(bad)),
        "ocamlc" | "ocamlopt" => head.starts_with("-pp"),
        "just" => {
            ["-c", "--command", "--choose", "--shell"].iter().any(|bad| head.starts_with(bad))
        }
        "prove" => head.starts_with("-e") || head.starts_with("--ex"),
        "tox" => head.starts_with("-x"),
        "go" => head.contains("-extld=") || head.contains("-extld ") || head.contains("-toolexec"),
        _ => false,
    }
}

/// The command that stands in front of what a tool gets behind `--`, as far as that is run
/// and no mere words of a test.
pub(super) fn behind_dashes(tool: &str, own: &[ShellValue]) -> Option<&'static [&'static str]> {
    let has = |name: &str| own.iter().any(|word| word.text() == Some(name));
    match tool {
        "cargo" if has("rustc") => Some(&["rustc"]),
        "cargo" if has("msrv") => Some(&[]),
        "gotestsum" => Some(&["go", "test"]),
        _ => None,
    }
}

/// Whether `npm pack` would only list what it packs.
pub(super) fn only_lists_pack(tool: &str, words: &[ShellValue]) -> bool {
    let undone = |word: &ShellValue| {
        ["--no-dry-run", "--dry-run="].iter().any(|no| word.head().starts_with(no))
    };
    matches!(tool, "npm" | "pnpm")
        && words.iter().any(|word| word.text() == Some("--dry-run"))
        && !words.iter().any(undone)
}

/// A configuration that is given inline, as JSON, and can name code to run.
pub(super) fn inline_config(words: &[ShellValue]) -> Option<&ShellValue> {
    let json = |text: &str| text.trim_start().starts_with('{');
    words.iter().enumerate().find_map(|(at, word)| {
        let head = word.head();
        let attached = head.strip_prefix("--config=").or_else(|| head.strip_prefix("-c="));
        let behind = matches!(word.text(), Some("--config" | "-c"));
        let next = words.get(at + 1).filter(|next| behind && json(next.head()));
        (attached.is_some_and(json) || next.is_some()).then_some(word)
    })
}

pub(in crate::guard::programs) fn publish(tool: &str, target: &str) -> Denial {
    Denial::new(
        "publish",
        format!("`{}` publishes or installs, judging by its name", named(tool, target)),
    )
    .instead("build and test only; a human publishes")
}

/// A tool's command as it is typed.
fn named(tool: &str, verb: &str) -> String {
    format!("{tool} {verb}").trim_end().to_owned()
}

pub(super) fn install(tool: &str, verb: &str) -> Denial {
    Denial::new(
        "program.install",
        format!("`{}` can install packages or publish", named(tool, verb)),
    )
    .instead("use the dependencies that are installed, or ask for it under `allow:` in TASK.md")
}

pub(super) fn refuse_verb(tool: &str, verb: &str) -> Denial {
    Denial::new(
        "program.verb",
        format!("`{}` is not a known build, test or check command", named(tool, verb)),
    )
    .instead("build, test, lint or format, or ask for it under `allow:` in TASK.md")
}
