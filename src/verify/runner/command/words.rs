//! Which runner the words of a command are.

use super::super::report::TestRunner;
use crate::shell::unwrapped;

/// The script of `sh -c 'script'` and `eval script`.
pub(super) fn shell_script(words: &[String]) -> Option<&str> {
    let (program, arguments) = words.split_first()?;
    match base(program) {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => {
            let mut rest = arguments.iter();
            while let Some(option) = rest.next() {
                if !option.starts_with('-') {
                    return None;
                }
                let letters = if option.starts_with("--") { "" } else { option.as_str() };
                // `-o pipefail`
                if letters.ends_with('o') {
                    rest.next();
                }
                if letters.contains('c') {
                    return rest.find(|word| !word.starts_with('-')).map(String::as_str);
                }
            }
            None
        }
        "eval" => arguments.first().map(String::as_str),
        _ => None,
    }
}

/// The runner and its arguments.
pub(in crate::verify) fn runner(words: &[String]) -> Option<(TestRunner, Vec<&str>)> {
    let (program, rest) = words.split_first()?;
    let arguments: Vec<&str> = rest.iter().map(String::as_str).collect();
    let name = base(program);
    let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let found = match name {
        "cargo" => return cargo(&arguments),
        "cargo-nextest" => return nextest(arguments.get(1..)?),
        "pytest" | "py.test" => TestRunner::Pytest,
        "go" if arguments.first() == Some(&"test") => return rest_of(TestRunner::Go, &arguments),
        "jest" => TestRunner::Jest,
        "vitest" => TestRunner::Vitest,
        "mocha" | "_mocha" => TestRunner::Mocha,
        "node" | "nodejs" => return node(&arguments),
        "npx" | "bunx" | "pnpx" | "yarn" | "pnpm" | "bun" => return package_runner(rest),
        "c8" | "nyc" | "cross-env" | "dotenv" => return wrapper(rest),
        "mvn" | "mvnw" | "mvnd" => maven(&arguments)?,
        "gradle" | "gradlew" => gradle(&arguments)?,
        "ctest" => TestRunner::Ctest,
        "rspec" => TestRunner::Rspec,
        "rails" if arguments.first().is_some_and(|it| it.starts_with("test")) => {
            TestRunner::Minitest
        }
        "ruby" => return ruby(rest, arguments),
        "phpunit" => TestRunner::Phpunit,
        "php" => return php(&arguments),
        "dotnet" if arguments.first() == Some(&"test") => {
            return rest_of(TestRunner::Dotnet, &arguments);
        }
        // `coverage run -m pytest`, `uv run -m pytest`
        "-m" => return module(&arguments),
        _ if versioned == "python" || versioned == "pypy" => return python(&arguments),
        _ => return None,
    };
    Some((found, arguments))
}

fn rest_of<'a>(runner: TestRunner, arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    Some((runner, arguments.get(1..)?.to_vec()))
}

/// A tool's name. A script of the repository that has a tool's name is not the tool.
fn base(program: &str) -> &str {
    let tools = ["/", "bin/", "./bin/", "vendor/", "./vendor/", "node_modules/", "./node_modules/"];
    let inside = |above: &&str| program.starts_with(*above);
    let environment = program.contains("venv/bin/") || program.contains("node_modules/.bin/");
    let wrapper = matches!(program, "./gradlew" | "./mvnw" | "../gradlew" | "../mvnw");
    if !program.contains('/') || environment || wrapper || tools.iter().any(inside) {
        let name = program.rsplit('/').next().unwrap_or(program);
        // `jest@29`
        return name.split('@').next().filter(|name| !name.is_empty()).unwrap_or(name);
    }
    program
}

fn cargo<'a>(arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    let mut rest = arguments;
    while let Some((first, more)) = rest.split_first() {
        match *first {
            "test" | "t" => return Some((TestRunner::Cargo, more.to_vec())),
            "nextest" => return nextest(more),
            "-Z" | "--config" | "-C" | "--color" => rest = more.get(1..)?,
            toolchain_or_option if toolchain_or_option.starts_with(['+', '-']) => rest = more,
            _ => return None,
        }
    }
    None
}

fn nextest<'a>(arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    let at = arguments.iter().position(|word| matches!(*word, "run" | "r"))?;
    Some((TestRunner::Nextest, arguments[at + 1..].to_vec()))
}

fn python<'a>(arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    let mut rest = arguments;
    while let Some((first, more)) = rest.split_first() {
        match *first {
            "-m" => return module(more),
            "-W" | "-X" => rest = more.get(1..)?,
            option if option.starts_with('-') && option != "-c" => rest = more,
            tool if matches!(base(tool), "pytest" | "py.test") && tool.contains('/') => {
                return Some((TestRunner::Pytest, more.to_vec()));
            }
            _ => return None,
        }
    }
    None
}

