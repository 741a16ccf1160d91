//! `watch`: the screen of a run that was started elsewhere, from its journal.

use std::ffi::OsStr;
use std::path::Path;

use super::args::WatchArgs;
use super::command_names::quoted;
use super::context::RepoContext;
use super::failure::Failure;
use super::log::{journal, say_why};
use super::print::complain;
use super::runtime::runtime;
use super::screen::{Show, screen};
use crate::events::{JournalLine, follow};
use crate::model::{EventKind, ExitCode};
use crate::sys::clock::Clock;
use crate::sys::shutdown::Shutdown;

/// Shows the newest run until it ends. Changes nothing.
pub(super) fn watch(directory: Option<&Path>, args: &WatchArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let journal = journal(&place, directory, args.of.as_deref())?;
    let run = journal.parent().and_then(Path::file_name).map(OsStr::to_string_lossy);
    let run = run.unwrap_or_default().into_owned();
    let (mut reporter, _) = screen(Show::People, Clock::system(), args.detail.detail());
    let (stop, mut code) = (Shutdown::default(), None);
    let token = stop.token().clone();
    let on_line = |line| {
        let JournalLine::Event(event) = line else { return };
        if let EventKind::RunEnded { exit_code, .. } = &event.kind {
            code = Some(*exit_code);
        }
        let shown = reporter.on_event(&event).is_ok() && say_why(&event.kind).is_ok();
        if !shown {
            // Its reader is gone.
            token.cancel();
        }
    };
    let alive = || place.holder().is_some_and(|holder| holder.run == run);
    let ended = runtime()?.block_on(async {
        stop.listen(|signal| std::process::exit(128 + signal))?;
        tokio::select! {
            ended = follow(&journal, alive, on_line) => {
                ended.map_err(|error| Failure::new(ExitCode::Invalid, error)).map(Some)
            }
            () = stop.token().cancelled() => Ok(None),
        }
    });
    // Nothing of the screen stays.
    drop(reporter);
    match (ended?, code) {
        (_, Some(code)) if args.exit_status => Ok(code),
        (Some(false), None) => {
            complain(&format!(
                "the run {run} is gone without an outcome: it was killed; its next start goes on \
                 from there (ralph-copilot log {} shows its events)",
                quoted(&run)
            ));
            Ok(u8::from(args.exit_status))
        }
        (_, _) => Ok(stop.signal().map_or(0, |signal| u8::try_from(128 + signal).unwrap_or(130))),
    }
}
