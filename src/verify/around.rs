//! Files outside the repository that checks and the agent use: programs on PATH, the configuration
//! of tools in HOME, and the configuration of the agent. Those that no sandbox protects from the
//! agent are compared with the run's start.
//!
//! Invariant: a program's content is not read; its size, its file, and the time of its last change
//! identify it. A new program counts only if it comes before an existing one. Not in this file:
//! which sandbox is in force.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::error::VerifyError;
use super::fingerprint::{Fingerprint, Fingerprints};

/// Configuration in HOME that tools of common checks read.
const CONFIGURATION: &str = "
    .bash_profile .bashrc .bundle/config .bunfig.toml .cargo/config .cargo/config.toml
    .composer/config.json .config/composer/config.json .config/git/attributes .config/git/config
    .config/git/ignore .config/go/env .config/mise/config.toml .config/NuGet/NuGet.Config
    .config/pip/pip.conf .config/pnpm/rc .config/uv/uv.toml .gemrc .gitconfig
    .gradle/gradle.properties .gradle/init.gradle .m2/settings.xml .mavenrc .npmrc
    .nuget/NuGet/NuGet.Config .pip/pip.conf .profile .pydistutils.cfg .rspec .yarnrc .yarnrc.yml
    .zshenv .zshrc
";

/// Folders of HOME in which each file is configuration.
const FOLDERS: [&str; 1] = [".gradle/init.d"];

/// Where the user's own Python packages lie, one folder for each version.
const PYTHONS: &str = ".local/lib";

/// Programs and configuration at the run's start.
#[derive(Debug)]
pub struct Around {
    home: Option<PathBuf>,
    path: Vec<PathBuf>,
    settings: Vec<PathBuf>,
    configuration: Fingerprints,
    programs: BTreeMap<PathBuf, Stamp>,
}

/// The metadata that identifies a program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Around {
    /// Looks at an agent's settings, which are files or folders, and where no sandbox guards them, at
    /// HOME and the folders of PATH.
    ///
    /// # Errors
    /// If configuration exists and cannot be read.
    pub fn look(
        settings: Vec<PathBuf>,
        unguarded: Option<(&Path, &OsStr)>,
    ) -> Result<Self, VerifyError> {
        let (home, path) = unguarded.unzip();
        let path: Vec<PathBuf> = path.map(std::env::split_paths).into_iter().flatten().collect();
        let path: Vec<PathBuf> = path.into_iter().filter(|it| it.is_absolute()).collect();
        let (configuration, programs) = (configuration(home, &settings)?, programs(&path));
        Ok(Self { home: home.map(Path::to_owned), path, settings, configuration, programs })
    }

    /// The differences from then.
    ///
    /// # Errors
    /// If configuration exists and cannot be read.
    pub fn changed(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let differences =
            self.configuration.differences(&configuration(self.home.as_deref(), &self.settings)?);
        let mut changed: Vec<PathBuf> = differences.into_iter().map(|change| change.path).collect();
        let now = programs(&self.path);
        let was = self.programs.iter();
        let other = was.filter(|(path, stamp)| now.get(*path) != Some(stamp));
        changed.extend(other.map(|(path, _)| path.clone()));
        let new = now.keys().filter(|path| !self.programs.contains_key(*path));
        changed.extend(new.filter(|path| self.hides_another(path)).cloned());
        Ok(changed)
    }

    /// Does a program come before another one of its name?
    fn hides_another(&self, program: &Path) -> bool {
        let (Some(folder), Some(name)) = (program.parent(), program.file_name()) else {
            return false;
        };
        let later = self.path.iter().skip_while(|it| *it != folder).filter(|it| *it != folder);
        later.map(|folder| folder.join(name)).any(|other| other.exists())
    }
}

fn configuration(home: Option<&Path>, settings: &[PathBuf]) -> Result<Fingerprints, VerifyError> {
    let mut paths = home.map(of_tools).unwrap_or_default();
    settings.iter().for_each(|path| files(path, &mut paths));
    let mut found = Fingerprints::default();
    for path in paths {
        let print = Fingerprint::of(&path)?;
        if print != Fingerprint::Absent {
            found.insert(path, print);
        }
    }
    Ok(found)
}

