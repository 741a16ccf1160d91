//! The project's own tools: build, test, lint and format. They run code of the
//! workspace by design; what is judged is that they do nothing else: no install,
//! no publishing, no program or configuration from elsewhere.

use crate::guard::judge::{Judge, Read, Write};
use crate::guard::refusal::Refusal;
use crate::guard::shell::{Env, Stream, Value};

use super::Call;
use super::options::{Does, Spec, parse};

use Does::{Data, Reads, Refused, Writes};

/// A tool whose first word says what it does.
struct Tool {
    names: &'static [&'static str],
    /// Verbs that pass; empty: there are no verbs.
    verbs: &'static [&'static str],
    /// Options that matter, anywhere.
    options: &'static [(&'static str, Does)],
    /// Whether options are written with one dash.
    dashed: bool,
}

const CONFIG: &str = "takes a configuration that can run programs";
const RUNS: &str = "runs a program";
const PUBLISH: &[&str] = &[
    "deploy",
    "publish",
    "release",
    "push",
    "upload",
    "install",
    "uninstall",
    "login",
    "logout",
    "unpublish",
    "postinstall",
    "preinstall",
    "ship",
    "distribute",
];

const CARGO: &[(&str, Does)] = &[
    ("--manifest-path", Reads),
    ("--target-dir", Writes),
    ("--artifact-dir", Writes),
    ("--out-dir", Writes),
    ("--config", Refused(CONFIG)),
    ("--index", Refused("names another registry")),
    ("--registry", Refused("names another registry")),
    ("--git", Refused("talks to a remote")),
    ("-p", Data),
    ("--package", Data),
    ("--features", Data),
    ("-F", Data),
    ("--test", Data),
    ("--bin", Data),
    ("--example", Data),
    ("--bench", Data),
    ("--exclude", Data),
    ("-j", Data),
    ("--jobs", Data),
    ("--profile", Data),
    ("--target", Data),
    ("--message-format", Data),
    ("--color", Data),
    ("-Z", Data),
    ("-e", Data),
    ("--edges", Data),
    ("-i", Data),
    ("--invert", Data),
    ("--format", Data),
    ("--format-version", Data),
    ("--filter-platform", Data),
    ("-E", Data),
    ("--filter-expr", Data),
    ("-C", Writes),
    ("--depth", Data),
    ("--prefix", Data),
    ("--test-threads", Data),
    ("--partition", Data),
    ("--lockfile-path", Reads),
];

