//! HOME as the agent's commands see it: an overlay over the real one. The overlay hides files that
//! commands do not need, empties key folders, and takes all writes.
//!
//! Invariant: the real HOME is only read. Only a short list of kinds is shown (dot-files, tools,
//! caches). Everything else is hidden, so unexpected folders are hidden, too.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::XattrFlags;

use super::full::{HOMES, PRIVATE};
use super::home_tables::{
    AGENTS, CONFIG, DEEPER, EMPTIED, LOGINS, SECRET_WORDS, SHARE, TOOLS, VARIABLES, XDG,
};
use super::namespaces::whiteout;
use super::profile::Overlay;

/// Largest file whose secrets are looked for, in bytes; a larger one is shown empty if its name
/// says that it holds some.
const LARGEST: u64 = 1 << 20;

/// Folders beside `bin` that make the folder above both an installation.
const PARTS: [&str; 12] = [
    "lib",
    "lib64",
    "libexec",
    "share",
    "include",
    "etc",
    "versions",
    "installs",
    "toolchains",
    "packages",
    "envs",
    "conda-meta",
];

/// The caller's knowledge of secrets.
pub struct Secrets<'a> {
    /// Does a file of this path hold secrets, by its name?
    pub is_secret: &'a dyn Fn(&Path) -> bool,
    /// The same text without its secret values.
    pub scrub: &'a dyn Fn(&str) -> String,
}

/// Folders that tools need: those that their variables name, and those that entries of PATH belong
/// to. A place that programs share, such as `/tmp`, belongs to no tool.
pub fn tools(home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> BTreeSet<PathBuf> {
    let named = VARIABLES.iter().chain(&XDG).filter_map(|name| variable(name));
    let named = named.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    let places = ["TMPDIR", "XDG_RUNTIME_DIR"].into_iter().filter_map(variable);
    let shared: Vec<PathBuf> = places
        .map(PathBuf::from)
        .chain(PRIVATE.map(PathBuf::from))
        .chain(HOMES.map(PathBuf::from))
        .chain([home.to_owned(), home.join(".local")])
        .map(|place| place.canonicalize().unwrap_or(place))
        .collect();
    let is_shared = |path: &Path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        shared.iter().any(|place| place.starts_with(&path)) || is_home(&path)
    };
    let path = variable("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|folder| match folder.parent() {
        Some(parent) if is_installed(&folder, parent) && !is_shared(parent) => parent.to_owned(),
        _ => folder,
    });
    let all = named.chain(programs);
    all.filter(|path| path.is_absolute() && !is_shared(path)).collect()
}

/// Is this a person's own folder?
fn is_home(path: &Path) -> bool {
    path.parent()
        .is_some_and(|parent| parent == Path::new("/home") || parent == Path::new("/Users"))
}

/// Is this folder of programs part of an installation in the folder above it? An installation has
/// folders that its programs need, and only its owner writes there.
fn is_installed(folder: &Path, parent: &Path) -> bool {
    let Some(name) = folder.file_name() else { return false };
    let is_writable_by_all =
        || fs::metadata(parent).is_ok_and(|found| found.permissions().mode() & 0o002 != 0);
    let has_parts = || PARTS.iter().any(|part| parent.join(part).is_dir());
    let has_programs = name == "shims" || (name == "bin" || name == "sbin") && has_parts();
    has_programs && !is_writable_by_all()
}

/// Fills `overlay.upper` so that the overlay shows only the visible part of HOME.
///
/// # Errors
/// If HOME cannot be listed, or something cannot be written to the upper folder.
pub fn prepare(
    overlay: &Overlay,
    tools: &BTreeSet<PathBuf>,
    secrets: &Secrets<'_>,
) -> io::Result<()> {
    for folder in [&overlay.upper, &overlay.work, &overlay.merged] {
        fs::create_dir_all(folder)?;
    }
    let view = HomeView { home: &overlay.lower, tools: below(&overlay.lower, tools), secrets };
    let upper = Upper(overlay);
    view.each(Path::new(""), &top_level, &mut |path, entry| upper.take(path, &entry))
}

