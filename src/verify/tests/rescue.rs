//! Attempts kept and put back, and the repairs of a verdict.

use std::fs;
use std::path::{Path, PathBuf};

use super::test_repo::{TASK_MD, TestRepo, layout};
use crate::model::Repair;
use crate::verify::{
    Branch, Dirt, Fingerprints, Identity, KeepTick, RepairContext, Repairs, repair,
};

/// Everything an attempt may do to a tree.
fn mess(scene: &TestRepo) {
    scene.write("src/committed.txt", "work\n");
    scene.commit_all("ralph(demo): half of it");
    scene.write("src/lib.txt", "uncommitted\n");
    scene.write("README.md", "staged\n");
    scene.git(&["add", "README.md"]);
    scene.remove("tests/other.py");
    scene.write("loose/deep/file", "untracked\n");
    scene.write("-odd\nname", "untracked\n");
    fs::remove_dir_all(scene.root.join("src")).expect("removed");
    scene.write("src", "a file where a directory was\n");
    scene.remove("tests/check.sh");
    scene.write("tests/check.sh/inside", "a directory where a file was\n");
    scene.write("out.log", "ignored\n");
}

#[test]
fn an_attempt_is_kept_whole_and_nothing_else_changes() {
    let scene = TestRepo::new();
    mess(&scene);
    let before = scene.porcelain();
    let repo = scene.repo();
    let none = Fingerprints::default();
    let kept = repo.save_attempt(&layout(), 3, "attempt", &none).expect("kept");
    assert_eq!((kept.name.as_str(), kept.number), ("refs/ralph/demo/attempts/3", 3));
    assert_eq!(scene.porcelain(), before);
    assert_eq!(scene.git(&["rev-parse", "refs/ralph/demo/attempts/3^"]), scene.head());
    assert_eq!(
        scene.git(&["ls-tree", "-rz", "--name-only", &kept.name]).replace('\0', "|"),
        "-odd\nname|.gitignore|README.md|loose/deep/file|src|tasks/demo/TASK.md|\
         tasks/demo/activity.log|tasks/demo/cost.log|tasks/demo/guardrails.md|\
         tasks/demo/progress.md|tasks/demo/state.json|tests/check.sh/inside|"
    );
    assert_eq!(scene.git(&["show", &format!("{}:README.md", kept.name)]), "staged");
    assert_eq!(scene.git(&["fsck", "--strict", "--no-dangling"]), "");
    // A number that is taken is never overwritten.
    let next = repo.save_attempt(&layout(), 3, "attempt", &none).expect("kept");
    assert_eq!(next.number, 4);
    assert_eq!(repo.snapshot(&none).expect("tree"), repo.snapshot(&none).expect("tree"));
}

#[test]
fn going_back_leaves_exactly_the_checkpoint() {
    let scene = TestRepo::new();
    let repo = scene.repo();
    let checkpoint = repo.checkpoint().expect("checkpoint");
    let none = Fingerprints::default();
    mess(&scene);
    let left = repo.back_to(&checkpoint, &none).expect("back");
    assert_eq!(left, Vec::<PathBuf>::new());
    assert_eq!(scene.porcelain(), "");
    assert_eq!(scene.head(), checkpoint.head.as_str());
    assert_eq!(scene.read("src/lib.txt"), "code\n");
    assert!(!scene.exists("loose"), "empty directories stay behind");
    assert_eq!(scene.read("out.log"), "ignored\n");
    // Once more is safe.
    repo.back_to(&checkpoint, &none).expect("back");
    assert_eq!(scene.porcelain(), "");
}

