//! A full parser of bash, within limits that it survives.

use brush_parser::{ParserOptions, Token, ast};

/// Parentheses and `case` clauses that may be open at a time: the parser tries each of them twice
/// when something inside does not parse.
const MOST_PARENS: usize = 12;
const MOST_CASES: usize = 8;

/// Words and operators, and keywords that nest, in one line.
const MOST_TOKENS: usize = 30_000;
const MOST_KEYWORDS: usize = 600;

/// Stack of the thread that reads a text, and what one open bracket may need of it.
const STACK: usize = 16 * 1024 * 1024;
const STACK_EACH: usize = 24 * 1024;

/// Brackets of a text that is read at all.
pub const MOST_BRACKETS: usize = 4000;

/// The name of the thread that reads a text. What a fault of the parser there means, the caller
/// says, and its message is not shown.
pub const THREAD: &str = "shell";

/// Opening brackets and backquotes.
pub fn brackets(text: &str) -> usize {
    text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'[' | b'`')).count()
}

/// Does work on a text where neither a deep text nor a fault in a parser can take the runner down.
/// `None` after such a fault, and for a text with too many brackets.
pub fn deep<T: Send>(text: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    let opened = brackets(text);
    if opened > MOST_BRACKETS {
        return None;
    }
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name(THREAD.to_owned())
            .stack_size(STACK + opened * STACK_EACH)
            .spawn_scoped(scope, work);
        worker.ok()?.join().ok()
    })
}

/// Parses a text, unless it is of a shape that the parser would not survive.
pub fn parse(line: &str) -> Option<ast::Program> {
    if has_computed_end_word(line) {
        return None;
    }
    let options = ParserOptions::default();
    let tokens = brush_parser::uncached_tokenize_str(line, &options.tokenizer_options()).ok()?;
    if is_too_deep(&tokens) {
        return None;
    }
    brush_parser::parse_tokens(&tokens, &options).ok()
}

/// Whether a substitution stands in the word that ends a here-document. The tokenizer does not
/// come back from one that is not closed, and takes all memory meanwhile.
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

/// Whether the nesting is more than the parser would survive.
fn is_too_deep(tokens: &[Token]) -> bool {
    let (mut parens, mut cases, mut keywords) = (0_usize, 0_usize, 0_usize);
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
                | "coproc" | "function" => {
                    keywords += 1;
                }
                _ => {}
            },
        }
        if parens > MOST_PARENS || cases > MOST_CASES || keywords > MOST_KEYWORDS {
            return true;
        }
    }
    tokens.len() > MOST_TOKENS
}

/// Where a quote is closed, or the end.
pub fn closing(chars: &[char], from: usize, quote: char) -> usize {
    chars.iter().skip(from).position(|c| *c == quote).map_or(chars.len(), |at| from + at)
}

/// Where a bracket that opens at a place is closed, or the end.
pub fn nested(chars: &[char], from: usize, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '\'' => at = closing(chars, at + 1, '\''),
            c if c == open => depth += 1,
            c if c == close => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
        at += 1;
    }
    chars.len()
}
