//! `git`: questions, staging, committing and moving. Everything that throws work away, talks to
//! a remote, or changes how git works is denied with its own reason.

use std::path::{Path, PathBuf};

use super::git_config::{config, setting_is_harmless};
use super::offline::is_local_source;
use super::options::{Parsed, parse};
use crate::guard::call_context::{ReadKind, secret};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place, aims_at_secrets};
use crate::guard::programs::git_refused::{
    BRANCHES, INTERNALS, REMOTE, REMOVES, Refused, WORK_LOST, refused,
};
use crate::guard::programs::table;
use crate::guard::secrets;

/// Files that only the runner writes, and git ignores.
const RUNNERS_FILES: [&str; 3] = [".ralph/memory/lessons.md", ".ralph/runs", ".ralph/audit"];

/// The runner's file that staging this path would take: one that it names, or, by force, one in the
/// folder that it names. The workspace itself is no such folder.
fn runners_file(path: &Path, workspace: &Path, forced: bool) -> Option<&'static str> {
    RUNNERS_FILES.into_iter().find(|name| {
        let file = workspace.join(name);
        path.starts_with(&file) || forced && path != workspace && file.starts_with(path)
    })
}

impl Judge<'_> {
    pub(super) fn git(&mut self, place: &mut Place, args: &[Arg]) -> Result<(), Denial> {
        let mut place = place.clone();
        let verb = self.global_options(&mut place, args)?;
        let Some(verb_at) = verb else { return Ok(()) };
        let Some(verb) = args[verb_at].text().map(str::to_owned) else {
            return Err(Denial::new("git.unknown", "cannot tell which command of git this is")
                .instead("write git's command as plain text"));
        };
        let rest = &args[verb_at + 1..];
        let words: Vec<&str> = rest.iter().map(Arg::head).collect();
        if self.sandboxed {
            if !self.is_own_repository(&place) && verb != "push" || matches!(words[..], ["-h"]) {
                return Ok(());
            }
            if verb == "clone" && is_local_source(&words) {
                return self.names_in(&place, rest);
            }
        }
        if matches!(words[..], ["--help"]) {
            return Ok(());
        }
        if self.sandboxed && verb == "clean" && only_shows(&words) {
            return self.names_in(&place, rest);
        }
        if self.sandboxed && verb == "rm" {
            return self.removes_tracked(&place, rest);
        }
        intent(&verb, &words)?;
        let full = format!("git {verb}");
        let Some(entry) = table::entry(&full) else {
            return Err(match refused(&verb) {
                Some(reason) => denial(&verb, reason),
                None => Denial::new("git.unknown", format!("`{full}` is not known to be safe"))
                    .instead("use `git status`, `diff`, `log`, `show`, `add`, or `commit`"),
            });
        };
        self.listed(&mut place, &full, entry, rest)
    }

    /// Judges the options before git's command, and returns where the command is.
    fn global_options(&mut self, place: &mut Place, args: &[Arg]) -> Result<Option<usize>, Denial> {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            match arg.text() {
                Some("-C") => {
                    let Some(folder) = args.get(at + 1) else { return Ok(None) };
                    let judged = self.works_in(place, folder);
                    let known = self.soften(judged)?;
                    place.folders = match known {
                        Some(()) => self.paths(place, folder)?,
                        None => Vec::new(),
                    };
                    at += 2;
                }
                Some("-c") => {
                    let setting = args.get(at + 1).map(Arg::head).unwrap_or_default().to_owned();
                    let judged = setting_is_harmless(&setting);
                    self.soften(judged)?;
                    at += 2;
                }
                Some("--no-pager" | "-P" | "--no-optional-locks") => at += 1,
                Some("--version" | "--help") => return Ok(None),
                Some(option) if option.starts_with('-') => {
                    let unknown = Denial::new(
                        "git.option",
                        format!("git with `{option}` is not known to be safe"),
                    )
                    .instead("run git in the folder itself, without options before its command");
                    self.soften::<()>(Err(unknown))?;
                    let valued = matches!(
                        option,
                        "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
                    );
                    at += 1 + usize::from(valued);
                }
                _ => return Ok(Some(at)),
            }
        }
        Ok(None)
    }

    /// Is git at work on the workspace's own repository, as far as can be told?
    fn is_own_repository(&self, place: &Place) -> bool {
        place.folders.iter().any(|folder| self.cx.inside(folder))
    }

    /// Checks revisions, paths, and `REVISION:PATH`.
    pub(super) fn revisions(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        for arg in args {
            let text = match arg {
                Arg::Text(text) => text.clone(),
                Arg::Pattern(text) if aims_at_secrets(text) => return Err(secret(Path::new(text))),
                // A name that it finds may be an option.
                Arg::Pattern(_) => {
                    let found = self.paths(place, arg);
                    self.soften(found)?;
                    continue;
                }
                Arg::Open { .. } => {
                    return Err(Denial::new(
                        "shell.unknown-word",
                        "git has a word that is known at run time only",
                    ));
                }
            };
            if [":!", ":^", ":(exclude)"].iter().any(|excluded| text.starts_with(excluded)) {
                continue;
            }
            let text = text
                .rsplit_once(')')
                .filter(|_| text.starts_with(":("))
                .map_or(text.clone(), |(_, path)| path.to_owned());
            if text.contains(['*', '?', '[']) && aims_at_secrets(&text) {
                return Err(secret(Path::new(&text)));
            }
            let path = text.split_once(':').map_or(text.as_str(), |(_, path)| path);
            let named = Path::new(path);
            if secrets::path(named) && (path.contains(['.', '/']) || path != text) {
                return Err(secret(named));
            }
            if path.starts_with('/')
                || path.starts_with("..") && !path.starts_with("...") && !path.contains("...")
            {
                let judged = self.reads(place, &Arg::of(path), ReadKind::Name);
                self.soften(judged)?;
            }
        }
        Ok(())
    }

    /// Checks what is staged, or committed by name.
    pub(super) fn stages(
        &mut self,
        place: &Place,
        name: &str,
        args: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let every = if name == "git commit" {
            &["-a", "--all"][..]
        } else {
            &["-A", "--all", "-u", "--update"]
        };
        if parsed.has(every) && (args.is_empty() || name == "git commit") {
            self.bulk(name)?;
        }
        for arg in args {
            self.staged(place, name, arg, parsed.has(&["-f", "--force"]))?;
        }
        let says = [
            "-m",
            "--message",
            "-F",
            "--file",
            "-C",
            "--dry-run",
            "--short",
            "--porcelain",
            "--long",
            "--no-edit",
        ];
        if name == "git commit" && !parsed.has(&says) {
            return Err(Denial::new(
                "git.option",
                "git commit without a message waits in an editor",
            )
            .instead("`git commit -m '…'`"));
        }
        Ok(())
    }

    /// Refuses staging in bulk while the human has unfinished work in the tree.
    fn bulk(&self, what: &str) -> Result<(), Denial> {
        match self.unstaged().next() {
            None => Ok(()),
            Some(human) => Err(Denial::new(
                "human.work",
                format!(
                    "{what} of everything would take the human's unfinished {} along",
                    self.shown(human)
                ),
            )
            .instead("stage your own files by name: `git add FILE …`, then `git commit -m '…'`")),
        }
    }

    /// The human's unfinished work that git would stage.
    fn unstaged(&self) -> impl Iterator<Item = &PathBuf> {
        let policy = self.cx.policy();
        policy.human.iter().filter(|path| !policy.marked.contains(path))
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.cx.policy().workspace).unwrap_or(path).display().to_string()
    }

    /// Judges one thing to stage; by force, git takes what it ignores, too.
    pub(super) fn staged(
        &mut self,
        place: &Place,
        name: &str,
        arg: &Arg,
        forced: bool,
    ) -> Result<(), Denial> {
        let text = arg.head().to_owned();
        if matches!(arg, Arg::Open { .. }) {
            self.bulk(name)?;
            return Err(Denial::new("path.unknown", format!("cannot tell what `{name}` takes"))
                .instead("name the files"));
        }
        if text.starts_with(':') || text.contains(['*', '?', '[']) {
            self.bulk(name)?;
            if matches!(arg, Arg::Pattern(_)) {
                let found = self.paths(place, arg);
                self.soften(found)?;
            }
            let excluded =
                text.starts_with(":!") || text.starts_with(":^") || text.starts_with(":(exclude)");
            if !excluded
                && (aims_at_secrets(text.trim_start_matches([':', '/']))
                    || secrets::path(Path::new(&text)))
            {
                return Err(secret(Path::new(&text)));
            }
            return Ok(());
        }
        for path in self.paths(place, arg)? {
            if self.cx.policy().hides(&path) {
                return Err(secret(&path));
            }
            let own = self.own_place(&path, &text)?;
            if !self.cx.inside(&own) {
                return Err(Denial::new(
                    "path.outside",
                    format!("{text} is outside the workspace"),
                ));
            }
            if let Some(runners) = runners_file(&own, &self.cx.policy().workspace, forced) {
                let why = format!("{runners} belongs to the runner, and git ignores it");
                return Err(
                    Denial::new("state.runner", why).instead("stage your own files by name")
                );
            }
            let human =
                self.unstaged().find(|human| human.starts_with(&own) || own.starts_with(human));
            if let Some(human) = human {
                return Err(Denial::new(
                    "human.work",
                    format!("{} is the human's own unfinished work", self.shown(human)),
                )
                .instead("stage your own files by name"));
            }
        }
        Ok(())
    }

    /// A path with the links of its folders followed, and not its own: git stages a link itself.
    fn own_place(&mut self, path: &Path, text: &str) -> Result<PathBuf, Denial> {
        let name = path
            .file_name()
            .filter(|_| !(text == "." || text.ends_with("/.") || text.ends_with("..")));
        match (name, path.parent()) {
            (Some(name), Some(parent)) => Ok(self.cx.resolve(parent)?.path.join(name)),
            _ => Ok(self.cx.resolve(path)?.path),
        }
    }

    /// Unstaging keeps every file as it is; anything else throws work away.
    pub(super) fn unstages(
        &mut self,
        place: &Place,
        name: &str,
        args: &[Arg],
        parsed: &Parsed,
    ) -> Result<(), Denial> {
        let refuse = || denial(name, WORK_LOST);
        if name == "git restore" && !parsed.has(&["-S", "--staged"]) {
            return Err(refuse());
        }
        let head = name == "git reset" && args.first().and_then(Arg::text) == Some("HEAD");
        for arg in &args[usize::from(head)..] {
            for path in self.paths(place, arg)? {
                // Without a file of that name it is a commit, unless one stands in front of it.
                if name == "git reset" && !head && self.cx.resolve(&path)?.kind == FileKind::Missing
                {
                    return Err(refuse());
                }
                let judged = self.cx.read(&path, ReadKind::Name);
                self.soften(judged)?;
            }
        }
        Ok(())
    }
}

