//! The exit codes as text: a few lines for `--help`, and docs/exit-codes.md.

use crate::model::ExitCode;

/// Columns of a line in `--help`.
const WIDTH: usize = 95;

/// All exit codes on a few lines, for `--help`.
pub(super) fn in_short() -> String {
    let mut text = "Exit codes of a run:".to_owned();
    let mut used = text.len();
    let codes = ExitCode::TABLE.iter().map(|(number, name, ..)| format!("{number} {name}"));
    let codes =
        codes.collect::<Vec<_>>().join(",\n") + ".\nSee ralph-copilot's docs/exit-codes.md.";
    for piece in codes.lines() {
        let fits = used + 1 + piece.len() <= WIDTH;
        used = if fits { used + 1 } else { 0 } + piece.len();
        text.push(if fits { ' ' } else { '\n' });
        text.push_str(piece);
    }
    text
}

/// `docs/exit-codes.md`, whole.
pub fn document() -> String {
    let mut text = String::from(
        "# Exit codes of `ralph-copilot run`\n\n\
         Scripts can rely on these codes. This page is generated from `src/model/exit_code.rs` by\n\
         `RALPH_BLESS=1 cargo test --test docs`, and a test keeps the two equal.\n\n\
         | code | name | meaning | what to do |\n|---|---|---|---|\n",
    );
    for (number, name, meaning, next) in ExitCode::TABLE {
        text.push_str(&format!("| {number} | {name} | {meaning} | {next} |\n"));
    }
    text.push_str(
        "\nThe other commands exit with 0 on success, and with the codes above for the same reasons: for\n\
         example, 8 outside a repository, and `check` exits as a run would that does not start. With\n\
         `--json`, errors are also printed to standard output: `check` prints its object, with the reason\n\
         in `refusal`; `run`, `demo`, `log`, and `gateway` print a line `{\"event\": \"refused\", …}`; the\n\
         others print `{\"error\": {\"exit_code\", \"reason\", \"hints\"}}`.\n\
         The codes of `recipe` are in [recipes.md](recipes.md#exit-codes), those of `gateway` in\n\
         [gateway.md](gateway.md#exit-codes).\n",
    );
    text
}
