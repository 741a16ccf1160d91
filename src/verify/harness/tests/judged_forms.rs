//! Forms in which a judge is started, and in which expected values are read, each next to honest
//! ones.

use super::tree::judged;

fn verify(files: &[(&str, &str)], found: &[&str], lines: &[&str]) {
    let wrong: Vec<_> = lines
        .iter()
        .map(|line| (line, judged(files, line)))
        .filter(|(_, judged)| judged != found)
        .collect();
    assert!(wrong.is_empty(), "not {found:?}: {wrong:#?}");
}

const JUDGES: &[(&str, &str)] = &[
    ("gate", "set -e\n./app\n"),
    ("gate.py", "run()\n"),
    ("gate.js", "run()\n"),
    ("d/build.mk", "ck:\n\tsh ../gate\n"),
    ("build.mk", "ck:\n\tsh gate\n"),
    ("sq.sh", "echo 0\n"),
];

#[test]
fn shells_with_any_options() {
    verify(
        JUDGES,
        &["gate"],
        &[
            "sh -e gate",
            "sh -e -u gate",
            "sh -eu gate",
            "bash -e -u -o pipefail gate",
            "bash -o errexit -o nounset gate",
            "bash -oe pipefail gate",
            "bash -O extglob gate",
            "bash --norc --noprofile gate",
            "bash --posix -- gate",
            "bash +x gate",
            "sh - gate",
            "dash -x gate",
            "busybox sh gate",
            "zsh -f gate",
            "bash -c -e 'sh gate'",
            "sh -ec 'sh gate'",
            "sh /dev/stdin < gate",
            ". /dev/stdin < gate",
        ],
    );
}

#[test]
fn programs_around_a_shell() {
    verify(
        JUDGES,
        &["gate"],
        &[
            "/bin/sh gate",
            "/usr/bin/timeout 5 sh gate",
            "/usr/bin/nice sh gate",
            "/usr/bin/env sh gate",
            "/usr/bin/env bash -e gate",
            "timeout -k 1 5 sh -e gate",
            "timeout --kill-after=1 $T sh gate",
            "timeout -s KILL 5 ./gate",
            "nice -n 5 sh gate",
            "nice -5 ./gate",
            "ionice -c 2 -n 7 sh gate",
            "stdbuf -oL sh gate",
            "stdbuf -o L ./gate",
            "env -u A sh gate",
            "env -i PATH=/bin HOME=/ sh -e gate",
            "env -S 'sh -e' gate",
            "env -S 'sh -e gate'",
            "command sh gate",
            "command -p sh gate",
            "exec -a x sh gate",
            "exec sh gate",
            "flock -w 5 lock sh gate",
            "flock lock -c 'sh gate'",
            "unshare -r sh gate",
            "unshare -r -- ./gate",
            "chroot --userspec=1:1 / sh gate",
            "sudo -u x -E A=1 sh gate",
            "sudo --user x ./gate",
            "doas -u x sh gate",
            "runuser -u x -- sh gate",
            "taskset -c 0 sh gate",
            "setarch x86_64 -R sh gate",
            "setsid -w sh gate",
            "nohup sh gate",
            "time -p sh gate",
            "/usr/bin/time -f %e sh gate",
            "strace -f -o log sh gate",
            "direnv exec . sh gate",
            "mise exec -- sh gate",
            "npx --no-install -c 'sh gate'",
            "/opt/wrap/run sh gate",
            "./built/wrapper sh gate",
            "echo | xargs -n1 sh gate",
            "find . -maxdepth 0 -exec timeout 5 sh gate \\;",
            "run-one -x sh gate",
        ],
    );
}

#[test]
fn makefiles_with_any_options() {
    verify(
        JUDGES,
        &["build.mk", "gate"],
        &[
            "make -sf build.mk ck",
            "make -kf build.mk",
            "make -sfbuild.mk ck",
            "make --file=build.mk ck",
            "make --makefile build.mk ck",
            "make -j -f build.mk ck",
            "make -j 2 -f build.mk",
            "gmake -f build.mk ck",
            "/usr/bin/make ck -f build.mk",
        ],
    );
    verify(
        JUDGES,
        &["d/build.mk", "gate"],
        &["make -C d -f build.mk -j2 ck", "make -sC d -f build.mk ck", "make -Cd -sf build.mk"],
    );
    verify(
        JUDGES,
        &["gate"],
        &["make -f - ck <<'E'\nck:\n\tsh gate\nE", "make --eval='ck: ; sh gate' ck"],
    );
}