/// Configuration of tools in HOME.
fn of_tools(home: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        CONFIGURATION.split_whitespace().map(|path| home.join(path)).collect();
    for folder in FOLDERS.map(|folder| home.join(folder)) {
        paths.extend(names(&folder).map(|name| folder.join(name)));
    }
    let pythons = home.join(PYTHONS);
    for version in names(&pythons) {
        let packages = pythons.join(version).join("site-packages");
        let run_at_start = names(&packages).filter(|name| {
            let is_path_file = Path::new(name).extension().is_some_and(|it| it == "pth");
            is_path_file || name == "usercustomize.py" || name == "sitecustomize.py"
        });
        paths.extend(run_at_start.map(|name| packages.join(name)));
    }
    paths
}

/// A file, or the files below a folder.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() && !path.is_symlink() {
        names(path).for_each(|name| files(&path.join(name), found));
    } else {
        found.push(path.to_owned());
    }
}

/// The programs in folders that the user may write.
fn programs(path: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let writable = path.iter().filter(|folder| access(*folder, Access::WRITE_OK).is_ok());
    let all = writable.flat_map(|folder| names(folder).map(|name| folder.join(name)));
    let files = all.filter_map(|path| {
        let meta = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let stamp = Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        };
        Some((path, stamp))
    });
    files.collect()
}

/// The names in a folder; none if it is not there.
fn names(folder: &Path) -> impl Iterator<Item = OsString> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HOME with a program on PATH, and the reported differences after a change.
    fn after(change: impl FnOnce(&Path)) -> Vec<String> {
        let folder = tempfile::TempDir::new().expect("a folder");
        let home = folder.path();
        for (file, text) in [
            (".npmrc", "a"),
            ("early/ls", "#"),
            ("late/tool", "#"),
            (".local/lib/python3.11/site-packages/a.py", "1"),
        ] {
            write(home, file, text);
        }
        let path = std::env::join_paths([home.join("early"), home.join("late")]).expect("PATH");
        let settings = ["agent.json", "hooks"].map(|name| home.join("agent").join(name)).to_vec();
        let around = Around::look(settings, Some((home, &path))).expect("looks");
        assert_eq!(around.changed().expect("looks again"), Vec::<PathBuf>::new());
        change(home);
        let changed = around.changed().expect("looks again").into_iter();
        let changed = changed.map(|it| it.strip_prefix(home).expect("below").display().to_string());
        changed.collect()
    }

    fn write(home: &Path, file: &str, text: &str) {
        let path = home.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn a_program_or_configuration_that_is_another_is_named() {
        assert_eq!(after(|home| write(home, ".npmrc", "b")), [".npmrc"]);
        assert_eq!(after(|home| write(home, ".gitconfig", "b")), [".gitconfig"]);
        assert_eq!(after(|home| write(home, "early/ls", "##")), ["early/ls"]);
        assert_eq!(after(|home| write(home, "early/tool", "#")), ["early/tool"]);
        assert_eq!(
            after(|home| fs::remove_file(home.join("late/tool")).expect("removed")),
            ["late/tool"]
        );
        let start = ".local/lib/python3.11/site-packages/usercustomize.py";
        assert_eq!(after(|home| write(home, start, "1")), [start]);
        assert_eq!(after(|home| write(home, "agent/agent.json", "{}")), ["agent/agent.json"]);
        assert_eq!(
            after(|home| write(home, "agent/hooks/a/b.json", "{}")),
            ["agent/hooks/a/b.json"]
        );
        assert_eq!(after(|home| write(home, "agent/log", "1")), Vec::<String>::new());
    }

    #[test]
    fn what_no_check_of_the_start_could_mean_is_not() {
        let none: [&str; 0] = [];
        assert_eq!(after(|home| write(home, "late/other", "#")), none);
        assert_eq!(after(|home| write(home, "late/ls", "#")), none);
        assert_eq!(after(|home| write(home, "notes.txt", "#")), none);
        let package = ".local/lib/python3.11/site-packages/b.py";
        assert_eq!(after(|home| write(home, package, "#")), none);
    }
}