/// Does `git clean` only tell what it would delete? A pattern of `-e` may look like that option.
fn only_shows(words: &[&str]) -> bool {
    let shows = |word: &&str| *word == "--dry-run" || short(word, "n");
    let takes = |word: &&str| word.starts_with("--e") || short(word, "e");
    words.iter().any(shows) && !words.iter().any(takes)
}

/// Plain effects of a git command on history, branches, settings, or a remote, by its command and
/// words.
fn intent(verb: &str, words: &[&str]) -> Result<(), Denial> {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let first = words.iter().find(|word| !word.starts_with('-')).copied();
    match verb {
        "push"
            if words.iter().any(|word| {
                word.starts_with("--force")
                    || word.starts_with('+')
                    || word.starts_with("--delete")
                    || word.starts_with("--mirror")
                    || word.starts_with("--prune")
                    || word.starts_with(':')
                    || short(word, "fd")
            }) =>
        {
            Err(Denial::new("git.push-force", "it overwrites or removes the work of others")
                .instead("commit only; a human pushes"))
        }
        "push" => Err(denial(verb, REMOTE)),
        "reset" if has(&["--hard", "--merge", "--keep", "--soft"]) => Err(denial(verb, WORK_LOST)),
        "restore" if !has(&["-S", "--staged"]) || has(&["-W", "--worktree", "-s", "--source"]) => {
            Err(denial(verb, WORK_LOST))
        }
        "checkout" | "switch"
            if has(&["-f", "--force", "--", ".", "-B", "-C", "--discard-changes"])
                || words.len() > 1 && !has(&["-b", "-c"]) =>
        {
            Err(denial(verb, WORK_LOST))
        }
        "commit"
            if words.iter().any(|word| {
                word.starts_with("--amend")
                    || word.starts_with("--fixup")
                    || word.starts_with("--squash")
            }) =>
        {
            Err(Denial::new(
                "git.history",
                "git commit would rewrite history, and the run proves its commits by it",
            )
            .instead("make a new commit"))
        }
        "stash" if !matches!(first, Some("list" | "show")) => {
            let lost = matches!(first, Some("drop" | "clear" | "pop"));
            let (rule, why) = if lost {
                ("git.destructive", "git stash throws work away")
            } else {
                ("git.stash", "git stash takes work out of the tree")
            };
            Err(Denial::new(rule, why)
                .instead("commit all changes with `git add -A && git commit -m '…'`"))
        }
        "rm" => Err(denial(verb, REMOVES)),
        "config" => config(words),
        _ => names_intent(verb, words),
    }
}

