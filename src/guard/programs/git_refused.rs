//! Subcommands of git that are refused, and the reasons that others share.

/// A refused subcommand: rule, reason, what passes instead.
pub(in crate::guard) type Refused = (&'static str, &'static str, &'static str);

pub(in crate::guard) const WORK_LOST: Refused = (
    "git.destructive",
    "it can throw work away",
    "commit all changes with `git add -A && git commit -m '…'`, and change files with the edit tool",
);
pub(in crate::guard) const REMOVES: Refused = (
    "program.delete",
    "it deletes files, and an unattended run never deletes",
    "archive it: `mkdir -p _archive && git mv FILE _archive/`",
);
pub(in crate::guard) const REMOTE: Refused =
    ("git.push", "it sends to a remote", "commit only; a human pushes");
pub(in crate::guard) const FETCHES: Refused =
    ("git.network", "it talks to a remote", "use the commits that are here");
pub(in crate::guard) const INTERNALS: Refused = (
    "git.internals",
    "it changes git's own data or how git works",
    "use `git add FILE` and `git commit -m '…'`",
);
pub(in crate::guard) const OPAQUE: Refused = (
    "git.opaque",
    "it runs other programs or writes files that the guard cannot see",
    "use `git diff`, `git log` or `git show`",
);
pub(in crate::guard) const BRANCHES: Refused = (
    "git.branch",
    "it switches to another commit or branch, and a run stays on its own branch",
    "stay on this branch; read with `git show REV:PATH`",
);

/// Whether a subcommand deletes or talks to a remote.
pub(in crate::guard) fn reaches(subcommand: &str) -> bool {
    let rules = ["program.delete", "git.push", "git.network"];
    refused(subcommand).is_some_and(|(rule, ..)| rules.contains(&rule))
}

/// Why a subcommand is refused, if it always is.
pub(in crate::guard) fn refused(subcommand: &str) -> Option<Refused> {
    Some(match subcommand {
        "clean" | "filter-branch" | "filter-repo" | "gc" | "prune" | "repack" | "prune-packed" => {
            WORK_LOST
        }
        "rm" => REMOVES,
        "push" | "send-pack" | "send-email" | "request-pull" | "imap-send" | "http-push"
        | "svn" | "p4" | "cvsexportcommit" => REMOTE,
        "fetch" | "pull" | "clone" | "ls-remote" | "fetch-pack" | "submodule" | "lfs" | "annex"
        | "http-fetch" | "remote-https" | "remote-http" | "daemon" | "instaweb" | "credential"
        | "credential-store" | "credential-cache" => FETCHES,
        "checkout" | "switch" | "rebase" | "merge" | "cherry-pick" | "revert" | "am"
        | "pull-request" | "bisect" => BRANCHES,
        "update-ref" | "update-index" | "replace" | "hook" | "init" | "init-db" | "maintenance"
        | "write-tree" | "commit-tree" | "read-tree" | "mktag" | "mktree" | "unpack-objects"
        | "index-pack" | "pack-refs" | "fast-import" | "sparse-checkout" | "rerere"
        | "multi-pack-index" | "commit-graph" | "checkout-index" => INTERNALS,
        "difftool" | "mergetool" | "archive" | "bundle" | "format-patch" | "gui" | "gitk"
        | "citool" | "web--browse" | "fast-export" | "shell" | "sh-i18n" | "merge-file"
        | "merge-index" => OPAQUE,
        _ => return None,
    })
}
