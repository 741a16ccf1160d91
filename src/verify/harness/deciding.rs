//! Files outside test folders that decide, by their content: test code, and helpers that compare
//! two values and fail.
//!
//! A file that is taken for one of these by mistake costs a review. One that is missed lets a gutted
//! helper pass.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::paths::{extension, folder};
use super::patterns::regex;

/// Whether a file is test code wherever it is: it loads a test framework, or it is a C program
/// without arguments that asserts.
pub(super) fn is_test_code(path: &Path, code: &str) -> bool {
    let pattern: &Regex = match extension(path) {
        "py" => &PYTHON_TESTS,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => {
            return !code.contains("import.meta.vitest") && NODE_TESTS.is_match(code);
        }
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => {
            return C_TESTS.is_match(code) || C_MAIN.is_match(code) && C_ASSERTS.is_match(code);
        }
        "rs" => return !in_crate(path) && code.contains("#[test]"),
        "go" | "java" | "kt" | "scala" | "groovy" | "rb" | "pl" | "pm" | "php" | "lua" | "cs"
        | "fs" => &OTHER_TESTS,
        _ => return false,
    };
    pattern.is_match(code)
}

/// Does a file that tests load belong to them? It calls assertions, compares two parameters and
/// fails, or ends the process without being a program.
pub(super) fn fails(path: &Path, code: &str) -> bool {
    let ends: &Regex = match extension(path) {
        "py" => &PYTHON_ENDS,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => &NODE_ENDS,
        "sh" | "bash" | "zsh" | "ksh" => return fails_in_shell(code),
        "tcl" => return compares_parameters(&with_commas(code), compares_and_fails),
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => &C_ENDS,
        "rs" => return !in_crate(path) && (code.contains("assert") || code.contains("panic!")),
        "go" | "java" | "kt" | "scala" | "groovy" | "rb" | "pl" | "pm" | "php" | "lua" | "cs"
        | "fs" | "ex" | "exs" | "jl" | "r" | "R" => &OTHER_ENDS,
        _ => return false,
    };
    ASSERTS.is_match(code)
        || compares_parameters(code, compares_and_fails)
        || (ends.is_match(code) && !PROGRAM.is_match(code))
}

/// The word by which others load a file: its stem, or its folder's name for `index.js` and the like.
pub(super) fn loaded_name(path: &Path) -> &str {
    let name = stem(path);
    if matches!(name, "index" | "__init__" | "__main__") { stem(folder(path)) } else { name }
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("")
}

/// Does a program check the results of calls, without reading input?
pub(super) fn is_checking_program(code: &str) -> bool {
    static INPUT: LazyLock<Regex> =
        LazyLock::new(|| regex(r"\bos\.(?:Args|Stdin)\b|\bflag\.|\benv::args|\bstdin\(\)"));
    !INPUT.is_match(code) && C_ASSERTS.is_match(code)
}

/// Whether a text holds a word.
pub(super) fn mentions(code: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && code.match_indices(word).any(|(at, _)| {
            !code[..at].ends_with(inside) && !code[at + word.len()..].starts_with(inside)
        })
}

/// Sources of a crate assert and panic as the product.
fn in_crate(path: &Path) -> bool {
    path.iter().any(|part| part == "src") || path.ends_with("build.rs")
}

/// Does code hold a function that compares two of its first parameters, and says if they are equal?
pub(super) fn compares(code: &str) -> bool {
    compares_parameters(code, are_compared)
}

/// Tcl's functions with commas between their parameters, as other languages have them.
fn with_commas(code: &str) -> String {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"\bproc\s+([\w:]+)\s+\{([^{}\n]*)\}"));
    let head = |found: &regex::Captures<'_>| {
        let names: Vec<&str> = found[2].split_whitespace().collect();
        format!("proc {}({})", &found[1], names.join(", "))
    };
    HEAD.replace_all(code, head).into_owned()
}

/// A function whose body does something with two of its first parameters.
fn compares_parameters(code: &str, compares: fn(&str, &str, &str) -> bool) -> bool {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\(([^()\n]*,[^()\n]*)\)",
            r"|\bdef\s+\w+[?!]?[ \t]+([^()\n;#]*,[^()\n;#]*)",
            r"|\blambda\s+([^:()\n]*,[^:()\n]*):",
            r"|\|([^|()\n]*,[^|()\n]*)\|",
        ))
    });
    HEAD.captures_iter(code).any(|found| {
        let Some(all) = found.get(0) else { return false };
        let list = found.iter().skip(1).flatten().next().map_or("", |list| list.as_str());
        let names = parameters(list);
        let pairs = || (0..names.len()).flat_map(|at| (0..at).map(move |other| (at, other)));
        names.len() > 1 && {
            let body: String = code[all.end()..].chars().take(200).filter(|c| *c != '$').collect();
            let body = plain(&body);
            pairs().any(|(one, two)| compares(&body, names[one], names[two]))
        }
    })
}

