//! The tools of the run's server: memory, and those of a gateway's session.

use std::path::PathBuf;

use tokio::sync::watch;

use super::blocked;

use crate::agent::OfferedTools;
use crate::gateway::{Gateway, SessionHandle, listed};
use crate::guard::{OfferedKind, OfferedTool};
use crate::mcp::{MemoryTools, Tool, Tools as _};
use crate::sys::random_hex;

/// Random bytes of the server's name, which has seven characters. The CLI puts it and a hyphen
/// before a tool's name of at most 56, and models take 64.
const NAME: usize = 3;

/// A gateway's session, which lasts as long as the run.
pub(in crate::cli) struct ProviderSource {
    pub(in crate::cli) gateway: Gateway,
    /// The session's id.
    pub(in crate::cli) session: String,
    pub(in crate::cli) handle: SessionHandle,
}

/// The tools of a run.
pub(super) struct Offer {
    /// The server's name in sessions. It cannot be guessed, so no other server that an agent knows,
    /// such as one that the repository names, can pass its tools off as these.
    name: String,
    pub(super) memory: Option<MemoryTools>,
    pub(super) providers: Option<ProviderSource>,
    /// progress.md, for `report_blocked`.
    pub(super) progress: PathBuf,
}

impl Offer {
    pub(super) fn new(
        memory: Option<MemoryTools>,
        providers: Option<ProviderSource>,
        progress: PathBuf,
    ) -> std::io::Result<Self> {
        Ok(Self { name: format!("r{}", random_hex(NAME)?), memory, providers, progress })
    }

    /// The tools there are now.
    pub(super) fn list(&self) -> Vec<Tool> {
        let mut tools = self.memory.as_ref().map(|memory| memory.list()).unwrap_or_default();
        tools.push(blocked::tool());
        if let Some(providers) = &self.providers {
            tools.extend(providers.handle.tools.borrow().iter().map(listed));
        }
        tools
    }

    /// Changes when agents are to be told that the tools changed.
    pub(super) fn announced(&self) -> Option<watch::Receiver<u64>> {
        self.providers.as_ref().map(|providers| providers.handle.announced.clone())
    }
}

impl OfferedTools for Offer {
    fn server(&self) -> &str {
        &self.name
    }

    fn find(&self, name: &str) -> OfferedTool {
        let in_memory =
            self.memory.iter().any(|memory| memory.list().iter().any(|tool| tool.name == name));
        if in_memory || name == blocked::NAME {
            return OfferedTool { name: name.to_owned(), kind: OfferedKind::Memory };
        }
        let provider = self.providers.as_ref().and_then(|providers| {
            let tools = providers.handle.tools.borrow();
            let tool = tools.iter().find(|tool| tool.tool.name == name)?;
            Some(format!("{}.{name}", tool.provider))
        });
        match provider {
            Some(name) => OfferedTool { name, kind: OfferedKind::Provider },
            None => OfferedTool { name: name.to_owned(), kind: OfferedKind::Gone },
        }
    }
}
