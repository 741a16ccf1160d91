//! The proof room's repository: what it holds, and what code that ran in it cannot keep there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use super::test_repo::{TestRepo, layout};
use crate::model::Oid;
use crate::verify::{
    Branch, CheckOptions, Dirt, EntryKind, MasterFolder, PlannedCheck, ProofRoom, ProofRooms,
    RoomCheck, RoomFolders, SeenAt, ShellChecks, Shown, TreeEdit, VerifyError, Warmth,
};

pub(super) fn rooms(scene: &TestRepo, dirt: Dirt) -> ProofRooms {
    let preflight = scene.preflight(Branch::Current, dirt).expect("ready");
    let (base, master) = (scene.dir.path().join("rooms"), scene.dir.path().join("master"));
    let folders =
        RoomFolders { base: &base, seen_at: SeenAt::ItsPlace, master: MasterFolder::Kept(&master) };
    scene.repo().proof_rooms(&layout(), folders, &preflight).expect("rooms")
}

pub(super) fn head(scene: &TestRepo) -> Oid {
    Oid::new(scene.head())
}

fn run_in(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    commands: &[&str],
) -> Result<Vec<RoomCheck>, VerifyError> {
    let shell = ShellChecks::new(Arc::new(str::to_owned), "test");
    let twice: Vec<String> = commands.iter().map(|&command| command.to_owned()).collect();
    let planned = twice.iter().map(|command| PlannedCheck {
        command: command.clone(),
        criteria: Vec::new(),
        whole_task: false,
    });
    let planned: Vec<_> = planned.collect();
    let options = CheckOptions { twice, ..CheckOptions::in_dir("/") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("built").block_on(room.run(shown, &planned, &shell, &options))
}

pub(super) fn run_on(
    rooms: &mut ProofRooms,
    commit: &Oid,
    edits: &[TreeEdit],
    commands: &[&str],
) -> Vec<String> {
    let ran = run_in(rooms.warm().expect("a room"), Shown { commit, edits }, commands);
    ran.expect("ran")
        .iter()
        .map(|it| {
            let changed: Vec<_> =
                it.changed.iter().map(|change| change.path.display().to_string()).collect();
            let how = match (it.result.passed(), it.flaky) {
                (true, _) => "green",
                (false, true) => "flaky",
                (false, false) => "red",
            };
            format!("{how} {} {}", changed.join(","), it.result.output.trim()).trim().to_owned()
        })
        .collect()
}

fn run(scene: &TestRepo, commands: &[&str]) -> Vec<String> {
    run_on(&mut rooms(scene, Dirt::Refuse), &head(scene), &[], commands)
}

#[test]
fn it_holds_the_commit_its_history_and_nothing_else() {
    let scene = TestRepo::new();
    scene.git(&["tag", "v1"]);
    scene.write("a b/-odd\nname", "x");
    scene.commit_all("second");
    let before = scene.git(&["for-each-ref"]);
    let mut rooms = rooms(&scene, Dirt::Refuse);
    scene.write("src/lib.txt", "uncommitted\n");
    scene.write("loose", "x");
    scene.git(&["tag", "planted"]);
    let said = run_on(
        &mut rooms,
        &head(&scene),
        &[],
        &[
            "git log --format=%s",
            "cat src/lib.txt",
            "git status --porcelain --ignored",
            "git tag",
            "git symbolic-ref HEAD",
            "git describe --tags",
        ],
    );
    assert_eq!(said[0], "green  second\nfirst");
    assert_eq!(said[1], "green  code");
    assert_eq!(said[2], "green");
    assert_eq!(said[3], "green  v1");
    assert_eq!(said[4], "green  refs/heads/main");
    assert!(said[5].starts_with("green  v1-1-g"), "{}", said[5]);
    scene.git(&["tag", "-d", "planted"]);
    assert_eq!(scene.git(&["for-each-ref"]), before);
}

#[test]
fn each_check_finds_what_the_first_one_found() {
    let scene = TestRepo::new();
    let prepared = "echo x >> src/lib.txt; rm README.md; echo y > new; ln -s / src/out; mkdir -p build; touch build/kept; git add -A; git commit -qm x; git update-index --assume-unchanged src/lib.txt; git tag planted; git config core.x y; echo '*' >> .gitignore; true";
    let prepared = format!("git config user.name x; git config user.email x; {prepared}");
    let said = run(
        &scene,
        &[
            &prepared,
            "cat src/lib.txt && cat README.md && ls new",
            "ls build; git log --format=%s; git tag; git config core.x; ls src",
        ],
    );
    let changed = said[0].split(' ').nth(1).expect("changed");
    for path in [".gitignore", "README.md", "src/lib.txt"] {
        assert!(changed.split(',').any(|it| it == path), "{changed}");
    }
    assert!(said[1].starts_with("red  code\nhello\n"), "{}", said[1]);
    assert_eq!(said[2], "green  kept\nfirst\nlib.txt");
}

#[test]
fn a_link_in_the_place_of_a_folder_or_of_gits_own_leads_nowhere() {
    let scene = TestRepo::new();
    let outside = scene.dir.path().join("outside");
    fs::create_dir_all(outside.join("objects/info")).expect("made");
    fs::write(outside.join("lib.txt"), "kept").expect("written");
    fs::write(outside.join("HEAD"), "kept").expect("written");
    let at = outside.display();
    let said = run(
        &scene,
        &[
            &format!("rm -rf src; ln -s {at} src"),
            "cat src/lib.txt",
            &format!("rm -rf .git; ln -s {at} .git"),
            "git log --format=%s",
            &format!("rm -rf .git/objects; ln -s {at}/objects .git/objects"),
            "git log --format=%s",
        ],
    );
    assert_eq!([&said[1], &said[3], &said[5]], ["green  code", "green  first", "green  first"]);
    assert_eq!(fs::read_to_string(outside.join("lib.txt")).expect("read"), "kept");
    assert_eq!(fs::read_to_string(outside.join("HEAD")).expect("read"), "kept");
    assert_eq!(fs::read_dir(outside.join("objects/info")).expect("listed").count(), 0);
}

/// Files that hide themselves and others from git.
#[test]
fn patterns_that_a_check_makes_hide_nothing() {
    let scene = TestRepo::new();
    scene.remove(".gitignore");
    scene.commit_all("no patterns");
    let said = run(
        &scene,
        &[
            "echo '*' > .gitignore; echo x > GNUmakefile; mkdir d; echo '*' > d/.gitignore; \
             echo x > d/run",
            "ls GNUmakefile d/run .gitignore; ls src/lib.txt",
            "echo '* text eol=crlf' > .gitattributes; printf 'lib\\r\\n' > src/lib.txt",
            "cat -A src/lib.txt; ls .gitattributes",
        ],
    );
    assert_eq!(said[1].matches("cannot access").count(), 3, "{said:#?}");
    assert!(!said[3].contains("^M") && said[3].contains("cannot access"), "{said:#?}");
}

#[test]
fn patterns_in_a_cache_that_is_ignored_stay() {
    let scene = TestRepo::new();
    scene.write(".gitignore", "cache/\n");
    scene.commit_all("a cache");
    let said = run(
        &scene,
        &[
            "mkdir -p cache/a b; echo '*' > cache/a/.gitignore; echo '*' > b/.gitignore",
            "find cache -type f; ls b 2> /dev/null",
        ],
    );
    assert!(said[1].ends_with("  cache/a/.gitignore"), "{said:#?}");
}

/// A check replaces the file by which the room finds objects.
#[test]
fn a_link_in_the_place_of_alternates_is_not_written_through() {
    let scene = TestRepo::new();
    let victim = scene.dir.path().join("victim");
    fs::write(&victim, "precious").expect("written");
    let link = format!(
        "mv .git/objects .git/o; mkdir -p .git/objects/info .git/objects/pack; \
         ln -s {} .git/objects/info/alternates",
        victim.display()
    );
    let pipe = "rm .git/objects/info/alternates; mkfifo .git/objects/info/alternates";
    let said = run(&scene, &[&link, pipe, "git log --format=%s"]);
    assert_eq!(fs::read_to_string(&victim).expect("there"), "precious");
    assert!(said[2].starts_with("green"), "{said:#?}");
}

#[test]
fn commits_and_edits_follow_one_another() {
    let scene = TestRepo::new();
    let first = head(&scene);
    scene.write("src/lib.txt", "work\n");
    scene.write("deep/er/file", "x");
    scene.remove("README.md");
    scene.commit_all("second");
    let second = head(&scene);
    let mut rooms = rooms(&scene, Dirt::Refuse);
    let see = "cat src/lib.txt; ls README.md deep tests run.sh 2>/dev/null; git log --format=%s; git status --porcelain";
    let at_first = "green  code\nREADME.md\n\ntests:\ncheck.sh\nother.py\nfirst";
    let at_second = "green  work\ndeep:\ner\n\ntests:\ncheck.sh\nother.py\nsecond\nfirst";
    assert_eq!(run_on(&mut rooms, &second, &[], &[see]), [at_second]);
    assert_eq!(run_on(&mut rooms, &first, &[], &[see]), [at_first]);
    let edits = [
        TreeEdit::Remove { path: "tests/check.sh".into() },
        TreeEdit::Write {
            path: "run.sh".into(),
            kind: EntryKind::Regular { executable: true },
            bytes: b"true\n".to_vec(),
        },
        TreeEdit::Write {
            path: "src/lib.txt".into(),
            kind: EntryKind::Regular { executable: false },
            bytes: b"old\n".to_vec(),
        },
    ];
    let said = run_on(&mut rooms, &second, &edits, &["cat src/lib.txt; ls tests; test -x run.sh"]);
    assert_eq!(said, ["green  old\nother.py"]);
    assert_eq!(run_on(&mut rooms, &second, &[], &[see]), [at_second]);
}

#[test]
fn ignored_files_are_those_of_the_start() {
    let scene = TestRepo::new();
    scene.write("build/answer", "41\n");
    scene.write("run.log", "x\n");
    symlink("build/answer", scene.root.join("link.log")).expect("linked");
    fs::set_permissions(scene.root.join("build/answer"), fs::Permissions::from_mode(0o755))
        .expect("set");
    let mut first = rooms(&scene, Dirt::Refuse);
    scene.write("build/answer", "42\n");
    scene.write("build/planted", "x\n");
    let see = "cat build/answer; ls build; test -x build/answer && readlink link.log";
    let start = "green  41\nanswer\nbuild/answer";
    assert_eq!(run_on(&mut first, &head(&scene), &[], &[see]), [start]);
    first.close(&head(&scene), &[]);
    // Between two runs only the human works.
    scene.write("build/planted", "mine\n");
    let mut second = rooms(&scene, Dirt::Refuse);
    fs::remove_dir_all(scene.dir.path().join("rooms")).ok();
    let said = run_on(&mut second, &head(&scene), &[], &["cat build/answer build/planted"]);
    assert_eq!(said, ["green  41\nmine"]);
    // A run that dies says nothing about who changed what.
    scene.write("build/planted", "whose\n");
    let mut third = rooms(&scene, Dirt::Refuse);
    fs::remove_dir_all(scene.dir.path().join("rooms")).ok();
    assert!(third.notes()[0].contains("the last run died"), "{:?}", third.notes());
    let said = run_on(&mut third, &head(&scene), &[], &["cat build/planted"]);
    assert_eq!(said, ["green  mine"]);
}

#[test]
fn every_room_is_at_the_same_path_and_the_warm_one_comes_back() {
    let scene = TestRepo::new();
    scene.write("build/app", "old\n");
    let mut rooms = rooms(&scene, Dirt::Refuse);
    let commit = head(&scene);
    let said = run_on(&mut rooms, &commit, &[], &["pwd; cat build/app; echo new > build/app"]);
    let mut other = rooms.fresh(Warmth::Cold).expect("a room");
    let ran = run_in(&mut other, Shown { commit: &commit, edits: &[] }, &["pwd; ls build"]);
    let output = &ran.expect("ran")[0].result.output;
    let path = output.lines().next().expect("a path");
    assert!(output.contains("ls:"), "{output}");
    assert_eq!(said, [format!("green  {path}\nold")]);
    assert_eq!(run_on(&mut rooms, &commit, &[], &["cat build/app"]), ["green  new"]);
}

#[test]
fn a_check_whose_output_is_in_its_own_way_is_not_flaky() {
    let scene = TestRepo::new();
    let said = run(
        &scene,
        &[
            "mkdir new && touch new/seen",
            "mkdir build && touch build/seen",
            "test ! -e seen && touch seen",
            "test ! -e n.log && touch n.log",
        ],
    );
    assert!(said[0].starts_with("green new/seen"), "{}", said[0]);
    assert_eq!(said[1], "green");
    // Nothing tells it from code under test that counts how often it runs.
    assert!(said[2].starts_with("flaky seen"), "{}", said[2]);
    assert!(said[3].starts_with("flaky"), "{}", said[3]);
}

#[test]
fn an_object_with_another_content_than_its_name_is_not_used() {
    let scene = TestRepo::new();
    let blob = scene.git(&["rev-parse", "HEAD:tests/check.sh"]);
    let other = scene.git(&["rev-parse", "HEAD:src/lib.txt"]);
    let at = |id: &str| scene.root.join(".git/objects").join(&id[..2]).join(&id[2..]);
    let mut rooms = rooms(&scene, Dirt::Refuse);
    fs::set_permissions(at(&blob), fs::Permissions::from_mode(0o644)).expect("set");
    fs::copy(at(&other), at(&blob)).expect("forged");
    let shown = Shown { commit: &head(&scene), edits: &[] };
    let ran = run_in(rooms.warm().expect("a room"), shown, &["true"]);
    let error = ran.expect_err("forged").to_string();
    assert!(error.contains("bring a commit into the proof room"), "{error}");
}

#[test]
fn a_filter_program_and_a_large_file_make_what_they_made_at_the_start() {
    let scene = TestRepo::new();
    scene.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    scene.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    scene.write(".gitattributes", "*.up filter=up\n*.bin filter=lfs\n");
    scene.write("x.up", "hello\n");
    let content = "a large file\n";
    let digest = sha(content);
    scene.write(
        "y.bin",
        &format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {}\n",
            content.len()
        ),
    );
    scene.write(&format!(".git/lfs/objects/{}/{}/{digest}", &digest[..2], &digest[2..4]), content);
    scene.commit_all("filters");
    let said = run(
        &scene,
        &[
            "cat x.up y.bin",
            "cat x.up; git status --porcelain x.up",
            "echo x > x.up; echo x > y.bin",
            "cat x.up y.bin",
        ],
    );
    assert_eq!(said[0], format!("green  HELLO\n{}", content.trim()));
    assert_eq!(said[1], "green  HELLO");
    assert!(said[2].starts_with("green x.up,y.bin"), "{}", said[2]);
    assert_eq!(said[3], format!("green  HELLO\n{}", content.trim()));
}

