//! The folder in which programs of the human find the token and the port.
//!
//! Invariant: who holds the folder's lock owns its files. A dead owner's files are replaced, a
//! live one's never. They go when their owner stops.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

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

/// The folder, held by this process.
#[derive(Debug)]
pub struct TokenFiles {
    folder: PathBuf,
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
        let files = Self { folder, _lock: lock };
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
        for path in self.paths() {
            // One that is not there needs no removal; another will not be believed.
            drop(fs::remove_file(path));
        }
    }
}

impl Drop for TokenFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The token and port that a gateway left in a folder; none where there is no such file.
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

/// Makes the folder if needed, for its owner alone.
fn make_private(folder: &Path) -> Result<(), GatewayError> {
    let failed = |operation: &'static str| {
        let path = folder.to_owned();
        move |source: io::Error| GatewayError::Folder { operation, path, source }
    };
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

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    fn tokens() -> (GatewayToken, GatewayToken) {
        (GatewayToken::generate().expect("random"), GatewayToken::generate().expect("random"))
    }

    #[test]
    fn the_files_are_private_and_go_with_their_owner() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = token_folder(home.path());
        let (token, mcp_token) = tokens();
        let files =
            TokenFiles::write(folder.clone(), &token, Some(&mcp_token), 17).expect("written");
        assert_eq!(files.token(), home.path().join("extensions/tap/.provider-token"));
        let text = fs::read_to_string(files.token()).expect("read");
        assert_eq!(text, format!("{}\n", token.expose()));
        assert_eq!(
            (mode(&files.token()), mode(&files.mcp_token()), mode(&folder)),
            (0o600, 0o600, 0o700)
        );
        assert_eq!(read_token_files(&folder), (Some(token.expose().to_owned()), Some(17)));
        let path = files.token();
        drop(files);
        assert!(!path.exists());
        assert_eq!(read_token_files(&folder), (None, None));
    }

    #[test]
    fn a_dead_owner_s_files_are_replaced_and_a_live_one_s_never() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = token_folder(home.path());
        fs::create_dir_all(&folder).expect("made");
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("mode");
        let stale = folder.join(TOKEN);
        fs::write(&stale, "ptk-stale\n").expect("written");
        fs::write(folder.join(".provider-token.lock"), "1 gateway\n").expect("written");
        let (token, mcp_token) = tokens();
        let files = TokenFiles::write(folder.clone(), &token, Some(&mcp_token), 1).expect("free");
        assert_eq!((mode(&stale), mode(&folder)), (0o600, 0o700));
        let (other, _) = tokens();
        let error = TokenFiles::write(folder, &other, Some(&mcp_token), 2).expect_err("held");
        assert!(matches!(error, GatewayError::Owned { .. }), "{error}");
        assert_eq!(fs::read_to_string(&stale).expect("read"), format!("{}\n", token.expose()));
        drop(files);
    }
}
