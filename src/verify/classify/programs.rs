//! Programs of shell lines, by their use of the files that they are given.

use crate::shell::{lists, name_of};

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
    ava avocado bats behat behave busted c8 codecept ctest cucumber cucumber-js cypress gotestsum
    jasmine jest kahlan karma minitest mocha nose2 nox nyc pest phpunit playwright prove py.test
    pytest robot rspec shellspec stestr tap tape testem tox trial uvu vitest ward wdio wtr
";

const ENTRIES: &str = "
    bmake bun cargo composer gmake go just make npm npm-run-all pnpm rake remake run-p run-s task
    yarn
";

const INTERPRETERS: &str = "
    Rscript clojure crystal dart deno elixir escript expect groovy guile java jshell julia lua
    luajit node nodejs octave perl php pwsh pypy raku ruby runghc tclsh ts-node tsx
";

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
