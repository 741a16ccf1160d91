//! The tools that build, test, lint and format, as data.

use super::spec::Does::{self, Data, Reads, Refused, Writes};
use super::spec::lists;

/// A tool whose first word says what it does.
pub(in crate::guard) struct Tool {
    pub(in crate::guard) names: &'static str,
    /// Verbs that pass; empty: there are no verbs.
    pub(in crate::guard) verbs: &'static str,
    /// Options that matter, anywhere.
    pub(in crate::guard) options: &'static [(&'static str, Does)],
    /// Whether options are written with one dash.
    pub(in crate::guard) dashed: bool,
}

pub(in crate::guard) const CONFIG: &str = "takes a configuration that can run programs";
pub(in crate::guard) const RUNS: &str = "runs a program";
pub(in crate::guard) const PUBLISH: &str = "deploy publish release push upload install uninstall login logout unpublish postinstall \
            preinstall ship distribute";

pub(in crate::guard) const CARGO: &[(&str, Does)] = &[
    ("--manifest-path --lockfile-path", Reads),
    ("--target-dir --artifact-dir --out-dir -C", Writes),
    ("--config", Refused(CONFIG)),
    ("--index --registry", Refused("names another registry")),
    ("--git", Refused("talks to a remote")),
    (
        "-p --package --features -F --test --bin --example --bench --exclude -j --jobs --profile \
                --target --message-format --color -Z -e --edges -i --invert --format --format-version \
                --filter-platform -E --filter-expr --depth --prefix --test-threads --partition",
        Data,
    ),
];