/// The files and folders of HOME that commands may see as they are.
///
/// # Errors
/// If HOME cannot be listed.
pub(super) fn visible(
    home: &Path,
    tools: &BTreeSet<PathBuf>,
    secrets: &Secrets<'_>,
) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let view = HomeView { home, tools: below(home, tools), secrets };
    view.each(Path::new(""), &top_level, &mut |path, entry| {
        match entry {
            Entry::Kept => found.push(home.join(path)),
            Entry::Scrubbed(_) | Entry::Emptied { .. } | Entry::Hidden => {}
        }
        Ok(())
    })?;
    Ok(found)
}

/// Is something in this folder of HOME, relative to it, not shown?
pub(super) fn holds_hidden(folder: &Path) -> bool {
    top_level(folder) != Shown::Yes
}

/// Can a folder of this name in HOME, with a dot before it, belong to a program that no list names?
pub fn is_free(name: &str) -> bool {
    let path = PathBuf::from(format!(".{name}"));
    let is_agent = AGENTS.iter().any(|it| path == Path::new(it));
    let is_listed = name == "cache" || CONFIG.contains(&name) || SHARE.contains(&name) || is_agent;
    top_level(&path) == Shown::Yes && !is_listed
}

/// The tools' folders that lie below HOME, relative to it.
fn below(home: &Path, tools: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let real = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let relative = |path: &PathBuf| {
        let path = path.strip_prefix(home).or_else(|_| path.strip_prefix(&real)).ok()?;
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        (plain && path != Path::new("")).then(|| path.to_owned())
    };
    tools.iter().filter_map(relative).collect()
}

/// The treatment of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// As it is; a file without its secret values.
    Yes,
    /// As an empty folder or file.
    Empty,
    /// Not at all.
    No,
    /// Entry by entry.
    Inside,
    /// As it is, but for some entries.
    Mostly,
}

/// Decides on an entry by its path relative to HOME.
fn top_level(path: &Path) -> Shown {
    let Some(text) = path.to_str() else { return Shown::No };
    match text {
        ".config" | ".local" | ".local/share" => Shown::Inside,
        _ if DEEPER.contains(&text) => Shown::Mostly,
        _ if EMPTIED.iter().any(|emptied| Path::new(emptied).parent() == Some(path)) => {
            Shown::Mostly
        }
        _ if EMPTIED.contains(&text) || LOGINS.contains(&text) => Shown::Empty,
        _ if AGENTS.contains(&text) => Shown::No,
        _ if text.ends_with("_history") || text.ends_with("_hist") => Shown::Empty,
        _ => match text.split_once('/') {
            None if text.starts_with('.') && SECRET_WORDS.iter().any(|it| text.contains(it)) => {
                Shown::Empty
            }
            None if text.starts_with('.') || TOOLS.contains(&text) => Shown::Yes,
            None => Shown::No,
            Some((".config", name)) => listed(&CONFIG, name),
            Some((".local", rest)) => match rest.strip_prefix("share/") {
                Some(name) => listed(&SHARE, name),
                None => Shown::Yes,
            },
            // A folder that is listed entry by entry is partly shown.
            Some(_) => Shown::Yes,
        },
    }
}

/// `path` lies in the folder whose list this is, or further down.
fn listed(names: &[&str], path: &str) -> Shown {
    if path.split('/').next().is_some_and(|name| names.contains(&name)) {
        Shown::Yes
    } else {
        Shown::No
    }
}

/// The replacement of an entry of HOME.
enum Entry {
    /// Itself.
    Kept,
    /// A file without its secret values.
    Scrubbed(Vec<u8>),
    /// An empty file or folder.
    Emptied { folder: bool },
    /// Nothing.
    Hidden,
}

/// HOME, and the known facts about it.
struct HomeView<'a> {
    home: &'a Path,
    tools: Vec<PathBuf>,
    secrets: &'a Secrets<'a>,
}

