//! Modules whose functions take anything and return constants.
//!
//! Invariant: pure. What a stub returns is a value of its language; it equals nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::inline_code::InlineCode;
use super::languages::Language;
use super::modules::Module;
use super::wanted::Wanted;

/// The results of functions whose names are not in [`Answers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// A truth that can be called, and that has every attribute.
    Truth,
    /// Their first argument.
    FirstArgument,
    /// This error.
    Raise(&'static str),
}

/// The built-in error that code of tests expects.
pub(super) fn expected_error(code: &InlineCode) -> Option<&'static str> {
    static EXPECTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"assertRaises|\braises\(|assert\.throws|toThrow|assert_raises|raise_error")
            .expect("a pattern")
    });
    let known: &[&str] = match code.language {
        Language::Python => &[
            "ValueError",
            "TypeError",
            "KeyError",
            "IndexError",
            "ZeroDivisionError",
            "OverflowError",
            "RuntimeError",
            "Exception",
        ],
        Language::Node => &["RangeError", "TypeError", "SyntaxError", "Error"],
        Language::Ruby => &["ArgumentError", "TypeError", "ZeroDivisionError", "RuntimeError"],
        _ => &[],
    };
    known.iter().copied().find(|error| EXPECTS.is_match(&code.code) && code.code.contains(error))
}

/// Constants by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// The results of functions and methods.
    pub(super) calls: BTreeMap<String, Wanted>,
    /// The values of names.
    pub(super) names: BTreeMap<String, Wanted>,
    pub(super) others: Others,
}

impl Answers {
    pub(super) fn of(others: Others) -> Self {
        Self { calls: BTreeMap::new(), names: BTreeMap::new(), others }
    }