pub(in crate::guard) const TOOLS: &[Tool] = &[
    Tool {
        names: "cargo",
        verbs: "build b check c test t rustc clippy fmt doc d run r bench tree metadata version help nextest \
            fix locate-project pkgid verify-project insta machete udeps hack miri expand llvm-cov \
            tarpaulin criterion read-manifest sort spellcheck msrv generate-lockfile report \
            llvm-lines bloat modules make deny",
        options: CARGO,
        dashed: false,
    },
    Tool {
        names: "go",
        verbs: "build test vet fmt run list version env doc generate mod tool help work fix",
        options: &[
            ("-exec -toolexec -vettool -compiler -gccgoflags -extld", Refused(RUNS)),
            ("-overlay", Refused(CONFIG)),
            (
                "-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir \
                -pkgdir",
                Writes,
            ),
            ("-modfile -C", Reads),
            ("-w -u", Refused("writes go's settings")),
            (
                "-installsuffix -run -bench -count -timeout -tags -p -parallel -cpu -benchtime -skip -f \
                -mod -covermode -coverpkg -fuzz -fuzztime -ldflags -gcflags -asmflags -shuffle -vet",
                Data,
            ),
        ],
        dashed: true,
    },
    Tool {
        names: "npm pnpm yarn",
        verbs: "test t tst pkg run run-script rum start ls list la ll why explain help lint build typecheck \
            check format fmt tsc jest vitest eslint prettier mocha exec workspace workspaces root \
            prefix bin stylelint biome type-check lint:fix test:unit test:ci compile coverage ava \
            tsd -r recursive turbo nx foreach query config",
        options: &[
            ("--script-shell --node-options --shell --call", Refused(RUNS)),
            ("--registry", Refused("names another registry")),
            ("--userconfig --globalconfig --use-yarnrc", Refused(CONFIG)),
            ("--package", Refused("fetches a package")),
            ("--shell-emulator -w --workspace -F --filter --loglevel", Data),
            ("--prefix -C --dir --cwd", Reads),
        ],
        dashed: false,
    },
    Tool {
        names: "make gmake bmake",
        verbs: "",
        options: &[
            ("-C --directory -I --include-dir", Reads),
            ("-f --file --makefile", Does::Runs),
            ("-j -l -o -W --jobs --load-average", Data),
            ("--eval -E", Refused("runs code that is given inline")),
        ],
        dashed: false,
    },
    Tool {
        names: "pytest py.test",
        verbs: "",
        options: &[
            ("-p", Refused("loads a plugin")),
            ("--pastebin", Refused("talks to the network")),
            ("-c --config-file --rootdir --cov-config --confcutdir", Reads),
            ("--basetemp", Does::Empties),
            ("--junitxml --junit-xml --debug --log-file --result-log --html", Writes),
            (
                "-k -m -n --maxfail --tb -W -r --durations --ignore --deselect --timeout --cov \
                --cov-report --import-mode",
                Data,
            ),
            ("-o --override-ini", Refused(CONFIG)),
            ("--pdbcls", Refused(RUNS)),
        ],
        dashed: false,
    },
    Tool {
        names: "eslint prettier tsc jest vitest mocha ava stylelint biome webpack rollup esbuild \
            next turbo nx tsup swc babel karma cypress standard xo oxlint dprint \
            svelte-check vue-tsc astro ng nuxt tap jasmine tslint rome markdownlint \
            markdownlint-cli2 cspell commitlint knip depcheck madge size-limit tsd parcel textlint \
            htmlhint typedoc tailwindcss",
        verbs: "",
        options: &[
            (
                "--output-file -o --output --out --outDir --outFile --out-dir --outfile --outputFile --cache-location \
                --cacheDirectory --coverageDirectory --tsBuildInfoFile --declarationDir",
                Writes,
            ),
            (
                "--rulesdir --plugin-search-dir --resolve-plugins-relative-to --require --globalSetup \
                --rootDir --rootdir",
                Reads,
            ),
            ("--allow-remove-files", Does::FlagRefused("deletes files")),
        ],
        dashed: false,
    },
    Tool {
        names: "vite playwright",
        verbs: "",
        options: &[("--outDir --output", Does::Empties), ("-c --config", Reads)],
        dashed: false,
    },
    Tool {
        names: "prisma",
        verbs: "validate format generate version",
        options: &[("--schema --config", Reads)],
        dashed: false,
    },
    Tool {
        names: "pint",
        verbs: "",
        options: &[
            ("--config", Reads),
            ("--output-to-file --cache-file", Writes),
            ("--preset --format --diff", Data),
        ],
        dashed: false,
    },
    Tool {
        names: "xcodebuild",
        verbs: "build test build-for-testing test-without-building analyze clean",
        options: &[
            ("-derivedDataPath -resultBundlePath -resultStreamPath -exportPath", Writes),
            ("-project -workspace -xcconfig -testPlan -xctestrun", Reads),
            (
                "-scheme -target -configuration -destination -sdk -arch -jobs -only-testing \
                -skip-testing -maximum-concurrent-test-simulator-destinations -parallel-testing-enabled \
                -enableCodeCoverage -toolchain",
                Data,
            ),
            ("-exportArchive -exportNotarizedApp", Does::FlagRefused("publishes")),
            ("-allowProvisioningUpdates", Does::FlagRefused("talks to the network")),
        ],
        dashed: true,
    },
    Tool {
        names: "mkdocs",
        verbs: "",
        options: &[("-d --site-dir", Does::Empties), ("-f --config-file", Reads)],
        dashed: false,
    },
    Tool {
        names: "ruff black isort flake8 pylint mypy pyright coverage tox nox bandit pycodestyle \
            pydocstyle autopep8 yapf vulture radon basedpyright ty djlint interrogate pyflakes dmypy \
            pytype codespell pyupgrade stubtest",
        verbs: "",
        options: &[
            ("--load-plugins", Refused("loads a plugin")),
            ("--init-hook", Refused("runs code that is given inline")),
            ("--python-executable --pythonpath", Refused(RUNS)),
            ("--output-file -o --output --cache-dir --junit-xml --html-report --workdir", Writes),
            ("--rcfile --config-file --config --settings-path", Reads),
            ("--install-types", Does::FlagRefused("fetches and installs")),
            ("--append-config --override", Refused(CONFIG)),
        ],
        dashed: false,
    },
    Tool {
        names: "gofmt goimports gofumpt staticcheck golangci-lint golint revive gotestsum ginkgo \
            errcheck rustfmt shellcheck shfmt hadolint yamllint actionlint typos taplo clang-format \
            clang-tidy cppcheck cpplint swiftlint swiftformat ktlint detekt checkstyle rubocop \
            standardrb reek brakeman minitest erb_lint prove perltidy perlcritic phpunit \
            phpstan psalm phpcs phpcbf php-cs-fixer pest infection luacheck stylua busted hlint \
            ormolu fourmolu stylish-haskell elm-test elm-format elm tidy vale ec \
            editorconfig-checker buf sqlfluff tflint bats shellspec cucumber behave \
            sphinx-build doxygen ctest ninja just task scons meson waf dialyzer credo",
        verbs: "",
        options: &[
            ("-o --output --out --junitfile --jsonfile", Writes),
            ("--bootstrap --config -C --require", Reads),
            ("-f -d -e -r -t --out-format", Data),
            ("--exec --shell --post-run-command --test-command --build-and-test", Refused(RUNS)),
            ("--eval", Refused("runs code that is given inline")),
            ("--raw-command", Does::FlagRefused(RUNS)),
            ("--set", Refused(CONFIG)),
            ("--net", Does::FlagRefused("talks to the network")),
        ],
        dashed: false,
    },
    Tool {
        names: "rake rspec",
        verbs: "",
        options: &[
            ("-f --rakefile", Does::Runs),
            ("-r --require -I --libdir --default-path -R --rakelibdir -O --options", Reads),
            ("-o --out", Writes),
            ("-e --example -t --tag -P --pattern --format --seed --order", Data),
            (
                "-E --execute-continue --execute --execute-print -p",
                Refused("runs code that is given inline"),
            ),
        ],
        dashed: false,
    },
    Tool {
        names: "mvn mvnw mvnd",
        verbs: "test verify compile package clean validate test-compile install site process-classes \
            integration-test help -v dependency:tree spotless:check spotless:apply checkstyle:check \
            surefire:test failsafe:integration-test fmt:format pmd:check spotbugs:check \
            jacoco:report -version --version initialize",
        options: &[
            ("-s --settings", Refused(CONFIG)),
            ("-f --file", Reads),
            ("-pl --projects -T -P", Data),
            ("-Dexec.executable -Dmaven.ext.class.path -Djvm -DargLine", Refused(RUNS)),
            ("-DaltDeploymentRepository", Refused("publishes")),
        ],
        dashed: true,
    },
    Tool {
        names: "gradle gradlew",
        verbs: "",
        options: &[
            ("-I --init-script -g --gradle-user-home", Refused(CONFIG)),
            ("-p --project-dir -b --build-file -c --include-build", Reads),
            ("--tests -x --exclude-task --max-workers", Data),
            ("--scan", Does::FlagRefused("sends a report")),
        ],
        dashed: false,
    },
    Tool {
        names: "dotnet",
        verbs: "build test format run restore clean msbuild --version --info --list-sdks list vstest sln",
        options: &[
            ("-o --output --results-directory", Writes),
            ("-s -c -f --filter -l --logger -v -d", Data),
            ("--source", Refused("names another registry")),
            ("--configfile", Refused(CONFIG)),
            ("--project --test-adapter-path", Reads),
        ],
        dashed: false,
    },
    Tool {
        names: "bundle bundler",
        verbs: "exec list show check info version --version platform",
        options: &[],
        dashed: false,
    },
    Tool {
        names: "composer",
        verbs: "test run run-script validate show dump-autoload lint check phpstan cs cs-check analyse \
            analyze --version about licenses why",
        options: &[("-d --working-dir", Reads)],
        dashed: false,
    },
    Tool {
        names: "swift zig mix stack cabal dart flutter sbt lein rebar3 gleam nimble dune spago rails \
            bazel bazelisk buck2 pre-commit ant shards haxe hatch django-admin lerna moon \
            pants please clj boot",
        verbs: "build test fmt format compile check analyze lint run spec clean credo dialyzer ct eunit \
            Test testOnly Test/compile assemble query package docs doc version --version ast-check \
            haddock exec xref cover clippy runtest deps deps.tree bench buildifier describe \
            dump-package validate-config routes test:all zeitwerk:check list",
        options: &[
            ("--output_base --output_user_root -o --output", Writes),
            ("--eval -e", Refused("runs code that is given inline")),
            ("--no-start --spawn_strategy", Data),
            ("--run_under -exec --test-cmd --test-cmd-bin", Refused(RUNS)),
            ("--bazelrc", Refused(CONFIG)),
        ],
        dashed: false,
    },
    Tool {
        names: "gcc g++ cc c++ clang clang++ rustc javac ghc ocamlc ocamlopt nasm gfortran kotlinc \
            scalac nim fpc gnat ldc2 dmd protoc flex bison yacc lex",
        verbs: "",
        options: &[
            ("-o -d --out-dir -dumpdir -MF", Writes),
            ("-wrapper -B -fplugin -load --plugin -processorpath -J -pgmF", Refused(RUNS)),
            ("-specs", Refused(CONFIG)),
            ("-Xclang -I -L -l -C --emit --crate-type --edition -cp -classpath", Data),
            ("-include", Reads),
        ],
        dashed: true,
    },
    Tool {
        names: "rustup",
        verbs: "show --version -V which target component toolchain",
        options: &[],
        dashed: false,
    },
];

