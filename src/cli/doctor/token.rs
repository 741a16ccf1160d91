//! Tokens in the environment that the Copilot CLI takes, and that do not log it in.

use super::finding::{DoctorFinding, State};

/// Where the CLI looks for a token, in this order.
const NAMES: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// What to say of the token that the CLI takes.
pub(super) fn finding(variable: &dyn Fn(&str) -> Option<String>) -> Option<DoctorFinding> {
    let set = NAMES.iter().map(|name| (name, variable(name).unwrap_or_default()));
    let (name, token) = set.into_iter().find(|(_, token)| !token.is_empty())?;
    let (kind, state) = match token.get(..4)? {
        "ghp_" => ("a classic token, which Copilot refuses", State::Bad(5)),
        "ghs_" => (
            "the token of a job or an app, which Copilot takes only from a job with the \
                    permission `copilot-requests: write`",
            State::Note,
        ),
        _ => return None,
    };
    let hint = "set COPILOT_GITHUB_TOKEN to a fine-grained token of a person with a subscription, \
                with the permission Copilot Requests";
    let detail = format!("the CLI logs in with {name}: {kind}");
    Some(DoctorFinding { name: "token", state, detail, hint: Some(hint.to_owned()) })
}
