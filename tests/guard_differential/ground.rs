//! The throw-away tree in which allowed lines run, and the comparison afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Stands in every secret, and nowhere else.
const SECRET: &str = "s3cr3t-9f1c7a";
/// No line needs longer.
const LONGEST: &str = "5";

/// What stands at a path: its kind, mode, and content.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
    Other,
}

type State = BTreeMap<PathBuf, Entry>;

pub(crate) struct Ground {
    _root: tempfile::TempDir,
    base: PathBuf,
    pub(crate) repo: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    bubblewrap: PathBuf,
    start: State,
    head: String,
}

impl Ground {
    pub(crate) fn new(bubblewrap: &Path) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let base = root.path().canonicalize().expect("canonical").join("ground");
        let (repo, home, tmp) = (base.join("repo"), base.join("home"), base.join("tmp"));
        let secret = format!("DEPLOY_TOKEN={SECRET}\n");
        let files = [
            ("home/.bashrc", "# shell\n"),
            ("home/.ssh/id_rsa", secret.as_str()),
            ("outside/kept.txt", "kept\n"),
            ("outside/.env", &secret),
            ("repo/README.md", "# a\nb\nc\nd\n\ne a\nf\n"),
            ("repo/src/a.txt", "a\n"),
            ("repo/src/b.txt", "b a\nb\nc\nd\ne\nf\n"),
            ("repo/sub/deep/c.txt", "c\na\nc\nd\ne\nf\n"),
            ("repo/tests/t.sh", "echo test\necho a\necho b\necho c\necho d\n"),
            ("repo/with space.txt", "a\nb\nc\nd\ne\nw\n"),
            ("repo/data.csv", "a,b\n1,2\n3,4\n5,6\n7,8\n9,a\n"),
            ("repo/.gitignore", ".env\n.env.*\ntarget/\n"),
            ("repo/tasks/demo/TASK.md", "# T\n\n- [ ] a\n"),
            ("repo/tasks/demo/guardrails.md", "# G\n"),
            ("repo/tasks/demo/progress.md", "# P\n\n- a\n- b\n- c\n- d\n"),
            ("repo/.github/hooks/ralph.json", "{}\n"),
            ("repo/.ralph/config.toml", "# c\n"),
            ("repo/.env", &secret),
            ("repo/config/.env.local", &secret),
            ("repo/target/log", "log\na\nb\nc\nd\n"),
        ];
        for folder in ["tmp", "repo/build", "repo/docs", "repo/dir-of-links"] {
            fs::create_dir_all(base.join(folder)).expect("a folder");
        }
        for (file, text) in files {
            let path = base.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        for (link, target) in [
            ("repo/link", "../outside"),
            ("repo/link-file", "../outside/kept.txt"),
            ("repo/src/up", "../../outside"),
            ("repo/dir-of-links/l", "../../outside/kept.txt"),
        ] {
            symlink(target, base.join(link)).expect("a link");
        }
        let git = |words: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            let done = Command::new("git").args(identity).args(words).current_dir(&repo).output();
            let done = done.expect("git");
            assert!(done.status.success(), "git {words:?}: {done:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-qm", "one"]);
        fs::write(repo.join("src/a.txt"), "a\nb\na\nc\nd\ne\nx\n").expect("a file");
        git(&["commit", "-qam", "two"]);
        git(&["config", "user.name", "a"]);
        git(&["config", "user.email", "a@example.com"]);
        let bubblewrap = bubblewrap.to_owned();
        let start = state(&base);
        let head = branch(&repo);
        Self { _root: root, base, repo, home, tmp, bubblewrap, start, head }
    }

    /// Runs a line and tells what it did that the guard does not expect of it. Afterwards the
    /// ground is as before.
    pub(crate) fn run(&mut self, line: &str, writes: &[PathBuf]) -> Vec<String> {
        let mut command = Command::new(&self.bubblewrap);
        command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind"]);
        command.arg(&self.base).arg(&self.base);
        command.args(["--unshare-all", "--die-with-parent", "--new-session", "--chdir"]);
        command.arg(&self.repo).args(["timeout", "-k", "1", LONGEST, "bash", "-c", line]);
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("TMPDIR", &self.tmp)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("DEPLOY_TOKEN", SECRET)
            .stdin(Stdio::null());
        let done = command.output().expect("bubblewrap runs");
        let mut faults = Vec::new();
        let text = [done.stdout, done.stderr].concat();
        if String::from_utf8_lossy(&text).contains(SECRET) {
            faults.push("printed a secret".to_owned());
        }
        let now = state(&self.base);
        faults.extend(self.compared(&now, line, writes));
        if now != self.start {
            self.restore(&now);
        }
        faults.into_iter().map(|fault| format!("{fault}: {line:?}")).collect()
    }

    fn compared(&self, now: &State, line: &str, writes: &[PathBuf]) -> Vec<String> {
        let mut faults = Vec::new();
        let paths: std::collections::BTreeSet<_> = self.start.keys().chain(now.keys()).collect();
        let changed: Vec<_> =
            paths.into_iter().filter(|path| self.start.get(*path) != now.get(*path)).collect();
        let is_there = |content: &[u8]| {
            now.iter().any(|(path, entry)| {
                path.starts_with("repo")
                    && matches!(entry, Entry::File(_, other) if other.as_slice() == content)
            })
        };
        // An edited file that is moved afterwards has neither its content nor its place.
        let is_moved = |path: &Path| {
            let is_edited = writes.iter().any(|write| *write == self.base.join(path));
            is_edited
                && now.iter().any(|(other, entry)| {
                    let is_file = matches!(entry, Entry::File(_, content) if !content.is_empty());
                    is_file
                        && other.file_name() == path.file_name()
                        && !self.start.contains_key(other)
                })
        };
        for path in changed {
            let shown = path.display();
            let Ok(below) = path.strip_prefix("repo") else {
                // Tools keep what they fetched there.
                let caches = ["home/.npm", "home/.cache"];
                if !path.starts_with("tmp") && !caches.iter().any(|cache| path.starts_with(cache)) {
                    faults.push(format!("changed {shown}"));
                }
                continue;
            };
            let kept = [
                ".git/config",
                ".git/hooks",
                ".git/info",
                ".git/HEAD",
                ".github/hooks",
                ".ralph",
                "tasks/demo/TASK.md",
                "tasks/demo/guardrails.md",
                ".env",
                "config/.env.local",
            ];
            // Git LFS notes the version of its format in git's configuration.
            let noted = below == Path::new(".git/config") && line.contains("git lfs ");
            if kept.iter().any(|kept| below.starts_with(kept)) && !noted {
                faults.push(format!("changed {}", below.display()));
            }
            // Test runners remember there what failed, and an interpreter what it compiled.
            let folder = below.parent().unwrap_or(below);
            let notes = folder.ends_with("__pycache__")
                || folder.ends_with("Testing/Temporary")
                || below.starts_with(".pytest_cache");
            if below.starts_with(".git") || notes {
                continue;
            }
            match (self.start.get(path), now.get(path)) {
                (Some(Entry::File(_, before)), None) if !is_there(before) && !is_moved(path) => {
                    faults.push(format!("lost {}", below.display()));
                }
                (Some(Entry::File(_, before)), Some(Entry::File(_, after)))
                    if after.is_empty()
                        && !is_there(before)
                        && !below.starts_with("target")
                        && !line.contains(" & ") =>
                {
                    faults.push(format!("emptied {}", below.display()));
                }
                (None, Some(Entry::File(..))) if !line.contains("git") => {
                    let real = self.base.join(path);
                    // What is moved to a folder that is not there takes its place.
                    let made = |write: &&PathBuf| {
                        write.parent().is_some_and(|folder| {
                            let known = folder.strip_prefix(&self.base).is_ok_and(|folder| {
                                folder == Path::new("repo") || self.start.contains_key(folder)
                            });
                            !known && real.starts_with(folder)
                        })
                    };
                    let expected = |write: &&PathBuf| real.starts_with(write) || made(write);
                    if !writes.iter().any(|write| expected(&write)) {
                        faults.push(format!("unexpected {}", below.display()));
                    }
                }
                _ => {}
            }
        }
        let head = branch(&self.repo);
        let grew = head == self.head
            || git(&self.repo, &["merge-base", "--is-ancestor", &self.head, &head]).is_some();
        if !grew {
            faults.push("changed history".to_owned());
        }
        faults
    }

    /// Puts back what differs.
    fn restore(&self, now: &State) {
        let differs = |path: &&PathBuf| self.start.get(*path) != now.get(*path);
        for path in now.keys().rev().filter(differs) {
            let real = self.base.join(path);
            match now.get(path) {
                Some(Entry::Folder(_))
                    if matches!(self.start.get(path), Some(Entry::Folder(_))) => {}
                Some(Entry::Folder(_)) => fs::remove_dir_all(real).expect("removed"),
                Some(Entry::File(..) | Entry::Link(_) | Entry::Other) | None => {
                    fs::remove_file(real).expect("removed");
                }
            }
        }
        for path in self.start.keys().filter(differs) {
            let real = self.base.join(path);
            match &self.start[path] {
                Entry::Folder(mode) => {
                    fs::create_dir_all(&real).expect("a folder");
                    fs::set_permissions(&real, fs::Permissions::from_mode(*mode)).expect("mode");
                }
                Entry::File(mode, content) => {
                    fs::write(&real, content).expect("a file");
                    fs::set_permissions(&real, fs::Permissions::from_mode(*mode)).expect("mode");
                }
                Entry::Link(target) => symlink(target, &real).expect("a link"),
                Entry::Other => {}
            }
        }
        assert!(state(&self.base) == self.start, "the ground is not as before");
    }
}

/// Everything below a folder, by path.
fn state(base: &Path) -> State {
    let mut state = State::new();
    let mut folders = vec![base.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = path.symlink_metadata().expect("metadata");
            let mode = meta.permissions().mode();
            let what = match meta.file_type() {
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    Entry::Folder(mode)
                }
                kind if kind.is_symlink() => Entry::Link(fs::read_link(&path).expect("a link")),
                kind if kind.is_file() => Entry::File(mode, fs::read(&path).unwrap_or_default()),
                _ => Entry::Other,
            };
            state.insert(path.strip_prefix(base).expect("below").to_owned(), what);
        }
    }
    state
}

/// The commit of the branch that the tree started on.
fn branch(repo: &Path) -> String {
    git(repo, &["rev-parse", "refs/heads/main"]).unwrap_or_default()
}

fn git(repo: &Path, words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).current_dir(repo).output().expect("git");
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
