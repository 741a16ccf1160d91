//! Scripts that code starts, each next to an honest neighbor.

use super::outside::{Case, verify};

const GATE: (&str, &str) = ("g", "./app\n");
const SQ: (&str, &str) = ("sq.sh", "echo 0\n");

/// A judge whose code starts `g`, and one that looks at what `sq.sh` prints.
fn in_code(check: &str, file: &str, starts: &[&str], looks: &[&str]) {
    let pairs = starts.iter().flat_map(|starts| looks.iter().map(move |looks| (starts, looks)));
    let codes: Vec<String> = pairs.map(|(starts, looks)| format!("{starts}\n{looks}\n")).collect();
    let files: Vec<_> = codes.iter().map(|code| [(file, code.as_str()), GATE, SQ]).collect();
    let cases: Vec<Case<'_>> =
        files.iter().map(|files| Case { check, files, decides: "g", product: "sq.sh" }).collect();
    verify(&cases);
}

#[test]
fn python_starts_a_judge() {
    in_code(
        "python3 check.py",
        "check.py",
        &[
            "import subprocess\nsubprocess.run(['sh', 'g'], check=True)",
            "import subprocess, sys\nsys.exit(subprocess.call(\n    ['sh', 'g', '--all'],\n))",
            "if os.system('./g') != 0:\n    raise SystemExit(1)",
            "assert os.system('sh ./g') == 0",
            "r = subprocess.run(['sh', 'g'])\nassert r.returncode == 0, r",
            "runpy.run_path('g')",
            "exec(open('g').read())",
            "exec(pathlib.Path('g').read_text())",
            "GATE = 'g'\nsubprocess.check_call(['sh', GATE])",
            "CMD = ['sh', 'g']\nsubprocess.check_call(CMD)",
            "for one in ['g', 'other']:\n    subprocess.check_call(['sh', one])",
            "subprocess.check_call([str(ROOT / 'g')])",
            "subprocess.check_call([os.path.join(HERE, 'g')])",
            "subprocess.run([f'{HERE}/g'], check=True)",
            "def must(*words):\n    subprocess.run(words, check=True)\n\nmust('sh', 'g')",
            "assert 'PASS' in subprocess.check_output(['sh', 'g'], text=True)",
        ],
        &[
            "assert subprocess.check_output(['sh', 'sq.sh', '7']) == b'49\\n'",
            "out = subprocess.run(['sh', 'sq.sh', '7'], capture_output=True, text=True).stdout\nassert out.strip() == '49'",
            "def sq(n):\n    return int(subprocess.check_output(['sh', 'sq.sh', str(n)]))\n\nassert sq(7) == 49",
            "r = subprocess.run('sh sq.sh 7', shell=True, capture_output=True)\nif r.stdout != b'49':\n    raise SystemExit(1)",
            "assert os.popen('sh sq.sh 7').read() == '49\\n'",
            "assert open('sq.sh').read().startswith('echo')",
        ],
    );
}

#[test]
fn other_languages_start_a_judge() {
    in_code(
        "node check.js",
        "check.js",
        &[
            "require('child_process').execSync('sh g', { stdio: 'inherit' });",
            "const { status } = spawnSync('sh', ['g']);\nif (status !== 0) process.exit(1);",
            "cp.execFileSync('./g');",
            "execFileSync(path.join(__dirname, 'g'));",
            "eval(fs.readFileSync('g', 'utf8'));",
            "fork('./g').on('exit', code => process.exit(code));",
        ],
        &[
            "assert.equal(execSync('sh sq.sh 7').toString(), '49\\n');",
            "const out = execFileSync('sh', ['sq.sh', '7']).toString().trim();\nif (out !== '49') process.exit(1);",
            "const sq = n => execSync(`sh sq.sh ${n}`).toString();\nif (sq(7) !== '49') throw new Error('7');",
        ],
    );
    in_code(
        "ruby check.rb",
        "check.rb",
        &["exit 1 unless system('sh', 'g')", "system 'sh g' or abort", "load './g'", "exec './g'"],
        &[
            "abort unless `sh sq.sh 7` == \"49\\n\"",
            "out, _ = Open3.capture2('sh sq.sh 7')\nabort if out != '49'",
        ],
    );
    in_code(
        "perl check.pl",
        "check.pl",
        &["exit(system('sh', 'g') >> 8);", "system('./g') == 0 or die;", "do './g' or die;"],
        &["die unless `sh sq.sh 7` eq \"49\\n\";"],
    );
    in_code(
        "php check.php",
        "check.php",
        &["<?php passthru('sh g', $code); exit($code);"],
        &["if (trim(shell_exec('sh sq.sh 7')) !== '49') exit(1);"],
    );
}

