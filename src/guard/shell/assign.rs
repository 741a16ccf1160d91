//! Which variables may be set, because setting some of them makes an allowed
//! program load or run something else.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use super::judge::Judge;
use crate::guard::call_context::WriteKind;
use crate::guard::denial::Denial;
use crate::guard::places::is_system;

use super::env::Env;
use super::value::{Seg, ShellValue};

/// Names that are refused whatever the value.
const DENIED: &str = "PATH BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND CDPATH HOME SHELL EDITOR VISUAL \
    BROWSER LESSOPEN LESSCLOSE MANPAGER PYTHONSTARTUP PYTHONHOME PYTHONINSPECT \
    PYTHONBREAKPOINT PYTHONUSERBASE PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB NODE_PATH \
    NODE_EXTRA_CA_CERTS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS \
    GRADLE_OPTS JAVA_OPTS CLASSPATH RUSTC RUSTDOC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER \
    CARGO CARGO_HOME RUSTUP_HOME MAKEFILES MAKEFLAGS GNUMAKEFLAGS MFLAGS GOROOT GOPATH \
    GOPROXY GOENV GOTOOLDIR PYTEST_PLUGINS HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY \
    NO_PROXY DOCKER_HOST KUBECONFIG XDG_CONFIG_HOME XDG_DATA_HOME TMPDIR TMP TEMP PS1 PAGER \
    GLOBIGNORE GREP_OPTIONS TAR_OPTIONS ZDOTDIR INPUTRC RIPGREP_CONFIG_PATH GNUPGHOME AWS_CONFIG_FILE \
    OPENSSL_CONF SSLKEYLOGFILE CURL_HOME WGETRC NETRC FPATH HISTFILE TERMINFO LOCPATH \
    NLSPATH GCONV_PATH HOSTALIASES RESOLV_HOST_CONF MALLOC_TRACE UV_INDEX_URL PIP_INDEX_URL \
    PIP_EXTRA_INDEX_URL ERL_AFLAGS ERL_FLAGS ELIXIR_ERL_OPTIONS DOTNET_STARTUP_HOOKS \
    COR_PROFILER_PATH CORECLR_PROFILER_PATH PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH \
    LUA_CPATH PYTHONWARNINGS EXINIT VIMINIT RUSTFMT CLIPPY_DRIVER LESSKEY LESSKEYIN \
    LESSKEY_CONTENT MORE M2_HOME MAVEN_HOME MAVEN_ARGS GRADLE_HOME GRADLE_USER_HOME \
    CMAKE_TOOLCHAIN_FILE CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER \
    CMAKE_GENERATOR_INSTANCE BUNDLE_GEMFILE NODE_OPTIONS_FILE PERL_MM_OPT PERL_MB_OPT \
    PKG_CONFIG COMPILER_PATH GCC_EXEC_PREFIX SBT_OPTS JVM_OPTS LEIN_JVM_OPTS ANT_OPTS ANT_ARGS \
    HARNESS_PERL_SWITCHES HARNESS_PERL PROVE_ARGS TS_NODE_COMPILER TS_NODE_REQUIRE \
    BAZEL_SH BAZEL_REAL KOTLIN_COMPILER \
    SCALA_HOME KOTLIN_HOME ANT_HOME SBT_HOME GHCRTS DOTNET_ROOT MSBUILDSDKSPATH \
    CARGO_BUILD_RUSTDOC CARGO_UNSTABLE_CONFIG_INCLUDE CONFIG_SHELL CONFIG_SITE \
    MAKE MAKEOVERRIDES GEM_HOME GEM_PATH R_PROFILE R_PROFILE_USER R_ENVIRON R_HOME \
    JULIA_LOAD_PATH JULIA_DEPOT_PATH PERL5SHELL ERL_LIBS OCAMLPATH MSBUILD_EXE_PATH MAVEN_CONFIG \
    BINDGEN_EXTRA_CLANG_ARGS RUSTC_LINKER PYTHONPLATLIBDIR PYTHONEXECUTABLE COREPACK_ROOT \
    COREPACK_NPM_REGISTRY BAZELISK_BASE_URL COMPOSER_HOME";

