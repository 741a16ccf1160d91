//! Python: `.venv` with the project itself installed into it, and uv.

use crate::place::{Project, proves, proves_with_setup};

/// A build backend in a file: neither pip nor uv needs to download one.
const BACKEND: &str = r#"import pathlib
import zipfile

INFO = "greet-1.0.dist-info"


def _wheel(folder, files):
    name = "greet-1.0-py3-none-any.whl"
    files[INFO + "/METADATA"] = "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n"
    files[INFO + "/WHEEL"] = "Wheel-Version: 1.0\nGenerator: here\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[INFO + "/entry_points.txt"] = "[console_scripts]\ngreet = greet:main\n"
    record = "".join(f"{file},,\n" for file in [*files, INFO + "/RECORD"])
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
        wheel.writestr(INFO + "/RECORD", record)
    return name


def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"greet.py": pathlib.Path("src/greet.py").read_text()})


def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"greet.pth": str(pathlib.Path("src").resolve()) + "\n"})
"#;
const PYPROJECT: &str = r#"[build-system]
requires = []
build-backend = "backend"
backend-path = ["tools"]

[project]
name = "greet"
version = "1.0"
scripts = {greet = "greet:main"}
"#;
const TEST: &str = "import unittest

from greet import greet


class GreetTest(unittest.TestCase):
    def test_greets(self):
        self.assertEqual(greet('a'), 'hi a')
";
const NOTHING: &str = "def greet(name):\n    return ''\n\n\ndef main():\n    print(greet('you'))\n";
const GREET: &str =
    "def greet(name):\n    return f'hi {name}'\n\n\ndef main():\n    print(greet('you'))\n";

/// Debian packages it on its own.
const VENV: &str = "python3 -c 'import ensurepip'";

const FILES: &[(&str, &str)] = &[
    ("pyproject.toml", PYPROJECT),
    ("tools/backend.py", BACKEND),
    ("src/greet.py", NOTHING),
    ("tests/test_greet.py", TEST),
    (".gitignore", ".venv/\n__pycache__/\n"),
];
const EDITABLE: &str = "python3 -m venv --clear .venv && .venv/bin/python -m pip install --quiet --no-index --no-build-isolation --editable .";

/// Its `.pth` file and its scripts name the human's tree: elsewhere than at that path, the tests
/// would test the agent's tree.
#[test]
fn an_editable_install() {
    let project = Project {
        needs: &["python3", VENV],
        files: FILES,
        prepare: &[EDITABLE],
        check: ".venv/bin/python -m unittest discover -s tests && .venv/bin/greet | grep -q hi",
        work: ("src/greet.py", GREET),
    };
    proves_with_setup(&project, ".pth", EDITABLE);
}

#[test]
fn a_virtual_environment_without_the_project_in_it() {
    proves(&Project {
        needs: &["python3", VENV],
        files: FILES,
        prepare: &["python3 -m venv .venv"],
        check: "PYTHONPATH=src .venv/bin/python -m unittest discover -s tests",
        work: ("src/greet.py", GREET),
    });
}

#[test]
fn pytest() {
    proves(&Project {
        needs: &["pytest-3", "python3"],
        files: &[
            ("greet.py", NOTHING),
            (
                "test_greet.py",
                "from greet import greet\n\n\ndef test_greets():\n    assert greet('a') == 'hi a'\n",
            ),
            (".gitignore", "__pycache__/\n.pytest_cache/\n"),
        ],
        prepare: &[],
        check: "python3 -m pytest",
        work: ("greet.py", GREET),
    });
}

/// `uv run` installs the project itself as editable, and again where it finds it moved.
#[test]
fn uv() {
    proves(&Project {
        needs: &["python3", "uv"],
        files: FILES,
        prepare: &["uv sync --offline", "git add --all && git commit --quiet --message lock"],
        check: "uv run --offline python -m unittest discover -s tests",
        work: ("src/greet.py", GREET),
    });
}