#[test]
fn tests_of_a_runner_start_a_judge() {
    verify(&[
        Case {
            check: "pytest",
            files: &[
                (
                    "tests/test_all.py",
                    "import subprocess\n\ndef test_gate():\n    assert subprocess.call(['sh', 'g']) == 0\n\n\ndef test_install():\n    subprocess.run(['sh', 'install.sh'], check=True)\n    assert os.path.exists('x')\n",
                ),
                GATE,
                ("install.sh", "touch x\n"),
            ],
            decides: "g",
            product: "install.sh",
        },
        Case {
            check: "node --test",
            files: &[
                (
                    "test/all.test.js",
                    "test('gate', () => {\n  execSync('sh ./g');\n});\ntest('sq', () => {\n  const out = execSync('sh sq.sh 7');\n  assert.equal(String(out), '49');\n});\n",
                ),
                GATE,
                SQ,
            ],
            decides: "g",
            product: "sq.sh",
        },
        Case {
            check: "go test ./...",
            files: &[
                (
                    "all_test.go",
                    "func TestGate(t *testing.T) {\n\tif err := exec.Command(\"sh\", \"g\").Run(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n\nfunc TestSq(t *testing.T) {\n\tout, err := exec.Command(\"sh\", \"sq.sh\").Output()\n\tif string(out) != \"49\" {\n\t\tt.Fatal(err)\n\t}\n}\n",
                ),
                GATE,
                SQ,
            ],
            decides: "g",
            product: "sq.sh",
        },
        Case {
            check: "cargo test",
            files: &[
                (
                    "tests/all.rs",
                    "#[test]\nfn gate() {\n    assert!(Command::new(\"sh\").arg(\"g\").status().unwrap().success());\n}\n\n#[test]\nfn sq() {\n    let out = Command::new(\"sh\").arg(\"sq.sh\").output().unwrap();\n    assert_eq!(out.stdout, b\"49\");\n}\n",
                ),
                GATE,
                SQ,
            ],
            decides: "g",
            product: "sq.sh",
        },
    ]);
}

#[test]
fn a_script_that_only_speaks_for_itself_is_a_judge() {
    for check in [
        "sh g | grep -q PASS",
        "sh g 2>&1 | grep -q 'all tests passed'",
        "test \"$(sh g)\" = OK",
        "out=$(sh g); [ \"$out\" = PASSED ]",
        "sh g > log; grep -q '0 failures' log",
        "! sh g | grep -q FAIL",
    ] {
        for looks in [
            "sh sq.sh 7 | grep -qx 49",
            "sh sq.sh | grep -q ok",
            "sh sq.sh 7 | grep -q 'order 7 passed'",
        ] {
            verify(&[Case {
                check: &format!("{check} && {looks}"),
                files: &[GATE, SQ],
                decides: "g",
                product: "sq.sh",
            }]);
        }
    }
}

/// What a command line does is compared in tests of all kinds: its status together with its output.
#[test]
fn a_program_whose_output_and_status_are_compared_is_the_product() {
    in_code(
        "python3 check.py",
        "check.py",
        &[
            "def gate():\n    p = subprocess.run(['sh', 'g'], capture_output=True)\n    return p.returncode\n\nassert gate() == 0",
            "def call(*words):\n    p = subprocess.run(words, capture_output=True, text=True)\n    return p.returncode\n\nassert call('sh', 'g') == 0, 'gate'",
            "def call(*words):\n    p = subprocess.run(words, capture_output=True, text=True)\n    return p.returncode, p.stdout\n\nassert call('sh', 'g') == (0, '')",
            "assert run(['sh', 'g'], 30) == 0, 'gate'",
            "self.assertEqual(0, subprocess.call(['sh', 'g'], 30))",
            "self.assertEqual(subprocess.call(['sh', 'g'], 30), 0)",
            "p = subprocess.run(['sh', 'g'], capture_output=True)\nif p.returncode or p.stdout == 'FAIL':\n    sys.exit(1)",
        ],
        &[
            "def sq(*args):\n    p = subprocess.run(['sh', 'sq.sh', *args], capture_output=True, text=True)\n    return p.returncode, p.stdout.split()\n\nassert sq('7') == (0, ['49'])\nassert sq('x') == (2, [])",
            "r = subprocess.run(['sh', 'sq.sh', 'x'])\nassert r.returncode == 3",
            "def code(*args):\n    return subprocess.run(['sh', 'sq.sh', *args]).returncode\n\nassert code('7') == 0\nassert code('x') == 2, 'refuse it'",
            "p = subprocess.run(['sh', 'sq.sh', '7'], capture_output=True, text=True)\ngot = list(csv.reader(io.StringIO(p.stdout)))\nif p.returncode or got != want:\n    sys.exit(1)",
        ],
    );
    in_code(
        "ruby check.rb",
        "check.rb",
        &["out, status = Open3.capture2e('sh g')\nputs out\nexit 1 unless status.success?"],
        &[
            "def sq(n)\n  out, status = Open3.capture2e('sh', 'sq.sh', n)\n  [status.exitstatus, out.lines.map(&:chomp)]\nend\n\nabort unless sq('x') == [1, ['x is no number']]",
        ],
    );
}

