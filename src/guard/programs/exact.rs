//! How far an allowed command of the configuration reaches: its first words, or exactly itself.

use super::git_refused::reaches;
use super::refused::{group, lists};
use super::table;
use super::verbs::{installs, refuse_publishing};

/// Programs whose first words are commands: `gh pr view 12`.
const WITH_COMMANDS: &str = "gh glab hub aws az gcloud gsutil doctl heroku vercel netlify fly flyctl wrangler \
            firebase rclone s3cmd";

/// Whether an allowed command stands for its very words: it names what is deleted, or whom
/// it talks to, and one more word would name something else besides.
pub(in crate::guard) fn exactly(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or(program);
    let mut named = rest.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if let Some(group) = group(name) {
        if lists(WITH_COMMANDS, name) {
            return !named.all(|word| plain(&word));
        }
        return match group.rule {
            "program.delete" | "network" => named.next().is_some(),
            "program.install" => named.nth(1).is_some(),
            _ => false,
        };
    }
    match name {
        "find" => named.next().is_some(),
        "git" => named.next().is_some_and(reaches) && named.next().is_some(),
        _ if table::entry(name).is_some_and(|entry| entry.runs) => {
            let reaches = |verb: &str| installs(verb) || refuse_publishing(verb).is_err();
            named.next().is_some_and(reaches) && named.next().is_some()
        }
        _ => false,
    }
}
