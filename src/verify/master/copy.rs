//! Copies of files and folders.
//!
//! Invariant: links stay links, times and modes are kept, and the copy shares no content on disk. A
//! file that cannot be read is left out, as a check cannot read it either.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Copies a file, a link, or a folder with everything in it that is to be kept.
pub(in crate::verify) fn copy(
    from: &Path,
    to: &Path,
    keep: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    let Ok(meta) = fs::symlink_metadata(from) else { return Ok(()) };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if meta.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if meta.is_file() {
        return if keep(from) { copy_file(from, to, &meta) } else { Ok(()) };
    }
    if !meta.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).into_iter().flatten() {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name), keep)?;
    }
    fs::set_permissions(to, meta.permissions())
}

fn copy_file(from: &Path, to: &Path, meta: &fs::Metadata) -> io::Result<()> {
    let source = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        other => other?,
    };
    let mut target = File::create(to)?;
    if !cloned(&source, &target) {
        io::copy(&mut &source, &mut target)?;
    }
    target.set_permissions(meta.permissions())?;
    let times = fs::FileTimes::new().set_modified(meta.modified()?).set_accessed(meta.accessed()?);
    target.set_times(times)
}

/// Shares the blocks on disk until one of the two is written, where the file system can.
#[cfg(target_os = "linux")]
fn cloned(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn cloned(_from: &File, _to: &File) -> bool {
    false
}
