//! A terminal in memory, as a terminal emulator shows it.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use ralph_copilot::report::Canvas;

/// Its screen, and everything that was written to it.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Mutex<(vt100::Parser, String)>>);

impl Terminal {
    pub(crate) fn new(rows: u16, columns: u16) -> Self {
        Self(Arc::new(Mutex::new((vt100::Parser::new(rows, columns, 0), String::new()))))
    }

    fn lock(&self) -> MutexGuard<'_, (vt100::Parser, String)> {
        self.0.lock().expect("a terminal")
    }

    /// What the human sees, without the empty rows at the end.
    pub(crate) fn contents(&self) -> String {
        let contents = self.lock().0.screen().contents();
        contents.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// The same with its colors.
    pub(crate) fn contents_formatted(&self) -> Vec<u8> {
        self.lock().0.screen().contents_formatted()
    }

    /// Everything that was written.
    pub(crate) fn written(&self) -> String {
        self.lock().1.clone()
    }

    /// What people type and see beside the run, as the terminal itself prints it.
    pub(crate) fn echo(&self, text: &str) {
        self.lock().0.process(text.as_bytes());
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        self.lock().0.screen_mut().set_size(rows, columns);
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Terminal")
    }
}

impl Canvas for Terminal {
    fn size(&self) -> (usize, usize) {
        let (rows, columns) = self.lock().0.screen().size();
        (usize::from(rows), usize::from(columns))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut terminal = self.lock();
        terminal.1.push_str(text);
        terminal.0.process(text.as_bytes());
        Ok(())
    }
}