#[test]
fn other_interpreters_with_any_options() {
    verify(
        &[("gate", "./app\n"), ("sq.sh", "echo 0\n")],
        &["gate"],
        &[
            "perl -e 'exit(system(\"sh gate\") >> 8)'",
            "perl -we 'system(\"sh\", \"gate\") == 0 or exit 1'",
            "ruby -e 'exit system(\"sh gate\")'",
            "ruby -W0 -e 'system(\"sh gate\") or abort'",
            "/usr/bin/perl -E 'exec \"sh gate\"'",
            "python3 -Bc 'import subprocess; subprocess.check_call([\"sh\", \"gate\"])'",
            "node --eval=\"require('child_process').execSync('sh gate')\"",
        ],
    );
    verify(
        JUDGES,
        &["gate.py"],
        &[
            "python3 -O gate.py",
            "python3 -I -W error gate.py",
            "/usr/bin/python3.12 -m gate",
            "python3 -Im gate",
            "python3 -mgate",
            "python3 -m runpy gate",
            "python3 -m pdb -c c gate.py",
            "python3 -m cProfile -o x gate.py",
            "python3 -m coverage run -m gate",
            "python3 -m coverage run gate.py",
            "uv run --with x gate.py",
            "uv run --python 3.12 -m gate",
            "coverage run --source x gate.py",
        ],
    );
    verify(
        JUDGES,
        &["gate.js"],
        &["node --no-warnings gate.js", "node -C dev gate.js", "deno run -A gate.js"],
    );
}

#[test]
fn options_that_only_look() {
    verify(
        JUDGES,
        &[],
        &[
            "sh -n gate",
            "sh -en gate",
            "bash -o noexec gate",
            "command -v gate",
            "test \"$(sh -e sq.sh 7)\" = 49",
            "/usr/bin/env sh sq.sh 7 | /usr/bin/grep -qx 49",
            "timeout -k 1 5 sh -eu sq.sh 7 | grep -qx 49",
            "got=$(env -S 'sh -e' sq.sh 7); [ \"$got\" = 49 ]",
        ],
    );
}

const VALUES: &[(&str, &str)] = &[
    ("app.sh", "echo 0\n"),
    ("app.py", "import json\nprint(json.load(open('settings.json'))['n'])\n"),
    ("gate", "49  out\n"),
    ("cases.tsv", "2 4\n"),
    ("settings.json", "{\"n\": 1}\n"),
    ("VERSION", "1.0\n"),
    ("version.txt", "1.0\n"),
    ("package.json", "{\"version\": \"1.0\"}\n"),
    ("notes.txt", "TODO\n"),
    ("list.txt", "a\n"),
    ("docs/cli.md", "a\n"),
    ("release.sh", "echo 49 > gate\ncat cases.tsv\n"),
];

