//! Commands of this program that the server runs as its children.
//!
//! Invariant: every child knows its depth, is supervised, and does not outlive the server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::cli::failure::Failure;
use crate::cli::paths::own_program;
use crate::mcp::ToolAnswer;
use crate::sys::depth::DEPTH_VARIABLE;
use crate::sys::process::{Ladder, Supervised};

/// Most output of a child that is kept, in bytes.
const MOST_OUTPUT: u64 = 8 << 20;
/// How a child is ended: it needs time to end its own agent.
pub(super) const LADDER: Ladder =
    Ladder { close: Duration::ZERO, term: Duration::from_secs(9), kill: Duration::from_secs(1) };

/// How children are started.
#[derive(Clone, Debug)]
pub(super) struct OwnProgram {
    program: PathBuf,
    /// Marks all processes of this server.
    pub(super) mark: String,
}

/// A child that ended.
#[derive(Debug)]
pub(super) struct EndedChild {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl OwnProgram {
    pub(super) fn find() -> Result<Self, Failure> {
        let program = own_program()?;
        Ok(Self { program, mark: format!("mcp-{}", std::process::id()) })
    }

    /// A command of ours in a folder, one level deeper than `depth`.
    pub(super) fn command<'w>(
        &self,
        folder: &Path,
        depth: u32,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-C").arg(folder).args(words.into_iter().map(OsString::from));
        command.env(DEPTH_VARIABLE, (depth + 1).to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, no longer than `limit`, and not when it is cancelled.
    pub(super) async fn output(
        &self,
        command: Command,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<EndedChild, ToolAnswer> {
        self.follow(command, None, limit, cancel, &mut |_| {}).await
    }

    /// The same, with a text on its standard input; passes each line of its standard output to
    /// `each` as it comes.
    pub(super) async fn follow(
        &self,
        mut command: Command,
        input: Option<String>,
        limit: Duration,
        cancel: &CancellationToken,
        each: &mut (dyn FnMut(&str) + Send),
    ) -> Result<EndedChild, ToolAnswer> {
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = Supervised::spawn(command, &self.mark)
            .map_err(|error| ToolAnswer::error(error.to_string()))?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // A child that ends early says why on standard error.
            let _closed = stdin.write_all(input.as_bytes()).await;
        }
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let mut nobody = |_: &str| {};
            let texts = tokio::join!(text(stdout, each), text(stderr, &mut nobody));
            (texts, child.wait().await)
        };
        let why = tokio::select! {
            ((stdout, stderr), status) = ended => {
                let code = status.ok().and_then(|status| status.code());
                child.stop(Ladder::AT_ONCE).await;
                return Ok(EndedChild { code, stdout, stderr });
            }
            () = tokio::time::sleep(limit) => format!("no answer within {} s", limit.as_secs()),
            () = cancel.cancelled() => "cancelled".to_owned(),
        };
        child.stop(LADDER).await;
        Err(ToolAnswer::error(why))
    }
}

impl EndedChild {
    /// Why the command failed, as it said it.
    pub(super) fn failure(&self) -> ToolAnswer {
        let said = [&self.stderr, &self.stdout].map(|text| text.trim());
        let said = said.into_iter().find(|text| !text.is_empty());
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        ToolAnswer::error(match said {
            Some(said) => format!("{said}\n(exit: {code})"),
            None => format!("the command ended with {code}"),
        })
    }
}

/// The text of a stream, line by line.
async fn text(from: Option<impl AsyncRead + Unpin>, each: &mut (dyn FnMut(&str) + Send)) -> String {
    let Some(from) = from else { return String::new() };
    let mut from = BufReader::new(from.take(MOST_OUTPUT));
    let (mut text, mut line) = (String::new(), Vec::new());
    // Text that was read before an error counts.
    while let Ok(1..) = from.read_until(b'\n', &mut line).await {
        let read = String::from_utf8_lossy(&line);
        each(read.trim_end());
        text.push_str(&read);
        line.clear();
        // Whoever waits for the lines gets them one by one.
        tokio::task::yield_now().await;
    }
    text
}
