//! The exit codes of a run. Stable, in one table: `--help` and docs/exit-codes.md are made from it.

/// Defines the codes from rows of variant, number, name, meaning, and what to do.
macro_rules! exit_codes {
    ($($code:ident $number:literal $name:literal $meaning:literal $next:literal;)*) => {
        /// An exit code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ExitCode { $(#[doc = $meaning] $code = $number,)* }

        impl ExitCode {
            /// Number, name, meaning, and what to do, of each code.
            pub const TABLE: &[(u8, &str, &str, &str)] = &[$(($number, $name, $meaning, $next),)*];
        }
    };
}

exit_codes! {
    Proven 0 "proven"
        "Every criterion is proven, committed, or accepted; the last line says which. Nothing else is ever 0."
        "Read progress.md, review the commits.";
    Usage 2 "usage"
        "The command line is invalid."
        "See `--help`.";
    Limit 3 "limit"
        "A limit was reached first: iterations, time or budget."
        "Run the same command again to continue, or raise the limit.";
    Stuck 4 "stuck"
        "A criterion used up its attempts or is blocked, the run finished with criteria skipped, held for review, or ticked but not proven, a check failed at the end (one of the whole task also if it failed before the work), or TASK.md kept changing."
        "Do what the last lines of the run say: fix the criterion or its check, see the sign in guardrails.md, then run `ralph-copilot retry <task>`; look at held work, then `accept` or `retry` it.";
    Agent 5 "agent not usable"
        "The agent cannot be used: not found, not logged in, model unavailable, keeps dying."
        "The message names the command that helps, such as `npm install -g @github/copilot` or `copilot login`.";
    RateLimited 6 "rate limited"
        "The rate limit lasts longer than `--max-wait`."
        "Run the same command again at `resume_at`, which the message and the last JSON event name; `estimated: true` marks a guess.";
    Invalid 7 "task or configuration invalid"
        "The task, a template, or the configuration has errors, or the proof room is missing something that a check needs."
        "The message points at the place, or names the line of TASK.md that helps. `ralph-copilot check <task>` validates the task and lists its criteria.";
    Repository 8 "repository not usable"
        "The repository cannot be used: none, bare, no commit, detached HEAD, an operation in progress, or dirty."
        "The message names the cause and what to do.";
    Locked 9 "locked"
        "Another run holds this working tree."
        "Wait until it ends. The message names its process.";
    Tampering 10 "tampering"
        "The guard was not in force, a tool call ran without a decision, or hooks, agent settings, the audit or the runner's state were changed."
        "Look at `git status`, `git diff`, `status`, and `log` first: the working tree is left as it was, and nothing is committed. The box that the turn ticked is open again.";
    Write 11 "cannot write"
        "State or audit cannot be written: disk full, read-only, no permission."
        "Free some space or fix the permissions, then run the same command again.";
    Internal 70 "internal"
        "A bug in ralph-copilot."
        "Please report it, with the run's folder in .ralph/runs/.";
    Sighup 129 "SIGHUP"
        "Ended by SIGHUP; the iteration is recorded as interrupted."
        "Run the same command again to continue.";
    Sigint 130 "SIGINT"
        "Ended by Ctrl-C; the iteration is recorded as interrupted."
        "Run the same command again to continue.";
    Sigterm 143 "SIGTERM"
        "Ended by SIGTERM; the iteration is recorded as interrupted."
        "Run the same command again to continue.";
}

impl ExitCode {
    /// The number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// What to do about it, as a hint: without a capital and a full stop.
    pub fn hint(self) -> String {
        let row = Self::TABLE.iter().find(|(number, ..)| *number == self.number());
        let next = row.map_or("", |(_, _, _, next)| next).trim_end_matches('.');
        next.chars().take(1).flat_map(char::to_lowercase).chain(next.chars().skip(1)).collect()
    }
}
