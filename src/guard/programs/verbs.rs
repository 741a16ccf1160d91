//! The meaning of a target's, a script's, or a subcommand's name.

use super::refused::lists;
use crate::guard::denial::Denial;

/// Refuses a target, a script or a subcommand whose name says that it publishes.
pub(in crate::guard) fn refuse_publishing(target: &str) -> Result<(), Denial> {
    const NAMES: &[&str] = &["release", "ship", "push", "gh-pages", "pages"];
    let lower = target.to_lowercase();
    let begins =
        |part: &str| ["publish", "deploy", "upload"].iter().any(|word| part.starts_with(word));
    let parts = || lower.split([':', '-', '_', '.', '/', ',', '+', '@', ' ']);
    if parts().any(|part| NAMES.contains(&part) || begins(part)) || NAMES.contains(&lower.as_str())
    {
        return Err(Denial::new(
            "publish",
            format!("`{target}` publishes or deploys, by its name"),
        )
        .instead("leave publishing to a human"));
    }
    Ok(())
}

/// Refuses a target whose name says that it installs, destroys data, or prints the environment.
pub(in crate::guard) fn refuse_meaning(program: &str, target: &str) -> Result<(), Denial> {
    const INSTALLS: &str = "install uninstall preinstall postinstall login logout";
    const DESTROYS: &str =
        "drop reset fresh rollback wipe purge truncate nuke rm clobber delete destroy";
    const SHOWS: &str = "env printenv secrets";
    let words = in_words(target);
    let is = |list| words.split([':', '-', '_', '.', '/', ' ']).any(|part| lists(list, part));
    let shown = format!("`{program} {target}`");
    if is(INSTALLS) {
        return Err(Denial::new("program.install", format!("{shown} installs, by its name")));
    }
    if is(DESTROYS) {
        return Err(Denial::new("program.verb", format!("{shown} destroys data, by its name")));
    }
    if is(SHOWS) {
        return Err(Denial::new("env.dump", format!("{shown} may print the environment")));
    }
    Ok(())
}

/// Whether a subcommand fetches or installs.
pub(in crate::guard) fn installs(verb: &str) -> bool {
    const INSTALLS: &str = "install i in ci add update up upgrade get download fetch sync vendor remove uninstall rm \
        un link dlx create require global import restore";
    lists(INSTALLS, verb)
}

/// The denial of a subcommand that is not listed.
pub(in crate::guard) fn refuse_verb(name: &str, verb: &str) -> Result<(), Denial> {
    refuse_publishing(verb)?;
    let shown = format!("`{name} {verb}`");
    let publishes = matches!(
        (name, verb),
        ("cargo", "yank" | "owner")
            | ("npm", "deprecate" | "dist-tag" | "unpublish" | "owner" | "access")
            | ("gem", "yank")
    ) || matches!(verb, "gh-deploy");
    if publishes {
        return Err(Denial::new("publish", format!("{shown} publishes"))
            .instead("leave publishing to a human"));
    }
    if installs(verb) && name != "git" {
        return Err(Denial::new(
            "program.install",
            format!("{shown} fetches and installs packages, and an unattended run never installs"),
        )
        .instead("use the dependencies that are installed"));
    }
    Err(Denial::new("program.verb", format!("{shown} is not known to be safe"))
        .instead("use the tool's commands that build, test, lint or format"))
}

/// The words of a name such as `uploadArchives`, in lower case. The first one is empty if the name
/// begins with a capital.
pub(in crate::guard) fn camel_case(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// A name such as `uploadArchives` with its words apart, as far as they tell of publishing.
pub(in crate::guard) fn in_words(name: &str) -> String {
    const BUILDS: &str =
        "assemble bundle build compile lint test check package process merge generate link run";
    let words = camel_case(name).join("-");
    // `assembleRelease` builds, `githubRelease` does not.
    let first = words.split('-').next().and_then(|first| first.rsplit(':').next());
    let builds = lists(BUILDS, first.unwrap_or_default());
    let parts = words.split('-').filter(|part| *part != "pages" && !(*part == "release" && builds));
    let parts: Vec<&str> = parts.collect();
    if words == "jib" { "publish".to_owned() } else { parts.join("-") }
}