#[test]
fn a_program_that_must_fail_in_a_test_is_the_product() {
    let gate = "def test_gate(self):\n    self.assertEqual(subprocess.call(['sh', 'g']), 0)\n";
    for looks in [
        "def run_cli(self, *a):\n    return subprocess.run(['sh', 'sq.sh', *a], capture_output=True)\n\ndef test_ok(self):\n    self.assertEqual(self.run_cli('7').returncode, 0)\n\ndef test_bad(self):\n    self.assertEqual(self.run_cli('x').returncode, 3)\n",
        "def test_it(self):\n    r = subprocess.run(['sh', 'sq.sh', 'x'], capture_output=True, text=True)\n    self.assertIn('bad input', r.stderr)\n",
        "def test_it(self):\n    r = subprocess.run(['sh', 'sq.sh', 'x'])\n    self.assertNotEqual(r.returncode, 0)\n",
    ] {
        let text = format!("import subprocess, unittest\n\n{gate}\n{looks}");
        verify(&[Case {
            check: "python3 -m unittest",
            files: &[("test_cli.py", &text), GATE, SQ],
            decides: "g",
            product: "sq.sh",
        }]);
    }
    for (check, file, text) in [
        (
            "node --test test/",
            "test/cli.test.js",
            "test('gate', () => {\n  execSync('sh ./g');\n});\ntest('bad', () => assert.equal(spawnSync('sh', ['sq.sh', 'x']).status, 3));\n",
        ),
        (
            "prove t",
            "t/cli.t",
            "use Test::More;\nis(system('sh g'), 0, 'gate');\nis(system('sh sq.sh 7'), 0, 'good');\nisnt(system('sh sq.sh x 2>/dev/null'), 0, 'bad');\n",
        ),
        (
            "go test ./...",
            "all_test.go",
            "func TestGate(t *testing.T) {\n\tif err := exec.Command(\"sh\", \"g\").Run(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n\nfunc run(in string) error {\n\tc := exec.Command(\"sh\", \"sq.sh\")\n\treturn c.Run()\n}\n\nfunc TestSq(t *testing.T) {\n\tif run(\"x\") == nil {\n\t\tt.Fatal(\"accepted\")\n\t}\n}\n",
        ),
    ] {
        verify(&[Case { check, files: &[(file, text), GATE, SQ], decides: "g", product: "sq.sh" }]);
    }
}

#[test]
fn a_script_that_must_succeed_here_and_fail_there_is_the_product() {
    let gate = "sh g || exit 1\n";
    for looks in [
        "ok() { sh sq.sh \"$1\" > log 2>&1 || { echo \"$1\"; bad=1; }; }\nno() { if sh sq.sh \"$1\"; then bad=1; fi; }\nok 1\nno 2\nexit $bad\n",
        "set -e\nsh sq.sh good.txt\n! sh sq.sh bad.txt\n",
        "set -e\nsh sq.sh good.txt\nsh sq.sh bad.txt && exit 1\n",
        "sh sq.sh x; test $? -eq 4\n",
        "sh sq.sh x 2> err.txt\nrc=$?\n[ \"$rc\" -eq 64 ] || exit 1\n",
        "sh sq.sh 8080 & sleep 1; curl -s 127.0.0.1:8080 | grep -q 49; r=$?; kill $!; exit $r\n",
        "set -e\nout=$(sh sq.sh logs/a.log)\nprintf '%s\\n' \"$out\" | LC_ALL=C sort -c\n",
    ] {
        let text = format!("{gate}{looks}");
        verify(&[Case {
            check: "sh check.sh",
            files: &[("check.sh", &text), GATE, SQ],
            decides: "g",
            product: "sq.sh",
        }]);
    }
    let loops = "rc=0\nfor f in good/*; do sh validate.sh \"$f\" || { echo no; rc=1; }; done\nfor f in bad/*; do sh validate.sh \"$f\" 2>/dev/null && { echo yes; rc=1; }; done\nexit $rc\n";
    verify(&[Case {
        check: "sh g && sh run.sh",
        files: &[("run.sh", loops), GATE, ("validate.sh", "exit 0\n")],
        decides: "g",
        product: "validate.sh",
    }]);
    // It must only fail, or only succeed: nothing tells it from a script that judges.
    for check in [
        "! sh g",
        "sh g && sh g --all",
        "if sh g; then exit 1; fi",
        "sh g; test $? -eq 0",
        "sh g; r=$?; exit $r",
        "sh g & wait $!",
    ] {
        verify(&[Case { check, files: &[GATE, SQ], decides: "g", product: "sq.sh" }]);
    }
}

