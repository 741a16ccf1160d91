//! A bash line → a judgement, by walking its whole syntax tree.
//!
//! The parser is `brush-parser`; what it cannot parse is refused. Its grammar
//! recurses and, on broken input, backtracks, so the tokens are counted before
//! it sees them and it runs on a thread with a stack of its own size.
//! Single programs are judged in `programs`, paths in `call_context`.

mod assign;
mod braces;
mod brackets;
mod ends;
mod env;
mod expand;
mod judge;
mod lexer;
mod params;
mod paths;
mod pieces;
mod redirect;
mod simple;
mod test_expr;
mod value;
mod walk;

use brush_parser::{ParserOptions, Token, ast};

pub(super) use assign::{FOLDERS, check as check_assignment};
pub(super) use brackets::widened;
pub(super) use env::Env;
pub(super) use judge::Judge;
pub(super) use params::subscript_end;
pub(super) use test_expr::subscripts;
pub(super) use value::{Seg, ShellOutput, ShellValue};

use super::call_context::{CallContext, Noted};
use super::denial::Denial;
use super::explain::ExplainedParts;
use super::files::Files;
use super::policy::Policy;

/// Longest line that is looked at, in bytes.
const MOST_BYTES: usize = 256 * 1024;

/// Parentheses and `case` clauses that may be open at a time: the parser tries
/// every one of them twice when something inside does not parse.
const MOST_PARENS: usize = 12;
const MOST_CASES: usize = 8;

/// Words and operators of one line.
const MOST_TOKENS: usize = 30_000;

/// Keywords that nest, and substitutions, in one line.
const MOST_KEYWORDS: usize = 600;
const MOST_SUBSTITUTIONS: usize = 4000;

/// Stack for the parser and the walk, and what one open substitution may need of it.
const STACK: usize = 32 * 1024 * 1024;
const STACK_EACH: usize = 24 * 1024;

/// The thread that lines are looked through on. A fault of the parser there is a denial, and
/// what it says on the way is for nobody to read.
pub const THREAD: &str = "guard";

/// Judges a line as bash would run it in the policy's folder, and shows `seen` every
/// part that was looked at.
///
/// Returns what would be written. It runs on a thread of its own: neither a deep
/// line nor a fault in the parser can take the runner down.
pub(super) fn judge(
    line: &str,
    policy: &Policy,
    files: &dyn Files,
    seen: &mut ExplainedParts,
) -> Result<Noted, Denial> {
    if line.len() > MOST_BYTES {
        return Err(too_long("the line is longer than 256 KiB"));
    }
    let substitutions = count_substitutions(line);
    if substitutions > MOST_SUBSTITUTIONS {
        return Err(too_long("the line has too many substitutions"));
    }
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name(THREAD.to_owned())
            .stack_size(STACK + substitutions * STACK_EACH)
            .spawn_scoped(scope, || {
                let mut judge = Judge::new(CallContext::new(policy, files), std::mem::take(seen));
                let mut env = Env::new(policy.cwd.clone());
                let judged = judge.line(&mut env, line);
                *seen = std::mem::take(&mut judge.parts);
                // What a trap runs, it runs in the end: after all that the line did before.
                let judged = judged.and_then(|_| judge.judge_traps(&env));
                judged.map(|()| judge.noted())
            });
        match worker.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(judged)) => judged,
            Ok(Err(_)) | Err(_) => {
                Err(Denial::new("shell.unparsed", "the line could not be checked"))
            }
        }
    })
}

/// Judges variables that a command is started with, each as its name and value.
pub(super) fn assigned<'a>(
    context: CallContext<'a>,
    env: &Env,
    variables: &[(String, String)],
) -> Result<CallContext<'a>, Denial> {
    let mut judge = Judge::new(context, ExplainedParts::default());
    for (name, value) in variables {
        judge.assigned(env, name, &ShellValue::lit(value.clone()))?;
    }
    Ok(judge.cx)
}

fn too_long(why: &str) -> Denial {
    Denial::new("shell.too-long", why).instead("split it into several calls, or use the file tools")
}

/// An upper bound of how deep the tokenizer can recurse.
fn count_substitutions(line: &str) -> usize {
    let bytes = line.as_bytes();
    let pairs =
        bytes.windows(2).filter(|pair| matches!(*pair, b"$(" | b"${" | b"<(" | b">(" | b"$["));
    pairs.count() + bytes.iter().filter(|byte| **byte == b'`').count()
}

/// Parses a line, refusing first what the parser would not survive.
fn parse(line: &str) -> Result<ast::Program, Denial> {
    let hidden =
        line.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t') || is_invisible(*c));
    if let Some(hidden) = hidden {
        return Err(Denial::new(
            "shell.hidden-character",
            format!("it contains the invisible character U+{:04X}", u32::from(hidden)),
        )
        .instead("write the line without it; in quoted text use an escape such as `$'\\r'`"));
    }
    if has_computed_end_word(line) {
        return Err(Denial::new(
            "shell.unparsed",
            "a `<<` with a substitution behind it cannot be parsed",
        )
        .instead("end a here-document with a plain word: `cat <<'EOF'`"));
    }
    let options = ParserOptions::default();
    let unparsed = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        let short: String = text.lines().next().unwrap_or_default().chars().take(120).collect();
        Denial::new("shell.unparsed", format!("cannot parse this bash syntax ({short})"))
            .instead("write it more simply, one command per line")
    };
    let tokens = brush_parser::uncached_tokenize_str(line, &options.tokenizer_options())
        .map_err(|error| unparsed(&error))?;
    measure(&tokens)?;
    brush_parser::parse_tokens(&tokens, &options).map_err(|error| unparsed(&error))
}

/// Whether a substitution stands in the word that ends a here-document. The tokenizer does not
/// come back from one that is not closed, and takes all memory meanwhile; bash expands none
/// there. A shift of bits by what a command prints is taken for one, too.
fn has_computed_end_word(line: &str) -> bool {
    line.match_indices("<<").any(|(at, operator)| {
        let rest = line[at + operator.len()..].trim_start_matches(['-', ' ', '\t', '\\', '\n']);
        let mut quote = None;
        let mut dollar = false;
        for c in rest.chars() {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '(' | '[') if dollar => return true,
                (None, '"' | '\'') => quote = Some(c),
                (None, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>') => return false,
                (None | Some(_), _) => {}
            }
            dollar = c == '$';
        }
        false
    })
}

/// Characters that people do not see and that layers read differently.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Refuses tokens whose nesting the parser would not survive.
fn measure(tokens: &[Token]) -> Result<(), Denial> {
    if tokens.len() > MOST_TOKENS {
        return Err(too_long("it has too many words"));
    }
    let mut parens = 0_usize;
    let mut cases = 0_usize;
    let mut keywords = 0_usize;
    for token in tokens {
        match token {
            Token::Operator(operator, _) => match operator.as_str() {
                "(" => parens += 1,
                ")" => parens = parens.saturating_sub(1),
                _ => {}
            },
            Token::Word(word, _) => match word.as_str() {
                "case" => cases += 1,
                "esac" => cases = cases.saturating_sub(1),
                "if" | "while" | "until" | "for" | "select" | "{" | "[[" | "!" | "time"
                | "coproc" | "function" => keywords += 1,
                _ => {}
            },
        }
        if parens > MOST_PARENS || cases > MOST_CASES || keywords > MOST_KEYWORDS {
            return Err(too_long("the line is nested too deeply"));
        }
    }
    Ok(())
}
