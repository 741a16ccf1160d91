//! Mounts and namespaces that this process makes before it gives way to bubblewrap.

#[cfg(target_os = "linux")]
pub(super) use linux::{
    bind, mount_overlay, mount_read_only, namespaces_of, open_read_only, own_namespace, whiteout,
};
#[cfg(not(target_os = "linux"))]
pub(super) use missing::{
    bind, mount_overlay, mount_read_only, namespaces_of, open_read_only, own_namespace, whiteout,
};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CString;
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsFd as _;
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, StatVfsMountFlags};
    use rustix::mount::{
        MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
        mount_change, mount_remount, unmount,
    };
    use rustix::process::{Pid, PidfdFlags, getgid, getuid, pidfd_open};
    use rustix::thread::{ThreadNameSpaceType, UnshareFlags, move_into_thread_name_spaces};

    use crate::sandbox::profile::Overlay;
    use crate::sys::remove_tree;

    /// Opens our own program so that nothing can be changed through the descriptor, its mode
    /// included: a descriptor remembers the mount that it was opened on.
    pub(in crate::sandbox) fn open_read_only(ours: &Path) -> io::Result<File> {
        mount_read_only(ours)?;
        let file = File::open(ours);
        // The workspace may be our own: a mount there would keep it from being built.
        unmount(ours, UnmountFlags::DETACH)?;
        file
    }

    /// Mounts a file over itself, read-only. A process that runs it is a way to it for others, by
    /// `/proc/PID/exe`.
    pub(in crate::sandbox) fn mount_read_only(path: &Path) -> io::Result<()> {
        // The kernel does not allow dropping these flags of a mount.
        let flags = rustix::fs::statvfs(path)?.f_flag;
        let kept = [
            (StatVfsMountFlags::NODEV, MountFlags::NODEV),
            (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
            (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        ];
        let kept = kept.iter().filter(|(flag, _)| flags.contains(*flag));
        let kept = kept.fold(MountFlags::RDONLY, |all, (_, flag)| all | *flag);
        mount_bind(path, path)?;
        Ok(mount_remount(path, MountFlags::BIND | kept, c"")?)
    }

    /// Shows a folder at another path, with what is mounted in it.
    pub(in crate::sandbox) fn bind(from: &Path, at: &Path) -> io::Result<()> {
        Ok(mount_bind_recursive(from, at)?)
    }

    pub(in crate::sandbox) fn mount_overlay(overlay: &Overlay) -> io::Result<()> {
        // The kernel refuses a folder that a killed sandbox used; its content is still good, since
        // the machine did not stop.
        drop(remove_tree(&overlay.work.join("work")));
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr,volatile",
            escaped(&overlay.lower)?,
            escaped(&overlay.upper)?,
            escaped(&overlay.work)?
        );
        let options = CString::new(options)?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        Ok(mount("overlay", &overlay.merged, "overlay", flags, options.as_c_str())?)
    }

    /// A comma ends an option, and a colon a folder.
    fn escaped(path: &Path) -> io::Result<String> {
        let text = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(text.replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:"))
    }

    /// A user and a mount namespace in which this user is who they were.
    pub(in crate::sandbox) fn own_namespace() -> io::Result<()> {
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        #[expect(unsafe_code, reason = "no file descriptor table is unshared")]
        // SAFETY: only namespaces are unshared, and this process has one thread.
        unsafe {
            rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        }
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private)?;
        Ok(())
    }

    /// Enters the user and the mount namespace that another process of this user made.
    pub(in crate::sandbox) fn namespaces_of(process: i32) -> io::Result<()> {
        let pid = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidInput)?;
        let pid = pidfd_open(pid, PidfdFlags::empty())?;
        let types = ThreadNameSpaceType::USER | ThreadNameSpaceType::MOUNT;
        Ok(move_into_thread_name_spaces(pid.as_fd(), types)?)
    }

    /// A file of the upper folder that makes the overlay show nothing in its place.
    pub(in crate::sandbox) fn whiteout(at: &Path) -> io::Result<()> {
        Ok(rustix::fs::mknodat(CWD, at, FileType::CharacterDevice, Mode::empty(), 0)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod missing {
    use std::fs::File;
    use std::io::{self, ErrorKind};
    use std::path::Path;

    use crate::sandbox::profile::Overlay;

    pub(in crate::sandbox) fn open_read_only(ours: &Path) -> io::Result<File> {
        File::open(ours)
    }

    pub(in crate::sandbox) fn mount_read_only(_path: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::sandbox) fn bind(_from: &Path, _at: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::sandbox) fn mount_overlay(_overlay: &Overlay) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::sandbox) fn own_namespace() -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::sandbox) fn namespaces_of(_process: i32) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(in crate::sandbox) fn whiteout(_at: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
