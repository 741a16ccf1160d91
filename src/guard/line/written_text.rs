//! Text that a line writes, where a compiler or git makes more of it than text.

use std::path::Path;

use super::ast::{Piece, Redirect, Word};
use super::judge::Judge;
use super::value::Arg;
use crate::guard::call_context::secret;
use crate::guard::denial::Denial;
use crate::guard::programs::lists;
use crate::guard::secrets;

/// Words by which a compiler takes another file into the program.
const INCLUDES: &[&str] = &[
    "include_str!",
    "include_bytes!",
    "include!",
    "#include",
    "# include",
    "#embed",
    "go:embed",
    ".incbin",
    "@embedFile",
];

impl Judge<'_> {
    /// Judges the words and the here-documents that a command without a sandbox may write.
    pub(super) fn writes_text(
        &mut self,
        args: &[Arg],
        redirects: &[Redirect],
    ) -> Result<(), Denial> {
        if self.sandboxed {
            return Ok(());
        }
        let program = args.first().map_or("", Arg::head);
        let words = if lists("echo printf sed gsed", program) { &args[1..] } else { &[] };
        let mut texts: Vec<String> = words.iter().map(|word| word.head().to_owned()).collect();
        texts.extend(redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Data { text, .. } => Some(plain(text)),
            Redirect::Read(_)
            | Redirect::Write(_)
            | Redirect::WriteOther(_)
            | Redirect::Append(_) => None,
        }));
        for text in texts {
            // `go generate` runs such a line.
            self.writes_code |= text.contains("go:generate");
            if let Some(path) = revealed(&text) {
                return Err(secret(Path::new(path)));
            }
        }
        Ok(())
    }
}

/// The plain text of a word.
fn plain(word: &Word) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        _ => " ".to_owned(),
    };
    word.pieces.iter().map(text).collect()
}

/// The secret that a text takes into a program, or that it, as a line of `.gitignore`, shows to git.
fn revealed(text: &str) -> Option<&str> {
    let is_path = |c: char| c.is_alphanumeric() || "_./-~".contains(c);
    let is_secret = |path: &&str| secrets::path(Path::new(path));
    let includes = INCLUDES.iter().any(|word| text.contains(word));
    let shown = text.split('!').skip(1).filter_map(|rest| rest.split(|c| !is_path(c)).next());
    let named = text.split(|c| !is_path(c)).filter(|_| includes);
    named.chain(shown.filter(|path| !path.is_empty())).find(is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_a_text_reveals_is_found() {
        for text in [
            "const S: &str = include_str!(\"../.env\");",
            "#include \"../.env\"\\n",
            "include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/.env\"))",
            "//go:embed .env.local",
            "!.env",
            "*.log\n!/.env\n",
        ] {
            assert!(revealed(text).is_some(), "{text}");
        }
        for text in [
            "#include \"env.h\"",
            "include_str!(\"../.env.example\")",
            "copy .env.example to .env",
            ".env",
            "!.env.example",
            "Done!",
        ] {
            assert_eq!(revealed(text), None, "{text}");
        }
    }
}