/// The names in a list of parameters, without types and defaults.
fn parameters(list: &str) -> Vec<&str> {
    /// A test's name and `self` may come before the two values.
    const MOST: usize = 4;
    let mut names: Vec<&str> = Vec::new();
    for parameter in list.split(',').take(MOST) {
        let end = parameter.find(['=', ':']).unwrap_or(parameter.len());
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        let mut words = parameter[..end].split(word).filter(|it| !it.is_empty());
        // `want string` of Go, `String want` of Java.
        let (first, last) = (words.next(), words.next_back());
        names.extend(first.into_iter().chain(last));
    }
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    names.retain(is_name);
    names
}

/// Code on one line with spaces around comparisons, without conversions to text, and with operators
/// in place of functions that compare.
fn plain(code: &str) -> String {
    static SIGNS: LazyLock<Regex> = LazyLock::new(|| regex(r"\s*(===|!==|==|!=|<>|=~|&&|\|\|)\s*"));
    static GROUPED: LazyLock<Regex> = LazyLock::new(|| regex(r"(^|[^\w)\]])\(\s*(\w+)\s*\)"));
    static CONVERTED: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\b(?:str|repr|String|Number|int|float|list|tuple|sorted|bytes|inspect",
            r"|JSON\.stringify|json\.dumps|util\.inspect|\w+\.String|trim)\(\s*(\w+)[^()]*\)",
            r"|\b(\w+)\.(?:strip|rstrip|trim|to_s|toString|inspect|chomp|String)\b(?:\(\))?",
        ))
    });
    static CALLS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(!|\bnot\s+)?\s*\b(?:\w+\.)?(?:is|equals?|isEqual|eq|same|[dD]eepEqual|isDeepStrictEqual|Equal|EqualFold|Compare|str\w*cmp)",
            r"\(\s*(\w+)\s*,\s*(\w+)[^()]*\)",
            r"|(!|\bnot\s+)?\s*\b(\w+)\.(?:equals|equal\?|eql\?|__eq__|is)\(\s*(\w+)\s*\)",
        ))
    });
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let code = CONVERTED.replace_all(&code, "$1$2");
    let code = CALLS.replace_all(&code, |found: &regex::Captures<'_>| {
        let part = |at: usize| found.get(at).map_or("", |it| it.as_str());
        let not = found[0].trim_start().starts_with(['!', 'n']) || found[0].contains("cmp(");
        let sign = if not { "!=" } else { "==" };
        format!(" {}{} {sign} {}{} ", part(2), part(5), part(3), part(6))
    });
    let code = GROUPED.replace_all(&code, "$1$2");
    let code = SIGNS.replace_all(&code, " $1 ");
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Does a text compare two names and fail if they differ?
fn compares_and_fails(body: &str, one: &str, two: &str) -> bool {
    static FAILS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:raise|throw|die|exit|exitCode|exit_code|abort|assert|\w*fail\w*|error|panic|bad|wrong|mismatch\w*)\b|console\.assert",
        )
    });
    static OR_ELSE: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\b(?:assert|or|return|else|unless)\b|\|\|",
            r"|(?:!|\bnot) ?\(? ?\w+ (?:===?|is|eq) ",
        ))
    });
    let compared = |signs: &[&str]| is_between(body, one, two, signs);
    // A failure if both are the same asserts nothing: `if from == to: raise`.
    let compared = compared(&["!=", "!==", "is not", "ne", "<>"])
        || (compared(&["==", "===", "eq", "is"]) && OR_ELSE.is_match(body));
    compared && FAILS.is_match(body)
}

/// Does a text compare two names for equality?
fn are_compared(body: &str, one: &str, two: &str) -> bool {
    is_between(body, one, two, &["==", "===", "!=", "!==", "eq", "ne"])
}

/// Does one of some signs stand between two names?
fn is_between(body: &str, one: &str, two: &str, signs: &[&str]) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mentions = |text: &str| {
        body.match_indices(text).any(|(at, _)| {
            !body[..at].ends_with(word) && !body[at + text.len()..].starts_with(word)
        })
    };
    signs.iter().any(|sign| {
        mentions(&format!("{one} {sign} {two}")) || mentions(&format!("{two} {sign} {one}"))
    })
}

static PYTHON_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?m)^\s*(?:import|from)\s+(?:unittest|pytest|nose2?|hypothesis|behave|testtools)\b")
});

static NODE_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"["'](?:node:test|bun:test|@jest/globals|@playwright/test|ava|chai|jasmine|mocha|should|tap|tape|uvu|vitest)["'/]|(?m)^(?:describe|it|test)(?:\.\w+)?\(\s*["'`]"#,
    )
});

static C_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"#\s*include\s*[<"](?:CUnit/|catch2/|check\.h>|cmocka|criterion/|gmock/|gtest/|unity\.h)"#,
    )
});

static C_MAIN: LazyLock<Regex> = LazyLock::new(|| regex(r"\bmain\s*\(\s*(?:void)?\s*\)"));

