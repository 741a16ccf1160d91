//! Exit codes: documented, stable, one table. `docs/exit-codes.md` is made from it.

/// An exit code with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct ExitCode {
    /// The number.
    pub code: u8,
    /// In one word or two.
    pub name: &'static str,
    /// For the documentation.
    pub meaning: &'static str,
    /// What to do.
    pub then: &'static str,
}

/// Them all on a few lines, for `--help`.
pub(super) const IN_SHORT: &str = "\
Exit codes of a run: 0 proven, 2 usage, 3 limit, 4 stuck, 5 agent not usable, 6 rate limited,
7 task or configuration invalid, 8 repository not usable, 9 locked, 10 tampering, 11 cannot
write, 70 internal, 129/130/143 signals. See docs/exit-codes.md.";

/// Every exit code of `run`.
pub const EXIT_CODES: &[ExitCode] = &[
    ExitCode {
        code: 0,
        name: "proven",
        meaning: "Every criterion is proven. Nothing else is ever 0.",
        then: "Read progress.md, review the commits.",
    },
    ExitCode {
        code: 2,
        name: "usage",
        meaning: "The command line is invalid.",
        then: "See `--help`.",
    },
    ExitCode {
        code: 3,
        name: "limit",
        meaning: "A limit was reached first: iterations, time or budget.",
        then: "Run the same command again to continue, or raise the limit.",
    },
    ExitCode {
        code: 4,
        name: "stuck",
        meaning: "A criterion used up its attempts, the run finished with criteria skipped, or TASK.md kept changing under it.",
        then: "Read the sign in guardrails.md, fix the criterion or its check, then run `ralph-copilot retry <task>`.",
    },
    ExitCode {
        code: 5,
        name: "agent",
        meaning: "The agent is not usable: not found, not logged in, model unavailable, keeps dying.",
        then: "The message names the command that helps, such as `npm install -g @github/copilot` or `copilot login`.",
    },
    ExitCode {
        code: 6,
        name: "rate limited",
        meaning: "The rate limit lasts longer than `--max-wait`.",
        then: "Run the same command again at `resume_at`, which the message and the last JSON event name; `estimated: true` marks a guess.",
    },
    ExitCode {
        code: 7,
        name: "invalid",
        meaning: "The task, a template or the configuration is invalid.",
        then: "The message points at the place. `ralph-copilot check <task>` validates the task and lists its criteria.",
    },
    ExitCode {
        code: 8,
        name: "repository",
        meaning: "The repository is not usable: none, bare, no commit, detached HEAD, an operation in progress, or dirty.",
        then: "The message names the cause and what to do.",
    },
    ExitCode {
        code: 9,
        name: "locked",
        meaning: "Another run holds this working tree.",
        then: "Wait until it ends. The message names its process.",
    },
    ExitCode {
        code: 10,
        name: "tampering",
        meaning: "The guard was not in force, a tool call ran without a decision, or hooks, agent settings, the audit or the runner's state were changed.",
        then: "Look at the journal and the named files first.",
    },
    ExitCode {
        code: 11,
        name: "cannot write",
        meaning: "State or audit cannot be written: disk full, read-only, no permission.",
        then: "Free some space or fix the permissions, then run the same command again.",
    },
    ExitCode {
        code: 70,
        name: "internal",
        meaning: "A bug in ralph-copilot.",
        then: "Please report it, with the run's folder in .ralph/runs/.",
    },
    ExitCode {
        code: 129,
        name: "SIGHUP",
        meaning: "Ended by SIGHUP; the iteration is recorded as interrupted.",
        then: "Run the same command again to continue.",
    },
    ExitCode {
        code: 130,
        name: "SIGINT",
        meaning: "Ended by Ctrl-C; the iteration is recorded as interrupted.",
        then: "Run the same command again to continue.",
    },
    ExitCode {
        code: 143,
        name: "SIGTERM",
        meaning: "Ended by SIGTERM; the iteration is recorded as interrupted.",
        then: "Run the same command again to continue.",
    },
];

/// `docs/exit-codes.md`, whole.
pub fn document() -> String {
    let mut text = String::from(
        "# Exit codes of `ralph-copilot run`\n\n\
         Scripts can rely on these codes. This page is generated from the table in `src/cli/exit.rs`\n\
         by `RALPH_BLESS=1 cargo test --test docs`, and a test keeps the two equal.\n\n\
         | code | name | meaning | what to do |\n|---|---|---|---|\n",
    );
    for exit in EXIT_CODES {
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            exit.code, exit.name, exit.meaning, exit.then
        ));
    }
    text.push_str(
        "\nThe other commands exit with 0 on success, and with the codes above for the same reasons: for\n\
         example, 7 if `check` finds errors, and 8 outside a repository. With `--json`, errors are also\n\
         printed to standard output: `check` prints its object, with the reason in `diagnostics`; `run`,\n\
         `demo`, and `log` print a line `{\"event\": \"refused\", …}`; the others print\n\
         `{\"error\": {\"exit_code\", \"reason\", \"hints\"}}`.\n\
         The codes of `recipe` are in [recipes.md](recipes.md#exit-codes).\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_short_they_are_the_same_ones() {
        let codes = IN_SHORT.split(|letter: char| !letter.is_ascii_digit());
        let codes: Vec<u8> = codes.filter_map(|code| code.parse().ok()).collect();
        assert_eq!(codes, EXIT_CODES.iter().map(|exit| exit.code).collect::<Vec<_>>());
    }
}
