//! What the name of a target, a script or a subcommand says about it.

use super::refused::lists;
use crate::guard::denial::Denial;

/// Refuses a target, a script or a subcommand whose name says that it publishes.
pub(super) fn refuse_publishing(target: &str) -> Result<(), Denial> {
    const NAMES: &[&str] = &["release", "ship", "push", "gh-pages", "pages"];
    let lower = target.to_lowercase();
    let begins =
        |part: &str| ["publish", "deploy", "upload"].iter().any(|word| part.starts_with(word));
    let parts = || lower.split([':', '-', '_', '.', '/']);
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

/// Whether a subcommand fetches or installs.
pub(super) fn installs(verb: &str) -> bool {
    const INSTALLS: &str = "install i in ci add update up upgrade get download fetch sync vendor remove uninstall rm \
        un link dlx create require global import restore";
    lists(INSTALLS, verb)
}
