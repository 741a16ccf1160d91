//! Files with secrets in the workspace and in HOME: their replacements for commands, and the values
//! that no result of a tool may show.
//!
//! Invariant: a tracked file is never replaced, since the next commit would contain the
//! replacement. The guard knows the form of secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::environment;
use super::failure::Failure;
use crate::config::Settings;
use crate::guard::{Redactor, Scrambler, secret_name};
use crate::model::ExitCode;
use crate::sandbox::LOGINS;
use crate::sys::visit;
use crate::verify::GitRepo;

/// Folders of dependencies and build output, whose keys are public ones or tests'.
const DEPENDENCIES: [&str; 6] =
    ["node_modules", "target", ".venv", "venv", "site-packages", "vendor"];
/// Largest file whose values are looked for, in bytes.
const LARGEST: u64 = 1 << 20;
/// Most files that are replaced one by one: each is a mount, and many mounts take long.
const MOST: usize = 40;
/// Files in HOME that hold logins beside settings.
const SETTINGS: [&str; 17] = [
    ".npmrc",
    ".yarnrc.yml",
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".docker/config.json",
    ".kube/config",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/gcloud/application_default_credentials.json",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/pip/pip.conf",
];
/// The folder of keys in HOME, and how their names begin.
const KEYS: (&str, &str) = (".ssh", "id_");

/// The files with secrets of a run.
#[derive(Default)]
pub(super) struct SecretFiles {
    /// Secret values in them.
    pub(super) values: Vec<String>,
    /// Untracked files of the workspace with their replacements, if commands see them changed.
    shown: Vec<(PathBuf, Vec<u8>)>,
}

impl SecretFiles {
    /// Looks through the workspace and HOME. Files that the settings open are left out.
    pub(super) fn find(repo: &GitRepo, settings: &Settings) -> Result<Self, Failure> {
        let root = repo.root();
        let paths = candidates(root, settings);
        let tracked = repo
            .tracked(paths.clone())
            .map_err(|error| Failure::new(ExitCode::Repository, error))?;
        let redactor = environment::redactor();
        let scrambler = Scrambler::default();
        let mut all = Self { values: values_in(root, &paths), shown: Vec::new() };
        for path in paths {
            let file = root.join(&path);
            if !tracked.contains(&path)
                && let Some(instead) = instead(&path, text(&file).as_deref(), &scrambler, redactor)
            {
                all.shown.push((file, instead));
            }
        }
        Ok(all)
    }

    /// Writes the replacements into `folder`: each file with the one to show. If there are many,
    /// whole folders of the workspace get a read-only stand-in.
    pub(super) fn replacements(&self, folder: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        fs::create_dir_all(folder)?;
        let mut by_folder: BTreeMap<&Path, Vec<&(PathBuf, Vec<u8>)>> = BTreeMap::new();
        for shown in &self.shown {
            by_folder.entry(shown.0.parent().unwrap_or(Path::new(""))).or_default().push(shown);
        }
        let many = self.shown.len() > MOST;
        let mut list = Vec::new();
        for (number, (real, files)) in by_folder.into_iter().enumerate() {
            let stand_in = folder.join(number.to_string());
            fs::create_dir(&stand_in)?;
            let whole = many && files.len() > 1 && copy_others(real, &files, &stand_in)?;
            for (file, bytes) in files {
                let shown = stand_in.join(file.file_name().unwrap_or_default());
                fs::write(&shown, bytes)?;
                let mode = fs::metadata(file)?.permissions().mode() & 0o777;
                fs::set_permissions(&shown, fs::Permissions::from_mode(mode | 0o400))?;
                if !whole {
                    list.push((file.clone(), shown));
                }
            }
            if whole {
                list.push((real.to_owned(), stand_in));
            }
        }
        Ok(list)
    }
}

/// The secret values in files of a folder and of HOME. Files that the settings open are left out.
pub(super) fn secret_values(root: &Path, settings: &Settings) -> Vec<String> {
    values_in(root, &candidates(root, settings))
}