const TOOLS: &[Tool] = &[
    Tool {
        names: &["cargo"],
        verbs: &[
            "build",
            "b",
            "check",
            "c",
            "test",
            "t",
            "clippy",
            "fmt",
            "doc",
            "d",
            "run",
            "r",
            "bench",
            "tree",
            "metadata",
            "version",
            "help",
            "nextest",
            "fix",
            "locate-project",
            "pkgid",
            "verify-project",
            "insta",
            "machete",
            "udeps",
            "hack",
            "miri",
            "expand",
            "llvm-cov",
            "tarpaulin",
            "criterion",
            "read-manifest",
            "sort",
            "spellcheck",
            "msrv",
            "generate-lockfile",
            "report",
            "llvm-lines",
            "bloat",
            "modules",
            "make",
        ],
        options: CARGO,
        dashed: false,
    },
    Tool {
        names: &["go"],
        verbs: &[
            "build", "test", "vet", "fmt", "run", "list", "version", "env", "doc", "generate",
            "mod", "tool", "help", "work", "fix",
        ],
        options: &[
            ("-exec", Refused(RUNS)),
            ("-toolexec", Refused(RUNS)),
            ("-vettool", Refused(RUNS)),
            ("-overlay", Refused(CONFIG)),
            ("-o", Writes),
            ("-coverprofile", Writes),
            ("-cpuprofile", Writes),
            ("-memprofile", Writes),
            ("-blockprofile", Writes),
            ("-mutexprofile", Writes),
            ("-trace", Writes),
            ("-outputdir", Writes),
            ("-modfile", Reads),
            ("-C", Reads),
            ("-w", Refused("writes go's settings")),
            ("-u", Refused("writes go's settings")),
            ("-compiler", Refused(RUNS)),
            ("-gccgoflags", Refused(RUNS)),
            ("-extld", Refused(RUNS)),
            ("-pkgdir", Writes),
            ("-installsuffix", Data),
            ("-run", Data),
            ("-bench", Data),
            ("-count", Data),
            ("-timeout", Data),
            ("-tags", Data),
            ("-p", Data),
            ("-parallel", Data),
            ("-cpu", Data),
            ("-benchtime", Data),
            ("-skip", Data),
            ("-f", Data),
            ("-mod", Data),
            ("-covermode", Data),
            ("-coverpkg", Data),
            ("-fuzz", Data),
            ("-fuzztime", Data),
            ("-ldflags", Data),
            ("-gcflags", Data),
            ("-asmflags", Data),
            ("-shuffle", Data),
            ("-vet", Data),
        ],
        dashed: true,
    },
    Tool {
        names: &["npm", "pnpm", "yarn"],
        verbs: &[
            "test",
            "t",
            "tst",
            "run",
            "run-script",
            "rum",
            "start",
            "ls",
            "list",
            "la",
            "ll",
            "why",
            "explain",
            "help",
            "lint",
            "build",
            "typecheck",
            "check",
            "format",
            "fmt",
            "tsc",
            "jest",
            "vitest",
            "eslint",
            "prettier",
            "mocha",
            "exec",
            "workspace",
            "workspaces",
            "root",
            "prefix",
            "bin",
            "stylelint",
            "biome",
            "type-check",
            "lint:fix",
            "test:unit",
            "test:ci",
            "compile",
            "coverage",
            "ava",
            "tsd",
            "-r",
            "recursive",
            "turbo",
            "nx",
            "foreach",
        ],
        options: &[
            ("--script-shell", Refused(RUNS)),
            ("--node-options", Refused(RUNS)),
            ("--registry", Refused("names another registry")),
            ("--userconfig", Refused(CONFIG)),
            ("--globalconfig", Refused(CONFIG)),
            ("--shell", Refused(RUNS)),
            ("--call", Refused(RUNS)),
            ("--package", Refused("fetches a package")),
            ("--use-yarnrc", Refused(CONFIG)),
            ("--shell-emulator", Data),
            ("--prefix", Reads),
            ("-C", Reads),
            ("--dir", Reads),
            ("--cwd", Reads),
            ("-w", Data),
            ("--workspace", Data),
            ("--filter", Data),
            ("--loglevel", Data),
        ],
        dashed: false,
    },
    Tool {
        names: &["make", "gmake", "bmake"],
        verbs: &[],
        options: &[
            ("-C", Reads),
            ("--directory", Reads),
            ("-f", Reads),
            ("--file", Reads),
            ("--makefile", Reads),
            ("-I", Reads),
            ("--include-dir", Reads),
            ("-j", Data),
            ("-l", Data),
            ("-o", Data),
            ("-W", Data),
            ("--eval", Refused("runs code that is given inline")),
            ("-E", Refused("runs code that is given inline")),
            ("--jobs", Data),
            ("--load-average", Data),
        ],
        dashed: false,
    },
    Tool {
        names: &["pytest", "py.test"],
        verbs: &[],
        options: &[
            ("-p", Refused("loads a plugin")),
            ("--pastebin", Refused("talks to the network")),
            ("-c", Reads),
            ("--config-file", Reads),
            ("--rootdir", Reads),
            ("--basetemp", Writes),
            ("--junitxml", Writes),
            ("--junit-xml", Writes),
            ("--debug", Writes),
            ("--log-file", Writes),
            ("--result-log", Writes),
            ("--cov-config", Reads),
            ("-k", Data),
            ("-m", Data),
            ("-n", Data),
            ("--maxfail", Data),
            ("--tb", Data),
            ("-W", Data),
            ("-r", Data),
            ("--durations", Data),
            ("--ignore", Data),
            ("--deselect", Data),
            ("-o", Refused(CONFIG)),
            ("--override-ini", Refused(CONFIG)),
            ("--timeout", Data),
            ("--cov", Data),
            ("--cov-report", Data),
            ("--import-mode", Data),
            ("--confcutdir", Reads),
            ("--html", Writes),
            ("--pdbcls", Refused(RUNS)),
        ],
        dashed: false,
    },
    Tool {
        names: &[
            "eslint",
            "prettier",
            "tsc",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "stylelint",
            "biome",
            "webpack",
            "vite",
            "rollup",
            "esbuild",
            "next",
            "turbo",
            "nx",
            "tsup",
            "swc",
            "babel",
            "nyc",
            "c8",
            "karma",
            "playwright",
            "cypress",
            "standard",
            "xo",
            "oxlint",
            "dprint",
            "svelte-check",
            "vue-tsc",
            "astro",
            "ng",
            "nuxt",
            "tap",
            "jasmine",
            "tslint",
            "rome",
            "markdownlint",
            "markdownlint-cli2",
            "cspell",
            "commitlint",
            "knip",
            "depcheck",
            "madge",
            "size-limit",
            "tsd",
            "parcel",
            "textlint",
            "htmlhint",
        ],
        verbs: &[],
        options: &[
            ("--output-file", Writes),
            ("-o", Writes),
            ("--outDir", Writes),
            ("--outFile", Writes),
            ("--out-dir", Writes),
            ("--outfile", Writes),
            ("--outputFile", Writes),
            ("--cache-location", Writes),
            ("--cacheDirectory", Writes),
            ("--coverageDirectory", Writes),
            ("--tsBuildInfoFile", Writes),
            ("--declarationDir", Writes),
            ("--rulesdir", Reads),
            ("--plugin-search-dir", Reads),
            ("--resolve-plugins-relative-to", Reads),
            ("--require", Reads),
            ("--globalSetup", Reads),
            ("--rootDir", Reads),
            ("--rootdir", Reads),
        ],
        dashed: false,
    },
    Tool {
        names: &[
            "ruff",
            "black",
            "isort",
            "flake8",
            "pylint",
            "mypy",
            "pyright",
            "coverage",
            "tox",
            "nox",
            "bandit",
            "pycodestyle",
            "pydocstyle",
            "autopep8",
            "yapf",
            "vulture",
            "radon",
            "basedpyright",
            "ty",
            "djlint",
            "interrogate",
            "pyflakes",
            "dmypy",
            "pytype",
            "codespell",
            "pyupgrade",
            "stubtest",
        ],
        verbs: &[],
        options: &[
            ("--load-plugins", Refused("loads a plugin")),
            ("--init-hook", Refused("runs code that is given inline")),
            ("--python-executable", Refused(RUNS)),
            ("--output-file", Writes),
            ("-o", Writes),
            ("--output", Writes),
            ("--cache-dir", Writes),
            ("--junit-xml", Writes),
            ("--html-report", Writes),
            ("--rcfile", Reads),
            ("--config-file", Reads),
            ("--config", Reads),
            ("--settings-path", Reads),
            ("--workdir", Writes),
            ("--install-types", Does::FlagRefused("fetches and installs")),
            ("--pythonpath", Refused(RUNS)),
            ("--append-config", Refused(CONFIG)),
        ],
        dashed: false,
    },
    Tool {
        names: &[
            "gofmt",
            "goimports",
            "gofumpt",
            "staticcheck",
            "golangci-lint",
            "golint",
            "revive",
            "gotestsum",
            "ginkgo",
            "errcheck",
            "rustfmt",
            "shellcheck",
            "shfmt",
            "hadolint",
            "yamllint",
            "actionlint",
            "typos",
            "taplo",
            "clang-format",
            "clang-tidy",
            "cppcheck",
            "cpplint",
            "swiftlint",
            "swiftformat",
            "ktlint",
            "detekt",
            "checkstyle",
            "rubocop",
            "rspec",
            "rake",
            "standardrb",
            "reek",
            "brakeman",
            "minitest",
            "erb_lint",
            "prove",
            "perltidy",
            "perlcritic",
            "phpunit",
            "phpstan",
            "psalm",
            "phpcs",
            "phpcbf",
            "php-cs-fixer",
            "pest",
            "pint",
            "infection",
            "luacheck",
            "stylua",
            "busted",
            "hlint",
            "ormolu",
            "fourmolu",
            "stylish-haskell",
            "elm-test",
            "elm-format",
            "elm",
            "tidy",
            "xmllint",
            "vale",
            "ec",
            "editorconfig-checker",
            "buf",
            "sqlfluff",
            "tflint",
            "bats",
            "shellspec",
            "cucumber",
            "behave",
            "mkdocs",
            "sphinx-build",
            "doxygen",
            "ctest",
            "ninja",
            "just",
            "task",
            "scons",
            "meson",
            "waf",
            "dialyzer",
            "credo",
        ],
        verbs: &[],
        options: &[
            ("-o", Writes),
            ("--output", Writes),
            ("--out", Writes),
            ("--junitfile", Writes),
            ("--jsonfile", Writes),
            ("--bootstrap", Reads),
            ("--config", Reads),
            ("-C", Reads),
            ("-f", Data),
            ("-d", Data),
            ("--exec", Refused(RUNS)),
            ("-e", Data),
            ("--eval", Refused("runs code that is given inline")),
            ("--require", Reads),
            ("-r", Data),
            ("--shell", Refused(RUNS)),
            ("--post-run-command", Refused(RUNS)),
            ("-t", Data),
            ("--raw-command", Does::FlagRefused(RUNS)),
            ("--set", Refused(CONFIG)),
            ("--net", Does::FlagRefused("talks to the network")),
            ("--out-format", Data),
            ("--test-command", Refused(RUNS)),
            ("--build-and-test", Refused(RUNS)),
        ],
        dashed: false,
    },
    Tool {
        names: &["mvn", "mvnw", "mvnd"],
        verbs: &[
            "test",
            "verify",
            "compile",
            "package",
            "clean",
            "validate",
            "test-compile",
            "install",
            "site",
            "process-classes",
            "integration-test",
            "help",
            "-v",
            "dependency:tree",
            "spotless:check",
            "spotless:apply",
            "checkstyle:check",
            "surefire:test",
            "failsafe:integration-test",
            "fmt:format",
            "pmd:check",
            "spotbugs:check",
            "jacoco:report",
            "-version",
            "--version",
            "initialize",
        ],
        options: &[
            ("-s", Refused(CONFIG)),
            ("--settings", Refused(CONFIG)),
            ("-f", Reads),
            ("--file", Reads),
            ("-pl", Data),
            ("--projects", Data),
            ("-T", Data),
            ("-P", Data),
            ("-Dexec.executable", Refused(RUNS)),
            ("-Dmaven.ext.class.path", Refused(RUNS)),
            ("-DaltDeploymentRepository", Refused("publishes")),
            ("-Djvm", Refused(RUNS)),
            ("-DargLine", Refused(RUNS)),
        ],
        dashed: true,
    },
    Tool {
        names: &["gradle", "gradlew"],
        verbs: &[],
        options: &[
            ("-I", Refused(CONFIG)),
            ("--init-script", Refused(CONFIG)),
            ("-p", Reads),
            ("--project-dir", Reads),
            ("-b", Reads),
            ("--build-file", Reads),
            ("-c", Reads),
            ("--tests", Data),
            ("-x", Data),
            ("--exclude-task", Data),
            ("-g", Refused(CONFIG)),
            ("--gradle-user-home", Refused(CONFIG)),
            ("--include-build", Reads),
            ("--scan", Does::FlagRefused("sends a report")),
            ("--max-workers", Data),
        ],
        dashed: false,
    },
    Tool {
        names: &["dotnet"],
        verbs: &[
            "build",
            "test",
            "format",
            "run",
            "restore",
            "clean",
            "msbuild",
            "--version",
            "--info",
            "--list-sdks",
            "list",
            "vstest",
            "sln",
        ],
        options: &[
            ("-o", Writes),
            ("--output", Writes),
            ("--results-directory", Writes),
            ("-s", Data),
            ("--source", Refused("names another registry")),
            ("--configfile", Refused(CONFIG)),
            ("-c", Data),
            ("-f", Data),
            ("--filter", Data),
            ("--project", Reads),
            ("-l", Data),
            ("--logger", Data),
            ("-v", Data),
            ("--test-adapter-path", Reads),
            ("-d", Data),
        ],
        dashed: false,
    },
    Tool {
        names: &["bundle", "bundler"],
        verbs: &["exec", "list", "show", "check", "info", "version", "--version", "platform"],
        options: &[],
        dashed: false,
    },
    Tool {
        names: &["composer"],
        verbs: &[
            "test",
            "run",
            "run-script",
            "validate",
            "show",
            "dump-autoload",
            "lint",
            "check",
            "phpstan",
            "cs",
            "cs-check",
            "analyse",
            "analyze",
            "--version",
            "about",
            "licenses",
            "why",
        ],
        options: &[("-d", Reads), ("--working-dir", Reads)],
        dashed: false,
    },
    Tool {
        names: &[
            "swift",
            "zig",
            "mix",
            "stack",
            "cabal",
            "dart",
            "flutter",
            "sbt",
            "lein",
            "rebar3",
            "gleam",
            "nimble",
            "dune",
            "spago",
            "rails",
            "bazel",
            "bazelisk",
            "buck2",
            "pre-commit",
            "xcodebuild",
            "ant",
            "shards",
            "haxe",
            "hatch",
            "django-admin",
            "lerna",
            "moon",
            "pants",
            "please",
            "clj",
            "boot",
        ],
        verbs: &[
            "build",
            "test",
            "fmt",
            "format",
            "compile",
            "check",
            "analyze",
            "lint",
            "run",
            "spec",
            "clean",
            "credo",
            "dialyzer",
            "ct",
            "eunit",
            "Test",
            "testOnly",
            "Test/compile",
            "assemble",
            "query",
            "package",
            "docs",
            "doc",
            "version",
            "--version",
            "ast-check",
            "haddock",
            "exec",
            "xref",
            "cover",
            "clippy",
            "runtest",
            "deps",
            "deps.tree",
            "bench",
            "buildifier",
            "describe",
            "dump-package",
            "validate-config",
            "routes",
            "test:all",
            "zeitwerk:check",
            "list",
        ],
        options: &[
            ("--output_base", Writes),
            ("--output_user_root", Writes),
            ("--eval", Refused("runs code that is given inline")),
            ("--no-start", Data),
            ("--spawn_strategy", Data),
            ("--run_under", Refused(RUNS)),
            ("--bazelrc", Refused(CONFIG)),
            ("-o", Writes),
            ("--output", Writes),
            ("-exec", Refused(RUNS)),
            ("--test-cmd", Refused(RUNS)),
            ("--test-cmd-bin", Refused(RUNS)),
            ("-e", Refused("runs code that is given inline")),
        ],
        dashed: false,
    },
    Tool {
        names: &[
            "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "ghc", "ocamlc",
            "ocamlopt", "nasm", "gfortran", "kotlinc", "scalac", "nim", "fpc", "gnat", "ldc2",
            "dmd", "protoc", "flex", "bison", "yacc", "lex",
        ],
        verbs: &[],
        options: &[
            ("-o", Writes),
            ("-d", Writes),
            ("--out-dir", Writes),
            ("-wrapper", Refused(RUNS)),
            ("-B", Refused(RUNS)),
            ("-specs", Refused(CONFIG)),
            ("-fplugin", Refused(RUNS)),
            ("-Xclang", Data),
            ("-load", Refused(RUNS)),
            ("--plugin", Refused(RUNS)),
            ("-processorpath", Refused(RUNS)),
            ("-J", Refused(RUNS)),
            ("-pgmF", Refused(RUNS)),
            ("-dumpdir", Writes),
            ("-MF", Writes),
            ("-I", Data),
            ("-L", Data),
            ("-l", Data),
            ("-include", Reads),
            ("-C", Data),
            ("--emit", Data),
            ("--crate-type", Data),
            ("--edition", Data),
            ("-cp", Data),
            ("-classpath", Data),
        ],
        dashed: true,
    },
    Tool {
        names: &["rustup"],
        verbs: &["show", "--version", "-V", "which"],
        options: &[],
        dashed: false,
    },
];