#[test]
fn a_program_of_jq_whose_output_is_compared_is_the_product() {
    let files = [
        ("flat.jq", "."),
        ("ok.jq", "."),
        ("a.json", "{}"),
        (
            "check.sh",
            "set -e\njq -e -f ok.jq a.json\ngot=$(echo '{}' | jq -cSf flat.jq)\n[ \"$got\" = '{\"a.b\":1}' ]\n",
        ),
    ];
    verify(&[Case { check: "sh check.sh", files: &files, decides: "ok.jq", product: "flat.jq" }]);
}

#[test]
fn a_script_that_makes_what_the_line_looks_at_is_the_product() {
    let sq = ("sq.sh", "mkdir -p out\necho 49 > out/sq.txt\n");
    for looks in [
        "sh sq.sh && grep -qx 49 out/sq.txt",
        "sh sq.sh && test -s out/sq.txt",
        "sh sq.sh > made.c && gcc -o made made.c && test \"$(./made)\" = 49",
        "python3 sq.sh && git diff --exit-code out/sq.txt",
        "OUT=$PWD/out sh sq.sh && test \"$(cat out/sq.txt)\" = 49",
    ] {
        verify(&[Case {
            check: &format!("sh g && {looks}"),
            files: &[GATE, sq],
            decides: "g",
            product: "sq.sh",
        }]);
    }
    for name in ["build.py", "install.sh"] {
        verify(&[Case {
            check: &format!("sh g && sh {name} && grep -q 49 out/sq.html"),
            files: &[GATE, (name, "exit 1\n")],
            decides: "g",
            product: name,
        }]);
    }
    // It writes something else, or what it says of itself.
    let gate = ("g", "./app > log.txt && echo PASS >> log.txt\n");
    for check in ["sh g && grep -q 49 out/sq.txt", "sh g && grep -q PASS log.txt"] {
        verify(&[Case { check, files: &[gate, SQ], decides: "g", product: "sq.sh" }]);
    }
}

#[test]
fn a_sourced_file_whose_functions_or_variables_are_compared_is_the_product() {
    let lib = ("sq.sh", "APP=dev\nis_even() { false; }\n");
    for looks in [". ./sq.sh && is_even 4 && ! is_even 3", ". ./sq.sh && test \"$(is_even)\" = x"] {
        verify(&[Case {
            check: &format!("sh g && {looks}"),
            files: &[GATE, lib],
            decides: "g",
            product: "sq.sh",
        }]);
    }
    let env = ("sq.sh", "export APP=dev\n");
    let check = "sh g && . ./sq.sh && test \"$APP\" = prod";
    verify(&[Case { check, files: &[GATE, env], decides: "g", product: "sq.sh" }]);
    verify(&[Case {
        check: ". ./g && is_even 4",
        files: &[("g", "is_even() { false; }\n"), SQ],
        decides: "g",
        product: "sq.sh",
    }]);
}

#[test]
fn what_a_recipe_prints_is_compared_and_configuration_is_only_read() {
    use super::tree::{Planted, ask, changed};
    let start = Planted::of(&[
        ("Makefile", "version:\n\t@echo 1\n\ntest:\n\t@./app\n"),
        ("tsconfig.json", "{}\n"),
        ("prices.csv", "sku,price\na,200\n"),
    ]);
    let recipe = "version:\n\t@echo 2\n\ntest:\n\t@./app\n";
    let gutted = "version:\n\t@echo 1\n\ntest:\n\t@true\n";
    let strict = "{\"compilerOptions\": {\"strict\": true}}\n";
    for (check, path, text, is_harness) in [
        ("test \"$(make -s version)\" = 2", "Makefile", recipe, false),
        ("make test", "Makefile", gutted, true),
        ("make test | grep -q '5 of 5'", "Makefile", gutted, true),
        ("jq -e '.compilerOptions.strict == true' tsconfig.json", "tsconfig.json", strict, false),
        ("jq -e .compilerOptions tsconfig.json && npx tsc", "tsconfig.json", strict, true),
        ("awk -F, 'NR>1 && $2>100 {exit 1}' prices.csv", "prices.csv", "sku\n", false),
        ("test \"$(./app)\" = \"$(awk -F, '{print $2}' prices.csv)\"", "prices.csv", "sku\n", true),
    ] {
        let result = ask(check, &start, &changed(&start, &[(path, Some(text))]));
        assert_eq!(!result.changed.is_empty(), is_harness, "{check}");
    }
}