#[test]
fn expected_values_in_a_comparison() {
    verify(
        VALUES,
        &["gate"],
        &[
            "[ \"$(sh app.sh)\" = \"$(cat gate)\" ]",
            "w=$(cat gate); [ \"$(sh app.sh)\" = \"$w\" ]",
            "w=`cat gate`; [ \"`sh app.sh`\" = \"$w\" ]",
            "w=\"$(head -1 gate)\"; got=$(sh app.sh); test \"$got\" = \"$w\"",
            "w=$(head -n 1 gate); [ \"$(sh app.sh)\" = \"$w\" ]",
            "w=$(<gate); [ \"$(sh app.sh)\" = \"$w\" ]",
            "[ \"$(cat < gate)\" = \"$(sh app.sh)\" ]",
            "read w < gate; [ \"$(sh app.sh)\" = \"$w\" ]",
            "IFS= read -r w < gate && [ \"$(sh app.sh)\" = \"$w\" ]",
            "read -r w <<< \"$(cat gate)\"; [ \"$(sh app.sh)\" = \"$w\" ]",
            "exec 3< gate; read w <&3; [ \"$(sh app.sh)\" = \"$w\" ]",
            "{ read w; } < gate; [ \"$(sh app.sh)\" = \"$w\" ]",
            "mapfile -t w < gate; [ \"$(sh app.sh)\" = \"${w[0]}\" ]",
            "[ \"$(sh app.sh)\" = \"$(sort gate)\" ]",
            "[ \"$(sh app.sh | sort)\" = \"$(sort -u gate | head -n 3)\" ]",
            "[ \"$(sh app.sh)\" = \"$(awk 'NR==1{print $1}' gate)\" ]",
            "[ \"$(sh app.sh)\" = \"$(sed -n 1p gate)\" ]",
            "[ \"$(sh app.sh | wc -l)\" -eq \"$(wc -l < gate)\" ]",
            "sh app.sh > out; [ \"$(md5sum < out)\" = \"$(cat gate)\" ]",
            "sh app.sh > out; w=$(md5sum gate | cut -d' ' -f1); [ \"$(md5sum out | cut -d' ' -f1)\" = $w ]",
            "f=gate; [ \"$(sh app.sh)\" = \"$(cat $f)\" ]",
            "f=ga; [ \"$(sh app.sh)\" = \"$(cat \"${f}te\")\" ]",
            "set -- $(cat gate); [ \"$(sh app.sh)\" = \"$1\" ]",
            "[[ $(sh app.sh) == $(cat gate) ]]",
            "[ \"$(sh app.sh)\" != \"$(cat gate)\" ] && exit 1; true",
            "same() { [ \"$1\" = \"$2\" ]; }; same \"$(sh app.sh)\" \"$(cat gate)\"",
            "want() { cat gate; }; [ \"$(sh app.sh)\" = \"$(want)\" ]",
            "compare-texts \"$(sh app.sh)\" \"$(cat gate)\"",
            "expr \"$(sh app.sh)\" = \"$(cat gate)\"",
            "(( $(sh app.sh) == $(cat gate) ))",
            "case \"$(sh app.sh)\" in \"$(cat gate)\") ;; *) exit 1 ;; esac",
            "w=$(cat gate); case \"$(sh app.sh)\" in \"$w\") ;; *) exit 1 ;; esac",
            "sh -c '[ \"$(sh app.sh)\" = \"$1\" ]' _ \"$(cat gate)\"",
            "W=$(cat gate) sh -c '[ \"$(sh app.sh)\" = \"$W\" ]'",
            "[ \"$(curl -s localhost:80)\" = \"$(cat gate)\" ]",
        ],
    );
}

#[test]
fn expected_values_that_tools_read() {
    verify(
        VALUES,
        &["gate"],
        &[
            "sh app.sh > out; md5sum --quiet -c gate",
            "sh app.sh > out; shasum -a 256 --check gate",
            "sh app.sh > out; cat gate | md5sum -c",
            "sh app.sh > out; md5sum -c < gate",
            "sh app.sh > out; grep -qxF -f gate out",
            "sh app.sh | grep -qxF \"$(cat gate)\"",
            "grep -qxF \"$(sh app.sh)\" gate",
            "sh app.sh | while read l; do grep -qxF \"$l\" gate || exit 1; done",
            "sh app.sh | xargs -I{} grep -qxF {} gate",
            "sh app.sh | diff gate -",
            "cat gate | diff - <(sh app.sh)",
            "sh app.sh > out; cat gate | cmp - out",
            "sh app.sh > out; git diff --no-index --quiet gate out",
            "test -z \"$(sh app.sh | comm -3 gate -)\"",
            "paste gate <(sh app.sh) | awk '$1 != $2 { exit 1 }'",
            "join gate <(sh app.sh) | grep -q 49",
            "sh app.sh | awk 'NR==FNR{w[$0];next} !($0 in w){exit 1}' gate -",
            "sh app.sh | awk -v w=\"$(cat gate)\" '$0 != w { exit 1 }'",
            "sh app.sh | jq -e --slurpfile w gate '. == $w[0]'",
            "sh app.sh | jq -e --argjson w \"$(cat gate)\" '. == $w'",
            "python3 -c 'import subprocess; assert subprocess.check_output([\"sh\", \"app.sh\"]) == open(\"gate\", \"rb\").read()'",
            "sh app.sh | python3 -c 'import sys; sys.exit(sys.stdin.read() != open(\"gate\").read())'",
            "python3 -c \"assert '$(sh app.sh)' == open('gate').read().strip()\"",
            "sh app.sh | python3 -c 'import sys; assert sys.stdin.read() == open(sys.argv[1]).read()' gate",
            "ruby -e 'exit `sh app.sh` == File.read(\"gate\")'",
            "perl -e 'exit(`sh app.sh` ne `cat gate`)'",
            "node -e 'const fs = require(\"fs\"); if (require(\"child_process\").execSync(\"sh app.sh\") + \"\" !== fs.readFileSync(\"gate\", \"utf8\")) process.exit(1)'",
            "python3 - <<'E'\nimport subprocess\nassert subprocess.check_output(['sh', 'app.sh']) == open('gate', 'rb').read()\nE",
        ],
    );
}

