//! Forms of shell in which a judge is run.

const FILES: [(&str, &str); 28] = [
    ("cmd/x/main.go", ""),
    ("src/bin/one.rs", ""),
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
        ("go run ./cmd/x || exit 1", &["cmd/x/main.go"]),
        ("go run ./cmd/x | grep -qx 49", &[]),
        ("cargo run --bin one", &["src/bin/one.rs"]),
        ("test \"$(cargo run --bin one)\" = 49", &[]),
        ("go test ./d/...", &[]),
        ("vendor/bin/phpunit -c x.xml", &["x.xml"]),
        ("php vendor/bin/phpunit --configuration=x.xml", &["x.xml"]),
        ("mvn -q -f d/pom.xml test", &[]),
        ("python -m unittest discover -s d/qa -p 'check_*.py'", &["d/qa/check_a.py"]),
        ("python -m tox -e py", &["gate.py"]),
    ]);
}

const SQUARES: [(&str, &str); 18] = [
    ("sq.sh", "echo 0\n"),
    ("q/g.sh", "test \"$(sh sq.sh 7)\" = 49\n"),
    ("q/one", "test \"$(sh sq.sh 7)\" = 49\n"),
    ("expected", "49\n"),
    ("q/steps", "step() { echo \"$*\"; \"$@\"; }\nstep sh -n sq.sh\nstep sh q/g.sh\n"),
    ("q/up", "here=$(cd \"$(dirname \"$0\")\" && pwd)\nexec \"$here/../q/one\"\n"),
    ("q/file", "test -f sq.sh || exit 1\nsh q/one\n"),
    ("q/wrap", "echo start\n\"$@\"\n"),
    ("q/first", "sh \"$1\"\n"),
    ("q/value", "test \"$(sh \"$1\" 7)\" = 49\n"),
    ("q/twice", "set -e\nsh sq.sh 1\nsh sq.sh 7 | grep -qx 49\n"),
    ("q/eq", "eq() { [ \"$1\" = \"$2\" ]; }\neq \"$(sh sq.sh 7)\" 49\n"),
    ("q/a.bats", "@test \"seven\" {\n  run sh sq.sh 7\n  [ \"$output\" = 49 ]\n}\n"),
    ("all.mk", "all: build one\nbuild:\n\t@true\none:\n\t@sh q/one\n"),
    ("pattern.mk", "verify-%:\n\t@sh q/g.sh $*\n"),
    ("define.mk", "define RUN\nsh q/g.sh\nendef\nt:\n\t@$(RUN)\n"),
    ("wild.mk", "t: $(patsubst q/%.sh,run-%,$(wildcard q/*.sh))\nrun-%:\n\t@sh q/$*.sh\n"),
    ("value.mk", "t:\n\t@test \"$$(sh sq.sh 7)\" = 49\n"),
];