/// Names whose value is a place that tools write to: a write like any other.
pub(in crate::guard) const FOLDERS: &str = "CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR CARGO_BUILD_BUILD_DIR CARGO_INSTALL_ROOT \
    COVERAGE_FILE GOCACHE GOMODCACHE GOBIN GOTMPDIR GOCOVERDIR PYTHONPYCACHEPREFIX \
    RUFF_CACHE_DIR MYPY_CACHE_DIR BLACK_CACHE_DIR UV_CACHE_DIR UV_PROJECT_ENVIRONMENT \
    PIP_CACHE_DIR POETRY_CACHE_DIR PRE_COMMIT_HOME XDG_CACHE_HOME XDG_STATE_HOME SCCACHE_DIR \
    CCACHE_DIR LLVM_PROFILE_FILE RUSTC_LOG_OUTPUT NODE_V8_COVERAGE NODE_COMPILE_CACHE \
    JEST_JUNIT_OUTPUT_DIR JEST_JUNIT_OUTPUT_FILE ESLINT_CACHE_LOCATION PYTEST_DEBUG_TEMPROOT \
    GRADLE_RO_DEP_CACHE BUNDLE_PATH MIX_BUILD_PATH MIX_DEPS_PATH DENO_DIR PUB_CACHE \
    TURBO_CACHE_DIR PLAYWRIGHT_HTML_REPORT TF_DATA_DIR TOX_WORK_DIR JEST_JUNIT_OUTPUT \
    POETRY_VIRTUALENVS_PATH NUGET_PACKAGES INSTA_WORKSPACE_ROOT";

/// Beginnings of names that are refused.
const DENIED_PREFIXES: &str = "LD_ DYLD_ GIT_ SSH_ GPG_ BASH_FUNC_ CARGO_TARGET_ CARGO_ALIAS_ CARGO_BUILD_RUSTC \
    CARGO_REGISTRIES_ CARGO_REGISTRY_ CARGO_SOURCE_ CARGO_HTTP_ CARGO_NET_ NPM_CONFIG_ YARN_ PNPM_ COPILOT_ \
    RALPH_ ORIGINAL_XDG_";

/// Beginnings of names that programs read in capitals and in small letters alike. Every
/// other name in small letters is a variable of the script's own.
const ANY_CASE: &[&str] = &["NPM_CONFIG_", "PNPM_CONFIG_", "YARN_"];

/// Variables whose value bash evaluates as arithmetic as soon as they are set.
const COUNTERS: &str = "RANDOM SRANDOM SECONDS OPTIND HISTSIZE HISTFILESIZE HISTCMD TMOUT COLUMNS LINES LINENO \
    FUNCNEST BASH_COMPAT EPOCHSECONDS CHILD_MAX";

/// Exceptions: harmless values of refused names.
const HARMLESS: &[(&str, &[&str])] = &[
    ("PAGER", &["cat", ""]),
    ("GIT_PAGER", &["cat", ""]),
    ("GH_PAGER", &["cat", ""]),
    ("BAT_PAGER", &["cat", ""]),
    ("EDITOR", &["true", ":", "cat"]),
    ("GIT_EDITOR", &["true", ":", "cat"]),
    ("GIT_SEQUENCE_EDITOR", &["true", ":"]),
    ("GIT_TERMINAL_PROMPT", &["0", "1"]),
    ("GIT_OPTIONAL_LOCKS", &["0", "1"]),
    ("PYTHONWARNINGS", &["ignore", "default", "error", "always", "once"]),
    ("CARGO_NET_OFFLINE", &["true", "1"]),
    ("MAKEFLAGS", &["-j", "-j1", "-j2", "-j4", "-j8", "-s"]),
    ("GOPROXY", &["off"]),
];