/// Whatever an agent put in the place of a file or its folder: what it leads to is not ours.
#[test]
fn going_back_writes_and_removes_nothing_outside() {
    use std::os::unix::fs::symlink;
    type Spoil = fn(&TestRepo, &Path);
    let spoils: [(&str, Spoil); 4] = [
        ("a link", |scene, outside| {
            scene.remove("src/lib.txt");
            symlink(outside.join("lib.txt"), scene.root.join("src/lib.txt")).expect("linked");
        }),
        ("another name of it", |scene, outside| {
            scene.remove("src/lib.txt");
            fs::hard_link(outside.join("lib.txt"), scene.root.join("src/lib.txt")).expect("linked");
        }),
        ("a link to the folder", |scene, outside| {
            fs::remove_dir_all(scene.root.join("src")).expect("removed");
            symlink(outside, scene.root.join("src")).expect("linked");
        }),
        ("one that git ignores", |scene, outside| {
            scene.write("src/new.txt", "new\n");
            scene.commit_all("ralph(demo): new");
            scene.append(".git/info/exclude", "/src\n");
            fs::remove_dir_all(scene.root.join("src")).expect("removed");
            symlink(outside, scene.root.join("src")).expect("linked");
        }),
    ];
    let none = Fingerprints::default();
    for (name, spoil) in spoils {
        for single in [false, true] {
            let scene = TestRepo::new();
            let outside = tempfile::tempdir_in(scene.root.parent().expect("a parent"));
            let outside = outside.expect("a folder");
            for file in ["lib.txt", "new.txt"] {
                fs::write(outside.path().join(file), "the human's\n").expect("written");
            }
            let repo = scene.repo();
            let checkpoint = repo.checkpoint().expect("checkpoint");
            spoil(&scene, outside.path());
            let paths: [PathBuf; 2] = ["src/lib.txt".into(), "src/new.txt".into()];
            if single {
                repo.restore(&checkpoint.head, &paths).expect("put back");
            } else {
                repo.back_to(&checkpoint, &none).expect("back");
                assert_eq!(scene.porcelain(), "", "{name}");
            }
            assert_eq!(scene.read("src/lib.txt"), "code\n", "{name}");
            assert!(scene.root.join("src").symlink_metadata().expect("there").is_dir(), "{name}");
            for file in ["lib.txt", "new.txt"] {
                let text = fs::read_to_string(outside.path().join(file)).expect("it is there");
                assert_eq!(text, "the human's\n", "{name}: {file}");
            }
        }
    }
}

/// To open one for writing would wait for a reader for ever.
#[test]
fn going_back_does_not_wait_at_a_pipe() {
    let scene = TestRepo::new();
    let repo = scene.repo();
    let checkpoint = repo.checkpoint().expect("checkpoint");
    scene.remove("src/lib.txt");
    let made = std::process::Command::new("mkfifo").arg(scene.root.join("src/lib.txt")).status();
    assert!(made.expect("mkfifo").success());
    repo.back_to(&checkpoint, &Fingerprints::default()).expect("back");
    assert_eq!(scene.read("src/lib.txt"), "code\n");
    assert_eq!(scene.porcelain(), "");
}

#[test]
fn the_humans_files_are_never_kept_reset_or_lost() {
    let scene = TestRepo::new();
    scene.write("README.md", "the human's\n");
    scene.write("notes/mine.txt", "the human's\n");
    scene.remove("tests/other.py");
    scene.write("src/lib.txt", "staged by the human\n");
    let repo = scene.repo();
    let human = scene.preflight(Branch::Current, Dirt::Protect).expect("ready").human;
    scene.git(&["add", "src/lib.txt"]);
    let before = scene.porcelain();
    let checkpoint = repo.checkpoint().expect("checkpoint");

    scene.write("work.txt", "the agent's\n");
    scene.write("notes/agent.txt", "the agent's\n");
    scene.git(&["add", "work.txt", "notes/mine.txt"]);
    scene.git(&[
        "commit",
        "-qm",
        "ralph(demo): takes a file of the human along",
        "--",
        "work.txt",
        "notes/mine.txt",
    ]);
    let kept = repo.save_attempt(&layout(), 1, "attempt", &human).expect("kept");
    // In the attempt the human's paths stand as HEAD has them.
    assert_eq!(scene.git(&["show", &format!("{}:README.md", kept.name)]), "hello");
    assert_eq!(scene.git(&["show", &format!("{}:tests/other.py", kept.name)]), "assert True");
    let left = repo.back_to(&checkpoint, &human).expect("back");
    assert_eq!(left, Vec::<PathBuf>::new());
    assert_eq!(scene.porcelain(), before);
    assert_eq!(human.changed_below(&scene.root).expect("looked"), []);
    assert!(!scene.exists("work.txt") && !scene.exists("notes/agent.txt"));
}

#[test]
fn what_stands_in_the_way_of_the_humans_files_is_left_and_named() {
    let scene = TestRepo::new();
    scene.write("README.md", "x\n");
    let repo = scene.repo();
    scene.git(&["checkout", "-q", "README.md"]);
    let checkpoint = repo.checkpoint().expect("checkpoint");
    scene.remove("README.md");
    scene.write("README.md/mine", "the human's\n");
    let human = Fingerprints::below(&scene.root, [PathBuf::from("README.md/mine")]).expect("seen");
    let left = repo.back_to(&checkpoint, &human).expect("back");
    assert_eq!(left, [Path::new("README.md")]);
    assert_eq!(scene.read("README.md/mine"), "the human's\n");
}