fn verify_squares(cases: &[(&str, &[&str])]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(command, expected)| (command, super::tree::judged(&SQUARES, command), expected))
        .filter(|(_, judged, expected)| judged != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_status_that_decides_in_any_form() {
    verify_squares(&[
        ("out=$(sh q/g.sh) || { echo \"$out\"; exit 1; }", &["q/g.sh"]),
        ("out=$(sh q/g.sh) && [ -n \"$out\" ]", &["q/g.sh"]),
        ("sh q/g.sh > \"$TMPDIR/log\"; test $? -eq 0", &["q/g.sh"]),
        ("sh q/g.sh > log || { cat log; exit 1; }", &["q/g.sh"]),
        ("sh q/g.sh || exit 1; echo done", &["q/g.sh"]),
        ("if ! sh q/g.sh; then exit 1; fi; echo done", &["q/g.sh"]),
        ("sh q/g.sh; rc=$?; echo done; exit $rc", &["q/g.sh"]),
        ("test \"`sh q/g.sh; echo $?`\" = 0", &["q/g.sh"]),
        ("exit $(sh q/g.sh)", &["q/g.sh"]),
        ("test -z \"$(sh q/g.sh)\"", &["q/g.sh"]),
        ("sh q/g.sh | tee log; exit ${PIPESTATUS[0]}", &["q/g.sh"]),
        ("gate() { sh q/g.sh \"$@\"; }; gate", &["q/g.sh"]),
        ("function gate { sh q/g.sh; }; gate; true", &["q/g.sh"]),
        ("env -C q sh g.sh", &["q/g.sh"]),
        ("cd \"$X\" && ./g.sh", &["q/g.sh"]),
        ("bash -c 'bash <(cat q/g.sh)'", &["q/g.sh"]),
        ("bash < <(cat q/g.sh)", &["q/g.sh"]),
        ("sh -c \"$(cat q/g.sh)\"", &["q/g.sh"]),
        ("eval \"$(cat q/g.sh)\"", &["q/g.sh"]),
        ("$(cat q/g.sh)", &["q/g.sh"]),
        ("T=$(ls q/*.sh); sh $T", &["q/g.sh"]),
        (
            "find q -name 'g*' | while read -r f; do sh \"$f\" || exit 1; done; sh sq.sh | grep 1",
            &[
                "q/a.bats", "q/eq", "q/file", "q/first", "q/g.sh", "q/one", "q/steps", "q/twice",
                "q/up", "q/value", "q/wrap",
            ],
        ),
        ("trap 'sh q/one' EXIT", &["q/one"]),
        ("sh -c '\"$@\"' _ sh q/one", &["q/one"]),
        ("find . -name 'on*' -exec sh {} \\;", &["q/one"]),
        ("ls q/*.sh | xargs -n 1 sh", &["q/g.sh"]),
        ("env -S 'sh q/one'", &["q/one"]),
        ("alias g='sh q/one'; g", &["q/one"]),
        ("echo 'sh q/one' | sh", &["q/one"]),
        ("cat <<E | sh\nsh q/one\nE", &["q/one"]),
        ("some-runner q/one", &["q/one"]),
        ("some-runner --x sh q/one", &["q/one"]),
        ("G=q/one some-runner", &["q/one"]),
        ("bash q/steps", &["q/g.sh", "q/steps"]),
        ("sh q/up", &["q/one", "q/up"]),
        ("sh q/file", &["q/file", "q/one"]),
        ("sh q/wrap sh q/one", &["q/one", "q/wrap"]),
        ("sh q/first q/one", &["q/first", "q/one"]),
        ("make -f all.mk all", &["all.mk", "q/one"]),
        ("make -f pattern.mk verify-7", &["pattern.mk", "q/g.sh"]),
        ("make -f define.mk t", &["define.mk", "q/g.sh"]),
        ("make -f wild.mk t", &["q/g.sh", "wild.mk"]),
    ]);
}

#[test]
fn output_that_is_compared_in_any_form() {
    verify_squares(&[
        ("x=$(sh sq.sh 7); [ \"$x\" = 49 ]", &[]),
        ("x=$(sh sq.sh 7) || exit 1; test \"$x\" -eq 49", &[]),
        ("x=$(sh sq.sh 7); y=$x; [ \"$y\" = 49 ]", &[]),
        ("x=$(sh sq.sh 7); echo \"$x\" | grep -qx 49", &[]),
        ("x=$(sh sq.sh 7); grep -qx 49 <<< \"$x\"", &[]),
        ("sh sq.sh 7 > out; diff out expected", &["expected"]),
        ("sh sq.sh 7 > out && cat out | grep -qx 49", &[]),
        ("{ sh sq.sh 7; sh sq.sh 8; } > ./out; cmp out expected", &["expected"]),
        ("(sh sq.sh 7; echo 1) | diff - expected", &["expected"]),
        ("set -o pipefail; sh sq.sh 7 | sort | grep -qx 49", &[]),
        ("case \"$(sh sq.sh 7)\" in 49) ;; *) exit 1;; esac", &[]),
        ("x=$(sh sq.sh 7); case $x in 49) ;; *) exit 1;; esac", &[]),
        ("for x in $(sh sq.sh 7); do test $x = 49 || exit 1; done", &[]),
        ("while read x; do [ $x = 49 ] || exit 1; done < <(sh sq.sh 7)", &[]),
        ("diff <(sh sq.sh 7) expected", &["expected"]),
        ("diff <(sh sq.sh 7 | sort) <(sort -u expected)", &["expected"]),
        ("comm -3 <(cat expected) <(sh sq.sh 7)", &["expected"]),
        ("sq() { sh sq.sh \"$1\"; }; test \"$(sq 7)\" = 49 && sq 3 | grep 9", &[]),
        ("sh -c \"test $(sh sq.sh 7) = 49\"", &[]),
        ("python3 -c \"assert '$(sh sq.sh 7)' == '49'\"", &[]),
        ("sh sq.sh 7; echo; sh sq.sh 7 | grep 49", &[]),
        ("sh q/value sq.sh", &["q/value"]),
        ("sh q/twice", &["q/twice"]),
        ("sh q/eq", &["q/eq"]),
        ("bats q/a.bats", &["q/a.bats"]),
        ("make -f value.mk t", &["value.mk"]),
    ]);
}
