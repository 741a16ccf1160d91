//! Forms of shell in which a judge is run.

const FILES: [(&str, &str); 26] = [
    ("gate", "./app\n"),
    ("ci/main", "#!/bin/sh -e\n./ci/step\necho ok\n"),
    ("ci/step", "./app\n"),
    ("gate.py", "import app\n"),
    ("gate.js", "app()\n"),
    ("ci/a.sh", "./app\n"),
    ("ci/b.sh", "./app\n"),
    ("ci/part.sh", "./app a\n"),
    ("gate.rb", "app\n"),
    ("lib.sh", "gate() { ./app; }\n"),
    ("d/gate", "./app\n"),
    ("d/Makefile", "t:\n\tsh gate\n\t@echo ok\n"),
    ("d/package.json", "{\"name\": \"@x/d\", \"scripts\": {\"test\": \"node judge.js\"}}"),
    ("d/judge.js", "app()\n"),
    ("d/tests/x.rs", ""),
    ("d/qa/check_a.py", ""),
    ("x.mk", "PY = python3\nt:\n\t$(PY) gate.py\nu:\n\t$(MAKE) -C d t\n"),
    ("x.just", "t:\n    sh gate\n    echo ok\n"),
    ("x.xml", ""),
    ("tox.ini", "[testenv]\ncommands =\n    python gate.py {posargs}\n"),
    ("noxfile.py", "def tests(session):\n    session.run(\"python\", \"gate.py\")\n"),
    ("Rakefile", "task :spec do\n  ruby 'gate.rb'\n  sh 'sh gate'\nend\n"),
    (".cargo/config.toml", "[alias]\nxtask = \"run --package xtask --\"\n"),
    ("xtask/src/main.rs", ""),
    ("cmd/check/main.go", ""),
    ("package.json", "{\"scripts\": {\"all\": \"run-s one\", \"one\": \"node gate.js\"}}"),
];

fn judged(command: &str) -> Vec<String> {
    super::tree::judged(&FILES, command)
}

fn verify(cases: &[(&str, &[&str])]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(command, expected)| (command, judged(command), expected))
        .filter(|(_, judged, expected)| judged != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn shells_and_wrappers() {
    verify(&[
        ("sh -c 'sh gate'", &["gate"]),
        ("bash -eu gate", &["gate"]),
        ("ci/main", &["ci/main", "ci/step"]),
        ("bash -euo pipefail gate", &["gate"]),
        ("bash -euxo pipefail -c './gate | tee log'", &["gate"]),
        (". ./lib.sh && gate", &["lib.sh"]),
        ("cd d && ./gate", &["d/gate"]),
        ("env -i PATH=/bin A=1 sh gate", &["gate"]),
        ("echo 1 | xargs -n 1 sh gate", &["gate"]),
        ("xargs -I{} sh gate {} <list", &["gate"]),
        ("parallel sh gate ::: 1 2", &["gate"]),
        ("find . -name '*.c' -exec sh gate {} \\;", &["gate"]),
        ("time -p sh gate", &["gate"]),
        ("flock /tmp/lock sh gate", &["gate"]),
        ("busybox sh gate", &["gate"]),
        ("npx cross-env A=1 node gate.js", &["gate.js"]),
        ("su user -c 'sh gate'", &["gate"]),
        ("coverage run gate.py", &["gate.py"]),
        ("coverage run --branch -m gate", &["gate.py"]),
        ("uv run gate.py", &["gate.py"]),
        ("python -X dev -W error gate.py", &["gate.py"]),
        ("sh <<'E'\nsh gate\nE", &["gate"]),
        ("bash -s <<E\nset -e\n./gate\nE", &["gate"]),
    ]);
}

#[test]
fn conditions_loops_and_variables() {
    verify(&[
        ("if sh gate; then echo yes; else exit 1; fi", &["gate"]),
        ("if ! sh gate; then exit 1; fi", &["gate"]),
        ("sh gate || exit 1", &["gate"]),
        ("! sh gate", &["gate"]),
        ("until sh gate; do sleep 1; done", &["gate"]),
        ("for f in ci/*.sh; do sh \"$f\" || exit 1; done", &["ci/a.sh", "ci/b.sh", "ci/part.sh"]),
        ("for f in ci/a.sh ci/b.sh\ndo\n  sh ${f} || exit 1\ndone", &["ci/a.sh", "ci/b.sh"]),
        ("for f in ci/*.sh; do test -f $f; done", &[]),
        ("T=ci/a.sh; sh \"$T\"", &["ci/a.sh"]),
        ("sh \"$PWD/ci/a.sh\"", &["ci/a.sh"]),
        ("case x in x) sh gate;; esac", &["gate"]),
        ("{ sh gate; } && (sh ci/a.sh)", &["ci/a.sh", "gate"]),
        ("if a; then sh gate; else sh ci/a.sh; fi", &["ci/a.sh", "gate"]),
        ("{ ./gate.py; }; sh ci/a.sh", &["ci/a.sh"]),
        ("for n in 1 2; do ./gate.py $n; done; sh ci/a.sh", &["ci/a.sh"]),
        ("bats ci/?.sh", &["ci/a.sh", "ci/b.sh"]),
    ]);
}

#[test]
fn runners_and_entries() {
    verify(&[
        ("make -C d t", &["d/gate"]),
        ("make -Cd t", &["d/gate"]),
        ("make --directory=d t", &["d/gate"]),
        ("make -f x.mk t", &["gate.py", "x.mk"]),
        ("make -fx.mk u", &["d/gate", "x.mk"]),
        ("npm --prefix d test", &["d/judge.js"]),
        ("npm --prefix=d run test", &["d/judge.js"]),
        ("pnpm -r test", &["d/judge.js"]),
        ("pnpm --filter @x/d test", &["d/judge.js"]),
        ("npm test --workspaces", &["d/judge.js"]),
        ("npm test -w d", &["d/judge.js"]),
        ("yarn workspace @x/d test", &["d/judge.js"]),
        ("npm run all", &["gate.js"]),
        ("node --experimental-vm-modules node_modules/.bin/jest gate.js", &["gate.js"]),
        ("tox -e py", &["gate.py"]),
        ("nox -s tests", &["gate.py"]),
        ("bundle exec rake spec", &["gate", "gate.rb"]),
        ("just -f x.just t", &["gate", "x.just"]),
        ("just --justfile=x.just", &["gate", "x.just"]),
        ("cargo test --test x --manifest-path d/Cargo.toml", &["d/tests/x.rs"]),
        ("cargo xtask ci", &["xtask/src/main.rs"]),
        ("go run ./cmd/check", &["cmd/check/main.go"]),
        ("go test ./d/...", &[]),
        ("vendor/bin/phpunit -c x.xml", &["x.xml"]),
        ("php vendor/bin/phpunit --configuration=x.xml", &["x.xml"]),
        ("mvn -q -f d/pom.xml test", &[]),
        ("python -m unittest discover -s d/qa -p 'check_*.py'", &["d/qa/check_a.py"]),
        ("python -m tox -e py", &["gate.py"]),
    ]);
}
