//! What a check leaves in the room and git does not see is gone before the next check.

use crate::repo::{Repo, story};

const TASK: &str = "\
---
allow: [\"sh build.sh\"]
---
# Demo

- [ ] squares
  - verify: `sh tests/run.sh`
- [ ] the room is as the commit says
  - verify: `sh tests/clean.sh`
";

/// Green with a right product. Leaves behind what git does not list, cannot read or cannot enter.
const LEAVES: &str = "\
set -e
test \"$(sh sq.sh 7)\" = 49
chmod u+rwx d out
mkdir -p feature d/x/y nested/.git
test -p d/new || mkfifo d/new
test -d closed || { mkdir closed; : > closed/file; chmod 000 closed; }
test -d e/a || { rm e/a; mkdir e/a; }
deep=deep
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do deep=$deep/a/b/c/d/e/f/g/h/i/j; done
mkdir -p $deep
: > $deep/file
: > d/file
chmod 000 d/a
chmod 555 d
mkdir -p out/.git
chmod 000 out
";

const CLEAN: &str = "\
test \"$(sh sq.sh 7)\" = 49 || exit 1
for path in feature nested d/x d/new d/file closed deep; do
  ! test -e $path || { echo $path stayed; exit 1; }
done
cat d/a e/a out/a || exit 1
! test -e out/.git
";

/// As an ordinary user, folders that a check closed are opened, too.
#[test]
fn what_git_does_not_see_or_cannot_enter_does_not_stay_between_checks() {
    let work = "set -e\necho 'echo $(($1 * $1))' > sq.sh; echo more >> log\n\
        next=squares; ! grep -q 'x. squares' tasks/demo/TASK.md || next=the\n\
        sed -i.bak \"s/\\[ \\] $next/[x] $next/\" tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak\n\
        echo \"- $(date +%F) did it\" >> tasks/demo/progress.md\n\
        git add sq.sh log tasks; git commit -qm 'ralph(demo): work'\n";
    let files = [
        ("tests/run.sh", LEAVES),
        ("tests/clean.sh", CLEAN),
        ("sq.sh", "echo 0\n"),
        ("build.sh", work),
        ("d/a", "1\n"),
        ("e/a", "1\n"),
        ("out/a", "1\n"),
    ];
    let repo = Repo::with(TASK, &files);
    let both = "turns: [{steps: [{run: sh build.sh}]}, {steps: [{run: sh build.sh}]}]";
    let ran = repo.run(both, &["--max-iterations", "2", "--sandbox=off"]);
    let story = story(&repo, &ran);
    assert!(story.contains("exit 0: proven\n"), "{story}");
}

/// Python writes it with each run of the tests, also after the commit.
#[test]
fn bytecode_that_git_tracks_is_no_work() {
    let task = "---\nallow: [\"sh build.sh\"]\n---\n# Demo\n\n- [ ] squares\n  - verify: `test \"$(sh sq.sh 7)\" = 49`\n";
    let work = "set -e\necho 'echo $(($1 * $1))' > sq.sh\n\
        sed -i.bak 's/\\[ \\] squares/[x] squares/' tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak\n\
        echo \"- $(date +%F) did it\" >> tasks/demo/progress.md\n\
        git add sq.sh tasks; git commit -qm 'ralph(demo): work'\n\
        echo 2 > lib/__pycache__/a.pyc; echo 2 > lib/__pycache__/new.pyc\n";
    let files = [("sq.sh", "echo 0\n"), ("build.sh", work), ("lib/__pycache__/a.pyc", "1\n")];
    let repo = Repo::with(task, &files);
    let work = "turns: [{steps: [{run: sh build.sh}]}]";
    let ran = repo.run(work, &["--max-iterations", "1", "--sandbox=off"]);
    let story = story(&repo, &ran);
    assert!(story.contains("exit 0: proven\n"), "{story}");
    assert_eq!(repo.status(), "");
}
