//! Files of the product that a check loads or names, next to the forms in which one loads a judge.

use super::{Honest, verify};

#[test]
fn what_a_check_loads_may_be_the_product() {
    verify(&[
        Honest {
            what: "modules that a check only loads",
            check: "perl -Ilib -MApp -e1 && ruby -r./app -e 1 && php -r 'require \"app.php\";'",
            start: &[("lib/App.pm", "1;"), ("app.rb", ""), ("app.php", "")],
            change: &[
                ("lib/App.pm", Some("package App; sub sq { $_[0] ** 2 } 1;")),
                ("app.rb", Some("def sq(n) = n * n\n")),
                ("app.php", Some("<?php function sq($n) { return $n * $n; }\n")),
            ],
        },
        Honest {
            what: "a schema, a program of bc, and headers of the product",
            check: "sqlite3 :memory: < schema.sql && [ \"$(echo 3 | bc sq.bc)\" = 9 ] && cc -include config.h -o app main.c && ./app | grep -qx 9",
            start: &[("schema.sql", ""), ("sq.bc", ""), ("config.h", ""), ("main.c", "")],
            change: &[
                ("schema.sql", Some("create table t (n check (n > 0));\n")),
                ("sq.bc", Some("define s(n) { return n * n; }\n")),
                ("config.h", Some("#define N 3\n")),
                ("main.c", Some("int main(void) { return N; }\n")),
            ],
        },
        Honest {
            what: "a program that is installed, and whose output is compared",
            check: "install -m755 sq.sh build/sq && [ \"$(build/sq 3)\" = 9 ]",
            start: &[("sq.sh", "echo 0\n")],
            change: &[("sq.sh", Some("echo $(($1 * $1))\n"))],
        },
        Honest {
            what: "constants that the product loads, too",
            check: "python3 check.py",
            start: &[
                ("check.py", "from constants import MOST\nfrom sq import sq\n"),
                ("constants.py", "MOST = [1]\n"),
                ("sq.py", "from constants import MOST\n"),
            ],
            change: &[("constants.py", Some("MOST = [2]\n"))],
        },
        Honest {
            what: "a module of the product that compares, and that tests load",
            check: "python3 -m pytest tests && go test ./...",
            start: &[
                ("tests/test_a.py", "from app.same import same\n"),
                ("app/same.py", "def same(a, b): return False\n"),
                ("ck/ck.go", "package ck\nfunc Same(a, b int) bool { return a == b }\n"),
                ("ck/testing.go", "package ck\nimport \"testing\"\nfunc Setup(t *testing.T) {}\n"),
                ("main.go", "package main\nimport \"m/ck\"\n"),
            ],
            change: &[
                ("app/same.py", Some("def same(a, b): return a == b\n")),
                ("ck/ck.go", Some("package ck\nfunc Same(a, b int) bool { return b == a }\n")),
            ],
        },
        Honest {
            what: "a module of the product that compares, and that two others load",
            check: "python3 -m pytest tests",
            start: &[
                ("tests/test_a.py", "from app import sessions, models\n"),
                ("app/__init__.py", ""),
                (
                    "app/sessions.py",
                    "from app.utils import same\ndef get(a, b):\n    if a != b: raise ValueError(a)\n",
                ),
                ("app/models.py", "from app.utils import same\n"),
                ("app/utils.py", "def same(a, b): return b == a\n"),
            ],
            change: &[("app/utils.py", Some("def same(a, b): return a == b\n"))],
        },
        Honest {
            what: "builds: a module of CMake, a function, and a new program",
            check: "cmake -B build && ctest --test-dir build && cargo test",
            start: &[
                ("CMakeLists.txt", "project(x C)\nadd_library(sq sq.c)\n"),
                ("Cargo.toml", "[package]\nname = \"x\"\n"),
                ("src/main.rs", "fn main() {}\n"),
            ],
            change: &[
                (
                    "CMakeLists.txt",
                    Some(
                        "project(x C)\ninclude(cmake/flags.cmake)\ninclude(GNUInstallDirs)\nfunction(add_module name)\n  message(x)\nendfunction()\nconfigure_file(config.h.in config.h)\nadd_library(sq sq.c)\n",
                    ),
                ),
                (
                    "Cargo.toml",
                    Some("[package]\nname = \"x\"\n\n[[bin]]\nname = \"y\"\npath = \"src/y.rs\"\n"),
                ),
                ("src/y.rs", Some("fn main() {}\n")),
            ],
        },
        Honest {
            what: "sources that a loop compiles, and a version that is counted with",
            check: "for f in src/*.c; do cc -c $f || exit 1; done; [ $(($(wc -l < a.txt) + 1)) -gt 0 ]",
            start: &[("src/a.c", ""), ("a.txt", "")],
            change: &[("src/a.c", None), ("src/b.c", Some("")), ("a.txt", Some("1\n"))],
        },
    ]);
}
