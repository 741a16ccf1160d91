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
    "?raw",
    "?url",
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
        let data = redirects.iter().any(|redirect| matches!(redirect, Redirect::Data { .. }));
        let known = lists("echo printf", program) || program == "cat" && args.len() == 1 && data;
        self.hides_more = known
            && args.iter().all(|arg| arg.text().is_some())
            && !texts.iter().any(|text| text.contains('!') || has_code(text));
        for text in texts {
            // `go generate` runs such a line.
            self.writes_code |= text.contains("go:generate");
            self.text.push_str(&text);
            if let Some(path) = revealed(&text) {
                return Err(secret(Path::new(path)));
            }
        }
        // One command may write the beginning of a word, and the next one its end.
        if let Some(path) = revealed(&self.text) {
            return Err(secret(Path::new(path)));
        }
        if hides_include(&self.text) {
            return Err(Denial::new("secret.file", "it includes a file whose name is not plain")
                .instead("write the name as one literal without escapes, in one piece"));
        }
        Ok(())
    }
}

/// Is a character in a text written by its number?
fn has_code(text: &str) -> bool {
    let numbered = |c: char| c.is_ascii_digit() || "xuUc$`".contains(c);
    text.split('\\').skip(1).any(|rest| rest.starts_with(numbered))
}

/// The plain text of a word.
fn plain(word: &Word) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        _ => " ".to_owned(),
    };
    word.pieces.iter().map(text).collect()
}

/// Does a text take a file into a program by anything but one plain name? The name may be that of a
/// secret.
fn hides_include(text: &str) -> bool {
    let plain = |name: &str, end: char| {
        let rest = name.trim_start_matches(|c: char| c.is_alphanumeric() || "_./- +".contains(c));
        rest.len() < name.len() && rest.starts_with(end)
    };
    let is_prose = |rest: &str| {
        rest.is_empty() || rest.starts_with(['`', '.', '?']) || {
            let word = rest.trim_start();
            word.len() < rest.len()
                && !word.starts_with("as ")
                && word.starts_with(|c: char| c.is_alphanumeric())
        }
    };
    let of_rust = ["include_str", "include_bytes", "include"].iter().any(|name| {
        text.split(name).skip(1).any(|rest| {
            let Some(rest) = rest.strip_prefix('!') else {
                return name.len() > "include".len() && !is_prose(rest);
            };
            let opened = rest.trim_start().strip_prefix(['(', '[', '{']);
            match opened.map(str::trim_start) {
                Some(rest) => !rest.strip_prefix('"').is_some_and(|name| plain(name, '"')),
                None => !is_prose(rest),
            }
        })
    });
    let of_c = text.split('#').skip(1).any(|rest| {
        let Some(rest) = rest.trim_start().strip_prefix("include") else { return false };
        let rest = rest.trim_start();
        match rest.chars().next() {
            Some('"') => !plain(&rest[1..], '"'),
            Some('<') => !plain(&rest[1..], '>'),
            _ => !is_prose(rest) && !rest.starts_with(char::is_lowercase),
        }
    });
    of_rust || of_c
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
    fn a_file_is_included_by_one_plain_name() {
        for text in [
            "include_str!(concat!(\"..\", \"/.e\", \"nv\"))",
            "include_str!(\"../.e\\x6ev\")",
            "include_bytes! [ \"../.%s\" ]",
            "macro_rules! i { ($a:expr) => { include_str!($a) } }",
            "use std::include_str as i;",
            "run!(include_str)",
            "include!(\"../.e",
            "#define E <../.e##nv>\n#  include E\n",
            "#include \"../.\\\nenv\"",
        ] {
            assert!(hides_include(text), "{text}");
        }
        for text in [
            "const S: &str = include_str!(\"../a b/x-1.txt\");",
            "include!( \"gen.rs\" );",
            "#include <sys/stat.h>\n# include \"env.h\"\n",
            "`include_str!` takes a file, and include_bytes! too.",
            "# includes a parser\n#include",
            "include the tests",
        ] {
            assert!(!hides_include(text), "{text}");
        }
    }

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
