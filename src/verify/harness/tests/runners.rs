//! Scripts that task runners, builds, and variables run, each next to an honest neighbor.

use super::outside::{Case, verify};
use super::tree::{Planted, ask, changed};

const GATE: (&str, &str) = ("g", "./app\n");
const SQ: (&str, &str) = ("sq.sh", "echo 0\n");

/// A file that says how `g` is run, and `sq.sh` for another purpose.
fn each(cases: &[(&str, &str, &str)]) {
    let files: Vec<_> = cases.iter().map(|(_, name, code)| [(*name, *code), GATE, SQ]).collect();
    let cases: Vec<Case<'_>> = cases
        .iter()
        .zip(&files)
        .map(|((check, ..), files)| Case { check, files, decides: "g", product: "sq.sh" })
        .collect();
    verify(&cases);
}

#[test]
fn tasks_of_task_runners() {
    const TASKFILE: &str = "version: '3'\ntasks:\n  default: {deps: [gate]}\n  gate:\n    cmds:\n      - echo\n      - task: inner\n  inner:\n    desc: sh sq.sh\n    cmds: ['sh {{.ROOT_DIR}}/g']\n  build: {cmds: [sh sq.sh]}\n";
    const MISE: &str = "[tasks.gate]\ndepends = ['inner']\nrun = 'echo'\n[tasks.inner]\nrun = ['sh g']\n[tasks]\nbuild = 'sh sq.sh'\n";
    const DENO: &str = "{\n// tasks\n\"tasks\": {\"gate\": \"sh g\", \"build\": \"sh sq.sh\"}}";
    const POE: &str = "[tool.poe.tasks]\ngate = {sequence = ['inner']}\ninner = {shell = 'sh g'}\nbuild = 'sh sq.sh'\n";
    const PDM: &str = "[tool.pdm.scripts]\ngate = {composite = ['inner --all']}\ninner.cmd = ['sh', 'g']\nbuild = 'sh sq.sh'\n";
    const HATCH: &str =
        "[tool.hatch.envs.ci.scripts]\ngate = ['inner']\ninner = 'sh g'\nbuild = 'sh sq.sh'\n";
    each(&[
        ("task gate", "Taskfile.yml", TASKFILE),
        ("task", "Taskfile.yaml", TASKFILE),
        ("mise run gate", "mise.toml", MISE),
        ("mise gate", ".mise.toml", MISE),
        ("deno task gate", "deno.json", DENO),
        ("deno task -q gate", "deno.jsonc", DENO),
        ("uv run poe gate", "pyproject.toml", POE),
        ("poetry run poe gate", "pyproject.toml", POE),
        ("pdm run gate", "pyproject.toml", PDM),
        ("hatch run ci:gate", "pyproject.toml", HATCH),
        (
            "composer gate",
            "composer.json",
            "{\"scripts\": {\"gate\": [\"@inner\"], \"inner\": \"sh g\", \"build\": \"sh sq.sh\"}}",
        ),
        ("just gate", "justfile", "gate: inner\ninner:\n    sh g\nbuild:\n    sh sq.sh\n"),
        (
            "nox -s gate",
            "noxfile.py",
            "def gate(session):\n    session.run('sh', 'g', external=True)\n",
        ),
        ("tox", "tox.ini", "[testenv]\nallowlist_externals = sh\ncommands =\n    sh g\n"),
        ("tox", "pyproject.toml", "[tool.tox.env_run_base]\ncommands = [['sh', 'g']]\n"),
        ("rake gate", "Rakefile", "task :gate do\n  sh 'sh g'\nend\n"),
        ("inv gate", "tasks.py", "@task\ndef gate(c):\n    c.run('sh g')\n"),
        ("bun test", "bunfig.toml", "[test]\npreload = ['./g']\n"),
        (
            "pre-commit run -a",
            ".pre-commit-config.yaml",
            "repos:\n- repo: local\n  hooks:\n  - id: g\n    entry: sh g\n    language: system\n    files: sq.sh\n",
        ),
    ]);
}

