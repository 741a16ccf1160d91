//! The interpreters, as data: which of their options are harmless.

/// What is known of an interpreter.
pub(in crate::guard) struct Language {
    /// Flags before the script that are harmless.
    pub(in crate::guard) flags: &'static str,
    /// Options before the script whose value is data.
    pub(in crate::guard) valued: &'static str,
    /// Option that runs a module, if there is one.
    pub(in crate::guard) module: Option<&'static str>,
    /// Options after which files are only checked, not run.
    pub(in crate::guard) checks: &'static str,
    /// Subcommands that are judged as runners.
    pub(in crate::guard) verbs: &'static str,
}

const PYTHON: Language = Language {
    flags: "-u -B -b -bb -E -I -O -OO -q -s -S -v -P -d",
    valued: "-W -X --check-hash-based-pycs",
    module: Some("-m"),
    checks: "-V --version -VV -h --help",
    verbs: "",
};

const NODE: Language = Language {
    flags: "--test --check -c --no-warnings --enable-source-maps --experimental-vm-modules \
            --experimental-strip-types --trace-warnings --test-only --experimental-test-coverage \
            --trace-uncaught --stack-trace-limit",
    valued: "--test-name-pattern --test-reporter --max-old-space-size --unhandled-rejections \
            --test-concurrency --test-timeout",
    module: None,
    checks: "-v --version -h --help",
    verbs: "",
};

const RUBY: Language = Language {
    flags: "-w -W -W0 -W1 -W2 -c",
    valued: "-I -E",
    module: None,
    checks: "-v --version -h --help",
    verbs: "",
};

const PERL: Language = Language {
    flags: "-w -T -c -Ilib -t -W",
    valued: "-I",
    module: None,
    checks: "-v --version -h -V",
    verbs: "",
};

const PHP: Language = Language {
    flags: "-l -n -q",
    valued: "",
    module: None,
    checks: "-v --version -m -h",
    verbs: "artisan",
};

const DENO: Language = Language {
    flags: "",
    valued: "",
    module: None,
    checks: "--version -V",
    verbs: "test lint fmt check bench doc info task",
};
const BUN: Language = Language {
    flags: "",
    valued: "",
    module: None,
    checks: "--version -v",
    verbs: "test run build",
};
const CRYSTAL: Language = Language {
    flags: "",
    valued: "",
    module: None,
    checks: "--version -v -h --help",
    verbs: "spec tool docs build",
};
const PLAIN: Language =
    Language { flags: "", valued: "", module: None, checks: "--version -v -V", verbs: "" };

/// The interpreter of a name, versions such as `python3.12` included.
pub(in crate::guard) fn language(name: &str) -> Option<&'static Language> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match plain {
        "python" | "pypy" => &PYTHON,
        "node" | "nodejs" => &NODE,
        "ruby" | "jruby" => &RUBY,
        "perl" => &PERL,
        "php" => &PHP,
        "deno" => &DENO,
        "bun" => &BUN,
        "crystal" => &CRYSTAL,
        "lua" | "luajit" | "Rscript" | "julia" | "escript" | "elixir" | "tsx" | "ts-node"
        | "racket" | "octave" | "groovy" | "swipl" | "sbcl" => &PLAIN,
        _ => return None,
    })
}