/// A call's result is compared with a value that is not an error code.
static C_ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:assert|ASSERT|CHECK|EXPECT|REQUIRE)\w*!?\s*\([^;\n]*\w\([^;\n]*(?:==|cmp\()",
        r"|\b(?:assert|ASSERT|CHECK|EXPECT|REQUIRE)\w*!?\s*\([^;\n]*cmp\(",
        r"|\b(?:assert_(?:eq|ne)!|(?:ASSERT|CHECK|EXPECT|REQUIRE)_?(?:EQ|STR)\w*)\s*\(",
        r#"|\bif\s*\(?[^;\n]*\w\([^;\n]*\)\s*!=\s*(?:[1-9"]|\w\s*[*+]|\w+\()[^;]{0,80}\b(?:abort|exit|Exit|Fatalf?|panic|return\s+[1-9])"#,
        r#"|\bif\s*\(\s*str\w*cmp\([^;\n]*\([^;\n]*"[^;]{0,80}\b(?:abort|exit|return\s+[1-9])"#,
        r"|(?m)(?:^|[;{])\s*[A-Z]{2,}\w*\s*\(\s*\w+\([^;\n]*\)\s*,\s*-?\d+\s*\)",
    ))
});

static OTHER_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"import\s+(?:static\s+)?(?:io\.kotest|kotlin\.test|org\.(?:assertj|hamcrest|junit|mockito|scalatest|testng)|spock|junit)\b",
        r#"|(?m)^\s*(?:import\s+)?"(?:testing|github\.com/stretchr/testify/\w+)""#,
        r#"|require\s*\(?["'](?:minitest|rspec|test/unit|busted|luassert|luaunit)|\b(?:Minitest::|RSpec\.)"#,
        r"|\buse\s+Test2?::|\bPHPUnit\\|\busing\s+(?:NUnit|Xunit|Microsoft\.VisualStudio\.TestTools)",
    ))
});

static PYTHON_ENDS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bsys\.exit\(|\bSystemExit\b|\bos\._exit\(|\bAssertionError\b"));

static NODE_ENDS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bprocess\.(?:exit|abort|reallyExit)|\bAssertionError\b"));

/// Does shell code compare arguments of a function, or end with a failure?
fn fails_in_shell(code: &str) -> bool {
    static RETURNS: LazyLock<Regex> = LazyLock::new(|| regex(r"\breturn\s+(?:[1-9]|\$)"));
    RETURNS.is_match(code) || decides_in_shell(code)
}

/// Does shell code compare arguments of a function, assert, or end the shell with a failure? A
/// function of the product returns a failure, too.
pub(super) fn decides_in_shell(code: &str) -> bool {
    static ENDS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?:\btest|\[)\s[^\n]*\$\{?[12345@][^\n]*\$\{?[12345@]",
            r"|\bcase\s[^\n]*\$\{?[12345][^\n]*\bin\b[^\n]*\n?[^\n]*\$\{?[12345]",
            r"|\bexit\s+(?:[1-9]|\$)|(?m)^\s*(?:function\s+)?(?:assert|expect|fail|not_?ok|ok)\w*\s*\(\)",
        ))
    });
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"\b([A-Za-z_]\w*)="?\$\{?([1-9])\}?"?(?:[\s;]|$)"#));
    let mut code = code.to_owned();
    let names: Vec<(String, String)> =
        NAMED.captures_iter(&code).map(|it| (it[1].to_owned(), it[2].to_owned())).collect();
    for (name, number) in names {
        code = code.replace(&format!("${{{name}}}"), &format!("${number}"));
        code = code.replace(&format!("${name}"), &format!("${number}"));
    }
    ENDS.is_match(&code)
}

/// Macros that end the process.
static C_ENDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"#\s*define\s+\w+\([^)]*\)(?:[^\n\\]|\\\n)*\b(?:_?exit|_Exit|abort|assert|return\s+1)\b")
});

static OTHER_ENDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?m)\b(?:exit|abort|die)\s*[(;\d]|^\s*(?:exit|abort)\b|\b(?:System\.exit|os\.Exit|exitProcess)\(|\bAssertionError\b",
    )
});

static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\bassert\w*\.\w*(?:[eE]qual|[tT]hrows|[rR]ejects|[mM]atch)\w*\s*\(|\bexpect\([^\n]*\)\s*\.(?:not\b|to\b|to[A-Z])",
        r"|\bassert_?(?:[eE]q\w*|[nN]ot_?[eE]q\w*|[sS]ame|[tT]hat|[tT]rue|[fF]alse)\s*[(!]",
    ))
});

/// Marks of a program, which ends its own process.
static PROGRAM: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"__main__|\bsys\.argv|\bargparse\b|\bprocess\.(?:argv|on\()|\brequire\.main\b|import\.meta\.(?:main|url)",
        r"|\.listen\(|__FILE__|\bARGV\b|\$argv\b|\bgetopt|\bfn main\(|\bfunc main\(|\bint\s+main\s*\(|\bvoid\s+main\s*\(|(?m)^(?:async )?(?:def|function) main\(",
    ))
});
