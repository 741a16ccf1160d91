//! The processes of a run's workers, as the run sees them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, Command};

use super::failure::Failure;
use super::paths::own_program;
use super::words_of_run::words_of_run;
use crate::engine::{Assignment, EngineError, Hire, WorkerLink, WorkerReport, WorkerReports};
use crate::sys::env::WORKER_VARIABLE;
use crate::sys::process::{Ladder, Supervised};
use crate::verify::{SeenAt, WorkerTree};

/// How a worker is ended: it ends its agent first.
const LADDER: Ladder = Ladder {
    close: Duration::from_millis(2500),
    term: Duration::from_millis(2000),
    kill: Duration::from_millis(750),
};
/// How much of a worker's last words is kept, in bytes.
const SAID: usize = 2000;

/// The place of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerPlace {
    pub(super) number: usize,
    /// The repository's own root.
    pub(super) root: PathBuf,
    /// The worker's tree.
    pub(super) work: PathBuf,
    /// Folders of objects, and the links to them.
    pub(super) borrowed: Vec<(PathBuf, PathBuf)>,
    /// It sees its tree at the repository's own path.
    pub(super) own_path: bool,
    /// The task's folder, relative to the root.
    pub(super) folder: PathBuf,
}

/// What the workers of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct WorkersOfRun {
    /// The run, whose name all of its processes have.
    pub(super) run: String,
    /// The repository's root.
    pub(super) root: PathBuf,
    /// The task's folder, relative to it.
    pub(super) folder: PathBuf,
    /// Where they see their trees.
    pub(super) seen_at: SeenAt,
    /// A folder of the run, for their temporary files.
    pub(super) tmp: PathBuf,
}

/// Starts workers of this run, with the arguments of this process.
pub(super) fn hire(at: WorkersOfRun, identity: Vec<(String, String)>) -> Result<Hire, Failure> {
    let program = own_program()?;
    let words = words_of_run(std::env::args_os());
    Ok(Box::new(move |number, tree: &WorkerTree, reports: WorkerReports| {
        let place = WorkerPlace {
            number,
            root: at.root.clone(),
            work: tree.work().to_owned(),
            borrowed: tree.borrowed(),
            own_path: at.seen_at == SeenAt::OwnPath,
            folder: at.folder.clone(),
        };
        let failed = |how: String| EngineError::Worker { number, how };
        let place = serde_json::to_string(&place).map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(&program);
        command.args([OsString::from("run"), "--worker".into(), place.into()]).args(&words);
        command.current_dir("/").env(WORKER_VARIABLE, number.to_string());
        // A test that ends the run at a write of its state does not mean the workers'.
        command.env_remove(crate::sys::crash::CRASH_AT);
        // What it leaves there goes with the run. Short, since sockets are in it.
        let tmp = at.tmp.join(format!("w{number}"));
        std::fs::create_dir_all(&tmp).map_err(|error| failed(error.to_string()))?;
        command.env("TMPDIR", tmp);
        command.envs(identity.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            Supervised::spawn(command, &at.run).map_err(|error| failed(error.to_string()))?;
        let stdin = child.stdin.take();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        tokio::spawn(async move {
            let messages = async {
                let Some(stdout) = stdout else { return };
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    match serde_json::from_str(&line) {
                        Ok(message) => {
                            drop(reports.send(WorkerReport::Said(message)));
                        }
                        Err(error) => tracing::warn!(%error, number, "a line is not understood"),
                    }
                }
            };
            // Both are read at once: a full pipe would stop the worker.
            let ((), said) = tokio::join!(messages, last_words(stderr));
            let how = if said.is_empty() { "its process ended".to_owned() } else { said };
            drop(reports.send(WorkerReport::Ended { how }));
        });
        Ok(Box::new(Link { stdin, child }) as Box<dyn WorkerLink>)
    }))
}

/// The end of what a worker writes to standard error.
async fn last_words(stderr: Option<ChildStderr>) -> String {
    let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
    let Some(mut stderr) = stderr else { return String::new() };
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        said.extend_from_slice(&buffer[..read]);
        said.drain(..said.len().saturating_sub(SAID));
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}

struct Link {
    stdin: Option<ChildStdin>,
    child: Supervised,
}

impl WorkerLink for Link {
    fn give<'l>(&'l mut self, order: &Assignment) -> BoxFuture<'l, io::Result<()>> {
        let line = serde_json::to_vec(order);
        Box::pin(async move {
            let mut line = line?;
            line.push(b'\n');
            let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            stdin.write_all(&line).await?;
            stdin.flush().await
        })
    }

    fn dismiss(&mut self) {
        self.stdin = None;
    }

    fn end(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        self.dismiss();
        Box::pin(async move {
            let ended = self.child.stop(LADDER).await;
            tracing::debug!(?ended, "a worker has ended");
        })
    }
}
