//! Text that a person reads as a checkbox, whether or not Markdown does.
//!
//! Invariant: nothing here decides which criteria a file has.

/// The longest text between brackets that may be meant as a mark, in bytes.
const LONGEST_MARK: usize = 8;

/// Pairs of brackets that people and editors write: escaped, full-width, and round ones.
const PAIRS: [(&str, &str); 5] =
    [("[", "]"), ("\\[", "\\]"), ("\\[", "]"), ("［", "］"), ("(", ")")];
/// Characters that show an open box.
const OPEN: [&str; 8] = ["☐", "□", "▢", "◻", "⬜", "🔲", "&#9744;", "&#x2610;"];

/// A box at the start of a text.
pub(super) struct BoxLike<'a> {
    /// The brackets and their content, as written.
    pub(super) shown: &'a str,
    /// The content; a space for a character that shows an open box.
    pub(super) inner: &'a str,
    /// The text behind it.
    pub(super) after: &'a str,
    /// Written with `[` and `]`.
    pub(super) plain: bool,
}

impl<'a> BoxLike<'a> {
    /// Reads the box. Returns `None` if there is none, or if brackets begin a link.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        if let Some(sign) = OPEN.iter().find(|sign| text.starts_with(**sign)) {
            let (shown, after) = text.split_at(sign.len());
            return Some(Self { shown, inner: " ", after, plain: false });
        }
        if let Some(end) = text.find('>').filter(|_| text.starts_with("<input"))
            && text[..end].contains("checkbox")
        {
            let (shown, after) = text.split_at(end + 1);
            let inner = if shown.contains("checked") { "x" } else { " " };
            return Some(Self { shown, inner, after, plain: false });
        }
        PAIRS.iter().find_map(|(open, close)| {
            let rest = text.strip_prefix(open)?;
            let end = rest.find(close).filter(|end| *end <= LONGEST_MARK)?;
            let (inner, after) = (&rest[..end], &rest[end + close.len()..]);
            let shown = &text[..text.len() - after.len()];
            let plain = *open == "[";
            // Round brackets around a word are prose.
            let is_box = if *open == "(" { !inner.is_empty() && is_blank(inner) } else { true };
            // A link has a text.
            let is_link = plain && after.starts_with(['(', '[', ':']) && inner != " ";
            (is_box && !is_link).then_some(Self { shown, inner, after, plain })
        })
    }

    /// Would Markdown read this as a checkbox at the start of a list item?
    pub(super) fn is_box(&self) -> bool {
        self.plain && matches!(self.inner, " " | "\t" | "x" | "X")
    }

    /// Does nothing that can be seen follow it at once?
    pub(super) fn stands_alone(&self) -> bool {
        self.after.is_empty() || self.after.starts_with(is_invisible)
    }

    /// Would a person read this as a box that is still open?
    pub(super) fn is_open(&self) -> bool {
        is_blank(self.inner)
    }
}

/// Nothing but characters that cannot be seen, escapes included.
fn is_blank(text: &str) -> bool {
    text.chars().all(|it| is_invisible(it) || it == '\\')
}

/// White space of any kind, and characters without a width.
pub(super) fn is_invisible(it: char) -> bool {
    it.is_whitespace() || matches!(it, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}
