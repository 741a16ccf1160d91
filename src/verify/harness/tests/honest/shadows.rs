//! New files with usual names that no loader takes for those of the harness.

use super::{Honest, verify};

#[test]
fn new_files_beside_the_harness() {
    verify(&[
        Honest {
            what: "Python: a module that becomes a package, and one with a helper's name elsewhere",
            check: "python3 -m unittest discover -s tests -t .",
            start: &[
                ("tests/test_a.py", "import tests.helper\nimport app\n"),
                ("tests/helper.py", "def same(a, b): assert a == b\n"),
                ("app.py", "def sq(n): return 0\n"),
            ],
            change: &[
                ("app.py", None),
                ("app/__init__.py", Some("from app.sq import sq\n")),
                ("app/helper.py", Some("def sq(n): return n * n\n")),
            ],
        },
        Honest {
            what: "Python: a module that the judge's search path does not hold yet",
            check: "PYTHONPATH=src:tools python3 -m judge",
            start: &[("tools/judge.py", "from sq import sq\n"), ("src/a.py", "")],
            change: &[("src/sq.py", Some("def sq(n): return n * n\n"))],
        },
        Honest {
            what: "Node: a file and a folder with names of the product",
            check: "node judge",
            start: &[("judge/index.js", "require('../sq')\n"), ("sq/index.js", "")],
            change: &[("sq.js", Some("module.exports = n => n * n\n"))],
        },
        Honest {
            what: "Perl: modules with names like those of Perl's own",
            check: "prove -l t",
            start: &[("t/a.t", "use App::Config;\n"), ("lib/App.pm", "1;")],
            change: &[("lib/App/Config.pm", Some("1;")), ("lib/App/parent.pm", Some("1;"))],
        },
        Honest {
            what: "Ruby: libraries of the product, one of them inside its folder",
            check: "ruby -Ilib check.rb",
            start: &[("check.rb", "require 'matrix_sum'\nrequire 'json'\n")],
            change: &[("lib/matrix_sum.rb", Some("")), ("lib/app/json.rb", Some(""))],
        },
        Honest {
            what: "Java: classes of the product, one with a name of Java's in a package of its own",
            check: "javac -d out src/*.java judge/*.java && java -cp out Check",
            start: &[(
                "judge/Check.java",
                "import java.util.List;\npublic class Check { List<Sq> a; }\n",
            )],
            change: &[
                ("src/Sq.java", Some("class Sq {}\n")),
                ("src/a/List.java", Some("package a;\nclass List {}\n")),
                ("src/a/Check.java", Some("package a;\nclass Check {}\n")),
            ],
        },
        Honest {
            what: "C: headers of the product, one with a helper's name that no option names",
            check: "make test",
            start: &[
                ("Makefile", "test:\n\tcc -Iinclude -o k src/*.c ck/main.c && ./k\n"),
                ("ck/ck.h", "#define CK(a,b) do { if ((a)!=(b)) { return 1; } } while (0)\n"),
                ("ck/main.c", "#include \"ck.h\"\nint main(void){ CK(sq(3),9); return 0; }\n"),
                ("include/sq.h", "int sq(int);\n"),
            ],
            change: &[
                ("src/ck.h", Some("int ck(int);\n")),
                ("include/signal.h", Some("void raise_signal(void);\n")),
            ],
        },
        Honest {
            what: "Tcl: an index of a package of the product",
            check: "tclsh check.tcl",
            start: &[("check.tcl", "package require cklib\n")],
            change: &[("lib/sq/pkgIndex.tcl", Some("package ifneeded sq 1.0 {source sq.tcl}\n"))],
        },
        Honest {
            what: "Make and Rake: files with names like those that are included",
            check: "make test && rake docs",
            start: &[
                ("Makefile", "-include local.mk\ntest:\n\ttrue\n"),
                ("Rakefile", "task :test do\n  sh 'true'\nend\n"),
            ],
            change: &[
                ("local.sh", Some("true\n")),
                ("rakelib/docs.rake", Some("task :docs do\n  sh 'rdoc'\nend\n")),
            ],
        },
    ]);
}
