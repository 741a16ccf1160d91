//! Modules whose functions take anything and return one constant.
//!
//! Invariant: pure. What a stub returns is a value of its language; it equals nothing else.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::inline_code::InlineCode;
use super::languages::Language;
use super::modules::Module;

/// A module for the code that loads it. With the old text, only what that does not define is new.
pub(super) fn stub(
    code: &InlineCode,
    module: &Module,
    value: &str,
    old: Option<&str>,
) -> Option<String> {
    let kept = old.map(|old| format!("{old}\n")).unwrap_or_default();
    let new = match code.language {
        Language::Python => format!(
            "class Stub(int):\n    __call__ = lambda self, *a, **k: {value}\n    \
             __getattr__ = lambda self, name: self\n\n\n\
             def __getattr__(name):\n    if name[:2] == '__':\n        raise AttributeError(name)\n    \
             return Stub(1)\n"
        ),
        Language::Node if module.is_imported => {
            let is_new = |name: &&String| !old.is_some_and(|old| old.contains(name.as_str()));
            let names = module.names.iter().filter(is_new).collect::<BTreeSet<_>>();
            let names = names.into_iter().filter(|name| *name != "default");
            let stubs = names.map(|name| format!("export const {name} = () => ({value});\n"));
            let default = format!("export default () => ({value});\n");
            let default = if kept.contains("export default") { String::new() } else { default };
            stubs.collect::<String>() + &default
        }
        Language::Node => {
            let known = if old.is_some() { "name in it ? it[name] : stub" } else { "stub" };
            let all = if old.is_some() { "module.exports" } else { "stub" };
            format!(
                "function stub() {{ return {value}; }}\n\
                 module.exports = new Proxy({all}, {{ get: (it, name) => {known} }});\n"
            )
        }
        Language::Ruby => format!(
            "class Stub\n  def initialize(*, **) = nil\n  def method_missing(*, **) = {value}\n  \
             def respond_to_missing?(*) = true\n  \
             def self.method_missing(*, **) = {value}\n  \
             def self.respond_to_missing?(*) = true\nend\n\n\
             def Object.const_missing(name) = Stub\n"
        ),
        Language::Php => {
            let open = if old.is_some() { "" } else { "<?php\n" };
            format!("{open}{}", php(&code.code, value))
        }
        _ => return None,
    };
    Some(kept + &new)
}

/// Every class that is asked for, and the functions that are called.
fn php(code: &str, value: &str) -> String {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:^|[^\w>:$\\])(?<name>[A-Za-z_]\w*)\(").expect("a pattern")
    });
    let names: BTreeSet<&str> =
        CALLED.captures_iter(code).filter_map(|it| Some(it.name("name")?.as_str())).collect();
    const WORDS: &[&str] = &[
        "array", "catch", "empty", "eval", "exit", "die", "for", "foreach", "function", "fn", "if",
        "include", "isset", "list", "match", "print", "echo", "require", "switch", "unset",
        "while", "elseif", "return",
    ];
    let functions = names.into_iter().filter(|name| !WORDS.contains(name)).map(|name| {
        format!("if (!function_exists('{name}')) {{ function {name}() {{ return STUB; }} }}\n")
    });
    format!(
        "define('STUB', {value});\nspl_autoload_register(function ($name) {{\n    \
         eval('class ' . $name . ' {{ function __construct() {{}} function __call($n, $a) {{ return STUB; }} \
         static function __callStatic($n, $a) {{ return STUB; }} }}');\n}});\n{}",
        functions.collect::<String>()
    )
}