#[test]
fn cases_of_loops() {
    verify(
        VALUES,
        &["cases.tsv"],
        &[
            "f=cases.tsv; cat $f | while read n w; do [ \"$(sh app.sh $n)\" = $w ] || exit 1; done",
            "f=cases.tsv; while read n w; do [ \"$(sh app.sh $n)\" = $w ] || exit 1; done < $f",
            "tail -n +2 cases.tsv | while read n w; do [ \"$(sh app.sh $n)\" = $w ] || exit 1; done",
            "for n in $(cut -f1 cases.tsv); do [ \"$(sh app.sh $n)\" -gt 0 ] || exit 1; done",
            "for n in `cat cases.tsv`; do [ \"$(sh app.sh $n)\" -gt 0 ] || exit 1; done",
            "while read n w; do [ \"$(sh app.sh $n)\" = $w ] || exit 1; done < <(sort cases.tsv)",
            "while read n w; do [ \"$(sh app.sh $n)\" = $w ] || exit 1; done <<< \"$(cat cases.tsv)\"",
            "xargs -a cases.tsv -n2 sh -c '[ \"$(sh app.sh $0)\" = $1 ]'",
            "xargs -n2 sh -c '[ \"$(sh app.sh $0)\" = $1 ]' < cases.tsv",
            "cat cases.tsv | xargs -n2 sh -c '[ \"$(sh app.sh $0)\" = $1 ]'",
        ],
    );
}

#[test]
fn expected_values_beside_their_inputs() {
    let files = [
        ("app.sh", "cat\n"),
        ("io/a.in", "1\n"),
        ("io/a.out", "2\n"),
        ("io/b.in", "1\n"),
        ("io/b.out", "2\n"),
    ];
    verify(
        &files,
        &["io/a.in", "io/a.out", "io/b.in", "io/b.out"],
        &[
            "for t in io/*.in; do [ \"$(sh app.sh < $t)\" = \"$(cat ${t%.in}.out)\" ] || exit 1; done",
            "for t in io/*.in; do sh app.sh < $t | diff - \"${t%in}out\" || exit 1; done",
            "for t in io/*.in; do b=$(basename $t .in); sh app.sh < $t | cmp - io/$b.out || exit 1; done",
        ],
    );
    verify(
        &files,
        &["io/a.out", "io/b.out"],
        &[
            "for t in a b; do [ \"$(sh app.sh < io/$t.in)\" = \"$(cat io/$t.out)\" ] || exit 1; done",
        ],
    );
}

