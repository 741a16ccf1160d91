//! The control group of a run's sandboxes, which limits their memory and their number of tasks.
//!
//! Invariant: it is made only below a group that systemd delegated to this process's unit
//! (`Delegate=yes`), so that every limit of the unit still applies. A group that holds processes
//! cannot limit groups below it, so the unit's processes move to a group beside the sandboxes'.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::getxattr;

/// Where systemd mounts the groups.
const MOUNT: &str = "/sys/fs/cgroup";
/// The attribute with which systemd 251 and later marks a group that is delegated.
const DELEGATED: &str = "user.delegate";
/// The group that takes the unit's own processes.
const OWN: &str = "ralph-copilot";
/// Controllers that a group must have.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// The part of the machine's memory that sandboxes may use, in percent.
const SHARE: u64 = 80;
/// Tasks in all sandboxes of a run, threads included. The server of a sandbox counts processes, and
/// ends a flood of them earlier.
const TASKS: &str = "10000";
/// How often the unit's processes are moved: they may start others meanwhile.
const TRIES: usize = 5;

/// A control group, removed when dropped.
#[derive(Debug)]
pub struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// Makes the group of this process's sandboxes, if a group is delegated to it.
    pub fn make() -> Option<Self> {
        let found = Delegated::find(Path::new(MOUNT), &own_groups()?)?;
        found.make(std::process::id(), memory_limit()?).ok()
    }

    /// The limit of the memory of this process's sandboxes in bytes, if they get a group.
    pub fn memory() -> Option<u64> {
        Delegated::find(Path::new(MOUNT), &own_groups()?)?;
        memory_limit()
    }

    /// Its folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Processes that still run there keep it; then it is removed with the unit.
        drop(fs::remove_dir(&self.folder));
    }
}

/// Puts this process into a group.
pub(super) fn enter_group(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.procs"), "0")
}

/// A group that is delegated to this process.
#[derive(Debug, PartialEq, Eq)]
struct Delegated {
    folder: PathBuf,
    /// Is this process in it, not in one below?
    holds_us: bool,
}

impl Delegated {
    /// Looks at this process's group and at the one above; `own` is the text of
    /// `/proc/self/cgroup`.
    fn find(mount: &Path, own: &str) -> Option<Self> {
        let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let path = Path::new(path);
        // A group outside the namespace begins with `..`.
        if path.components().any(|part| !matches!(part, Component::Normal(_))) {
            return None;
        }
        let mut groups = path.ancestors().take(2).map(|path| mount.join(path));
        let folder = groups.find(|folder| {
            let mut value = [0; 1];
            getxattr(folder, DELEGATED, &mut value).is_ok() && value == *b"1"
        })?;
        let can_limit = has_all(&folder.join("cgroup.controllers"))
            && ["cgroup.procs", "cgroup.subtree_control"]
                .iter()
                .all(|name| fs::OpenOptions::new().write(true).open(folder.join(name)).is_ok());
        let holds_us = folder == mount.join(path);
        can_limit.then_some(Self { folder, holds_us })
    }

    fn make(&self, number: u32, memory: u64) -> io::Result<ControlGroup> {
        self.let_limit()?;
        let folder = self.folder.join(format!("{OWN}-{number}"));
        fs::create_dir(&folder)?;
        let group = ControlGroup { folder };
        fs::write(group.folder.join("memory.max"), memory.to_string())?;
        fs::write(group.folder.join("pids.max"), TASKS)?;
        Ok(group)
    }

    /// Lets groups below this one have limits.
    fn let_limit(&self) -> io::Result<()> {
        let control = self.folder.join("cgroup.subtree_control");
        if has_all(&control) {
            return Ok(());
        }
        let wanted = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
        let mut written = Err(io::ErrorKind::ResourceBusy.into());
        for _ in 0..TRIES {
            if self.holds_us {
                self.vacate()?;
            }
            written = fs::write(&control, &wanted);
            if written.is_ok() {
                break;
            }
        }
        written
    }

    /// Moves the unit's processes to a group below.
    fn vacate(&self) -> io::Result<()> {
        let own = self.folder.join(OWN);
        fs::create_dir_all(&own)?;
        for process in fs::read_to_string(self.folder.join("cgroup.procs"))?.lines() {
            // One that has ended is in no group.
            drop(fs::write(own.join("cgroup.procs"), process));
        }
        Ok(())
    }
}

