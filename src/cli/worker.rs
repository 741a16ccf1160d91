//! A worker: this program as the child of a run with several jobs. Assignments come on standard
//! input, events and answers go to standard output.

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::mpsc;

use super::args::RunArgs;
use super::assemble::{Assembled, assemble};
use super::context::TaskContext;
use super::crew::WorkerPlace;
use super::failure::Failure;
use super::runtime::{block_on_detached, runtime};
use super::screen::tell;
use crate::engine::{Assignment, Run, WorkerAnswer, WorkerMessage};
use crate::model::ExitCode;
use crate::sandbox::see_at;

/// The signal that the end of standard input counts as.
const TERM: i32 = 15;

/// Works in the tree that the run made.
pub(super) fn worker(place: &str, args: &RunArgs) -> Result<u8, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(ExitCode::Agent, format!("the worker's tree cannot be used: {error}"))
    };
    let place: WorkerPlace = serde_json::from_str(place).map_err(|error| failed(&error))?;
    let root = if place.own_path { &place.root } else { &place.work };
    if place.own_path {
        see_at(&place.work, root, &place.borrowed).map_err(|error| failed(&error))?;
    }
    std::env::set_current_dir(root).map_err(|error| failed(&error))?;
    let mut args = args.clone();
    args.settings.for_worker();
    let at = TaskContext::find(Some(root), &place.folder.join("TASK.md").to_string_lossy())?;
    block_on_detached(runtime()?, async {
        let Assembled { parts, guards, .. } = assemble(at, Some(root), &args).await?;
        let (give, orders) = mpsc::channel(1);
        let stop = parts.ledger.stop.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(tokio::io::stdin()).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let order: Result<Assignment, _> = serde_json::from_str(&line);
                match order {
                    Ok(order) => drop(give.send(order).await),
                    Err(error) => {
                        let reason = format!("an assignment is not understood: {error}");
                        tell(&WorkerMessage::Answer(WorkerAnswer::Failed { reason }));
                    }
                }
            }
            stop.request(TERM);
        });
        let served = async {
            let answer = |answer| tell(&WorkerMessage::Answer(answer));
            Run::new(parts)?.serve(orders, &answer).await
        };
        let served = served.await;
        guards.end().await;
        served.map(|()| 0).map_err(Failure::from)
    })
}