/// `[push]` and `followTags` below it mean that it is true.
#[test]
fn a_key_without_a_value_is_true_in_the_room_too() {
    let scene = TestRepo::new();
    let alone = "[push]\n\tfollowTags\n[core]\n\tprecomposeUnicode\n[filter \"up\"]\n\trequired\n";
    scene.append(".git/config", alone);
    let before = scene.repo().settings().expect("the settings");
    let ask = |key: &str| format!("git config --type=bool {key}");
    let said = run(&scene, &[&ask("core.precomposeUnicode"), &ask("filter.up.required")]);
    assert_eq!(said, ["green  true", "green  true"]);
    scene.git(&["config", "push.followTags", "no"]);
    assert_ne!(scene.repo().settings().expect("the settings"), before);
}

fn sha(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_submodule_is_filled_from_its_own_objects() {
    let scene = TestRepo::new();
    let inner = TestRepo::new();
    let from = inner.root.display().to_string();
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &from, "lib/inner"]);
    scene.commit_all("with a submodule");
    let mut rooms = rooms(&scene, Dirt::Refuse);
    scene.write("lib/inner/src/lib.txt", "changed by the agent\n");
    let commands = [
        "cat lib/inner/src/lib.txt; git -C lib/inner log --format=%s; git status --porcelain",
        "echo x > lib/inner/README.md",
        "cat lib/inner/README.md",
    ];
    let said = run_on(&mut rooms, &head(&scene), &[], &commands);
    assert_eq!(said[0], "green  code\nfirst");
    assert_eq!(said[1], "green lib/inner/README.md");
    assert_eq!(said[2], "green  hello");
}