/// Names whose value names compilers.
const COMPILERS: &str = "CC CXX LD AR NM RANLIB HOSTCC CPP FC";
const KNOWN_COMPILERS: &str = "gcc g++ cc c++ clang clang++ ld lld mold ar nm ranlib cpp gfortran";

/// Whether a word is one of the words of a string.
fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Whether a text is a variable with a command in its subscript: wherever bash expects a
/// number, it runs that, in this call or in a later one of the same shell.
fn runs_in_arithmetic(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| {
        let named = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let inside = text[at..].split(']').next().unwrap_or_default();
        named && (inside.contains("$(") || inside.contains('`'))
    })
}

impl Judge<'_> {
    /// Judges an assignment in front of a command: what it could make run, and where it makes
    /// tools write.
    pub(in crate::guard) fn assigned(
        &mut self,
        env: &Env,
        name: &str,
        value: &ShellValue,
    ) -> Result<(), Denial> {
        check(name, value)?;
        if has(FOLDERS, name) && value.text() != Some("") {
            self.write_value(env, value, WriteKind::Change)?;
        }
        Ok(())
    }
}

/// The check that the value of a variable has to pass, if it needs one.
fn check_of(upper: &str) -> Option<fn(&str) -> bool> {
    match upper {
        "NODE_OPTIONS" => Some(|text| {
            text.split_whitespace().all(|word| {
                [
                    "--max-old-space-size=",
                    "--max_old_space_size=",
                    "--experimental-vm-modules",
                    "--no-warnings",
                    "--trace-",
                    "--unhandled-rejections=",
                    "--enable-source-maps",
                    "--experimental-strip-types",
                    "--no-deprecation",
                    "--openssl-legacy-provider",
                    "--no-experimental-",
                ]
                .iter()
                .any(|known| word.starts_with(known))
            })
        }),
        "GOFLAGS" => Some(|text| {
            text.split_whitespace().all(|word| {
                ["-mod=", "-count=", "-race", "-tags=", "-v", "-short", "-buildvcs=", "-trimpath"]
                    .iter()
                    .any(|known| word.starts_with(known))
            })
        }),
        "RUSTFLAGS"
        | "RUSTDOCFLAGS"
        | "CARGO_ENCODED_RUSTFLAGS"
        | "CARGO_BUILD_RUSTFLAGS"
        | "CARGO_BUILD_RUSTDOCFLAGS"
        | "CARGO_HOST_RUSTFLAGS" => Some(|text| {
            !["linker", "runner", "load", "plugin", "link-arg"].iter().any(|bad| text.contains(bad))
        }),
        "PYTEST_ADDOPTS" => {
            Some(|text| !text.contains("-p") && !text.contains("-c") && !text.contains("--root"))
        }
        // A program by its name, or the machine's own.
        "PROTOC" | "LLVM_CONFIG" | "CUDACXX" | "PHP_BINARY" | "UV_PYTHON" | "RC" | "ASM" => {
            Some(|text| {
                let own = ["/usr/", "/opt/"].iter().any(|folder| text.starts_with(folder));
                !text.contains('/') || own && !text.contains("..")
            })
        }
        // A toolchain by its name; a path would be programs of whoever made that folder.
        "RUSTUP_TOOLCHAIN" | "GOTOOLCHAIN" => {
            Some(|text| !text.contains(['/', '\\']) && !text.starts_with('.'))
        }
        "SPEC_OPTS" | "RUBYTESTOPT" | "TESTOPTS" | "JEST_OPTS" | "MOCHA_OPTS" => Some(|text| {
            let loads = |word: &str| {
                ["-r", "--r", "-I", "-O", "--o", "-P", "--conf"]
                    .iter()
                    .any(|bad| word.starts_with(bad))
            };
            !text.split_whitespace().any(loads)
        }),
        // It can name a compiler, as any file of the workspace can.
        "TS_NODE_PROJECT" => Some(|text| !text.starts_with(['/', '~']) && !text.contains("..")),
        "PYTHONPATH" => Some(|text| {
            text.split(':').all(|part| !part.starts_with(['/', '~']) && !part.contains(".."))
        }),
        "LESS" => Some(|text| text.bytes().all(|byte| b"-FRXSiMNenqwrKJ ".contains(&byte))),
        // What stands in its `bin` is run; the system's own is nobody else's to write.
        "JAVA_HOME" | "JDK_HOME" => Some(|text| {
            ["/usr/lib/", "/usr/local/", "/opt/", "/Library/"].iter().any(|at| text.starts_with(at))
                && !text.contains("..")
        }),
        "CFLAGS" | "CXXFLAGS" | "LDFLAGS" | "CPPFLAGS" | "CGO_CFLAGS" | "CGO_CXXFLAGS"
        | "CGO_CPPFLAGS" | "CGO_LDFLAGS" => Some(|text| {
            !["-fplugin", "-wrapper", "-B", "-specs", "-fuse-ld", "-Wl,-dynamic-linker"]
                .iter()
                .any(|bad| text.contains(bad))
        }),
        _ if has(COMPILERS, upper) => Some(|text| {
            has(
                KNOWN_COMPILERS,
                text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '.'),
            )
        }),
        _ => None,
    }
}

