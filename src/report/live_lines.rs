//! The terminal of a run: lines that stay, and below them the live ones, which are drawn again.
//!
//! Invariant: there are at most four repaints a second; a question has the terminal to itself; the
//! cursor rests below the live lines, so that the echo of a key breaks none of them. Live lines are
//! never wider than the terminal, and those of before it became narrower are erased with the rows
//! that they take now.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::{Term, measure_text_width, truncate_str};

use super::scene::Scene;

/// A terminal.
pub trait Canvas: Send + Sync + fmt::Debug {
    /// Its rows and columns now.
    fn size(&self) -> (usize, usize);

    /// Writes text and control sequences at once.
    ///
    /// # Errors
    /// If the terminal is gone.
    fn write(&self, text: &str) -> io::Result<()>;
}

impl Canvas for Term {
    fn size(&self) -> (usize, usize) {
        let (rows, columns) = Term::size(self);
        (usize::from(rows), usize::from(columns))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut out = self;
        out.write_all(text.as_bytes()).and_then(|()| self.flush())
    }
}

/// When the live lines are drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// At this interval at most, and as often while time passes.
    Every(Duration),
    /// With each event only.
    OnEvent,
}

/// A terminal with live lines; clones draw on the same one.
#[derive(Clone)]
pub struct LiveLines {
    inner: Arc<Mutex<Inner>>,
    refresh: Refresh,
}

struct Inner {
    canvas: Arc<dyn Canvas>,
    scene: Scene,
    /// The live lines on the screen.
    drawn: Vec<String>,
    /// Lines that stay, and are not on the screen yet.
    pending: String,
    /// A question has the terminal.
    asked: bool,
    /// Nothing is drawn any more.
    ended: bool,
    painted: Option<Instant>,
    /// The title and the progress that the terminal shows.
    title: String,
    /// The first failure to write, until it is reported.
    failed: Option<io::Error>,
}

impl LiveLines {
    pub(super) fn new(canvas: Arc<dyn Canvas>, refresh: Refresh, scene: Scene) -> Self {
        let inner = Arc::new(Mutex::new(Inner {
            canvas,
            scene,
            drawn: Vec::new(),
            pending: String::new(),
            asked: false,
            ended: false,
            painted: None,
            title: String::new(),
            failed: None,
        }));
        if let Refresh::Every(interval) = refresh {
            let inner = Arc::downgrade(&inner);
            // Ends with the last clone.
            std::thread::spawn(move || {
                let mut wait = interval;
                loop {
                    std::thread::sleep(wait);
                    let Some(inner) = inner.upgrade() else { return };
                    let mut inner = lock(&inner);
                    let since = inner.painted.map_or(interval, |painted| painted.elapsed());
                    wait = interval.saturating_sub(since);
                    if wait.is_zero() {
                        inner.paint();
                        wait = interval;
                    }
                }
            });
        }
        Self { inner, refresh }
    }

    /// Lets `ask` use the terminal: the live lines go away until it returns, and lines that stay
    /// wait.
    pub fn without<T>(&self, ask: impl FnOnce() -> T) -> T {
        {
            let mut inner = lock(&self.inner);
            inner.clear();
            inner.asked = true;
        }
        let _resumed = Resume(self);
        ask()
    }

    /// Takes the live lines away for good, and writes the lines that stay.
    pub fn end(&self) {
        let mut inner = lock(&self.inner);
        inner.asked = false;
        inner.clear();
        inner.ended = true;
    }

    pub(super) fn columns(&self) -> usize {
        lock(&self.inner).canvas.size().1
    }

    /// Looks at what is shown, or changes it.
    pub(super) fn scene<T>(&self, change: impl FnOnce(&mut Scene) -> T) -> T {
        change(&mut lock(&self.inner).scene)
    }

    /// Adds lines that stay, above the live lines.
    pub(super) fn print(&self, lines: &str) {
        let mut inner = lock(&self.inner);
        for line in lines.split('\n') {
            inner.pending.push_str(line);
            inner.pending.push_str("\r\n");
        }
    }

    /// Draws what changed, now or soon.
    ///
    /// # Errors
    /// If something could not be written since the last time.
    pub(super) fn refresh(&self) -> io::Result<()> {
        let mut inner = lock(&self.inner);
        let is_due = match (self.refresh, inner.painted) {
            (Refresh::Every(interval), Some(painted)) => painted.elapsed() >= interval,
            (Refresh::Every(_), None) | (Refresh::OnEvent, _) => true,
        };
        if is_due || inner.ended {
            inner.paint();
        }
        inner.failed.take().map_or(Ok(()), Err)
    }
}

impl Inner {
    /// Draws the lines if they changed.
    fn paint(&mut self) {
        if self.asked {
            return;
        }
        let (rows, columns) = self.canvas.size();
        // The cursor needs a row, and the last column makes some terminals break the line.
        let width = columns.saturating_sub(1).max(1);
        let lines = if self.ended { Vec::new() } else { self.scene.lines(width) };
        let mut lines: Vec<String> =
            lines.iter().map(|line| truncate_str(line, width, "…").into_owned()).collect();
        lines.truncate(rows.saturating_sub(2).max(1));
        if lines == self.drawn && self.pending.is_empty() {
            return;
        }
        let mut text = self.erasing(columns);
        text.push_str(&std::mem::take(&mut self.pending));
        for line in &lines {
            text.push_str(line);
            text.push_str("\r\n");
        }
        self.drawn = lines;
        self.painted = Some(Instant::now());
        let title = if self.ended { String::new() } else { self.scene.title() };
        if title != self.title {
            text.push_str(&titled(&self.title, &title));
            self.title = title;
        }
        self.write(&text);
    }

    /// What erases the live lines.
    fn erasing(&self, columns: usize) -> String {
        let columns = columns.max(1);
        let rows = self.drawn.iter().map(|line| measure_text_width(line).div_ceil(columns).max(1));
        match rows.sum::<usize>() {
            0 => String::new(),
            rows => format!("\r\x1b[{rows}A\x1b[J"),
        }
    }

    /// Erases the live lines, and writes the lines that stay.
    fn clear(&mut self) {
        let mut text = self.erasing(self.canvas.size().1);
        text.push_str(&std::mem::take(&mut self.pending));
        self.drawn.clear();
        if !self.title.is_empty() {
            text.push_str(&titled(&self.title, ""));
            self.title.clear();
        }
        if !text.is_empty() {
            self.write(&text);
        }
    }

    fn write(&mut self, text: &str) {
        if let Err(error) = self.canvas.write(text) {
            self.failed.get_or_insert(error);
        }
    }
}

/// Gives the terminal another title and progress. The one before ours is kept, and comes back with
/// an empty one.
fn titled(before: &str, now: &str) -> String {
    match (before.is_empty(), now.is_empty()) {
        (true, false) => format!("\x1b[22;0t{now}"),
        (false, true) => "\x1b]9;4;0\x07\x1b[23;0t".to_owned(),
        (true, true) | (false, false) => now.to_owned(),
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resumes also where the question panics.
struct Resume<'l>(&'l LiveLines);

impl Drop for Resume<'_> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0.inner);
        inner.asked = false;
        inner.paint();
    }
}