/// Takes an entry by its path relative to HOME.
type Visit<'a> = dyn FnMut(&Path, Entry) -> io::Result<()> + 'a;

impl HomeView<'_> {
    /// Goes through a folder of HOME, relative to it. A folder is kept as a whole if nothing in
    /// it is replaced.
    fn each(
        &self,
        folder: &Path,
        decide: &dyn Fn(&Path) -> Shown,
        visit: &mut Visit<'_>,
    ) -> io::Result<()> {
        let entries = match fs::read_dir(self.home.join(folder)) {
            Ok(entries) => entries,
            // A folder that this user cannot read shows its commands nothing.
            Err(error) if folder != Path::new("") && is_out_of_reach(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            let shown = if self.tools.contains(&path) { Shown::Yes } else { decide(&path) };
            let holds_tool = self.tools.iter().any(|tool| tool.starts_with(&path));
            match shown {
                Shown::Yes | Shown::Mostly if kind.is_file() => visit(&path, self.file(&path))?,
                Shown::Yes if kind.is_dir() => self.credentials(&path, visit)?,
                Shown::Inside | Shown::Mostly if kind.is_dir() => {
                    self.each(&path, decide, visit)?
                }
                Shown::Yes | Shown::Mostly => visit(&path, Entry::Kept)?,
                Shown::No | Shown::Empty if holds_tool && kind.is_dir() => {
                    self.each(&path, &|_| Shown::No, visit)?;
                }
                Shown::Empty => visit(&path, Entry::Emptied { folder: kind.is_dir() })?,
                Shown::No | Shown::Inside => visit(&path, Entry::Hidden)?,
            }
        }
        Ok(())
    }

    /// A file of a tool's folder that by its name holds credentials keeps its settings only.
    fn credentials(&self, folder: &Path, visit: &mut Visit<'_>) -> io::Result<()> {
        let Ok(entries) = fs::read_dir(self.home.join(folder)) else { return Ok(()) };
        let entries: Vec<_> = entries.filter_map(Result::ok).collect();
        let changed: Vec<(PathBuf, Entry)> = entries
            .iter()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .map(|entry| folder.join(entry.file_name()))
            .filter(|path| is_settings(path) || (self.secrets.is_secret)(path))
            .map(|path| (self.file(&path), path))
            .filter(|(entry, _)| !matches!(entry, Entry::Kept))
            .map(|(entry, path)| (path, entry))
            .collect();
        if changed.is_empty() {
            return visit(folder, Entry::Kept);
        }
        for path in entries.iter().map(|entry| folder.join(entry.file_name())) {
            if changed.iter().all(|(other, _)| *other != path) {
                visit(&path, Entry::Kept)?;
            }
        }
        changed.into_iter().try_for_each(|(path, entry)| visit(&path, entry))
    }

    /// A file without its secret values.
    fn file(&self, path: &Path) -> Entry {
        let real = self.home.join(path);
        let named = (self.secrets.is_secret)(path);
        let size = fs::metadata(&real).map_or(u64::MAX, |found| found.len());
        if size > LARGEST && !named {
            return Entry::Kept;
        }
        let text = if size <= LARGEST { fs::read_to_string(&real).ok() } else { None };
        match text {
            Some(text) => {
                let scrubbed = (self.secrets.scrub)(&text);
                if scrubbed == text { Entry::Kept } else { Entry::Scrubbed(scrubbed.into_bytes()) }
            }
            // Keys and key stores are not text.
            None if named => Entry::Scrubbed(Vec::new()),
            None => Entry::Kept,
        }
    }
}

/// Files of build tools in which people write passwords.
fn is_settings(path: &Path) -> bool {
    const NAMES: [&str; 30] = [
        "rc",
        "npmrc",
        "auth.ini",
        "env",
        "condarc",
        "profiles.yml",
        "settings.xml",
        "settings-security.xml",
        "gradle.properties",
        "config.json",
        "credentials.toml",
        "credentials",
        "config.toml",
        "auth.json",
        "config",
        "pip.conf",
        "uv.toml",
        "NuGet.Config",
        "auth.toml",
        "hosts.yml",
        "config.yml",
        "config.yaml",
        ".credentials",
        "credentials.json",
        "credentials.yml",
        "token",
        "access-token",
        "default.toml",
        "direnvrc",
        "init.gradle",
    ];
    path.file_name().is_some_and(|name| NAMES.iter().any(|it| name == *it))
}

