//! A bash line → a judgment.
//!
//! [`parse`] reads only the simple part of bash. Without a sandbox, a line beyond it is denied. In
//! a sandbox, such a line may run; [`intent`] then searches it, with a full parser of bash, for
//! commands that plainly do something forbidden.

mod ast;
mod intent;
mod judge;
mod parse;
mod parse_redirect;
mod parse_word;
mod paths;
mod place;
mod value;

pub(super) use judge::Judge;
pub(super) use parse::{parse, unclear};
pub(super) use paths::aims_at_secrets;
pub(super) use place::Place;
pub(super) use value::Arg;

use super::call_context::{CallContext, Noted};
use super::denial::Denial;
use super::explain::ExplainedParts;
use super::files::Files;
use super::policy::Policy;
use crate::shell::{MOST_BRACKETS, brackets, deep};

/// Longest line that is looked at, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// Judges a line as bash would run it in the policy's folder, and shows `seen` every part that was
/// looked at. Returns what would be written.
///
/// # Errors
/// The first denial.
pub(super) fn judge(
    line: &str,
    policy: &Policy,
    files: &dyn Files,
    seen: &mut ExplainedParts,
) -> Result<Noted, Denial> {
    if line.len() > MOST_BYTES {
        return Err(Denial::new("shell.too-long", "the line is longer than 256 KiB")
            .instead("split it into several calls, or use the file tools"));
    }
    if brackets(line) > MOST_BRACKETS {
        return Err(Denial::new("shell.too-long", "the line has too many brackets")
            .instead("split it into several calls, or use the file tools"));
    }
    deep(line, || looked_at(line, policy, files, seen))
        .unwrap_or_else(|| Err(Denial::new("shell.unparsed", "the line could not be checked")))
}

fn looked_at(
    line: &str,
    policy: &Policy,
    files: &dyn Files,
    seen: &mut ExplainedParts,
) -> Result<Noted, Denial> {
    let mut judge = Judge::new(CallContext::new(policy, files), std::mem::take(seen));
    let mut place = Place::new(policy.cwd.clone());
    // What a here-document says to a shell, the full parser reads.
    let documents = policy.tier.is_sandboxed() && line.contains("<<");
    let judged = match parse(line) {
        Ok(_) if documents => judge.look_through_line(line, &mut place),
        Ok(script) => judge.line(&mut place, &script),
        Err(denial) => {
            // A reason that names the intent helps more than one that names the syntax.
            judge.sandboxed = true;
            let intended = judge.look_through_line(line, &mut place);
            intended.and_then(|()| if policy.tier.is_sandboxed() { Ok(()) } else { Err(denial) })
        }
    };
    *seen = judge.take_parts();
    judged.map(|()| judge.noted())
}

/// Judges variables that a command is started with, each as its name and value.
///
/// # Errors
/// The first denial.
pub(super) fn assigned<'a>(
    context: CallContext<'a>,
    variables: &[(String, String)],
) -> Result<CallContext<'a>, Denial> {
    let place = Place::new(context.policy().cwd.clone());
    let mut judge = Judge::new(context, ExplainedParts::default());
    for (name, value) in variables {
        let judged = judge.variable(&place, name, &Arg::of(value.clone()), false);
        judge.soften(judged)?;
    }
    Ok(judge.cx)
}
