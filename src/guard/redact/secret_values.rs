//! The secret values in a file that is known to hold some: where they stand, which of them other
//! texts must not show, and the same file with others in their place.
//!
//! Invariant: a value that looks like an ordinary word does not count, or every text with that word
//! would change.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::Range;
use std::path::Path;

use super::mark::REDACTED;
use super::redactor::Redactor;

/// Shortest value that is a secret, in bytes.
const SHORTEST: usize = 8;
/// The length from which letters of one case are a secret, in bytes.
const LONG: usize = 20;
/// The public beginnings of keys, which programs look for.
const PREFIXES: [&str; 2] = ["base64:", "hex:"];

/// Replaces secret values by others that look alike: the same value by the same, as long as it
/// lives.
#[derive(Debug, Default)]
pub struct Scrambler(RandomState);

impl Scrambler {
    /// The text with other letters and digits in the place of each secret value. Lengths, cases
    /// and everything between letters stay.
    pub fn scramble(&self, text: &str, redactor: &Redactor) -> String {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for range in spans(text, redactor) {
            let value = &text[range.clone()];
            let kept = PREFIXES.iter().find(|prefix| value.starts_with(**prefix));
            let kept = kept.map_or(0, |prefix| prefix.len());
            out.push_str(&text[done..range.start + kept]);
            out.extend(self.another(&value[kept..]));
            done = range.end;
        }
        out.push_str(&text[done..]);
        out
    }

    fn another(&self, value: &str) -> impl Iterator<Item = char> {
        let mut hasher = self.0.build_hasher();
        hasher.write(value.as_bytes());
        value.chars().enumerate().map(move |(at, letter)| {
            hasher.write_usize(at);
            let random = hasher.finish();
            let of = |first: u8, many: u64| {
                let offset = u8::try_from(random % many).unwrap_or_default();
                char::from(first.saturating_add(offset))
            };
            match letter {
                'a'..='z' => of(b'a', 26),
                'A'..='Z' => of(b'A', 26),
                '0'..='9' => of(b'0', 10),
                other => other,
            }
        })
    }
}

impl Redactor {
    /// The secret values in the text of a file with secrets.
    pub fn secret_values(&self, file: &Path, text: &str) -> Vec<String> {
        let mut values: Vec<String> =
            spans(text, self).into_iter().map(|range| text[range].to_owned()).collect();
        // A key in a JSON text is written on one line.
        values.extend(
            values.clone().iter().filter(|it| it.contains("\\n")).map(|it| it.replace("\\n", "\n")),
        );
        let alone = text.trim();
        if file.file_name().is_some_and(|name| name == ".pgpass") {
            let last = text.lines().filter_map(|line| line.rsplit(':').next());
            values.extend(last.filter(|value| looks_secret(value)).map(str::to_owned));
        } else if values.is_empty() && !alone.contains(char::is_whitespace) && looks_secret(alone) {
            values.push(alone.to_owned());
        }
        values.sort();
        values.dedup();
        values
    }
}

/// Where the secret values of a text stand.
fn spans(text: &str, redactor: &Redactor) -> Vec<Range<usize>> {
    let mut found =
        marked(text, &redactor.redact_str(text)).unwrap_or_else(|| by_line(text, redactor));
    for assigned in assignments(text) {
        let known = found.iter().any(|it| it.start < assigned.end && assigned.start < it.end);
        if !known {
            found.push(assigned);
        }
    }
    found.sort_by_key(|range| range.start);
    found.retain(|range| looks_secret(&text[range.clone()]));
    found
}

fn by_line(text: &str, redactor: &Redactor) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let ranges = marked(line, &redactor.redact_str(line)).unwrap_or_default();
        found.extend(ranges.into_iter().map(|it| start + it.start..start + it.end));
        start += line.len();
    }
    found
}

/// Where the marks of a redacted text stand in the original. `None` if more than that differs.
fn marked(text: &str, redacted: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut parts = redacted.split(REDACTED);
    let mut at = parts.next().filter(|first| text.starts_with(first))?.len();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let rest = &text[at..];
        let end = match parts.peek() {
            None => at + rest.strip_suffix(part)?.len(),
            // Two marks with nothing in between are one.
            Some(_) if part.is_empty() => continue,
            Some(_) => at + rest.find(part)?,
        };
        found.push(at..end);
        at = end + part.len();
    }
    (at == text.len()).then_some(found)
}

