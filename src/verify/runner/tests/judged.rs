//! Exit 0 is green only with a summary of tests that ran.

use super::super::{Judgment, judge_tests};
use super::{report, sample};

/// How a sample that ended with 0 is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Green,
    ExitStatus,
    Silenced,
    NothingRan,
    Incomplete,
}

pub(super) fn kind(judgment: &Judgment) -> Option<Want> {
    match judgment {
        Judgment::Red => None,
        Judgment::ExitStatus => Some(Want::ExitStatus),
        Judgment::Green => Some(Want::Green),
        Judgment::Silenced { .. } => Some(Want::Silenced),
        Judgment::NothingRan { .. } => Some(Want::NothingRan),
        Judgment::Incomplete { .. } => Some(Want::Incomplete),
    }
}

fn all(samples: &[(&str, &[u8], Want)]) {
    let mut wrong = Vec::new();
    for (command, output, want) in samples {
        let report = report(output);
        let judgment = judge_tests(command, true, &report);
        if kind(&judgment) != Some(*want) {
            wrong.push(format!("`{command}`: {want:?} expected, {judgment:?} from {report:#?}"));
        }
        assert_eq!(judge_tests(command, false, &report), Judgment::Red);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

use Want::{ExitStatus, Green, Incomplete, NothingRan, Silenced};

#[test]
fn cargo() {
    all(&[
        ("cargo test", sample!("cargo-workspace-green"), Green),
        ("cargo test --color always -- --color always", sample!("cargo-colors"), Green),
        ("cargo test -q", sample!("cargo-quiet"), Green),
        ("cargo test", sample!("cargo-exit-0"), Incomplete),
        ("make test", sample!("cargo-exit-0"), Incomplete),
        ("make test", sample!("cargo-workspace-green"), Green),
        ("cargo test -q", sample!("cargo-exit-0-quiet"), Incomplete),
        ("cargo test -p b", sample!("cargo-zero"), NothingRan),
        ("make test", sample!("cargo-zero"), NothingRan),
        ("make test", sample!("cargo-all-skipped"), NothingRan),
        ("cargo test no_such_test", sample!("cargo-filtered-out"), NothingRan),
        ("cargo test -p c --lib", sample!("cargo-all-skipped"), NothingRan),
        ("cargo test -- --list", sample!("cargo-list"), ExitStatus),
        ("cargo test --no-run", sample!("cargo-no-run"), ExitStatus),
        ("cargo test; true", sample!("cargo-red"), ExitStatus),
        ("cargo test || true", sample!("cargo-red-all"), Incomplete),
        ("cargo test", b"", Incomplete),
        ("cargo test && cargo test --no-run", sample!("cargo-workspace-green"), Green),
    ]);
}

#[test]
fn nextest() {
    all(&[
        ("cargo nextest run --color always", sample!("nextest-colors"), Green),
        ("cargo nextest run", sample!("nextest-green-output"), Green),
        ("cargo nextest run", sample!("nextest-exit-0-output"), Incomplete),
        ("cargo nextest run --no-tests=pass", sample!("nextest-zero"), Silenced),
        ("cargo nextest run", sample!("nextest-zero"), NothingRan),
        ("cargo nextest run", b"", Incomplete),
    ]);
}

#[test]
fn pytest() {
    all(&[
        ("python -m pytest -v tests", sample!("pytest-verbose"), Green),
        ("pytest --color=yes tests", sample!("pytest-colors"), Green),
        ("pytest -q tests", sample!("pytest-quiet"), Green),
        ("pytest -qq tests", sample!("pytest-qq"), Silenced),
        // The project's own configuration may hold the other `-q`.
        ("pytest -q tests", sample!("pytest-qq"), Silenced),
        ("pytest --no-summary tests", sample!("pytest-no-summary"), Green),
        ("pytest -rA tests", sample!("pytest-report"), Green),
        ("pytest tests", sample!("pytest-exit-0"), Incomplete),
        ("pytest -q tests", sample!("pytest-exit-0-quiet"), Incomplete),
        ("make test", sample!("pytest-exit-0"), Incomplete),
        ("make test", sample!("pytest-green"), Green),
        ("pytest --collect-only tests", sample!("pytest-collect-only"), ExitStatus),
        ("pytest tests", b"", Incomplete),
    ]);
}

#[test]
fn unittest() {
    all(&[
        ("python3 -m unittest discover -s tests -t .", sample!("unittest-green"), Green),
        ("python3 -m unittest -v tests.test_app", sample!("unittest-verbose"), Green),
        ("python3 -m unittest discover -s tests", sample!("unittest-exit-0"), Incomplete),
        ("python3 -m unittest discover -s none", sample!("unittest-zero"), NothingRan),
        ("python3 -m unittest discover -s skips", sample!("unittest-all-skipped"), NothingRan),
        ("python3 -m unittest || true", sample!("unittest-red"), Incomplete),
        ("python3 -m unittest 2>/dev/null", b"", Silenced),
        ("python3 -m unittest", b"", Incomplete),
    ]);
}

#[test]
fn go() {
    all(&[
        ("go test ./...", sample!("go-green"), Green),
        ("go test ./...", sample!("go-cached"), Green),
        ("go test -cover ./a", sample!("go-cover"), Green),
        ("go test ./...", sample!("go-syscall-exit-0"), Incomplete),
        ("make test", sample!("go-syscall-exit-0"), Incomplete),
        ("go test ./d", sample!("go-test-main-exit"), NothingRan),
        ("go test ./...", sample!("go-one-test-main-exit"), Incomplete),
        ("go test ./e", sample!("go-test-main-ignores"), Incomplete),
        ("go test ./b", sample!("go-no-test-files"), NothingRan),
        ("go test -run Nothing ./a", sample!("go-no-tests-to-run"), NothingRan),
        ("go test ./c", sample!("go-all-skipped"), NothingRan),
        ("go test -list . ./a", sample!("go-list"), ExitStatus),
        ("go test -json ./a", sample!("go-json"), Silenced),
        ("GOFLAGS=-mod=mod go test ./...", sample!("go-plain"), Silenced),
        ("make test", sample!("go-plain"), ExitStatus),
        ("go vet ./...", b"", ExitStatus),
    ]);
}

#[test]
fn jest() {
    all(&[
        ("npx jest --verbose", sample!("jest-verbose"), Green),
        ("yarn jest --colors", sample!("jest-colors"), Green),
        ("npx jest", sample!("jest-exit-0"), Incomplete),
        ("npx jest -i", sample!("jest-exit-0-in-band"), Incomplete),
        ("npx jest --passWithNoTests", sample!("jest-exit-0"), Incomplete),
        ("npx jest no_such --passWithNoTests", sample!("jest-pass-with-no-tests"), Silenced),
        ("npx jest --listTests", sample!("jest-list"), ExitStatus),
        ("npm test", sample!("jest-green"), Green),
        ("npm test", b"> app@1.0.0 test\n> eslint .\n\n", ExitStatus),
    ]);
}

#[test]
fn vitest() {
    all(&[
        ("pnpm exec vitest run --reporter=verbose", sample!("vitest-verbose"), Green),
        ("npx vitest run", sample!("vitest-colors"), Green),
        ("npx vitest run --reporter=dot", sample!("vitest-dot"), Green),
        ("npx vitest run --passWithNoTests", sample!("vitest-pass-with-no-tests"), Silenced),
        ("npm test", b"\n RUN  v2.1.9 /tmp/app/js\n\n", Incomplete),
        ("npx vitest run", b"", Incomplete),
    ]);
}

#[test]
fn mocha() {
    all(&[
        ("npx mocha --colors", sample!("mocha-colors"), Green),
        ("npx mocha --reporter=dot", sample!("mocha-dot"), Green),
        ("npx mocha -R min", sample!("mocha-min"), Green),
        ("npx mocha --reporter tap", sample!("mocha-tap"), Silenced),
        ("npx mocha", sample!("mocha-exit-0"), Incomplete),
        ("npm test", sample!("mocha-green"), Green),
    ]);
}

#[test]
fn node() {
    all(&[
        ("node --test --test-reporter=spec n", sample!("node-spec"), Green),
        ("node --test --test-reporter=dot n", sample!("node-dot"), Silenced),
        ("node --test np", sample!("node-plain"), Green),
        ("node --test n", b"TAP version 13\n", Incomplete),
        ("node n/double.test.js", sample!("node-direct"), Green),
    ]);
}

#[test]
fn ruby() {
    all(&[
        ("bundle exec rspec", sample!("rspec-green"), Green),
        ("rspec -f d", sample!("rspec-doc"), Green),
        ("rspec --force-color", sample!("rspec-colors"), Green),
        ("rspec", sample!("rspec-exit-0"), Incomplete),
        ("rspec", sample!("rspec-exit-bang-0"), Incomplete),
        ("rspec -e nothing", sample!("rspec-zero"), NothingRan),
        ("rspec skips", sample!("rspec-all-skipped"), NothingRan),
        ("rspec --dry-run", sample!("rspec-dry-run"), ExitStatus),
        ("rspec -f json", sample!("rspec-json"), Silenced),
        ("ruby -Itest test/app_test.rb", sample!("minitest-green"), Green),
        ("ruby -Itest test/app_test.rb -v", sample!("minitest-verbose"), Green),
        ("ruby -Itest test/app_test.rb", sample!("minitest-exit-bang-0"), Incomplete),
        ("ruby -Itest test/app_test.rb", sample!("minitest-loaded-exit"), Incomplete),
        ("ruby -Itest test/zero_test.rb", sample!("minitest-zero"), NothingRan),
        ("ruby -Itest test/skip_test.rb", sample!("minitest-all-skipped"), NothingRan),
        ("rake test", sample!("minitest-rake"), Green),
        ("rake test", sample!("minitest-rake-exit-bang-0"), Incomplete),
    ]);
}

#[test]
fn phpunit() {
    all(&[
        ("vendor/bin/phpunit", sample!("phpunit-green"), Green),
        ("phpunit tests", sample!("phpunit-skipped"), Green),
        ("phpunit --testdox tests", sample!("phpunit-testdox"), Green),
        ("phpunit --colors=always tests", sample!("phpunit-colors"), Green),
        ("phpunit tests", sample!("phpunit-exit-0"), Incomplete),
        ("composer test", sample!("phpunit-exit-0"), Incomplete),
        ("phpunit --filter nothing tests", sample!("phpunit-zero"), NothingRan),
        ("phpunit skips", sample!("phpunit-all-skipped"), NothingRan),
        ("phpunit --list-tests tests", sample!("phpunit-list"), ExitStatus),
        ("phpunit tests || true", sample!("phpunit-red"), Incomplete),
    ]);
}

#[test]
fn ctest() {
    all(&[
        ("ctest --test-dir build -V", sample!("ctest-verbose"), Green),
        ("ctest --test-dir build -Q", sample!("ctest-quiet"), Silenced),
        ("ctest --test-dir build -N", sample!("ctest-list"), ExitStatus),
        ("make test", sample!("ctest-green"), Green),
    ]);
}

#[test]
fn maven() {
    all(&[
        ("mvn -B test", sample!("maven-green"), Green),
        ("./mvnw verify", sample!("maven-colors"), Green),
        ("mvn -B test -DforkCount=0", sample!("maven-exit-0-in-process"), Incomplete),
        ("make test", sample!("maven-exit-0-in-process"), Incomplete),
        ("mvn -q test", sample!("maven-quiet"), Silenced),
        ("mvn -B test", sample!("maven-zero"), NothingRan),
        ("mvn package", sample!("maven-zero"), ExitStatus),
        ("mvn test -Dtest=AppTest#later", sample!("maven-filtered"), NothingRan),
        ("mvn test || true", sample!("maven-red"), Incomplete),
    ]);
}

#[test]
fn gradle() {
    // It prints no numbers where all tests pass.
    all(&[
        ("./gradlew test", sample!("gradle-green"), Silenced),
        ("./gradlew test", sample!("gradle-up-to-date"), Silenced),
        ("gradle -q test", sample!("gradle-quiet"), Silenced),
        ("gradle test", sample!("gradle-zero"), NothingRan),
        ("gradle check", sample!("gradle-zero"), Silenced),
        ("gradle test", sample!("gradle-exit-0"), Silenced),
        ("gradle test", b"> Task :compileJava\n", Incomplete),
    ]);
}

#[test]
fn dotnet() {
    all(&[
        ("dotnet test", sample!("dotnet-green"), Green),
        ("dotnet test --logger 'console;verbosity=normal'", sample!("dotnet-verbose"), Green),
        ("dotnet test", sample!("dotnet-terminal"), Green),
        ("dotnet test", sample!("dotnet-platform"), Green),
        ("dotnet test", sample!("dotnet-platform-zero"), NothingRan),
        ("dotnet test || true", sample!("dotnet-platform-red"), Incomplete),
        ("dotnet test --filter Nothing", sample!("dotnet-zero"), NothingRan),
        ("dotnet test || true", sample!("dotnet-red"), Incomplete),
        ("dotnet test", b"Build succeeded.\n", Incomplete),
        ("dotnet test -t", b"The following Tests are available:\n    A\n", ExitStatus),
    ]);
}

/// What a script, a recipe, or a test file itself starts is judged by what it prints.
#[test]
fn behind_other_programs() {
    for command in ["npm test", "make -C a test", "sh run.sh", "node a.mjs", "python3 tests/a.py"] {
        all(&[
            (command, sample!("unittest-zero"), NothingRan),
            (command, sample!("unittest-all-skipped"), NothingRan),
            (command, sample!("unittest-green"), Green),
            (command, sample!("node-zero"), NothingRan),
            (command, sample!("node-all-skipped"), NothingRan),
            (command, sample!("jest-pass-with-no-tests"), NothingRan),
            (command, sample!("mocha-all-skipped"), NothingRan),
            (command, sample!("pytest-deselected"), NothingRan),
            (command, sample!("go-no-tests-to-run"), NothingRan),
            (command, sample!("go-no-test-files"), NothingRan),
            (command, sample!("minitest-zero"), NothingRan),
            (command, sample!("ctest-zero"), NothingRan),
            (command, sample!("go-plain"), ExitStatus),
            (command, sample!("maven-zero"), ExitStatus),
            (command, b"built 0 files, 0 tests to link\n", ExitStatus),
            (command, b"Passed: 0\nPassed: 3\n", ExitStatus),
        ]);
    }
}
