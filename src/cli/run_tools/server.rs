//! The port, and the endpoints on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::offer::Offer;
use super::session::RunTools;
use crate::agent::{Gate, OfferedTools as _, OpenedEndpoint, ToolServer};
use crate::mcp::{Endpoint, Endpoints, LoopbackPort, router};
use crate::model::SessionId;
use crate::sys::random_hex;

/// Bytes of a token.
const TOKEN: usize = 16;
/// Bytes of an endpoint's name.
const ID: usize = 4;

/// The running server; dropping it ends every call.
pub(super) struct RunServer {
    offer: Arc<Offer>,
    gate: Arc<Gate>,
    open: Arc<Open>,
    port: LoopbackPort,
}

/// The endpoints that are open.
#[derive(Default)]
struct Open(Mutex<HashMap<String, OpenEndpoint>>);

/// An endpoint, and the tools that it serves.
struct OpenEndpoint {
    endpoint: Arc<Endpoint>,
    tools: Arc<RunTools>,
}

impl Open {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenEndpoint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoints for Open {
    fn find(&self, session: &str) -> Option<Arc<Endpoint>> {
        self.lock().get(session).map(|open| Arc::clone(&open.endpoint))
    }
}

impl RunServer {
    /// Listens on a free port, and lets the gate know the tools.
    pub(super) async fn start(offer: Arc<Offer>, gate: Arc<Gate>) -> std::io::Result<Self> {
        let open = Arc::<Open>::default();
        let port = LoopbackPort::serve(router(Arc::clone(&open) as _)).await?;
        gate.offer(Arc::clone(&offer) as _);
        Ok(Self { offer, gate, open, port })
    }
}

impl Drop for RunServer {
    fn drop(&mut self) {
        self.open.lock().clear();
    }
}

impl ToolServer for RunServer {
    fn name(&self) -> &str {
        self.offer.server()
    }

    fn open(&self) -> std::io::Result<OpenedEndpoint> {
        let (id, token) = (random_hex(ID)?, format!("rtk-{}", random_hex(TOKEN)?));
        let tools = Arc::new(RunTools::new(Arc::clone(&self.offer), Arc::clone(&self.gate)));
        let endpoint = Arc::new(Endpoint::new(&token, Arc::clone(&tools) as _));
        self.open.lock().insert(id.clone(), OpenEndpoint { endpoint, tools });
        let url = format!("http://{}/mcp/{id}", self.port.address());
        Ok(OpenedEndpoint { id, url, token })
    }

    fn bind(&self, endpoint: &str, session: &SessionId) {
        if let Some(open) = self.open.lock().get(endpoint) {
            open.tools.bind(session);
        }
    }

    fn close(&self, endpoint: &str) {
        let closed = self.open.lock().remove(endpoint);
        // The streams of its clients end here, after the lock is released.
        drop(closed);
    }
}