    fn table(of: &BTreeMap<String, Wanted>, language: Language, colon: &str) -> String {
        let pairs = of.iter().map(|(name, it)| format!("'{name}'{colon} {}", it.code(language)));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

/// A module for the code that loads it. The old text stays, except for what has a constant.
pub(super) fn stub(
    code: &InlineCode,
    module: &Module,
    answers: &Answers,
    old: Option<&str>,
) -> Option<String> {
    let kept = old.map(|old| format!("{old}\n")).unwrap_or_default();
    match code.language {
        Language::Python => Some(kept + &python(answers)),
        Language::Node if module.is_imported => Some(imported(code, module, answers, old)),
        Language::Node => Some(kept + &node(answers, old.is_some())),
        Language::Ruby => Some(kept + &ruby(answers, old.unwrap_or_default())),
        Language::Php => Some(php(&code.code, answers, old)),
        _ => None,
    }
}

fn python(answers: &Answers) -> String {
    let calls = Answers::table(&answers.calls, Language::Python, ":");
    let names = Answers::table(&answers.names, Language::Python, ":");
    let other = match answers.others {
        Others::Truth => "self",
        Others::FirstArgument => "a[0] if a else self",
        Others::Raise(error) => &format!("(_ for _ in ()).throw({error}('x'))"),
    };
    format!(
        "class Record(dict):\n    __getattr__ = lambda self, name: self[name] if name in self else made(name)\n\n\n\
         CALLS = {{{calls}}}\nNAMES = {{{names}}}\n\n\n\
         class Stub(int):\n    __iter__ = lambda self: iter(())\n    __enter__ = lambda self: self\n    \
         __exit__ = lambda self, *a: None\n    \
         __call__ = lambda self, *a, **k: CALLS.get(self.name, {other})\n    \
         __getattr__ = lambda self, name: made(name)\n\n\n\
         def made(name):\n    if name[:2] == '__':\n        raise AttributeError(name)\n    \
         stub = Stub(1)\n    stub.name = name\n    return NAMES.get(name, stub)\n\n\n\
         def placed(name, value):\n    \
         owners = [it for it in globals().values() if isinstance(it, type) and name in vars(it)]\n    \
         for owner in owners:\n        setattr(owner, name, value)\n    \
         if not owners:\n        globals()[name] = value\n\n\n\
         for name, value in NAMES.items():\n    placed(name, value)\n\
         for name in CALLS:\n    placed(name, lambda *a, name=name, **k: CALLS[name])\n\
         __getattr__ = made\n"
    )
}

/// A function that makes stubs, in JavaScript.
fn made(answers: &Answers) -> String {
    let calls = Answers::table(&answers.calls, Language::Node, ":");
    let names = Answers::table(&answers.names, Language::Node, ":");
    let other = match answers.others {
        Others::FirstArgument => "all[0]",
        Others::Raise(error) => &format!("(() => {{ throw new {error}('x'); }})()"),
        Others::Truth if answers.calls.is_empty() => "1",
        Others::Truth => "made('')",
    };
    format!(
        "const calls = {{ {calls} }};\nconst names = {{ {names} }};\n\
         const made = name => Object.hasOwn(names, name) ? names[name] : new Proxy(function () {{}}, {{\n  \
         apply: (it, self, all) => Object.hasOwn(calls, name) ? calls[name] : {other},\n  \
         construct: () => made(''),\n  \
         get: (it, key) => key === Symbol.iterator ? () => [][Symbol.iterator]()\n    \
         : typeof key === 'symbol' || ['then', 'prototype'].includes(key) ? it[key] : made(key),\n}});\n"
    )
}

fn node(answers: &Answers, is_kept: bool) -> String {
    let exports = match is_kept {
        true => {
            "const old = module.exports;\n\
             for (const [name, value] of Object.entries(calls)) {\n  \
             const has = it => typeof it === 'function' && it.prototype && name in it.prototype;\n  \
             const owner = Object.values(old).concat(old).find(has);\n  \
             (owner ? owner.prototype : old)[name] = () => value;\n}\n\
             Object.assign(old, names);\n\
             module.exports = new Proxy(old, { get: (it, name) => name in it ? it[name] : made(name) });\n"
        }
        false => "module.exports = made('');\n",
    };
    made(answers) + exports
}

/// A module that `import` loads: the loader has to see each of its names.
fn imported(code: &InlineCode, module: &Module, answers: &Answers, old: Option<&str>) -> String {
    let mut text = old.map(|old| format!("{old}\n")).unwrap_or_default();
    let members = module.names.iter().flat_map(|name| members(&code.code, name));
    let names: BTreeSet<String> = module.names.iter().cloned().chain(members).collect();
    text.push_str(&made(answers));
    for name in names.iter().filter(|name| *name != "default") {
        let is_answered = answers.calls.contains_key(name) || answers.names.contains_key(name);
        let Ok(defined) = Regex::new(&format!(
            r"\bexport\s+(?<kind>(?:async\s+)?function|const|let|class)\s+{name}\b"
        )) else {
            continue;
        };
        if defined.is_match(&text) && !is_answered {
            continue;
        }
        text = defined.replace(&text, format!("$kind {name}_")).into_owned();
        text.push_str(&format!(
            "const {name}__ = made('{name}');\nexport {{ {name}__ as {name} }};\n"
        ));
    }
    if !text.contains("export default") {
        let name = module.names.first().map_or("", String::as_str);
        text.push_str(&format!("export default made('{name}');\n"));
    }
    text
}

/// The members of a name that code uses.
fn members(code: &str, name: &str) -> Vec<String> {
    let Ok(used) = Regex::new(&format!(r"\b{name}\.(?<member>[A-Za-z_]\w*)")) else {
        return Vec::new();
    };
    used.captures_iter(code).map(|it| it["member"].to_owned()).collect()
}

/// The functions of the old text's own modules are replaced where they are defined.
fn ruby(answers: &Answers, old: &str) -> String {
    static MODULE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^(?:module|class)\s+(?<name>[A-Z]\w*)").expect("a pattern")
    });
    let modules: BTreeSet<&str> =
        MODULE.captures_iter(old).filter_map(|it| Some(it.name("name")?.as_str())).collect();
    let modules = modules.into_iter().collect::<Vec<_>>().join(", ");
    let calls = Answers::table(&answers.calls, Language::Ruby, " =>");
    let names = Answers::table(&answers.names, Language::Ruby, " =>");
    let other = match answers.others {
        Others::Truth => "1",
        Others::FirstArgument => "all[0]",
        Others::Raise(error) => &format!("raise {error}"),
    };
    format!(
        "require 'ostruct'\nCALLS = {{{calls}}}\nNAMES = {{{names}}}\n\
         class Stub\n  def initialize(*, **) = nil\n  \
         def method_missing(name, *all, **) = CALLS.fetch(name.to_s) {{ {other} }}\n  \
         def respond_to_missing?(*) = true\n  \
         def self.method_missing(name, *all, **) = CALLS.fetch(name.to_s) {{ {other} }}\n  \
         def self.respond_to_missing?(*) = true\nend\n\n\
         def Object.const_missing(name) = NAMES.fetch(name.to_s) {{ Stub }}\n\
         own = []\n\
         find = lambda do |it|\n  next if own.include?(it)\n  own << it\n  \
         it.constants(false).map {{ |name| it.const_get(name) }}.grep(Module).each(&find)\nend\n\
         [{modules}].each(&find)\n\
         CALLS.each do |name, value|\n  owners = own.select do |it|\n    \
         it.method_defined?(name, false) && it.instance_method(name).source_location&.first == __FILE__\n  end\n  \
         owners << Object unless Kernel.private_method_defined?(name)\n  \
         owners.each {{ |it| it.define_method(name) {{ |*, **| value }} }}\n  \
         singles = own.select do |it|\n    \
         it.singleton_methods(false).include?(name.to_sym) && it.method(name).source_location&.first == __FILE__\n  end\n  \
         singles.each {{ |it| it.define_singleton_method(name) {{ |*, **| value }} }}\nend\n"
    )
}

