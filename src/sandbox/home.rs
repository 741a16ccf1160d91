//! HOME as the agent's commands see it: the real one below, and above it a folder that hides
//! what they have no use for, empties key folders, and takes what they write.
//!
//! Invariant: the real HOME is only read. What is shown is a short list of kinds (dot-files,
//! tools, caches); everything else is hidden, so that a folder nobody thought of is too.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

use super::profile::Overlay;

/// Folders that hold keys, profiles or mail: shown empty.
const EMPTIED: [&str; 18] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".password-store",
    ".oci",
    ".mozilla",
    ".thunderbird",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".pki",
    ".vault",
    ".minikube",
    ".terraform.d",
    ".dbus",
    ".local/state",
];

/// Folders of agents and editors, which hold logins and conversations.
const AGENTS: [&str; 18] = [
    ".copilot",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".continue",
    ".windsurf",
    ".codeium",
    ".opencode",
    ".openclaw",
    ".amplihack",
    ".goose",
    ".qwen",
    ".kiro",
    ".vscode",
    ".vscode-server",
    ".vscode-remote",
    ".factory",
];

/// What is shown of `~/.config`; the rest is hidden.
const CONFIG: [&str; 24] = [
    "git",
    "pip",
    "uv",
    "npm",
    "yarn",
    "pnpm",
    "pypoetry",
    "ruff",
    "black",
    "mise",
    "asdf",
    "rtx",
    "go",
    "NuGet",
    "composer",
    "bundle",
    "matplotlib",
    "fontconfig",
    "fish",
    "nvm",
    "cmake",
    "ccache",
    "conda",
    "direnv",
];

/// What is shown of `~/.local/share`; the rest is hidden.
const SHARE: [&str; 20] = [
    "pnpm",
    "uv",
    "mise",
    "rtx",
    "asdf",
    "fnm",
    "nvm",
    "virtualenv",
    "virtualenvs",
    "pypoetry",
    "pipx",
    "go",
    "gem",
    "NuGet",
    "composer",
    "coursier",
    "zig",
    "rustup",
    "cargo",
    "fonts",
];

/// Folders without a dot that tools make in HOME.
const TOOLS: [&str; 1] = ["go"];

/// Variables that name folders of tools.
const VARIABLES: [&str; 44] = [
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "BUNDLE_PATH",
    "CARGO_HOME",
    "CCACHE_DIR",
    "COMPOSER_HOME",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DENO_INSTALL",
    "DOTNET_ROOT",
    "FNM_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NPM_CONFIG_CACHE",
    "NPM_CONFIG_PREFIX",
    "NUGET_PACKAGES",
    "NVM_DIR",
    "N_PREFIX",
    "PHPENV_ROOT",
    "PIPX_HOME",
    "PIP_CACHE_DIR",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "UV_CACHE_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "YARN_CACHE_FOLDER",
];

/// Variables that name folders of every program.
const XDG: [&str; 2] = ["XDG_CACHE_HOME", "XDG_BIN_HOME"];

/// Largest file whose secrets are looked for, in bytes; a larger one is shown empty if its name
/// says that it holds some.
const LARGEST: u64 = 1 << 20;

/// What the caller knows of secrets.
pub struct Secrets<'a> {
    /// Does a file of this path hold secrets, by its name?
    pub is_secret: &'a dyn Fn(&Path) -> bool,
    /// The same text without its secret values.
    pub scrub: &'a dyn Fn(&str) -> String,
}

/// Folders that tools need: what their variables name, and what entries of PATH belong to.
pub fn tools(home: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> BTreeSet<PathBuf> {
    let named = VARIABLES.iter().chain(&XDG).filter_map(|name| variable(name));
    let named = named.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    let path = variable("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|folder| match folder.parent() {
        Some(parent) if is_program_folder(&folder) && parent != home => parent.to_owned(),
        _ => folder,
    });
    named
        .chain(programs)
        .filter(|path| path.is_absolute() && path != home && path != Path::new("/"))
        .collect()
}

fn is_program_folder(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| ["bin", "sbin", "shims"].iter().any(|it| name == *it))
}

/// Fills `overlay.upper` so that the overlay shows what commands may see of HOME.
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
    let upper = Upper { overlay, tools: below(&overlay.lower, tools), secrets };
    upper.show(Path::new(""), &top_level)
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

/// What becomes of an entry.
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
}

/// Decides on an entry by its path relative to HOME.
fn top_level(path: &Path) -> Shown {
    let Some(text) = path.to_str() else { return Shown::No };
    match text {
        ".config" | ".local" | ".local/share" => Shown::Inside,
        _ if EMPTIED.contains(&text) => Shown::Empty,
        _ if AGENTS.contains(&text) => Shown::No,
        _ if text.ends_with("_history") || text.ends_with("_hist") => Shown::Empty,
        _ => match text.split_once('/') {
            None if text.starts_with('.') || TOOLS.contains(&text) => Shown::Yes,
            None => Shown::No,
            Some((".config", name)) => listed(&CONFIG, name),
            Some((".local", rest)) => match rest.strip_prefix("share/") {
                Some(name) => listed(&SHARE, name),
                None => Shown::Yes,
            },
            Some(_) => Shown::No,
        },
    }
}