fn has_all(list: &Path) -> bool {
    let text = fs::read_to_string(list).unwrap_or_default();
    CONTROLLERS.iter().all(|name| text.split_whitespace().any(|word| word == *name))
}

fn own_groups() -> Option<String> {
    fs::read_to_string("/proc/self/cgroup").ok()
}

fn memory_limit() -> Option<u64> {
    share_of(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// A share of the machine's memory in bytes; `machine` is the text of `/proc/meminfo`.
fn share_of(machine: &str) -> Option<u64> {
    let total = machine.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024 / 100 * SHARE)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{XattrFlags, setxattr};

    use super::*;

    const UNIT: &str = "system.slice/night.service";

    /// Groups as the kernel shows them, of a unit that is delegated.
    fn groups(controllers: &str) -> tempfile::TempDir {
        let mount = tempfile::tempdir().expect("a folder");
        let unit = mount.path().join(UNIT);
        fs::create_dir_all(unit.join("main")).expect("made");
        for (name, text) in [
            ("cgroup.controllers", controllers),
            ("cgroup.procs", "11\n12\n"),
            ("cgroup.subtree_control", ""),
        ] {
            fs::write(unit.join(name), text).expect("written");
        }
        setxattr(&unit, DELEGATED, b"1", XattrFlags::empty()).expect("marked");
        mount
    }

    fn find(mount: &Path, own: &str) -> Option<(PathBuf, bool)> {
        let found = Delegated::find(mount, &format!("4:memory:/a\n0::/{own}\n"))?;
        let path = found.folder.strip_prefix(mount).expect("below").to_owned();
        Some((path, found.holds_us))
    }

    #[test]
    fn a_group_is_used_if_systemd_delegated_it_with_memory_and_tasks() {
        let mount = groups("cpu memory pids\n");
        assert_eq!(find(mount.path(), UNIT), Some((UNIT.into(), true)));
        let below = format!("{UNIT}/main");
        assert_eq!(find(mount.path(), &below), Some((UNIT.into(), false)));
        for other in ["system.slice", "", "../system.slice/night.service", &format!("{below}/a")] {
            assert_eq!(find(mount.path(), other), None, "{other}");
        }
        assert_eq!(Delegated::find(mount.path(), "4:memory:/system.slice/night.service\n"), None);
        assert_eq!(find(groups("cpu memory\n").path(), UNIT), None, "it cannot limit tasks");
    }

    #[test]
    fn sandboxes_get_a_limited_group_beside_the_unit_s_processes() {
        let mount = groups("memory pids\n");
        let unit = mount.path().join(UNIT);
        let read = |path: &str| fs::read_to_string(unit.join(path)).expect(path);
        let found = Delegated { folder: unit.clone(), holds_us: true };
        let group = found.make(7, 1 << 30).expect("made");
        assert_eq!(group.folder(), unit.join("ralph-copilot-7"));
        assert_eq!(read("ralph-copilot-7/memory.max"), "1073741824");
        assert_eq!(read("ralph-copilot-7/pids.max"), "10000");
        assert_eq!(read("cgroup.subtree_control"), "+memory +pids");
        assert_eq!(read("ralph-copilot/cgroup.procs"), "12", "the last one that was moved");
        enter_group(group.folder()).expect("entered");
        assert_eq!(read("ralph-copilot-7/cgroup.procs"), "0", "who writes this is moved");
    }

    #[test]
    fn processes_stay_where_groups_below_can_have_limits_already() {
        let mount = groups("memory pids\n");
        let unit = mount.path().join(UNIT);
        fs::write(unit.join("cgroup.subtree_control"), "cpu memory pids\n").expect("written");
        let found = Delegated { folder: unit.clone(), holds_us: false };
        found.make(7, 1 << 30).expect("made");
        assert!(!unit.join(OWN).exists());
    }

    #[test]
    fn the_limit_is_a_share_of_the_machine() {
        let machine = "MemTotal:       10000 kB\nMemFree:         1000 kB\n";
        assert_eq!(share_of(machine), Some(8_000 * 1024));
        assert_eq!(memory_limit().is_some(), cfg!(target_os = "linux"));
    }
}