#[test]
fn files_that_are_the_work() {
    verify(
        VALUES,
        &[],
        &[
            // Both sides are only read.
            "[ \"$(cat VERSION)\" = \"$(jq -r .version package.json)\" ]",
            "[ \"$(cat list.txt)\" = \"$(sort list.txt)\" ]",
            "[ \"$(cat list.txt)\" = \"$(ls src)\" ]",
            "[ \"$(wc -l < list.txt)\" -eq 3 ]",
            "[ \"$(cat notes.txt)\" = done ]",
            "w=$(cat notes.txt); [ \"$w\" = done ]",
            "read w < notes.txt; [ \"$w\" = done ]",
            "diff notes.txt list.txt",
            "[ \"$(git log -1 --format=%s)\" = \"$(head -1 notes.txt)\" ]",
            "[ \"$(python3 -c 'print(7 * 7)')\" = \"$(cat gate)\" ]",
            "[ \"$(python3 -c 'print(open(\"list.txt\").read())')\" = \"$(cat gate)\" ]",
            "[ \"$(node -p 'require(\"./package.json\").version')\" = \"$(cat gate)\" ]",
            "python3 -c 'assert open(\"gate\").read() == \"49\"'",
            "grep -q done notes.txt",
            "! grep -n TODO notes.txt | while read l; do echo $l; exit 1; done",
            "for t in $(grep -o TODO notes.txt); do exit 1; done",
            "jq -e '.n == 2' settings.json",
            "awk '/TODO/ { exit 1 }' notes.txt",
            // A version and documents follow the product.
            "[ \"$(python3 app.py --version)\" = \"$(cat version.txt)\" ]",
            "[ \"$(python3 app.py --version)\" = \"$(cat VERSION)\" ]",
            "[ \"$(python3 app.py --version)\" = \"$(jq -r .version package.json)\" ]",
            "diff <(sh app.sh) docs/cli.md",
            // The product reads it.
            "[ \"$(python3 app.py get n)\" = \"$(jq .n settings.json)\" ]",
            // It is what the line writes.
            "sh app.sh > list.txt; [ \"$(cat list.txt)\" = 49 ]",
            "sh app.sh > list.txt; w=$(cat list.txt); [ \"$(sh app.sh)\" = \"$w\" ]",
            // Its input.
            "sh app.sh < list.txt | grep -qx 49",
            "[ \"$(sh app.sh < list.txt)\" = 49 ]",
            "cat list.txt | sh app.sh | grep -qx 49",
        ],
    );
}

#[test]
fn helpers_compare_without_spaces() {
    let helpers: &[(&str, &str)] = &[
        ("kit.py", "def same(a, b):\n    assert a==b\n"),
        ("kit.py", "def same(a,b):\n    if a!=b: raise SystemExit(1)\n"),
        ("kit.py", "def same(a, b):\n    if not a == b: raise Wrong(a)\n"),
        ("kit.py", "def same(a, b):\n    if not (a==b): raise Wrong(a)\n"),
        ("kit.py", "def same(name, got, want):\n    if str(got)!=str(want): raise Wrong(name)\n"),
        ("kit.py", "same = lambda a, b: a==b or fail(a)\n"),
        ("kit.js", "module.exports = (a, b) => { if (a!==b) throw a; };\n"),
        ("kit.js", "module.exports = (a, b) => { a==b||process.exit(1); };\n"),
        ("kit.js", "module.exports = (a,b) => { if(!(a===b))throw a; };\n"),
        ("kit.js", "module.exports = (a, b) => { if (!Object.is(a, b)) throw a; };\n"),
        (
            "kit.js",
            "module.exports = (a, b) => { if (JSON.stringify(a) !== JSON.stringify(b)) throw a; };\n",
        ),
        ("kit.rb", "def same(a, b)\n  raise a.to_s unless a==b\nend\n"),
        ("kit.rb", "def same a, b\n  raise a.to_s if a!=b\nend\n"),
        ("kit.sh", "same() { local got=$1 want=$2; test \"$got\" = \"$want\"; }\n"),
    ];
    for (path, code) in helpers {
        let path = std::path::Path::new(path);
        assert!(super::super::deciding::fails(path, code), "{code}");
    }
    let products: &[(&str, &str)] = &[
        ("app.py", "def move(source, target):\n    if source==target: raise ValueError(source)\n"),
        ("app.py", "def merge(a, b):\n    if a.kind != b.kind: raise ValueError(a)\n"),
        ("app.py", "def verify(word, sum):\n    return digest(word)==sum\n"),
        ("app.js", "exports.max = (a, b) => a>b ? a : b;\n"),
        ("app.js", "exports.eq = (a, b) => a===b;\n"),
        ("app.sh", "greet() { echo \"$1\"; }\n"),
    ];
    for (path, code) in products {
        let path = std::path::Path::new(path);
        assert!(!super::super::deciding::fails(path, code), "{code}");
    }
}