fn module<'a>(arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    let (name, rest) = arguments.split_first()?;
    match *name {
        "pytest" | "py.test" => Some((TestRunner::Pytest, rest.to_vec())),
        "unittest" => Some((TestRunner::Unittest, rest.to_vec())),
        "coverage" if rest.first() == Some(&"run") => {
            let at = rest.iter().position(|word| *word == "-m")?;
            module(&rest[at + 1..])
        }
        _ => None,
    }
}

fn node<'a>(arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    let script = arguments.iter().position(|word| !word.starts_with('-'));
    let options = &arguments[..script.unwrap_or(arguments.len())];
    if options.contains(&"--test") {
        return Some((TestRunner::Node, arguments.to_vec()));
    }
    // `node --experimental-vm-modules node_modules/jest/bin/jest.js`
    let script = script?;
    let tool = arguments[script];
    let runner = match base(tool).trim_end_matches(".js").trim_end_matches(".mjs") {
        "jest" => TestRunner::Jest,
        "vitest" => TestRunner::Vitest,
        "mocha" | "_mocha" => TestRunner::Mocha,
        _ => return None,
    };
    tool.contains("node_modules/").then(|| (runner, arguments[script + 1..].to_vec()))
}

/// `yarn jest`, `npx -p jest jest`: only tools, since a script of the package may have any name.
fn package_runner(words: &[String]) -> Option<(TestRunner, Vec<&str>)> {
    let mut rest = words;
    while let Some((first, more)) = rest.split_first() {
        match first.as_str() {
            "-p" | "--package" | "-C" | "--dir" | "--cwd" | "--filter" => rest = more.get(1..)?,
            "exec" | "run" | "x" | "dlx" => rest = more,
            option if option.starts_with('-') => rest = more,
            _ => break,
        }
    }
    let found = runner(rest)?;
    matches!(found.0, TestRunner::Jest | TestRunner::Vitest | TestRunner::Mocha | TestRunner::Node)
        .then_some(found)
}

/// `c8 mocha`, `cross-env A=b jest`
fn wrapper(words: &[String]) -> Option<(TestRunner, Vec<&str>)> {
    let at = words.iter().position(|word| !word.starts_with('-') && !word.contains('='))?;
    runner(unwrapped(&words[at..]))
}

fn maven(arguments: &[&str]) -> Option<TestRunner> {
    let goal = |word: &&&str| {
        matches!(**word, "test" | "verify" | "integration-test") || word.ends_with(":test")
    };
    arguments.iter().find(goal).map(|_| TestRunner::Maven)
}

fn gradle(arguments: &[&str]) -> Option<TestRunner> {
    let excluded = |at: usize| at > 0 && matches!(arguments[at - 1], "-x" | "--exclude-task");
    let task = |(at, word): (usize, &&str)| {
        let name = word.rsplit(':').next().unwrap_or(word);
        let tests = matches!(name, "test" | "check" | "build") || name.ends_with("Test");
        !word.starts_with('-') && tests && !excluded(at)
    };
    arguments.iter().enumerate().any(task).then_some(TestRunner::Gradle)
}

/// `ruby -Itest test/app_test.rb`
fn ruby<'a>(words: &'a [String], arguments: Vec<&'a str>) -> Option<(TestRunner, Vec<&'a str>)> {
    if arguments.first() == Some(&"-S") {
        return runner(words.get(1..)?);
    }
    let loads = arguments.iter().any(|word| word.starts_with("-I") && word.contains("test"))
        || arguments.windows(2).any(|pair| pair[0] == "-I" && pair[1].contains("test"));
    let is_test = |word: &&&str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        name.ends_with("_test.rb") || (name.starts_with("test_") && name.ends_with(".rb"))
    };
    let script = arguments.iter().find(|word| word.ends_with(".rb"));
    (loads && script.as_ref().is_some_and(is_test)).then_some((TestRunner::Minitest, arguments))
}

/// `php vendor/bin/phpunit`
fn php<'a>(arguments: &[&'a str]) -> Option<(TestRunner, Vec<&'a str>)> {
    let at = arguments.iter().position(|word| !word.starts_with('-'))?;
    let name = base(arguments[at]);
    let tool = name == "phpunit" || arguments[at].ends_with("phpunit.phar");
    tool.then(|| (TestRunner::Phpunit, arguments[at + 1..].to_vec()))
}