/// Tools that only look through to what they run: `uv run pytest`.
const THROUGH: &[(&str, &str)] = &[
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("hatch", "run"),
    ("bundle", "exec"),
    ("bundler", "exec"),
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("opam", "exec"),
    ("stack", "exec"),
    ("cabal", "exec"),
    ("pixi", "run"),
    ("mise", "exec"),
];

/// Whether a program is one of the project's tools.
pub(super) fn is_runner(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.names.contains(&name))
        || matches!(
            name,
            "uv" | "poetry"
                | "pdm"
                | "pipenv"
                | "rye"
                | "pixi"
                | "npx"
                | "pnpx"
                | "bunx"
                | "cmake"
                | "java"
        )
}

impl Judge<'_> {
    pub(super) fn runner(
        &mut self,
        env: &mut Env,
        call: &Call<'_>,
    ) -> Option<Result<Stream, Refusal>> {
        if matches!(call.name, "npx" | "pnpx" | "bunx") {
            return Some(self.npx(env, call));
        }
        if call.name == "cmake" {
            return Some(self.cmake(env, call));
        }
        if call.name == "java" {
            let version =
                call.words.iter().any(|word| matches!(word.text(), Some("-version" | "--version")));
            return Some(if version { Ok(Stream::Opaque) } else { Err(refuse_verb("java", "")) });
        }
        let verb = call.words.first().and_then(Value::text).unwrap_or_default();
        if let Some((tool, _)) =
            THROUGH.iter().find(|(tool, run)| *tool == call.name && *run == verb)
        {
            return Some(self.through_tool(env, tool, &call.words[1..], call.stdin));
        }
        if matches!(call.name, "uv" | "poetry" | "pdm" | "pipenv" | "rye" | "pixi") {
            let fine = matches!(
                verb,
                "--version"
                    | "-V"
                    | "check"
                    | "show"
                    | "tree"
                    | "env"
                    | "version"
                    | "help"
                    | "build"
                    | "list"
                    | "info"
            ) || call.name == "uv"
                && verb == "pip"
                && call.words.get(1).and_then(Value::text).is_some_and(|text| {
                    matches!(text, "list" | "show" | "freeze" | "check" | "tree")
                });
            return Some(if fine { Ok(Stream::Opaque) } else { Err(install(call.name, verb)) });
        }
        let tool = TOOLS.iter().find(|tool| tool.names.contains(&call.name))?;
        Some(self.tool(env, call, tool))
    }

    fn tool(&mut self, env: &mut Env, call: &Call<'_>, tool: &Tool) -> Result<Stream, Refusal> {
        let mut words = call.words;
        if call.name == "cargo" && words.first().is_some_and(|word| word.head().starts_with('+')) {
            words = &words[1..];
        }
        let version = matches!(
            words.first().and_then(Value::text),
            Some("--version" | "-V" | "-v" | "--help" | "-h" | "version" | "help")
        );
        if version && words.len() <= 2 {
            return Ok(Stream::Opaque);
        }
        // What stands behind `--` belongs to the tests or the script.
        let dashes = words.iter().position(|word| word.text() == Some("--"));
        let (own, passed_on) = words.split_at(dashes.unwrap_or(words.len()));
        let spec = if tool.dashed { Spec::dashed(tool.options) } else { Spec::open(tool.options) };
        let parsed = self.options(env, call.name, own, &spec)?;
        self.harmless_words(env, call.name, passed_on)?;
        if !tool.verbs.is_empty() {
            let Some(verb) = parsed
                .operands
                .first()
                .and_then(Value::text)
                .or_else(|| version.then_some("--version"))
            else {
                // `yarn` alone installs, `npm` alone prints its help.
                return Err(refuse_verb(call.name, ""));
            };
            if !tool.verbs.contains(&verb) {
                return Err(if INSTALLS.contains(&verb) {
                    install(call.name, verb)
                } else {
                    refuse_verb(call.name, verb)
                });
            }
            self.verb(env, call.name, verb, &parsed.operands[1..], &parsed)?;
        } else if matches!(
            call.name,
            "make"
                | "gmake"
                | "bmake"
                | "just"
                | "task"
                | "gradle"
                | "gradlew"
                | "rake"
                | "ninja"
                | "scons"
        ) {
            self.targets_of(env, call.name, &parsed.operands)?;
        } else {
            self.harmless_words(env, call.name, &parsed.operands)?;
        }
        Ok(Stream::Opaque)
    }

    /// What a verb takes further.
    fn verb(
        &mut self,
        env: &mut Env,
        tool: &str,
        verb: &str,
        rest: &[Value],
        parsed: &super::options::Parsed,
    ) -> Result<(), Refusal> {
        let second = rest.first().and_then(Value::text);
        match (tool, verb) {
            ("npm" | "pnpm" | "yarn" | "composer", "run" | "run-script" | "rum") => {
                let script = rest.first().map(Value::text);
                match script {
                    Some(None) => {
                        return Err(Refusal::new(
                            "shell.unknown-word",
                            "it is not known which script is run",
                        )
                        .instead("name the script"));
                    }
                    Some(Some(script)) if publishes(script) => return Err(publish(tool, script)),
                    _ => {}
                }
                self.harmless_words(env, tool, rest)?;
            }
            ("go", "mod") => {
                if !matches!(
                    second,
                    Some("tidy" | "verify" | "graph" | "why" | "edit" | "init" | "vendor")
                ) {
                    return Err(install("go mod", second.unwrap_or_default()));
                }
            }
            ("go", "env") => {
                if parsed.has(&["-w", "-u"]) {
                    return Err(refuse_verb("go env", "-w"));
                }
            }
            ("go", "tool") => {
                if !matches!(
                    second,
                    Some("cover" | "vet" | "compile" | "nm" | "objdump" | "doc") | None
                ) {
                    return Err(refuse_verb("go tool", second.unwrap_or_default()));
                }
            }
            ("go", "run") => {
                for word in rest {
                    if word.head().contains('@') || word.head().starts_with("http") {
                        return Err(install("go run", &word.show()));
                    }
                    if word.head().starts_with(['/', '~'])
                        || word.is_open()
                        || word.head().contains("..")
                    {
                        self.script(env, word)?;
                    }
                }
            }
            ("go", "work") => {
                if !matches!(second, Some("use" | "init" | "edit")) {
                    return Err(refuse_verb("go work", second.unwrap_or_default()));
                }
            }
            ("cargo", "insta") => {
                if matches!(second, Some("reject")) {
                    return Err(refuse_verb("cargo insta", "reject"));
                }
            }
            ("cargo", "nextest") => {
                if !matches!(second, Some("run" | "r" | "list" | "show-config") | None) {
                    return Err(install("cargo nextest", second.unwrap_or_default()));
                }
            }
            ("cargo", "make") => self.targets_of(env, tool, rest)?,
            ("pnpm", "-r" | "recursive")
            | ("yarn", "workspaces" | "workspace" | "foreach")
            | ("npm", "workspaces") => {
                let bad = rest
                    .iter()
                    .filter_map(Value::text)
                    .find(|word| INSTALLS.contains(word) || publishes(word));
                if let Some(word) = bad {
                    return Err(install(tool, word));
                }
            }
            ("npm" | "pnpm" | "yarn", "exec") => return Err(refuse_verb(tool, verb)),
            ("mvn" | "mvnw" | "mvnd", _) => {
                for word in rest {
                    let text = word.text().unwrap_or("…");
                    let tool_verbs = TOOLS
                        .iter()
                        .find(|known| known.names.contains(&tool))
                        .map_or(&[][..], |known| known.verbs);
                    if !tool_verbs.contains(&text) {
                        return Err(refuse_verb(tool, text));
                    }
                }
            }
            ("dotnet", "list" | "sln") => {
                if second == Some("package-add") {
                    return Err(install(tool, "add"));
                }
            }
            ("mix", "deps" | "run") => {
                return if second.is_none() && verb == "deps" {
                    Ok(())
                } else {
                    Err(refuse_verb(tool, verb))
                };
            }
            ("dart" | "swift" | "zig" | "bazel" | "bazelisk" | "pre-commit", "run") => {
                self.harmless_words(env, tool, rest)?
            }
            ("swift", "package") => {
                if !matches!(second, Some("describe" | "dump-package" | "show-dependencies")) {
                    return Err(install("swift package", second.unwrap_or_default()));
                }
            }
            _ => self.harmless_words(env, tool, rest)?,
        }
        Ok(())
    }

    /// Targets of make and its kind, with their variables.
    fn targets_of(&mut self, env: &Env, tool: &str, words: &[Value]) -> Result<(), Refusal> {
        for word in words {
            let head = word.head();
            match head.split_once('=') {
                Some((name, _)) => {
                    let name = name.trim_end_matches([':', '+', '?', '!']);
                    let value = word.tail(head.find('=').unwrap_or(0) + 1);
                    crate::guard::shell::check_assignment(name, &value)?;
                    let bad = value.text().is_none_or(|text| {
                        text.contains(['$', '`', ';', '|', '&', '(', '<', '>', '\n'])
                    });
                    if bad || matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKE") {
                        return Err(Refusal::new(
                            "program.option",
                            format!("the value of {name} can run something"),
                        )
                        .instead(format!("run {tool} without it")));
                    }
                }
                None => {
                    let Some(text) = word.text() else {
                        return Err(Refusal::new(
                            "shell.unknown-word",
                            "it is not known which target is made",
                        )
                        .instead("name the target"));
                    };
                    let target = text.rsplit(':').next().unwrap_or(text);
                    if publishes(target) {
                        return Err(publish(tool, text));
                    }
                }
            }
        }
        self.harmless_words(env, tool, words)
    }

    /// Words that a tool gets and that say no more than what to work on.
    pub(super) fn harmless_words(
        &mut self,
        env: &Env,
        tool: &str,
        words: &[Value],
    ) -> Result<(), Refusal> {
        for word in words {
            let head = word.head();
            if word.is_open() && (word.may_be_option() || word.splits) {
                return Err(Refusal::new(
                    "shell.unknown-word",
                    format!("`{}` may turn out to be an option of {tool}", word.show()),
                )
                .instead("spell the words out"));
            }
            let path = head
                .split_once('=')
                .filter(|_| head.starts_with('-'))
                .map_or(head, |(_, value)| value);
            if path.starts_with("http:") || path.starts_with("https:") || path.starts_with("git+") {
                return Err(Refusal::new("network", format!("{tool} would talk to {path}"))
                    .instead("work with what is in the repository"));
            }
            if path.starts_with('/') && path.len() > 1
                || path.starts_with("../")
                || path.starts_with("~/")
            {
                let value = if path.len() == head.len() {
                    word.clone()
                } else {
                    word.tail(head.len() - path.len())
                };
                if !value.is_open()
                    && value.segs.iter().all(|seg| matches!(seg, crate::guard::shell::Seg::Lit(_)))
                {
                    self.read_value(env, &value, Read::Name)?;
                }
            }
        }
        Ok(())
    }

    fn through_tool(
        &mut self,
        env: &mut Env,
        tool: &str,
        words: &[Value],
        stdin: &Stream,
    ) -> Result<Stream, Refusal> {
        let mut rest = words;
        while let Some((first, more)) = rest.split_first() {
            match first.text() {
                Some("--") => {
                    rest = more;
                    break;
                }
                Some(
                    "--frozen" | "--locked" | "--offline" | "--no-sync" | "-q" | "--quiet"
                    | "--all-extras" | "--dev" | "--no-dev" | "--isolated" | "--silent" | "-s"
                    | "--no-install" | "--no" | "--all-groups",
                ) => rest = more,
                Some("--extra" | "--group" | "--package" | "--python" | "-p" | "-e")
                    if tool == "uv" =>
                {
                    rest = more.get(1..).unwrap_or_default()
                }
                Some(text) if text.starts_with('-') => {
                    return Err(Refusal::new(
                        "program.option",
                        format!("{tool} {text} can fetch or run something else"),
                    )
                    .instead(format!("run {tool} without {text}")));
                }
                _ => break,
            }
        }
        if rest.is_empty() {
            return Err(refuse_verb(tool, "run"));
        }
        if matches!(tool, "npm" | "pnpm" | "yarn") {
            return self.npx(env, &Call { name: tool, words: rest, stdin });
        }
        self.run(env, rest, stdin)
    }

    /// `npx` and its kind fetch what is not there: only the known tools pass.
    fn npx(&mut self, env: &mut Env, call: &Call<'_>) -> Result<Stream, Refusal> {
        let mut rest = call.words;
        while let Some((first, more)) = rest.split_first() {
            match first.text() {
                Some(
                    "--no-install" | "--no" | "--offline" | "--" | "-q" | "--quiet" | "-y"
                    | "--yes" | "--bun",
                ) => rest = more,
                Some("--version" | "-v") => return Ok(Stream::Opaque),
                _ => break,
            }
        }
        let name = rest.first().and_then(Value::text).unwrap_or_default().to_owned();
        let known = TOOLS
            .iter()
            .any(|tool| tool.names.contains(&"eslint") && tool.names.contains(&name.as_str()));
        let local = !name.is_empty()
            && !name.contains('/')
            && self.script(env, &Value::lit(format!("node_modules/.bin/{name}"))).is_ok();
        if local
            && !is_runner(&name)
            && super::refused::refuse(&name).is_none()
            && !super::known::is_program(&name)
        {
            self.harmless_words(env, &name, &rest[1..])?;
            return Ok(Stream::Opaque);
        }
        if known || local {
            self.run(env, rest, call.stdin)
        } else {
            Err(install(call.name, &name))
        }
    }

    fn cmake(&mut self, env: &Env, call: &Call<'_>) -> Result<Stream, Refusal> {
        const SPEC: Spec = Spec::open(&[
            ("--build", Reads),
            ("-S", Reads),
            ("-B", Writes),
            ("-P", Reads),
            ("-D", Data),
            ("-G", Data),
            ("-j", Data),
            ("--parallel", Data),
            ("--target", Data),
            ("-t", Data),
            ("--config", Data),
            ("--preset", Data),
            ("-C", Reads),
            ("-A", Data),
            ("-T", Data),
            ("--toolchain", Reads),
            ("--install-prefix", Data),
            ("-E", Refused("runs a tool that deletes and copies")),
            ("--install", Refused("installs outside the workspace")),
            ("--open", Refused(RUNS)),
            ("--log-level", Data),
        ]);
        let parsed = parse("cmake", call.words, &SPEC)?;
        for target in [parsed.value(&["--target"]), parsed.value(&["-t"])].into_iter().flatten() {
            if target.text().is_none_or(publishes) {
                return Err(publish("cmake", &target.show()));
            }
        }
        if let Some(folder) = parsed.value(&["-B"]) {
            self.write_value(env, folder, Write::Change)?;
        }
        if let Some(script) = parsed.value(&["-P"]) {
            let script = script.clone();
            self.script(env, &script)?;
        }
        let refused: Vec<Value> = call
            .words
            .iter()
            .filter(|word| matches!(word.text(), Some("-E" | "--install" | "--open")))
            .cloned()
            .collect();
        if !refused.is_empty() {
            return Err(refuse_verb("cmake", &refused[0].show()));
        }
        self.harmless_words(env, "cmake", &parsed.operands)?;
        Ok(Stream::Opaque)
    }
}