/// The values of variables whose names say that they hold a secret.
fn assignments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begin = start;
        start += line.len();
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim().trim_start_matches("export ").trim();
        // Of an address only the password is secret, which is known by its shape.
        if !Redactor::is_secret_variable(name) || value.contains("://") {
            continue;
        }
        let trimmed = value.trim().trim_matches(['"', '\'']);
        let Some(offset) = value.find(trimmed).filter(|_| !trimmed.is_empty()) else { continue };
        let from = begin + line.len() - value.len() + offset;
        found.push(from..from + trimmed.len());
    }
    found
}

/// Does a value that a name calls secret look like one?
fn looks_secret(value: &str) -> bool {
    let any = |of: fn(&u8) -> bool| value.bytes().any(|byte| of(&byte));
    let (digits, lower, upper) =
        (any(u8::is_ascii_digit), any(u8::is_ascii_lowercase), any(u8::is_ascii_uppercase));
    let letters = lower || upper;
    let path = value.starts_with(['/', '~', '$', '.']);
    value.len() >= SHORTEST
        && !path
        && (digits && letters || lower && upper || value.len() >= LONG && (digits || letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENV: &str = "# Local settings\n\
        export API_KEY=\"sk-Ab12Cd34Ef56Gh78\"\n\
        APP_KEY=base64:Zm9vYmFyMTIzNDU2Nzg5MA==\n\
        DATABASE_URL=postgres://app:s3cr3tPass99@localhost:5432/app_dev\n\
        DB_PASSWORD=postgres\n\
        SECRET_KEY_BASE=0123456789abcdef0123456789abcdef\n\
        SSH_KEY=~/.ssh/id_ed25519\n\
        PORT=3000\nDEBUG=true\nNAME='A project'\n";

    fn shape(text: &str) -> String {
        let class = |letter: char| match letter {
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            '0'..='9' => '0',
            other => other,
        };
        text.chars().map(class).collect()
    }

    #[test]
    fn secret_values_are_scrambled_in_place_and_everything_else_stays() {
        let redactor = Redactor::default();
        let scrambled = Scrambler::default().scramble(ENV, &redactor);
        assert_eq!(shape(&scrambled), shape(ENV));
        let changed: Vec<&str> = (ENV.lines().zip(scrambled.lines()))
            .filter(|(before, after)| before != after)
            .map(|(before, _)| before.split('=').next().unwrap_or_default())
            .collect();
        assert_eq!(changed, ["export API_KEY", "APP_KEY", "DATABASE_URL", "SECRET_KEY_BASE"]);
        for kept in ["=base64:", "==\n", "postgres://app:", "@localhost:5432/app_dev\n"] {
            assert!(scrambled.contains(kept), "{kept}: {scrambled}");
        }
        for secret in redactor.secret_values(Path::new(".env"), ENV) {
            assert!(!scrambled.contains(&secret), "{secret}");
        }
    }

    #[test]
    fn a_run_scrambles_equal_values_alike() {
        let (redactor, one) = (Redactor::default(), Scrambler::default());
        let text = "API_KEY=Ab12Cd34Ef56Gh78\n";
        let again = one.scramble(text, &redactor);
        assert_eq!(one.scramble(text, &redactor), again);
        let other = one.scramble(&format!("A_TOKEN={}", &text[8..]), &redactor);
        assert_eq!(other[8..], again[8..]);
    }

    #[test]
    fn values_of_secret_files_are_found() {
        let values =
            |file: &str, text: &str| Redactor::default().secret_values(Path::new(file), text);
        assert_eq!(
            values(".env", ENV),
            [
                "0123456789abcdef0123456789abcdef",
                "base64:Zm9vYmFyMTIzNDU2Nzg5MA==",
                "s3cr3tPass99",
                "sk-Ab12Cd34Ef56Gh78",
            ]
        );
        assert_eq!(values("master.key", "0a1b2c3d4e5f60718293\n"), ["0a1b2c3d4e5f60718293"]);
        assert_eq!(values(".pgpass", "db:5432:app:ada:tr0ubador\n"), ["tr0ubador"]);
        let pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n\
                   BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n";
        let found = values("server.key", pem).concat();
        assert!(found.contains("BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"), "{found}");
        assert!(values("notes.txt", "nothing secret here\n").is_empty());
        assert!(values("master.key", "password\n").is_empty());
    }

    #[test]
    fn only_known_values_leave_a_text() {
        let redactor = Redactor::new(["s3cr3tPass99"]);
        let text = "password = \"aB3dE5fG7hI9kL1m\" # s3cr3tPass99";
        let expected = "password = \"aB3dE5fG7hI9kL1m\" # [REDACTED]";
        assert_eq!(redactor.without_known_values(text), expected);
        assert_eq!(Redactor::default().without_known_values(text), text);
    }
}