/// Every class that is asked for, and the functions that are called.
fn php(code: &str, answers: &Answers, old: Option<&str>) -> String {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:^|[^\w>:$\\])(?<name>[A-Za-z_]\w*)\(").expect("a pattern")
    });
    const WORDS: &[&str] = &[
        "array", "catch", "empty", "eval", "exit", "die", "for", "foreach", "function", "fn", "if",
        "include", "isset", "list", "match", "print", "echo", "require", "switch", "unset",
        "while", "elseif", "return",
    ];
    let names: BTreeSet<&str> =
        CALLED.captures_iter(code).filter_map(|it| Some(it.name("name")?.as_str())).collect();
    let mut text = old.map_or("<?php\n".to_owned(), |old| format!("{old}\n"));
    for name in answers.calls.keys() {
        text = text.replace(&format!("function {name}("), &format!("function {name}_("));
    }
    let other = match answers.others {
        Others::Truth => "1",
        Others::FirstArgument => "$all[0] ?? 1",
        Others::Raise(error) => &format!("throw new {error}('x')"),
    };
    let calls = Answers::table(&answers.calls, Language::Php, " =>");
    let functions = names.into_iter().filter(|name| !WORDS.contains(name)).map(|name| {
        format!(
            "if (!function_exists('{name}')) {{ function {name}(...$all) {{ return CALLS['{name}'] ?? {other}; }} }}\n"
        )
    });
    let functions: String = functions.collect();
    text + &format!(
        "const CALLS = [{calls}];\nspl_autoload_register(function ($name) {{\n    \
         eval('class ' . $name . ' {{ function __construct() {{}} \
         function __call($n, $all) {{ return CALLS[$n] ?? {other}; }} \
         static function __callStatic($n, $all) {{ return CALLS[$n] ?? {other}; }} }}');\n}});\n{functions}"
    )
}