/// The secret values in these files of a folder, and in files of HOME.
fn values_in(root: &Path, paths: &BTreeSet<PathBuf>) -> Vec<String> {
    let home = etcetera::home_dir().unwrap_or_default();
    let of_folder = paths.iter().map(|path| root.join(path));
    let values = of_folder
        .chain(logins(&home))
        .filter_map(|file| Some(environment::redactor().secret_values(&file, &text(&file)?)));
    values.flatten().collect()
}

/// The paths in a folder of files that look like secrets, without those that the settings open.
fn candidates(root: &Path, settings: &Settings) -> BTreeSet<PathBuf> {
    let plain = |path: &Path| path.components().filter(|it| *it != Component::CurDir).collect();
    let open: BTreeSet<PathBuf> = settings.readable.iter().map(|file| plain(file.path())).collect();
    let found = visit(root.to_owned(), secrets_in).concat();
    let relative = found.iter().filter_map(|path| path.strip_prefix(root).ok());
    relative.filter(|path| !open.contains(*path)).map(Path::to_owned).collect()
}

/// Copies the other files of a folder. Does nothing and returns false if it has more than a few
/// regular files.
fn copy_others(folder: &Path, files: &[&(PathBuf, Vec<u8>)], stand_in: &Path) -> io::Result<bool> {
    let mut others = Vec::new();
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, meta) = (entry.path(), entry.metadata()?);
        if files.iter().any(|(file, _)| *file == path) {
            continue;
        }
        size += meta.len();
        if !meta.is_file() || size > LARGEST {
            return Ok(false);
        }
        others.push((path, meta));
    }
    for (path, meta) in others {
        let copy = stand_in.join(path.file_name().unwrap_or_default());
        fs::copy(&path, &copy)?;
        fs::File::open(&copy)?.set_modified(meta.modified()?)?;
    }
    Ok(true)
}

/// The replacement of a file, if it differs. `text` is missing if the file is not UTF-8, or too
/// long.
fn instead(
    path: &Path,
    text: Option<&str>,
    scrambler: &Scrambler,
    redactor: &Redactor,
) -> Option<Vec<u8>> {
    let Some(text) = text else { return Some(Vec::new()) };
    if is_settings(path) {
        let scrambled = scrambler.scramble(text, redactor);
        return (scrambled != text).then(|| scrambled.into_bytes());
    }
    (!text.is_empty() && !is_public(text)).then(Vec::new)
}

/// Programs read these files as settings, and fail where they are empty.
fn is_settings(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.starts_with(".env") || name.ends_with(".env") || name == ".npmrc"
}

/// Certificates and public keys.
fn is_public(text: &str) -> bool {
    let mut blocks = text.lines().filter(|line| line.starts_with("-----BEGIN ")).peekable();
    blocks.peek().is_some() && blocks.all(|line| !line.contains("PRIVATE"))
}

/// Finds the secret-looking regular files in a folder. Returns the folders in it. Repositories
/// inside have their own index, and nothing in them is changed.
fn secrets_in(folder: PathBuf, found: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            let skipped = name == ".git" || DEPENDENCIES.iter().any(|it| name == *it);
            let path = entry.path();
            if !skipped && path.join(".git").symlink_metadata().is_err() {
                folders.push(path);
            }
        } else if kind.is_file() && secret_name(Path::new(&name)) {
            found.push(entry.path());
        }
    }
    folders
}

fn logins(home: &Path) -> Vec<PathBuf> {
    let (folder, begins) = KEYS;
    let keys = fs::read_dir(home.join(folder)).into_iter().flatten().filter_map(Result::ok);
    let keys = keys
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(begins))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_none_or(|ending| ending != "pub"));
    LOGINS.iter().chain(&SETTINGS).map(|path| home.join(path)).chain(keys).collect()
}

