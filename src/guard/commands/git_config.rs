//! Settings of git: those that may be read, and those that may be given for one command.

use crate::guard::denial::Denial;
use crate::guard::programs::lists;

/// Checks the words of `git config`.
pub(super) fn config(words: &[&str]) -> Result<(), Denial> {
    const TELLS: &[&str] = &[
        "token",
        "extraheader",
        "password",
        "credential",
        "helper",
        "secret",
        "http.",
        "sendemail",
        "insteadof",
    ];
    let refuse = || {
        Denial::new("git.config", "git config changes how git works, or may print a token")
            .instead("read one value: `git config --get user.name`")
    };
    let flags = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--local",
        "--bool",
        "--int",
        "--global",
        "--show-origin",
        "--show-scope",
    ];
    let lists_names = |word: &&&str| {
        matches!(**word, "-l" | "--list" | "list" | "--name-only" | "--local" | "-z")
    };
    if words.contains(&"--name-only") && words.iter().all(|word| lists_names(&word)) {
        return Ok(());
    }
    // Behind a name, git takes an option as the name's new value.
    let options = words.iter().take_while(|word| word.starts_with('-')).count();
    if words.iter().any(|word| word.starts_with('-') && !flags.contains(word))
        || words[options..].iter().any(|word| word.starts_with('-'))
    {
        return Err(refuse());
    }
    // A search shows whatever it fits: only one that begins with a section is known.
    const SECTIONS: &str = "user core branch color diff merge log status commit tag push pull fetch rebase alias init format \
        i18n column advice apply blame grep rerere gc pack index feature";
    let searched =
        words.iter().position(|word| *word == "--get-regexp").and_then(|at| words.get(at + 1));
    if let Some(searched) = searched {
        let section =
            searched.trim_start_matches('^').split(['.', '\\']).next().unwrap_or_default();
        return if lists(SECTIONS, section) && !searched.contains('|') {
            Ok(())
        } else {
            Err(refuse())
        };
    }
    let names: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let name = match names.as_slice() {
        [name] => name.to_lowercase(),
        [verb, name] if **verb == "get" => name.to_lowercase(),
        _ => return Err(refuse()),
    };
    if !name.contains('.') || TELLS.iter().any(|word| name.contains(word)) {
        Err(refuse())
    } else {
        Ok(())
    }
}

/// Checks a setting that is given for one command.
pub(super) fn setting_is_harmless(setting: &str) -> Result<(), Denial> {
    const HARMLESS: &[&str] = &[
        "user.name",
        "user.email",
        "core.autocrlf",
        "core.quotepath",
        "color.ui",
        "color.status",
        "color.diff",
        "commit.gpgsign",
        "tag.gpgsign",
        "diff.renames",
        "diff.noprefix",
        "diff.context",
        "status.short",
        "status.branch",
        "log.decorate",
        "log.date",
        "core.abbrev",
        "advice.detachedhead",
        "diff.algorithm",
        "grep.linenumber",
        "init.defaultbranch",
    ];
    let name = setting.split('=').next().unwrap_or_default().to_lowercase();
    if matches!(setting, "core.pager=cat" | "core.pager=") {
        return Ok(());
    }
    if HARMLESS.contains(&name.as_str()) {
        return Ok(());
    }
    Err(Denial::new("git.setting", format!("the setting `{name}` may run programs"))
        .instead("leave the setting out"))
}