/// Denies an assignment that could make another program run.
pub(in crate::guard) fn check(name: &str, value: &ShellValue) -> Result<(), Denial> {
    let capitals = name.to_uppercase();
    let any_case =
        capitals.ends_with("_PROXY") || ANY_CASE.iter().any(|prefix| capitals.starts_with(prefix));
    let upper = if any_case { capitals } else { name.to_owned() };
    let refuse = || {
        Denial::new(
            "env.injection",
            format!("setting {name} can make an allowed program run something else"),
        )
        .instead("run the command without setting it")
    };
    let text = value.text();
    if text.is_some_and(runs_in_arithmetic) {
        return Err(Denial::new(
            "shell.arithmetic",
            format!("arithmetic would run the command in the subscript that {name} is set to"),
        )
        .instead("write such a text to a file with the file tools"));
    }
    let number = |seg: &Seg| match seg {
        Seg::Lit(text) => text.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte)),
        Seg::Token => true,
        Seg::Glob(_) | Seg::Listed(_) | Seg::Any => false,
    };
    if has(COUNTERS, name) && (value.splits || !value.segs.iter().all(number)) {
        return Err(Denial::new(
            "shell.arithmetic",
            format!("bash evaluates what {name} is set to, and that is not known to be a number"),
        )
        .instead("set it to a number, or use a variable of another name"));
    }
    let harmless = HARMLESS
        .iter()
        .any(|(known, values)| *known == upper && text.is_some_and(|text| values.contains(&text)));
    if harmless {
        return Ok(());
    }
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| DENIED.split_whitespace().collect());
    // The ones of their prefix that name a folder, and no program.
    let below = |text: &str| {
        !text.starts_with(['/', '~', '.']) && !text.contains("..") && !text.contains(".git")
    };
    if upper == "CARGO_TARGET_DIR" && text.is_some_and(below) {
        return Ok(());
    }
    // What is absolute is judged where the workspace is known.
    let machine = |text: &str| {
        (text.starts_with('/') && is_system(Path::new(text)))
            || text.starts_with('~')
            || text.contains("..")
    };
    if has(FOLDERS, &upper) && text.is_some_and(machine) {
        let why = format!("{name} would make a tool write outside the workspace");
        return Err(Denial::new("path.outside", why).instead("run the command without setting it"));
    }
    let shows = ["_PAGER", "_EDITOR"].iter().any(|end| upper.ends_with(end));
    if shows
        || NAMES.contains(upper.as_str())
        || DENIED_PREFIXES.split_whitespace().any(|prefix| upper.starts_with(prefix))
    {
        return Err(refuse());
    }
    match (check_of(&upper), text) {
        (None, _) => Ok(()),
        (Some(fine), Some(text)) if fine(text) => Ok(()),
        (Some(_), _) => Err(refuse()),
    }
}
