//! What stands between the braces of `${…}`: a name, which of its values are meant, and
//! what is done to them.
//!
//! Nothing is evaluated here; values are `expand`'s work. What bash would evaluate as
//! arithmetic is told apart, because arithmetic runs commands in subscripts.

use crate::guard::denial::Denial;

use super::pieces::{Op, Param, Piece, Which, unclear};

/// Reads the inside of `${…}`; `nested` reads the words within.
pub(super) fn param(
    inner: &str,
    quoted: bool,
    nested: impl Fn(&str) -> Result<Vec<Piece>, Denial>,
) -> Result<Piece, Denial> {
    let counted = inner.strip_prefix('#').filter(|rest| !rest.is_empty());
    let (text, length) = match counted {
        Some(rest) if !rest.starts_with(['-', '?', ':', '%', '#', '/', '=', '+']) => (rest, true),
        _ => (inner, false),
    };
    if let Some(pointed) = text.strip_prefix('!').filter(|pointed| !pointed.is_empty()) {
        let (name, which) = keys(pointed).filter(|_| !length).ok_or_else(|| {
            Denial::new(
                "shell.indirect",
                "an indirect expansion reads a variable whose name is not known",
            )
            .instead(INSTEAD_OF_INDIRECT)
        })?;
        let (inner, index) = (Vec::new(), Vec::new());
        return Ok(Piece::Param(Param {
            name: name.to_owned(),
            op: Op::Keys,
            inner,
            index,
            which,
            quoted,
        }));
    }
    let end = match text.bytes().next() {
        Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => text
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'_'))
            .unwrap_or(text.len()),
        Some(byte) if byte.is_ascii_digit() => {
            text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len())
        }
        Some(byte) if b"@*#?-$!".contains(&byte) => 1,
        _ => return Err(unclear("a parameter expansion")),
    };
    let (name, rest) = text.split_at(end);
    let (subscript, operator) = match subscript_end(rest) {
        Some(end) => (&rest[1..end], &rest[end + 1..]),
        None if rest.starts_with('[') => return Err(unclear("a subscript")),
        None => ("", rest),
    };
    if operator.contains(']') && subscript.contains(['"', '\'', '\\']) {
        return Err(unclear("a subscript"));
    }
    let offset = operator
        .strip_prefix(':')
        .filter(|behind| !behind.starts_with(['-', '=', '?', '+']))
        .unwrap_or_default();
    let mut index = nested(offset)?;
    if !matches!(subscript, "@" | "*") {
        index.extend(nested(subscript)?);
    }
    if operator.starts_with('@') && operator.len() == 2 && operator != "@Q" {
        return Err(unclear("a transformation of a parameter"));
    }
    if rest.contains("<(") || rest.contains(">(") {
        return Err(unclear("a process substitution inside an expansion"));
    }
    let op = if length {
        Op::Length
    } else if rest.is_empty() || rest == "[@]" || rest == "[*]" {
        Op::Value
    } else if operator.starts_with('=') || operator.starts_with(":=") {
        Op::Assign
    } else {
        Op::Change
    };
    Ok(Piece::Param(Param {
        name: name.to_owned(),
        op,
        inner: nested(rest)?,
        index,
        which: Which::of(name, rest),
        quoted,
    }))
}

/// A way to choose between variables that names them.
const INSTEAD_OF_INDIRECT: &str =
    "name the variables: `case $which in a) echo \"$a\";; b) echo \"$b\";; esac`";

/// The array and which form is meant, of `name[@]` behind a `${!`.
pub(super) fn keys(text: &str) -> Option<(&str, Which)> {
    let all = |end: &str| text.strip_suffix(end);
    let (name, which) = all("[@]")
        .map(|name| (name, Which::Each))
        .or_else(|| all("[*]").map(|name| (name, Which::Joined)))?;
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let fine = name.bytes().all(letters) && name.starts_with(|c: char| !c.is_ascii_digit());
    fine.then_some((name, which))
}

/// Where the bracket closes that a text begins with.
pub(in crate::guard) fn subscript_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            _ if depth == 0 => return None,
            b']' if depth == 1 => return Some(at),
            b']' => depth -= 1,
            _ => {}
        }
    }
    None
}