/// Plain effects of a git command on branches, tags, remotes, or its own data.
fn names_intent(verb: &str, words: &[&str]) -> Result<(), Denial> {
    const ASKS: [&str; 5] =
        ["--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let first = words.iter().find(|word| !word.starts_with('-')).copied();
    let listed = || {
        let args: Vec<Arg> = words.iter().map(|word| Arg::of(*word)).collect();
        let entry = table::entry(&format!("git {verb}"));
        entry.is_some_and(|entry| parse("git", &args, entry).is_ok())
    };
    // A name alone would be made.
    let lists = |short: &str| {
        listed()
            && (first.is_none()
                || has(&["-l", "--list"])
                || words.iter().any(|word| {
                    let name = word.split('=').next().unwrap_or_default();
                    ASKS.contains(&name) || !short.is_empty() && word.starts_with(short)
                }))
    };
    match verb {
        "branch" if has(&["-D", "-d", "--delete", "-M", "-m", "--move", "-f", "--force", "-C"]) => {
            Err(Denial::new("git.destructive", "git branch would remove or rename a branch")
                .instead("stay on this branch"))
        }
        "branch" if !lists("") => Err(denial(verb, BRANCHES)),
        "tag" if has(&["-d", "--delete", "-f", "--force"]) => {
            Err(Denial::new("git.destructive", "git tag would remove or move a tag")
                .instead("list them: `git tag -l`"))
        }
        "tag" if !lists("-n") => Err(Denial::new("git.branch", "git tag would make a tag")
            .instead("list them: `git tag -l`")),
        "reflog" if matches!(first, Some("expire" | "delete" | "drop" | "write")) => {
            Err(denial(verb, WORK_LOST))
        }
        "remote" if first == Some("show") && !has(&["-n"]) && words.len() > 1 => {
            Err(Denial::new("git.network", "git remote show asks the remote")
                .instead("`git remote -v`"))
        }
        "remote" if !matches!(first, None | Some("get-url" | "show")) => {
            Err(Denial::new("git.config", "git remote changes how git works")
                .instead("`git remote -v`"))
        }
        "worktree" if first != Some("list") => Err(denial(verb, BRANCHES)),
        "notes" | "symbolic-ref"
            if words.iter().filter(|word| !word.starts_with('-')).count() > 1 =>
        {
            Err(denial(verb, INTERNALS))
        }
        "submodule" if matches!(first, Some("status" | "summary")) => Ok(()),
        "lfs" if matches!(first, Some("ls-files" | "status" | "version" | "pointer" | "env")) => {
            Ok(())
        }
        "bisect" if matches!(first, Some("log" | "terms")) => Ok(()),
        "sparse-checkout" if first == Some("list") => Ok(()),
        "ls-remote" if has(&["--get-url"]) => Ok(()),
        "bundle" if first == Some("verify") => Ok(()),
        _ => refused(verb).map_or(Ok(()), |reason| Err(denial(verb, reason))),
    }
}

/// Whether a word is a cluster of short options with one of these letters.
fn short(word: &str, letters: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| {
        !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_alphabetic())
            && rest.contains(|c| letters.contains(c))
    })
}

fn denial(verb: &str, (rule, why, instead): Refused) -> Denial {
    let verb = verb.trim_start_matches("git ");
    let does = why.trim_start_matches("it ");
    Denial::new(rule, format!("`git {verb}` {does}")).instead(instead)
}
