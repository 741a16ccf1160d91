//! Lines of a terminal's output: without colors, cut, and in bounded memory.

/// The longest line that is kept; the rest of it is left out.
const LONGEST: usize = 2048;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// In `ESC [ …`.
    Sequence,
    /// In `ESC ] …`, which BEL or `ESC \` ends.
    Command,
}

/// Splits bytes into lines. A carriage return and a movement of the cursor end a line too.
#[derive(Debug, Default)]
pub(super) struct OutputLines {
    line: Vec<u8>,
    state: State,
}

impl OutputLines {
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(&str)) {
        for byte in bytes {
            match (self.state, byte) {
                (_, 0x1b) => self.state = State::Escape,
                (State::Text, b'\n' | b'\r') => self.end(each),
                (State::Text, 0x00..=0x08 | 0x0b..=0x1f) => {}
                (State::Text, _) => {
                    if self.line.len() < LONGEST {
                        self.line.push(*byte);
                    }
                }
                (State::Escape, b'[') => self.state = State::Sequence,
                (State::Escape, b']') => self.state = State::Command,
                (State::Escape, _) => self.state = State::Text,
                (State::Sequence, b'A'..=b'H' | b'f') => {
                    self.state = State::Text;
                    self.end(each);
                }
                (State::Sequence, 0x40..=0x7e | b'\n') | (State::Command, 0x07 | b'\n') => {
                    self.state = State::Text;
                }
                (State::Sequence | State::Command, _) => {}
            }
        }
    }

    /// The last line, if no line end follows it.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&str)) {
        if !self.line.is_empty() {
            self.end(each);
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(&str)) {
        each(&String::from_utf8_lossy(&self.line));
        self.line.clear();
    }
}
