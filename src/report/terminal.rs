//! A terminal that indicatif may draw on although it can be closed at any time.
//!
//! Invariant: drawing the live line never fails, for indicatif panics where it does; that
//! the terminal is gone is learned when a line that stays is written.

use std::io;
use std::sync::Arc;

use indicatif::TermLike;

/// Passes everything on and forgets failures.
#[derive(Debug)]
pub(super) struct Forgiving(pub(super) Arc<dyn TermLike>);

impl TermLike for Forgiving {
    fn width(&self) -> u16 {
        self.0.width()
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
        self.0.write_str(text).or(Ok(()))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line().or(Ok(()))
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush().or(Ok(()))
    }
}