/// Verbs that fetch or install.
const INSTALLS: &[&str] = &[
    "install",
    "i",
    "in",
    "ci",
    "add",
    "update",
    "up",
    "upgrade",
    "get",
    "download",
    "fetch",
    "sync",
    "vendor",
    "remove",
    "uninstall",
    "rm",
    "un",
    "link",
    "dlx",
    "create",
    "init",
    "audit",
    "outdated",
    "login",
    "adduser",
    "owner",
    "search",
    "new",
    "tool",
    "nuget",
    "global",
    "import",
    "require",
    "pkg",
];

fn publishes(target: &str) -> bool {
    let lower = target.to_lowercase();
    lower.split([':', '-', '_', '.', '/']).any(|part| PUBLISH.contains(&part))
}

fn publish(tool: &str, target: &str) -> Refusal {
    Refusal::new("publish", format!("{tool} {target}: by its name it publishes or installs"))
        .instead("build and test only; the human publishes")
}

fn install(tool: &str, verb: &str) -> Refusal {
    Refusal::new("program.install", format!("{tool} {verb}: it can fetch and install, or publish"))
        .instead(
            "work with the dependencies that are there, or ask for it under `allow:` in TASK.md",
        )
}

fn refuse_verb(tool: &str, verb: &str) -> Refusal {
    Refusal::new("program.verb", format!("{tool} {verb}: neither a build, a test nor a check"))
        .instead("build, test, lint or format, or ask for it under `allow:` in TASK.md")
}
