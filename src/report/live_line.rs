//! The terminal of a run: permanent lines, and below them the live ones.
//!
//! Invariant: nothing is drawn or printed while a question uses the terminal; lines from that
//! time are printed afterwards. Drawing the live line never fails, because indicatif panics on
//! an error; a closed terminal is noticed when a permanent line is written.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use console::measure_text_width;
use indicatif::{
    MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike,
};

use super::format;
use crate::sys::clock::Clock;

/// Columns at the right that the live line leaves free. On Ctrl-C the terminal echoes `^C`
/// behind it; in the last columns that would begin another line, and the live line would stay.
const FREE: u16 = 4;

/// When the live line is drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// At this interval, so that people see the elapsed time move.
    Every(Duration),
    /// With each event only.
    OnEvent,
}

/// A terminal with live lines; clones draw on the same one.
#[derive(Clone, Debug)]
pub struct LiveLine {
    terminal: Arc<dyn TermLike>,
    refresh: Refresh,
    clock: Clock,
    bars: MultiProgress,
    /// Lines that wait for the end of a question; `None` if there is no question.
    held: Arc<Mutex<Option<Vec<String>>>>,
}

impl LiveLine {
    /// Draws on this terminal.
    pub(super) fn new(terminal: Arc<dyn TermLike>, refresh: Refresh, clock: Clock) -> Self {
        let bars = MultiProgress::with_draw_target(target(&terminal));
        Self { terminal, refresh, clock, bars, held: Arc::default() }
    }

    /// Lets `ask` use the terminal: the live line goes away until it returns.
    pub fn without<T>(&self, ask: impl FnOnce() -> T) -> T {
        {
            let mut held = self.held();
            // A failure is met again when the next line is printed.
            let _ = self.bars.clear();
            self.bars.set_draw_target(ProgressDrawTarget::hidden());
            held.get_or_insert_default();
        }
        let _resumed = Resume(self);
        ask()
    }

    /// Takes the live line away for good, for a process that ends at once.
    pub fn remove(&self) {
        let _ = self.bars.clear();
        self.bars.set_draw_target(ProgressDrawTarget::hidden());
    }

    pub(super) fn columns(&self) -> usize {
        usize::from(self.terminal.width())
    }

    /// Begins a live line, below the others. `{since}` in its template is the time since then. It is
    /// drawn again after so many of the intervals.
    pub(super) fn begin(&self, template: &str, since: DateTime<Utc>, every: u32) -> ProgressBar {
        let bar = ProgressBar::new_spinner().with_style(self.style(template, since));
        let bar = self.bars.add(bar);
        match self.refresh {
            Refresh::Every(interval) => bar.enable_steady_tick(interval * every),
            Refresh::OnEvent => {}
        }
        bar
    }

    pub(super) fn style(&self, template: &str, since: DateTime<Utc>) -> ProgressStyle {
        let clock = self.clock;
        let elapsed = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            // The line is drawn again in a moment, so a failure does not matter.
            let _ = out.write_str(&format::duration(format::millis(since, clock.now())));
        };
        ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .with_key("since", elapsed)
    }

    pub(super) fn end(&self, bar: &ProgressBar) {
        bar.finish_and_clear();
        self.bars.remove(bar);
    }

    /// Prints lines that stay, above the live line.
    pub(super) fn print(&self, lines: &str) -> io::Result<()> {
        match &mut *self.held() {
            Some(held) => {
                held.push(lines.to_owned());
                Ok(())
            }
            None => self.write(lines),
        }
    }

    /// Draws and prints again, even if a question still waits.
    pub(super) fn resume(&self) -> io::Result<()> {
        let Some(held) = self.held().take() else { return Ok(()) };
        self.bars.set_draw_target(target(&self.terminal));
        held.iter().try_for_each(|lines| self.write(lines))
    }

    fn write(&self, lines: &str) -> io::Result<()> {
        self.bars.suspend(|| {
            lines.split('\n').try_for_each(|line| self.terminal.write_line(line))?;
            self.terminal.flush()
        })
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<String>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resumes also where the question panics.
struct Resume<'l>(&'l LiveLine);

impl Drop for Resume<'_> {
    fn drop(&mut self) {
        // A failure is met again when the next line is printed.
        let _ = self.0.resume();
    }
}

fn target(terminal: &Arc<dyn TermLike>) -> ProgressDrawTarget {
    ProgressDrawTarget::term_like(Box::new(Forgiving(Arc::clone(terminal), AtomicUsize::new(0))))
}

/// Passes everything on and forgets failures. The second is the column: lines are filled up to the
/// width that they may have, which is less than the terminal's, and so do not break by themselves.
#[derive(Debug)]
struct Forgiving(Arc<dyn TermLike>, AtomicUsize);

impl TermLike for Forgiving {
    fn width(&self) -> u16 {
        self.0.width().saturating_sub(FREE).max(1)
    }

    fn height(&self) -> u16 {
        self.0.height()
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_up(lines).or(Ok(()))
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_down(lines).or(Ok(()))
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_right(columns).or(Ok(()))
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_left(columns).or(Ok(()))
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text).or(Ok(()))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut column = self.1.load(Relaxed);
        if text == "\r" {
            column = 0;
        } else if !text.is_empty() {
            if column >= usize::from(self.width()) {
                self.write_line("")?;
                column = 0;
            }
            column += measure_text_width(text);
        }
        self.1.store(column, Relaxed);
        self.0.write_str(text).or(Ok(()))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.1.store(0, Relaxed);
        self.0.clear_line().or(Ok(()))
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush().or(Ok(()))
    }
}
