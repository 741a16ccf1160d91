//! Bundles are untrusted input: what is refused leaves the repository as it was.

use std::path::{Path, PathBuf};

use ralph_copilot::model::Oid;
use ralph_copilot::verify::{BundleLimits, GitRepo, take_bundle};

use crate::repo::Repo;

const LIMITS: BundleLimits = BundleLimits { file: 1 << 20, unpacked: 1 << 20 };

/// A repository, and a clone of it with commits that it does not have.
struct Machines {
    here: Repo,
    there: Repo,
}

impl Machines {
    fn new() -> Self {
        let here = Repo::new("- [ ] a\n");
        let there = Repo::empty();
        let from = here.root().display().to_string();
        there.git(&["pull", "--quiet", &from, "main"]);
        there.git(&["switch", "--quiet", "--create", "work"]);
        there.write("work.txt", "work\n");
        there.commit("work");
        Self { here, there }
    }

    /// Bundles refs of the other machine as git does it.
    fn bundle(&self, what: &[&str]) -> PathBuf {
        let file = self.there.beside("made.bundle");
        let path = file.display().to_string();
        self.there.git(&[&["bundle", "create", "--quiet", &path], what].concat());
        file
    }

    fn take(&self, file: &Path, limits: BundleLimits) -> Result<Vec<String>, String> {
        let announced =
            |name: &str| name == "refs/heads/work" || name.starts_with("refs/ralph/demo/");
        let taken = take_bundle(&self.here.path(".git"), file, limits, &announced);
        taken.map(|refs| refs.into_keys().collect()).map_err(|error| error.to_string())
    }

    /// A bundle is refused for this reason, and nothing of it stays.
    fn refuses(&self, file: &Path, limits: BundleLimits, why: &str) {
        let before = self.here.git(&["count-objects", "-v"]);
        let said = self.take(file, limits).expect_err("it is refused");
        assert!(said.contains(why), "{said}");
        assert_eq!(self.here.git(&["count-objects", "-v"]), before);
        let left = std::fs::read_dir(self.here.path(".git")).expect("a folder").flatten();
        let names: Vec<_> = left.map(|it| it.file_name().into_string().expect("UTF-8")).collect();
        assert!(!names.iter().any(|name| name.starts_with("ralph-bundle")), "{names:?}");
    }
}

#[test]
fn objects_come_and_refs_do_not() {
    let at = Machines::new();
    at.there.git(&["update-ref", "refs/ralph/demo/attempts/1", "HEAD"]);
    let base = at.here.git(&["rev-parse", "main"]).trim().to_owned();
    let file = at.there.beside("ours.bundle");
    let refs = ["refs/heads/work", "refs/ralph/demo/attempts/1"].map(str::to_owned);
    let there = GitRepo::discover(&at.there.root()).expect("a repository");
    there.write_bundle(&file, &Oid::new(base), &refs).expect("written");
    let (before, hook) =
        (at.here.git(&["for-each-ref"]), at.here.path(".git/hooks/post-index-change"));
    assert_eq!(at.take(&file, LIMITS), Ok(refs.to_vec()));
    assert_eq!(at.here.git(&["for-each-ref"]), before);
    assert!(!hook.exists());
    let work = at.there.git(&["rev-parse", "work"]).trim().to_owned();
    at.here.git(&["fsck", "--strict", &work]);
    assert_eq!(at.here.git(&["show", &format!("{work}:work.txt")]), "work\n");
}

#[test]
fn only_announced_refs_are_taken() {
    for name in
        ["refs/heads/main", "refs/tags/v1", "refs/ralph/other/attempts/1", "refs/heads/work2"]
    {
        let at = Machines::new();
        at.there.git(&["update-ref", name, "work"]);
        let file = at.bundle(&["work", name, "^work~"]);
        at.refuses(&file, LIMITS, &format!("not announced: {name}"));
    }
    let at = Machines::new();
    let file = at.bundle(&["HEAD", "work", "^work~"]);
    at.refuses(&file, LIMITS, "not announced: HEAD");
}

