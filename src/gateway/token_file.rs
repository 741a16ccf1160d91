//! The folder in which programs of the human find the token and the port.
//!
//! Invariant: who holds the folder's lock owns its files. A dead owner's files are replaced, a
//! live one's never. They go when their owner stops.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, OFlags, unlinkat};

use super::error::GatewayError;
use super::token::GatewayToken;
use crate::sys::lock::TreeLock;
use crate::sys::{Durability, FileMode, SysError, atomic};

/// The provider's token.
const TOKEN: &str = ".provider-token";
/// The token of the MCP endpoints.
const MCP_TOKEN: &str = ".mcp-token";
/// The port.
const PORT: &str = ".gateway-port";

/// Where the files of a Copilot home lie.
pub fn token_folder(copilot_home: &Path) -> PathBuf {
    copilot_home.join("extensions/tap")
}

/// Makes the folder before there is a token, so that a sandbox that starts now can hide it.
///
/// # Errors
/// If it cannot be made. Then no gateway can leave its token there, either.
pub fn make_token_folder(copilot_home: &Path) -> Result<(), GatewayError> {
    make_private(&token_folder(copilot_home))
}

/// The folder, held by this process.
#[derive(Debug)]
pub struct TokenFiles {
    folder: PathBuf,
    /// The folder itself, wherever it is moved.
    opened: File,
    /// The files that were written, wherever they are moved.
    written: Vec<File>,
    _lock: TreeLock,
}

impl TokenFiles {
    /// Takes the folder and writes the files; that of the MCP endpoints only if there are any.
    /// The port must be bound already.
    ///
    /// # Errors
    /// [`GatewayError::Owned`] if another gateway has the folder; others if a file cannot be
    /// written.
    pub fn write(
        folder: PathBuf,
        token: &GatewayToken,
        mcp_token: Option<&GatewayToken>,
        port: u16,
    ) -> Result<Self, GatewayError> {
        make_private(&folder)?;
        let failed =
            |source| GatewayError::Folder { operation: "open", path: folder.clone(), source };
        let opened = open(&folder, OFlags::DIRECTORY).map_err(failed)?;
        let lock = folder.join(format!("{TOKEN}.lock"));
        let lock = TreeLock::take(&lock, "gateway").map_err(|error| match error {
            SysError::Locked { holder, .. } => GatewayError::Owned {
                holder: holder.map_or_else(
                    || "another gateway".to_owned(),
                    |holder| format!("another gateway (process {})", holder.pid),
                ),
                folder: folder.clone(),
            },
            other => GatewayError::File(other),
        })?;
        let mut files = Self { folder, opened, written: Vec::new(), _lock: lock };
        files.remove();
        let texts = [
            (PORT, Some(port.to_string())),
            (MCP_TOKEN, mcp_token.map(|token| token.expose().to_owned())),
            (TOKEN, Some(token.expose().to_owned())),
        ];
        for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text?))) {
            let path = files.folder.join(name);
            let line = format!("{text}\n");
            atomic::write(&path, line.as_bytes(), Durability::Process, FileMode::Owner)?;
            let written = File::options()
                .write(true)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)
                .map_err(|source| GatewayError::Folder { operation: "open", path, source })?;
            files.written.push(written);
        }
        Ok(files)
    }

    /// The file with the providers' token.
    pub fn token(&self) -> PathBuf {
        self.folder.join(TOKEN)
    }

    /// The file with the token of the MCP endpoints.
    pub fn mcp_token(&self) -> PathBuf {
        self.folder.join(MCP_TOKEN)
    }

    /// The files that go with their owner.
    pub fn paths(&self) -> [PathBuf; 3] {
        [TOKEN, MCP_TOKEN, PORT].map(|name| self.folder.join(name))
    }

    fn remove(&self) {
        for file in &self.written {
            // Whoever moved or linked one keeps an empty file.
            drop(file.set_len(0));
        }
        for name in [TOKEN, MCP_TOKEN, PORT] {
            // One that is not there needs no removal; another will not be believed.
            unlinkat(&self.opened, name, AtFlags::empty()).unwrap_or_default();
        }
    }
}

impl Drop for TokenFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The token and port that a gateway left in a folder; none without such a file.
pub fn read_token_files(folder: &Path) -> (Option<String>, Option<u16>) {
    let read = |name| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Some(text.trim_end().to_owned())
    };
    (read(TOKEN), read(PORT).and_then(|port| port.parse().ok()))
}

/// The process and the port of the gateway that holds a folder; none if none does.
pub fn gateway_in(folder: &Path) -> Option<(u32, u16)> {
    let holder = TreeLock::holder(&folder.join(format!("{TOKEN}.lock"))).ok()??;
    let (_, port) = read_token_files(folder);
    Some((holder.pid, port?))
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = (flags | OFlags::NOFOLLOW).bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

/// Creates the folder if needed, for its owner alone. A link on the way could lead to a folder that
/// others can read: an agent may write in a Copilot home.
fn make_private(folder: &Path) -> Result<(), GatewayError> {
    let failed = |operation: &'static str| {
        let path = folder.to_owned();
        move |source: io::Error| GatewayError::Folder { operation, path, source }
    };
    for path in [folder.parent(), Some(folder)].into_iter().flatten() {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            let (operation, path) = ("use", path.to_owned());
            let source = io::Error::other("it is a symbolic link; replace it with a folder");
            return Err(GatewayError::Folder { operation, path, source });
        }
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("create"))?;
    let mode = fs::metadata(folder).map_err(failed("inspect"))?.permissions().mode();
    if mode & 0o077 != 0 {
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(folder, private).map_err(failed("restrict the permissions of"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> (GatewayToken, GatewayToken) {
        (GatewayToken::generate().expect("random"), GatewayToken::generate().expect("random"))
    }

    #[test]
    fn files_that_were_moved_are_emptied_and_those_of_the_next_folder_stay() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = token_folder(home.path());
        let (token, next) = tokens();
        let files = TokenFiles::write(folder.clone(), &token, None, 17).expect("written");
        let kept = home.path().join("kept");
        fs::hard_link(files.token(), &kept).expect("linked");
        let moved = home.path().join("moved");
        fs::rename(home.path().join("extensions"), &moved).expect("moved");
        let others = TokenFiles::write(folder, &next, None, 18).expect("written");
        drop(files);
        assert!(!moved.join("tap/.provider-token").exists());
        assert!(!moved.join("tap/.gateway-port").exists());
        assert_eq!(fs::read_to_string(&kept).expect("read"), "");
        let text = fs::read_to_string(others.token()).expect("read");
        assert_eq!(text, format!("{}\n", next.expose()));
    }

    #[test]
    fn a_link_on_the_way_is_refused() {
        for link in ["extensions", "extensions/tap"] {
            let home = tempfile::tempdir().expect("a folder");
            let (link, elsewhere) = (home.path().join(link), home.path().join("elsewhere"));
            fs::create_dir(&elsewhere).expect("made");
            fs::create_dir_all(link.parent().expect("a folder")).expect("made");
            std::os::unix::fs::symlink(&elsewhere, &link).expect("linked");
            let error = TokenFiles::write(token_folder(home.path()), &tokens().0, None, 1);
            let error = error.expect_err("a link").to_string();
            assert!(error.contains("it is a symbolic link"), "{error}");
            assert_eq!(fs::read_dir(&elsewhere).expect("read").count(), 0);
        }
    }
}