/// The folder above HOME.
struct Upper<'a>(&'a Overlay);

impl Upper<'_> {
    fn take(&self, path: &Path, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Kept => Ok(()),
            Entry::Scrubbed(bytes) => self.put(path, bytes),
            Entry::Emptied { folder } => self.empty(path, *folder),
            Entry::Hidden => self.hide(path),
        }
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let at = self.place(path)?;
        fs::write(&at, bytes)?;
        let mode =
            fs::metadata(self.0.lower.join(path)).map_or(0o600, |it| it.permissions().mode());
        fs::set_permissions(&at, fs::Permissions::from_mode(mode & 0o777))
    }

    fn empty(&self, path: &Path, folder: bool) -> io::Result<()> {
        if !folder {
            return self.put(path, b"");
        }
        let at = self.place(path)?;
        fs::create_dir(&at)?;
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700))?;
        Ok(rustix::fs::setxattr(&at, "user.overlay.opaque", b"y", XattrFlags::empty())?)
    }

    /// A whiteout: the overlay shows nothing there.
    fn hide(&self, path: &Path) -> io::Result<()> {
        let at = self.place(path)?;
        whiteout(&at)
    }

    /// Where a path of HOME lies in the upper folder; its folders are made as they are.
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        let at = self.0.upper.join(path);
        let mut made = self.0.upper.clone();
        let mut real = self.0.lower.clone();
        for part in path.parent().into_iter().flat_map(Path::components) {
            made.push(part);
            real.push(part);
            match fs::create_dir(&made) {
                Ok(()) => {
                    let mode = fs::metadata(&real)?.permissions().mode();
                    fs::set_permissions(&made, fs::Permissions::from_mode(mode & 0o777))?;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(at)
    }
}

fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Secrets<'static> {
        Secrets {
            is_secret: &|path| path.file_name().is_some_and(|name| name == ".netrc"),
            scrub: &|text| text.replace("hunter2", "***"),
        }
    }

    /// The visible files of a HOME with these files, without mounting it.
    fn shown(files: &[(&str, &str)], tools: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().expect("temp dir");
        let home = dir.path().join("home");
        for (path, text) in files {
            let path = home.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("write");
        }
        let at = |name: &str| dir.path().join(name);
        let overlay = Overlay {
            lower: home.clone(),
            upper: at("upper"),
            work: at("work"),
            merged: at("merged"),
        };
        let tools = tools.iter().map(|tool| home.join(tool)).collect();
        prepare(&overlay, &tools, &plain()).expect("prepared");
        let mut found = Vec::new();
        for (path, text) in files {
            let mut at = overlay.upper.clone();
            let mut told = format!("{path}: {text}");
            for part in Path::new(path).components() {
                at.push(part);
                let Ok(meta) = fs::symlink_metadata(&at) else { break };
                let kind = std::os::unix::fs::FileTypeExt::is_char_device(&meta.file_type());
                let mut value = [0; 1];
                let opaque = rustix::fs::getxattr(&at, "user.overlay.opaque", &mut value).is_ok();
                if kind || opaque {
                    told = format!("{path}: hidden");
                } else if meta.is_file() {
                    told = format!("{path}: {}", fs::read_to_string(&at).expect("read"));
                }
            }
            found.push(told);
        }
        found
    }

    #[test]
    fn dot_files_and_tools_are_shown_and_people_s_own_folders_are_not() {
        let files = [
            (".bashrc", "export A=1"),
            ("go/bin/tool", "x"),
            ("Documents/letter", "private"),
            ("sdk/node/bin/node", "x"),
            ("sdk/other/file", "private"),
            (".cargo/registry/index", "x"),
            (".config/git/config", "[user]"),
            (".config/gh/hosts.yml", "private"),
            (".local/share/pnpm/store", "x"),
            (".local/share/keyrings/login", "private"),
            (".local/bin/tool", "x"),
            (".claude/projects/talk", "private"),
        ];
        let told = shown(&files, &["sdk/node"]);
        let expected: Vec<String> = files
            .iter()
            .map(|(path, text)| match *text {
                "private" => format!("{path}: hidden"),
                text => format!("{path}: {text}"),
            })
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn keys_and_histories_are_empty_and_credentials_lose_their_secrets() {
        let files = [
            (".ssh/id_rsa", "key"),
            (".bash_history", "login hunter2"),
            (".netrc", "machine a password hunter2"),
            (".npmrc", "//a/:_password=hunter2\nregistry=b"),
            (".m2/settings.xml", "<password>hunter2</password><mirror/>"),
            (".profile", "export TOKEN=hunter2"),
        ];
        assert_eq!(
            shown(&files, &[]),
            [
                ".ssh/id_rsa: hidden",
                ".bash_history: ",
                ".netrc: ",
                ".npmrc: //a/:_password=***\nregistry=b",
                ".m2/settings.xml: <password>***</password><mirror/>",
                ".profile: export TOKEN=***",
            ]
        );
    }

    /// The tools that a PATH of these folders of `root` shows, relative to it.
    fn of_path(root: &Path, folders: &[&str]) -> Vec<String> {
        let path = std::env::join_paths(folders.iter().map(|name| root.join(name))).expect("PATH");
        let variable = |name: &str| match name {
            "PATH" => Some(path.clone()),
            "TMPDIR" => Some(root.join("tmp").into()),
            "GOPATH" => Some(root.join("home/work").into()),
            "GOCACHE" => Some(root.join("tmp").into()),
            "JAVA_HOME" => Some("relative".into()),
            _ => None,
        };
        let found = tools(&root.join("home"), &variable);
        let below = |path: PathBuf| path.strip_prefix(root).expect("below").display().to_string();
        found.into_iter().map(below).collect()
    }

    #[test]
    fn path_entries_belong_to_their_tools() {
        let dir = tempfile::tempdir().expect("temp dir");
        for folder in ["home/node/lib", "home/node/bin", "home/.pyenv/shims", "home/share"] {
            fs::create_dir_all(dir.path().join(folder)).expect("folder");
        }
        assert_eq!(
            of_path(
                dir.path(),
                &["home/node/bin", "home/.pyenv/shims", "home/bin", "home/x/tools"]
            ),
            ["home/.pyenv", "home/bin", "home/node", "home/work", "home/x/tools"]
        );
    }

    #[test]
    fn a_program_folder_in_a_shared_place_shows_itself_alone() {
        let dir = tempfile::tempdir().expect("temp dir");
        let root = dir.path();
        for folder in ["tmp/bin", "tmp/lib", "open/bin", "open/lib", "letters/bin", "home/lib"] {
            fs::create_dir_all(root.join(folder)).expect("folder");
        }
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(root.join("open"), open).expect("permissions");
        std::os::unix::fs::symlink(root.join("tmp"), root.join("link")).expect("link");
        let path = [
            "tmp",
            "tmp/bin",
            "link/bin",
            "open/bin",
            "letters/bin",
            "home",
            "home/bin",
            "home/shims",
        ];
        assert_eq!(
            of_path(root, &path),
            [
                "home/bin",
                "home/shims",
                "home/work",
                "letters/bin",
                "link/bin",
                "open/bin",
                "tmp/bin"
            ]
        );
        let host = |name: &str| {
            (name == "PATH")
                .then(|| "/tmp/bin:/tmp:/home/bin:/root/bin:/home/b/bin:/var/tmp".into())
        };
        let found = tools(Path::new("/root"), &host);
        let expected = ["/home/b/bin", "/root/bin", "/tmp/bin"].map(PathBuf::from);
        assert_eq!(found, BTreeSet::from(expected));
    }
}
