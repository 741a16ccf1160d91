//! Programs of shell lines, by their use of the files that they are given.

use std::path::Path;

/// A program's use of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// Runs a shell script.
    Shell,
    /// Runs a script in another language.
    Interpreter,
    /// Runs a script in the same shell.
    Source,
    /// Runs its words.
    Eval,
    /// Runs the text that an option holds: `su -c TEXT`.
    Text,
    /// Runs tests.
    Runner,
    /// Runs a named entry of a manifest.
    Entry,
    /// Looks at files, or compiles them.
    Looks,
    /// Anything else.
    Other,
}

/// Programs that read, lint, or compile.
const LOOKS: &str = "
    (( When [ [[ awk bandit basename biome black c++ cat cc chmod clang clang++ clang-tidy cmp
    codespell comm command cp cppcheck curl cut diff dirname echo egrep eslint exit expr false fgrep
    file find flake8 g++ gawk gcc ghc gofmt golangci-lint grep gzip hadolint head install javac
    jq kotlinc ktlint ln ls markdownlint mawk md5sum mkdir mktemp mv mypy od oxlint paste
    prettier printf protoc psql pycodestyle pylint pyright read readlink realpath return rg rm
    rmdir rubocop ruff rustc rustfmt scalac sed sha1sum sha256sum shellcheck shfmt sort sqlite3
    stat strings stylelint swiftc swiftlint tail tar tee test tidy touch tr true tsc uniq type
    unzip wc which xmllint xxd yamllint yq zip
";

const RUNNERS: &str = "
    ava bats behave busted c8 ctest cucumber cypress jasmine jest karma minitest mocha nose2 nox
    nyc pest phpunit playwright prove py.test pytest robot rspec shellspec tap tape tox uvu
    vitest wdio
";

const ENTRIES: &str = "
    bmake bun cargo composer gmake go just make npm npm-run-all pnpm rake remake run-p run-s task
    yarn
";

const INTERPRETERS: &str = "
    Rscript clojure crystal dart deno elixir escript expect groovy guile java jshell julia lua
    luajit node nodejs octave perl php pwsh pypy raku ruby runghc tclsh ts-node tsx
";

const COMPILERS: &str = "
    c++ cc clang clang++ g++ gcc ghc javac kotlinc rustc scalac swiftc tsc
";

/// Does a program compile what it is given?
pub(super) fn compiles(name: &str) -> bool {
    lists(COMPILERS, name.rsplit('/').next().unwrap_or(name))
}

/// Is a name one of those between spaces?
pub(super) fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|it| it == name)
}

/// The name of a program by the word that runs it: `/usr/bin/env` is `env`. A path inside the
/// repository is what it is, whatever its name, unless it is in a folder of installed tools.
pub(super) fn name_of(word: &str) -> &str {
    const TOOLS: [&str; 4] = ["node_modules/.bin/", "vendor/bin/", ".venv/bin/", "venv/bin/"];
    let outside = word.starts_with(['/', '~']) && !word.ends_with('/');
    let outside = outside || TOOLS.iter().any(|above| word.contains(above));
    if outside { word.rsplit('/').next().unwrap_or(word) } else { word }
}

/// Whether a name is that of a program that tests, lints, or compiles.
pub(super) fn is_tool(name: &str) -> bool {
    lists(RUNNERS, name) || lists(LOOKS, name) || lists(INTERPRETERS, name)
}

/// The use of its files, by the program's name.
pub(super) fn program(word: &str) -> Program {
    if matches!(word, "." | "source") {
        return Program::Source;
    }
    let name = name_of(word);
    let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match name {
        "bash" | "dash" | "ksh" | "sh" | "zsh" | "ash" | "fish" => Program::Shell,
        "eval" => Program::Eval,
        "su" | "script" | "nix-shell" | "runuser" => Program::Text,
        _ if versioned == "python" || lists(INTERPRETERS, versioned) => Program::Interpreter,
        _ if lists(RUNNERS, name) => Program::Runner,
        _ if lists(ENTRIES, name) => Program::Entry,
        _ if lists(LOOKS, name) => Program::Looks,
        _ => Program::Other,
    }
}

/// The command that `find` runs: the words between `-exec` and the end of its command.
pub(super) fn executed_words(words: &[String]) -> Option<&[String]> {
    words.first().filter(|word| name_of(word) == "find")?;
    let runs = ["-exec", "-execdir", "-ok", "-okdir"];
    let at = words.iter().position(|word| runs.contains(&word.as_str()))?;
    let rest = &words[at + 1..];
    let end = rest.iter().position(|word| matches!(word.as_str(), ";" | "+"));
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// The text that `su -c`, `script -qec`, or `nix-shell --run` runs.
pub(super) fn text_argument(arguments: &[String]) -> Option<&str> {
    let takes = |word: &String| {
        let short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        short || matches!(word.as_str(), "--run" | "--command")
    };
    let at = arguments.iter().position(takes)?;
    arguments.get(at + 1).map(String::as_str)
}

/// The file with a program or with patterns that an option of `grep`, `sed`, `awk`, or `jq` names:
/// `-fFILE`, `--file=FILE`. Empty if the next word is the file: `-f`, `-qf`, `--from-file`.
pub(super) fn program_file<'w>(program: &str, word: &'w str) -> Option<&'w str> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        return matches!(name, "file" | "from-file").then_some(value);
    }
    let letters = word.strip_prefix('-')?;
    let at = letters.find('f')?;
    // The rest of the word belongs to an option with a value: `-efoo`, and `-Ff` of awk.
    let valued = letters[..at].contains(['A', 'B', 'C', 'D', 'd', 'e', 'm'])
        || (program.ends_with("awk") && letters[..at].contains(['F', 'v']));
    (!valued && letters[..at].chars().all(char::is_alphabetic)).then(|| &letters[at + 1..])
}

/// Where the words of an unknown program hold another one that it runs.
pub(super) fn inner_program(words: &[String]) -> Option<usize> {
    let runs = |word: &String| {
        matches!(
            program(word),
            Program::Shell | Program::Interpreter | Program::Runner | Program::Entry
        )
    };
    let looks = || words.first().filter(|word| program(word) == Program::Looks).map(|_| 0);
    words.iter().position(runs).or_else(looks)
}

/// Whether a script is a check by its plain name, whatever is done with its output.
pub(super) fn is_plainly_a_check(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    matches!(
        stem,
        "check"
            | "checks"
            | "test"
            | "tests"
            | "verify"
            | "validate"
            | "run-tests"
            | "run_tests"
            | "runtests"
            | "selftest"
            | "smoke"
    )
}

/// Whether a program runs files with an extension.
pub(super) fn runs(program: &str, extension: &str) -> bool {
    match extension {
        "py" => program.contains("py"),
        "js" | "cjs" | "mjs" | "ts" | "mts" | "cts" => {
            ["node", "deno", "bun", "ts"].iter().any(|name| program.contains(name))
        }
        "pm" | "pl" => program.contains("perl"),
        "rb" => program.contains("ruby"),
        "php" | "lua" => program.contains(extension),
        "jl" => program.contains("julia"),
        "R" | "r" => program == "Rscript",
        _ => false,
    }
}