#[test]
fn tests_that_a_build_declares() {
    const CMAKE: &str =
        "add_executable(app app.c)\nadd_custom_command(OUTPUT x COMMAND sh sq.sh)\n";
    for test in [
        "add_test(NAME x COMMAND sh ${CMAKE_SOURCE_DIR}/g)",
        "add_test(x sh g)",
        "add_test(NAME x\n  COMMAND ${BASH_PROGRAM} \"${CMAKE_CURRENT_SOURCE_DIR}/g\" $<TARGET_FILE:app>\n  WORKING_DIRECTORY x)",
        "add_test(NAME x COMMAND ${CMAKE_SOURCE_DIR}/g)",
        "add_test(NAME x COMMAND sh g)\nset_tests_properties(x PROPERTIES PASS_REGULAR_EXPRESSION \"PASS\")",
        "add_test(NAME x COMMAND sh g)\nadd_test(NAME y COMMAND sh sq.sh 7)\nset_tests_properties(y PROPERTIES PASS_REGULAR_EXPRESSION \"^49\")",
    ] {
        let code = format!("{CMAKE}{test}\n");
        for check in [
            "cmake -B build && cmake --build build && ctest --test-dir build",
            "cmake --build build --target test",
        ] {
            each(&[(check, "CMakeLists.txt", &code)]);
        }
    }
    for test in [
        "test('x', find_program('g'))",
        "gate = find_program('./g')\ntest('x', gate, args: ['sq.sh'])",
        "sh = find_program('sh')\ntest(\n  'x',\n  sh,\n  args: [files('g'), 'sq.sh'],\n)",
        "py = import('python').find_installation()\ntest('x', py, args: files('g'))",
    ] {
        let code = format!(
            "app = executable('app', 'app.c')\ntest('app', app, args: ['sq.sh'])\n{test}\n"
        );
        each(&[("meson test -C build", "meson.build", &code)]);
    }
}

#[test]
fn variables_that_load_code() {
    for (check, name, code) in [
        ("NODE_OPTIONS='--require ./g' npm test", "x", ""),
        ("export NODE_OPTIONS=\"--import=./g\"; node --test", "x", ""),
        ("env NODE_OPTIONS=--require=./g node --test", "x", ""),
        ("PYTHONSTARTUP=g python3 -m unittest", "x", ""),
        ("RUBYOPT=-r./g rake test", "x", ""),
        ("BASH_ENV=./g bash tests/a.sh", "x", ""),
        ("LD_PRELOAD=$PWD/g ./app", "x", ""),
        ("make test", "Makefile", "export NODE_OPTIONS := --require ./g\ntest:\n\tnode --test\n"),
        ("npm test", ".npmrc", "node-options=--require ./g\n"),
        ("npm test", ".npmrc", "script-shell=./g\n"),
        ("just test", ".env", "NODE_OPTIONS=--require ./g\n"),
        ("PYTHONPATH=. MODE=test NODE_OPTIONS=--require=./g npm test", "x", ""),
    ] {
        each(&[(check, name, code)]);
    }
    for (check, file) in [
        ("PERL5OPT='-Mkit::Gate' perl t/a.t", "lib/kit/Gate.pm"),
        ("PYTEST_PLUGINS=kit.gate pytest", "kit/gate.py"),
    ] {
        verify(&[Case { check, files: &[(file, "x\n"), SQ], decides: file, product: "sq.sh" }]);
    }
}

#[test]
fn files_that_set_variables_which_load_code() {
    for (path, old, new, held) in [
        (".env", "A=1\n", "A=1\nNODE_OPTIONS=--require ./x.js\n", true),
        (".env", "A=1\n", "A=2\nB=3\n", false),
        ("Makefile", "test:\n\t./t\n", "export BASH_ENV = x\ntest:\n\t./t\n", true),
        ("Taskfile.dist.yaml", "tasks: {}\n", "tasks: {a: {cmds: [true]}}\n", true),
        ("mise-tasks/gate", "./app\n", "true\n", true),
        ("tasks/gate", "./app\n", "true\n", false),
    ] {
        let start = Planted::of(&[(path, old)]);
        let result = ask("make test", &start, &changed(&start, &[(path, Some(new))]));
        assert_eq!(!result.changed.is_empty(), held, "{path}: {new}");
    }
}