#[test]
fn a_bundle_has_a_limit_packed_and_unpacked() {
    let at = Machines::new();
    at.there.write("zeros", vec![0; 3 << 20]);
    at.there.commit("a small pack of a large file");
    let file = at.bundle(&["work", "^main"]);
    let length = std::fs::metadata(&file).expect("a file").len();
    assert!(length < 1 << 20, "{length}");
    at.refuses(&file, LIMITS, "over limit");
    at.refuses(&file, BundleLimits { unpacked: (3 << 20) + 100, ..LIMITS }, "it unpacks to ");
    at.refuses(&file, BundleLimits { file: length - 1, unpacked: 1 << 30 }, " bytes, more than ");
    let taken = at.take(&file, BundleLimits { file: length, unpacked: 4 << 20 });
    assert_eq!(taken, Ok(vec!["refs/heads/work".to_owned()]));
}

#[test]
fn git_checks_every_object() {
    let at = Machines::new();
    // A tree with an entry `.git`, as no honest git makes one.
    let blob = at.there.git(&["rev-parse", "work:work.txt"]).trim().to_owned();
    let make = format!(
        "printf '100644 blob {blob}\\tx' | git mktree | xargs git cat-file tree | \
         sed 's/x/.git/' | git hash-object -t tree -w --literally --stdin"
    );
    let tree = sh(&at.there, &make);
    let commit = sh(&at.there, &format!("git commit-tree -p work -m evil {}", tree.trim()));
    at.there.git(&["update-ref", "refs/heads/work", commit.trim()]);
    let file = at.bundle(&["work", "^main"]);
    at.refuses(&file, LIMITS, "fsck error in packed object");
}

#[test]
fn a_bundle_must_begin_here_and_be_whole() {
    let at = Machines::new();
    at.there.write("more.txt", "more\n");
    at.there.commit("more");
    // It begins at a commit that only the other machine has.
    let file = at.bundle(&["work", "^work~"]);
    at.refuses(&file, LIMITS, "did not receive expected object");
    let whole = std::fs::read(at.bundle(&["work", "^main"])).expect("a bundle");
    let file = at.there.beside("forged.bundle");
    let forge = |bytes: &[u8], why: &str| {
        std::fs::write(&file, bytes).expect("written");
        at.refuses(&file, LIMITS, why);
    };
    forge(&whole[..whole.len() - 30], "");
    forge(b"", "its header does not end");
    forge(b"# v3 git bundle\n@filter=blob:none\n\n", "not a bundle of version 2");
    forge(b"# v2 git bundle\n\n", "it has no refs");
    forge(b"# v2 git bundle\nnot an id\n\n", "no line of a header");
    let header = whole.windows(2).position(|two| two == b"\n\n").expect("an end") + 2;
    let named = |id: &str| format!("# v2 git bundle\n{id} refs/heads/work\n\n");
    // A ref that names a tree, and one that names nothing.
    let tree = at.there.git(&["rev-parse", "work^{tree}"]).trim().to_owned();
    for id in [tree, "0123456789012345678901234567890123456789".to_owned()] {
        let forged = [named(&id).as_bytes(), &whole[header..]].concat();
        forge(&forged, &format!("it needs the commit {id}"));
    }
    let twice = format!("{}\n", named(&"0".repeat(40)).trim_end()).repeat(2);
    forge(twice.replacen("\n# v2 git bundle", "", 1).as_bytes(), "twice");
    let link = at.there.beside("link.bundle");
    std::os::unix::fs::symlink(at.bundle(&["work", "^main"]), &link).expect("a link");
    at.refuses(&link, LIMITS, "refused the bundle");
    at.refuses(&at.there.root(), LIMITS, "not a regular file");
}

/// Runs a line of shell in a repository.
fn sh(repo: &Repo, line: &str) -> String {
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-ec", line]).current_dir(repo.root()).output().expect("it runs");
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