fn listed(names: &[&str], name: &str) -> Shown {
    if names.contains(&name) { Shown::Yes } else { Shown::No }
}

struct Upper<'a> {
    overlay: &'a Overlay,
    tools: Vec<PathBuf>,
    secrets: &'a Secrets<'a>,
}

impl Upper<'_> {
    /// Goes through a folder of HOME, relative to it.
    fn show(&self, folder: &Path, decide: &dyn Fn(&Path) -> Shown) -> io::Result<()> {
        let entries = match fs::read_dir(self.overlay.lower.join(folder)) {
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
                Shown::Yes if kind.is_file() => self.file(&path)?,
                Shown::Yes if kind.is_dir() => self.credentials(&path)?,
                Shown::Yes => {}
                Shown::Inside if kind.is_dir() => self.show(&path, decide)?,
                Shown::No | Shown::Empty if holds_tool && kind.is_dir() => {
                    self.show(&path, &|_| Shown::No)?;
                }
                Shown::Empty => self.empty(&path, kind.is_dir())?,
                Shown::No | Shown::Inside => self.hide(&path)?,
            }
        }
        Ok(())
    }

    /// A file of a tool's folder that by its name holds credentials keeps its settings only.
    fn credentials(&self, folder: &Path) -> io::Result<()> {
        let Ok(entries) = fs::read_dir(self.overlay.lower.join(folder)) else { return Ok(()) };
        for entry in entries.filter_map(Result::ok) {
            let path = folder.join(entry.file_name());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && (self.is_settings(&path) || (self.secrets.is_secret)(&path)) {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    /// Files of build tools in which people write passwords.
    fn is_settings(&self, path: &Path) -> bool {
        const NAMES: [&str; 16] = [
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
        ];
        path.file_name().is_some_and(|name| NAMES.iter().any(|it| name == *it))
    }

    /// Shows a file without its secret values.
    fn file(&self, path: &Path) -> io::Result<()> {
        let real = self.overlay.lower.join(path);
        let named = (self.secrets.is_secret)(path);
        let size = fs::metadata(&real).map_or(u64::MAX, |found| found.len());
        if size > LARGEST && !named {
            return Ok(());
        }
        let text = if size <= LARGEST { fs::read_to_string(&real).ok() } else { None };
        match text {
            Some(text) => {
                let scrubbed = (self.secrets.scrub)(&text);
                if scrubbed == text { Ok(()) } else { self.put(path, scrubbed.as_bytes()) }
            }
            // Keys and key stores are no text.
            None if named => self.put(path, b""),
            None => Ok(()),
        }
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let at = self.place(path)?;
        fs::write(&at, bytes)?;
        let mode =
            fs::metadata(self.overlay.lower.join(path)).map_or(0o600, |it| it.permissions().mode());
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
        Ok(rustix::fs::mknodat(CWD, &at, FileType::CharacterDevice, Mode::empty(), 0)?)
    }

    /// Where a path of HOME lies in the upper folder; its folders are made as they are.
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        let at = self.overlay.upper.join(path);
        let mut made = self.overlay.upper.clone();
        let mut real = self.overlay.lower.clone();
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

    /// What the overlay would show of a HOME with these files, without mounting it.
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
            (".m2/settings.xml", "<password>hunter2</password><mirror/>"),
            (".profile", "export TOKEN=hunter2"),
        ];
        assert_eq!(
            shown(&files, &[]),
            [
                ".ssh/id_rsa: hidden",
                ".bash_history: ",
                ".netrc: machine a password ***",
                ".m2/settings.xml: <password>***</password><mirror/>",
                ".profile: export TOKEN=***",
            ]
        );
    }

    #[test]
    fn path_entries_belong_to_their_tools() {
        let variable = |name: &str| match name {
            "PATH" => Some("/usr/bin:/home/a/bin:/home/a/.pyenv/shims:/home/a/x/tools".into()),
            "GOPATH" => Some("/home/a/work:/srv/go".into()),
            "JAVA_HOME" => Some("relative".into()),
            _ => None,
        };
        let found = tools(Path::new("/home/a"), &variable);
        let found: Vec<_> = found.iter().map(|path| path.to_str().expect("text")).collect();
        let expected =
            ["/home/a/.pyenv", "/home/a/bin", "/home/a/work", "/home/a/x/tools", "/srv/go", "/usr"];
        assert_eq!(found, expected);
    }
}
