//! Runners on command lines.

use super::super::{Summary, TestRunner, invocations};

fn only(command: &str) -> Option<(TestRunner, Summary)> {
    let found = invocations(command);
    assert!(found.len() < 2, "{command}: {found:?}");
    found.into_iter().next().map(|it| (it.runner, it.summary))
}

#[test]
fn a_summary_is_required_behind_wrappers() {
    for (command, runner) in [
        ("cargo test", TestRunner::Cargo),
        ("cargo +nightly --locked t -p a", TestRunner::Cargo),
        ("RUST_BACKTRACE=1 cargo test", TestRunner::Cargo),
        ("env A=b cargo test", TestRunner::Cargo),
        ("time cargo test", TestRunner::Cargo),
        ("timeout 60 cargo test", TestRunner::Cargo),
        ("cd core && cargo test", TestRunner::Cargo),
        ("(cd core && cargo test)", TestRunner::Cargo),
        ("bash -c 'cd core && cargo test'", TestRunner::Cargo),
        ("bash -euo pipefail -c 'cargo test'", TestRunner::Cargo),
        ("sh -ec 'npm ci; cargo test'", TestRunner::Cargo),
        ("set -e; cargo test; echo done", TestRunner::Cargo),
        ("cargo test || exit 1", TestRunner::Cargo),
        ("cargo fmt --check && cargo test || { echo red; exit 1; }", TestRunner::Cargo),
        ("cargo nextest run --workspace", TestRunner::Nextest),
        ("uv run pytest -q", TestRunner::Pytest),
        ("poetry run pytest", TestRunner::Pytest),
        (".venv/bin/pytest", TestRunner::Pytest),
        (".venv/bin/python -m pytest -x", TestRunner::Pytest),
        ("python3.12 -W error -m pytest", TestRunner::Pytest),
        ("coverage run -m pytest", TestRunner::Pytest),
        ("python -m coverage run --branch -m unittest", TestRunner::Unittest),
        ("go test -race ./...", TestRunner::Go),
        ("npx --yes jest@29", TestRunner::Jest),
        ("pnpm exec jest --coverage", TestRunner::Jest),
        ("npm exec -- jest", TestRunner::Jest),
        ("yarn vitest run", TestRunner::Vitest),
        ("node_modules/.bin/mocha", TestRunner::Mocha),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", TestRunner::Jest),
        ("npx c8 mocha", TestRunner::Mocha),
        ("node --test --test-concurrency=1 tests/", TestRunner::Node),
        ("./mvnw -B verify", TestRunner::Maven),
        ("./gradlew :app:test --info", TestRunner::Gradle),
        ("ctest --test-dir build --output-on-failure", TestRunner::Ctest),
        ("bundle exec rspec spec/a_spec.rb", TestRunner::Rspec),
        ("bin/rspec", TestRunner::Rspec),
        ("ruby -Ilib:test test/app_test.rb", TestRunner::Minitest),
        ("bin/rails test", TestRunner::Minitest),
        ("php vendor/bin/phpunit --testdox", TestRunner::Phpunit),
        ("dotnet test --nologo", TestRunner::Dotnet),
    ] {
        assert_eq!(only(command), Some((runner, Summary::Required)), "{command}");
    }
}

#[test]
fn other_commands_are_no_runners() {
    for command in [
        "npm test",
        "make test",
        "rake test",
        "yarn test",
        "npm run jest",
        "go vet ./...",
        "go build ./...",
        "cargo build",
        "cargo clippy --tests",
        "echo cargo test",
        "grep -q 'cargo test' README.md",
        "git commit -m 'go test'",
        "python tests/test_app.py",
        "python -c 'import pytest'",
        "node app.js --test",
        "ruby test/run.rb",
        "mvn compile",
        "gradle assemble",
        "./pytest",
        "tools/jest",
        "cargo nextest list",
        "npx eslint .",
        "bash tests/pytest.sh",
    ] {
        assert_eq!(only(command), None, "{command}");
    }
}

#[test]
fn a_line_that_can_end_with_0_without_its_runner_requires_nothing() {
    for command in [
        "test -f skip || cargo test",
        "if [ -d tests ]; then pytest; fi",
        "for d in a b; do (cd $d && go test ./...); done",
        "! cargo test",
        "cargo test & true",
        "pytest; true",
        "cargo test --no-run",
        "cargo test -- --list",
        "pytest --collect-only -q",
        "go test -run '^$' ./...",
        "go test -c -o /tmp/x ./a",
        "mvn verify -DskipTests",
        "ctest -N",
    ] {
        let found = only(command);
        assert!(matches!(found, Some((_, Summary::NotRequired))), "{command}: {found:?}");
    }
}

#[test]
fn silenced_runners_are_named() {
    for command in [
        "ctest -Q",
        "pytest -qq",
        "pytest -q -q",
        "cargo test > /dev/null",
        "cargo test >/dev/null 2>&1",
        "cargo test | tail -1",
        "set -o pipefail; cargo test | tail -1",
        "cargo test | grep -q 'test result: ok'",
        "test \"$(go test ./... | wc -l)\" = 3",
        "npx jest 2> log",
        "npx mocha --reporter=json",
        "npx vitest run --reporter json",
        "cargo test -- --format json -Z unstable-options",
        "mvn -q test",
        "GOFLAGS=-mod=vendor go test ./...",
        "go test -json ./...",
        "dotnet test -v q",
        "rspec --format json",
    ] {
        let found = only(command);
        assert!(matches!(found, Some((_, Summary::Silenced(_)))), "{command}: {found:?}");
    }
}

#[test]
fn each_runner_of_a_line_is_found() {
    let found = invocations("cargo test -p a && cargo test -p b && npx jest");
    let runners: Vec<TestRunner> = found.iter().map(|it| it.runner).collect();
    assert_eq!(runners, [TestRunner::Cargo, TestRunner::Cargo, TestRunner::Jest]);
}