/// Tools that only look through to what they run: `uv run pytest`.
pub(in crate::guard) const THROUGH: &[(&str, &str)] = &[
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
    ("dune", "exec"),
    ("lerna", "exec"),
    ("pixi", "run"),
    ("nx", "exec"),
    ("tox", "exec"),
    ("tox", "e"),
    ("mise", "exec"),
];

/// Verbs that fetch or install.
pub(in crate::guard) const INSTALLS: &str = "install i in ci add update up upgrade get download fetch sync vendor remove uninstall rm \
            un link dlx create init audit outdated login adduser owner search new tool nuget global \
            import require";

/// Whether a verb fetches or installs.
pub(in crate::guard) fn installs(verb: &str) -> bool {
    lists(INSTALLS, verb)
}

/// Whether a target or a script publishes, by its name.
pub(in crate::guard) fn publishes(target: &str) -> bool {
    let lower = target.to_lowercase();
    let begins = |part: &str| ["publish", "deploy", "upload"].iter().any(|w| part.starts_with(w));
    lower.split([':', '-', '_', '.', '/']).any(|part| lists(PUBLISH, part) || begins(part))
}

/// Whether a target of a database loses what is in it.
pub(in crate::guard) fn destroys(target: &str) -> bool {
    target.split([':', '-', '_']).any(|part| {
        matches!(part, "drop" | "reset" | "fresh" | "refresh" | "wipe" | "purge" | "truncate")
    })
}