/// The text of a file that is not too long.
fn text(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|found| found.len() <= LARGEST);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::config::{Layer, LayerSettings, Source, resolve};

    const ENV: &str = "API_KEY=Ab12Cd34Ef56Gh78\nPORT=3000\n";
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";

    fn found(readable: &str) -> (tempfile::TempDir, SecretFiles) {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = dir.path().canonicalize().expect("canonical");
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("written");
        };
        let git = |args: &[&str]| {
            let status = Command::new("git").args(args).current_dir(&root).status();
            assert!(status.expect("git").success());
        };
        write("tracked/.env", "A_TOKEN=Zx98Yw76Vu54Ts32\n");
        write("tracked/server.key", KEY);
        git(&["init", "-q"]);
        git(&["add", "-A"]);
        for (path, text) in [
            (".env", ENV),
            (".env.example", ENV),
            (".env.test", "B_TOKEN=Qq11Ww22Ee33Rr44\n"),
            (".env.empty", "PORT=1\n"),
            ("config/master.key", "0a1b2c3d4e5f60718293\n"),
            ("config/ca.pem", CERTIFICATE),
            ("config/both.pem", &format!("{CERTIFICATE}{KEY}")),
            ("node_modules/pkg/test.pem", KEY),
            ("src/main.rs", ENV),
        ] {
            write(path, text);
        }
        let values = LayerSettings {
            readable: vec![readable.try_into().expect("a file")],
            ..LayerSettings::default()
        };
        let settings = resolve(&[Layer { source: Source::Task, values }]);
        let repo = GitRepo::discover(&root).expect("a repository");
        (dir, SecretFiles::find(&repo, &settings).expect("found"))
    }

    #[test]
    fn untracked_files_with_secrets_are_shown_without_and_all_values_are_known() {
        let (dir, found) = found("./.env.test");
        let root = dir.path().canonicalize().expect("canonical");
        let mut shown: Vec<(&str, String)> = (found.shown.iter())
            .map(|(file, bytes)| {
                let path = file.strip_prefix(&root).expect("inside").to_str().expect("text");
                (path, String::from_utf8(bytes.clone()).expect("text"))
            })
            .collect();
        let env = shown.remove(0);
        assert!(env.0 == ".env" && env.1.ends_with("\nPORT=3000\n"), "{env:?}");
        assert!(env.1.len() == ENV.len() && env.1 != ENV, "{env:?}");
        let empty = String::new;
        assert_eq!(shown, [("config/both.pem", empty()), ("config/master.key", empty())]);
        for value in ["Ab12Cd34Ef56Gh78", "Zx98Yw76Vu54Ts32", "0a1b2c3d4e5f60718293"] {
            assert!(found.values.iter().any(|it| it == value), "{value}: {:?}", found.values);
        }
        assert!(!found.values.iter().any(|it| it == "Qq11Ww22Ee33Rr44"), "it may be read");
        let list = found.replacements(&root.join("shown")).expect("written");
        let (file, shown) = &list[0];
        assert_eq!(*file, root.join(".env"));
        assert_eq!(fs::read_to_string(shown).expect("read"), env.1);
    }

    #[test]
    fn many_files_of_a_folder_are_replaced_with_it_and_the_others_in_it_stay() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let mut found = SecretFiles::default();
        for folder in ["keys", "mixed", "deep/below"] {
            fs::create_dir_all(dir.path().join(folder)).expect("folder");
        }
        for number in 0..400 {
            let folder = ["keys", "mixed", "deep"][usize::from(number >= 380) + number / 390];
            let file = dir.path().join(folder).join(format!("{number}.key"));
            fs::write(&file, "secret").expect("written");
            found.shown.push((file, Vec::new()));
        }
        fs::write(dir.path().join("mixed/README"), "text").expect("written");
        let list = found.replacements(&dir.path().join("shown")).expect("written");
        assert_eq!(list.len(), 12, "two folders, and ten files of one that holds another");
        let stand_in = |folder: &str| {
            let found = list.iter().find(|(real, _)| *real == dir.path().join(folder));
            found.map(|(_, shown)| shown.clone())
        };
        let (keys, mixed) = (stand_in("keys").expect("keys"), stand_in("mixed").expect("mixed"));
        assert_eq!(fs::read_to_string(keys.join("7.key")).expect("there"), "");
        assert_eq!(fs::read_to_string(mixed.join("README")).expect("there"), "text");
        assert_eq!(fs::read_dir(&mixed).expect("listed").count(), 11);
        assert_eq!(stand_in("deep"), None);
    }
}