fn make_repairs(
    scene: &TestRepo,
    wanted: &[Repair],
    begun: &super::test_repo::TurnBegun<'_>,
) -> Repairs {
    let restore = |keep: KeepTick| match keep {
        KeepTick::Yes => TASK_MD.replace("[ ] one", "[x] one").into_bytes(),
        KeepTick::No => TASK_MD.as_bytes().to_vec(),
    };
    let untick =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("[x] one", "[ ] one").into_bytes();
    let context = RepairContext {
        layout: &layout(),
        checkpoint: &begun.checkpoint,
        origin: &begun.checkpoint.head,
        state: &begun.state,
        human: &begun.human,
        number: 1,
        identity: &Identity::of_the_runner(),
        restore_task: &restore,
        untick: &untick,
    };
    repair(&scene.repo(), wanted, &context).expect("mended")
}

#[test]
fn a_file_that_is_put_back_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let scene = TestRepo::new();
    let at = scene.root.join("tasks/demo/TASK.md");
    fs::set_permissions(&at, fs::Permissions::from_mode(0o604)).expect("mode");
    let begun = scene.turn();
    scene.tick_one();
    make_repairs(&scene, &[Repair::RestoreTask { keep_tick: false }], &begun);
    assert_eq!(scene.read("tasks/demo/TASK.md"), TASK_MD);
    assert_eq!(fs::metadata(&at).expect("there").permissions().mode() & 0o777, 0o604);
}

#[test]
fn state_that_git_ignores_is_kept_and_put_back_too() {
    let scene = TestRepo::new();
    scene.git(&["rm", "-rqf", "--cached", "tasks"]);
    scene.append(".gitignore", "tasks/\n");
    scene.git(&["add", ".gitignore"]);
    scene.git(&["commit", "-qm", "ignored"]);
    let begun = scene.turn();
    scene.write("tasks/demo/guardrails.md", "no signs\n");
    let wanted = [Repair::RestoreFile("tasks/demo/guardrails.md".into())];
    let repairs = make_repairs(&scene, &wanted, &begun);
    assert_eq!(scene.read("tasks/demo/guardrails.md"), "# Signs\n");
    let kept = repairs.saved.expect("kept").name;
    assert_eq!(scene.git(&["show", &format!("{kept}:tasks/demo/guardrails.md")]), "no signs");
}

#[test]
fn a_protected_file_that_is_the_humans_is_left_alone() {
    let scene = TestRepo::new();
    scene.write("tests/check.sh", "the human's\n");
    let begun = scene.turn();
    let repairs = make_repairs(&scene, &[Repair::RestoreFile("tests/check.sh".into())], &begun);
    assert_eq!(scene.read("tests/check.sh"), "the human's\n");
    assert_eq!(repairs.commit, None);
}

#[test]
fn nothing_is_written_through_a_link() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    let outside = scene.dir.path().join("outside");
    fs::write(&outside, "precious").expect("written");
    scene.remove("tasks/demo/TASK.md");
    std::os::unix::fs::symlink(&outside, scene.root.join("tasks/demo/TASK.md")).expect("linked");
    let repairs = make_repairs(&scene, &[Repair::RestoreTask { keep_tick: false }], &begun);
    assert!(repairs.saved.is_some());
    assert_eq!(fs::read_to_string(&outside).expect("read"), "precious");
    assert_eq!(scene.read("tasks/demo/TASK.md"), TASK_MD);
    let meta = scene.root.join("tasks/demo/TASK.md").symlink_metadata().expect("there");
    assert!(meta.is_file());
}

#[test]
fn a_tick_by_nobody_is_taken_from_the_file_as_it_stands() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.write("tasks/demo/TASK.md", "# Other words\n\n- [x] one\n- [ ] brand new\n");
    let repairs = make_repairs(&scene, &[Repair::Untick], &begun);
    assert_eq!(repairs, Repairs::default());
    assert_eq!(scene.read("tasks/demo/TASK.md"), "# Other words\n\n- [ ] one\n- [ ] brand new\n");
}
