//! The programs that read files and print, as data.

use super::spec::Does::{self, Data, Reads, Refused, Tree, Writes};
use super::spec::Spec;

/// What the operands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::guard) enum Operands {
    /// Files whose content is shown.
    Files,
    /// Files and whole folders whose content is shown.
    Trees,
    /// Files of which only name, size or a sum is shown.
    Names,
    /// A pattern or filter, then files.
    PatternThenFiles,
    /// The second is written.
    ThenOutput,
    /// No files.
    Data,
}

pub(in crate::guard) struct Reader {
    pub(in crate::guard) names: &'static str,
    pub(in crate::guard) spec: Spec,
    pub(in crate::guard) operands: Operands,
    /// Prints some of the lines it gets on standard input.
    pub(in crate::guard) filter: bool,
}

pub(in crate::guard) const RUNS: &str = "runs a program";

pub(in crate::guard) const READERS: &[Reader] = &[
    Reader {
        names: "cat tac nl rev tsort zcat bzcat xzcat fold fmt expand unexpand column colrm pr less more \
            batcat strings look",
        spec: Spec::open(&[
            ("-w --width -s -c -n -t --tabs -N", Data),
            ("-o -O --log-file --LOG-FILE", Refused("writes a log file")),
            ("-k --lesskey-file", Refused("reads key bindings")),
        ]),
        operands: Operands::Files,
        filter: false,
    },
    Reader {
        names: "head tail ghead gtail",
        spec: Spec::open(&[(
            "-n --lines -c --bytes -s --sleep-interval --pid --max-unchanged-stats",
            Data,
        )]),
        operands: Operands::Files,
        filter: true,
    },
    Reader {
        names: "sort gsort",
        spec: Spec::open(&[
            ("-k --key -t --field-separator -S --buffer-size --parallel --sort --batch-size", Data),
            ("-o --output", Writes),
            ("-T --temporary-directory", Refused("writes temporary files elsewhere")),
            ("--compress-program", Refused(RUNS)),
            ("--files0-from", Refused("reads files that are not named here")),
            ("--random-source", Reads),
        ]),
        operands: Operands::Files,
        filter: true,
    },
    Reader {
        names: "uniq",
        spec: Spec::open(&[("-f --skip-fields -s --skip-chars -w --check-chars", Data)]),
        operands: Operands::ThenOutput,
        filter: true,
    },
    Reader {
        names: "cut paste tr join comm",
        spec: Spec::open(&[(
            "-d --delimiter --delimiters -f --fields -c --characters -b --bytes --output-delimiter -t \
                -j -o -a -e -v",
            Data,
        )]),
        operands: Operands::Files,
        filter: false,
    },
    Reader {
        names: "wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum md5 shasum du \
            df ls gls exa eza lsd stat file realpath readlink tokei sloccount",
        spec: Spec::open(&[
            ("--files0-from", Refused("reads files that are not named here")),
            ("--files-from", Reads),
            ("-c --check", Does::FlagRefused("reads the files a list names")),
            ("-C --compile", Does::FlagRefused("writes a compiled file")),
            ("-f", Data),
        ]),
        operands: Operands::Names,
        filter: false,
    },
    Reader {
        names: "cloc",
        spec: Spec::closed(
            &[
                (
                    "--exclude-dir --exclude-ext --exclude-lang --include-ext --include-lang --match-d \
                    --match-f --not-match-d --not-match-f --max-file-size --timeout",
                    Data,
                ),
                ("--out --report-file --ignored --counted --found", Writes),
                ("--list-file --exclude-list-file", Reads),
            ],
            "--by-file --by-file-by-lang --by-percent --csv --json --md --xml --yaml --quiet --git \
            --diff --sum-one --hide-rate --progress-rate --fullpath --skip-uniqueness --version --help \
            --no-autogen --autoconf",
        ),
        operands: Operands::Data,
        filter: false,
    },
    Reader {
        names: "scc",
        spec: Spec::open(&[
            (
                "-f --format -s --sort -i --include-ext -x --exclude-ext -M --not-match --exclude-dir",
                Data,
            ),
            ("-o --output", Writes),
            ("--format-multi", Refused("writes files")),
        ]),
        operands: Operands::Data,
        filter: false,
    },
    Reader {
        names: "tree",
        spec: Spec::open(&[
            ("-L -P -I --filelimit --charset --sort -H -T --timefmt", Data),
            ("-o", Writes),
            ("--fromfile --gitfile --infofile", Reads),
            ("-R", Does::FlagRefused("writes files")),
        ]),
        operands: Operands::Names,
        filter: false,
    },
    Reader {
        names: "diff cmp colordiff gdiff icdiff delta",
        spec: Spec::open(&[
            (
                "-U --unified -C --context -I --ignore-matching-lines -F --show-function-line -x \
                --exclude -S --starting-file -W --width -L --label -D --ifdef -n --bytes -i \
                --line-format --color",
                Data,
            ),
            ("-X --exclude-from --from-file --to-file", Reads),
            ("--pager", Refused(RUNS)),
        ]),
        operands: Operands::Trees,
        filter: false,
    },
    Reader {
        names: "grep egrep fgrep ggrep zgrep",
        spec: Spec::open(&[
            (
                "-e --regexp -m --max-count -A --after-context -B --before-context -C --context -d \
                --directories -D --devices --include --exclude --exclude-dir --label --binary-files \
                --color --colour --group-separator",
                Data,
            ),
            ("-f --file --exclude-from", Reads),
        ]),
        operands: Operands::PatternThenFiles,
        filter: true,
    },
    Reader {
        names: "rg ripgrep ag ack",
        spec: Spec::open(&[
            (
                "-e --regexp -m --max-count -A --after-context -B --before-context -C --context -g --glob \
                --iglob -t --type -T --type-not -j --threads -M --max-columns -d --max-depth --maxdepth \
                --sort --sortr --color --colors -r --replace -E --encoding --engine --max-filesize \
                --path-separator --type-add --context-separator --dfa-size-limit --regex-size-limit \
                --field-match-separator --ignore --ignore-dir -G",
                Data,
            ),
            ("-f --file --ignore-file", Reads),
            ("--pre --pre-glob --hostname-bin --pager", Refused(RUNS)),
            ("--ackrc", Refused("reads a configuration")),
            ("-z --search-zip", Does::FlagRefused(RUNS)),
        ]),
        operands: Operands::PatternThenFiles,
        filter: true,
    },
    Reader {
        names: "jq gojq jaq",
        spec: Spec::open(&[
            ("-f --from-file", Reads),
            ("--indent", Data),
            ("-L --library-path", Refused("loads modules")),
        ]),
        operands: Operands::PatternThenFiles,
        filter: false,
    },
    Reader {
        names: "yq",
        spec: Spec::open(&[
            (
                "-i --inplace --in-place",
                Does::FlagRefused("changes files in place; use the edit tool"),
            ),
            ("-s --split-exp", Refused("writes files")),
            ("-p -o --input-format --output-format -I", Data),
            ("--from-file", Reads),
        ]),
        operands: Operands::PatternThenFiles,
        filter: false,
    },
    Reader {
        names: "bat",
        spec: Spec::open(&[
            (
                "-l --language -r --line-range -H --highlight-line --style --theme --color --paging \
                --wrap --tabs --terminal-width -m --map-syntax",
                Data,
            ),
            ("--pager", Refused(RUNS)),
            ("--config-dir", Refused("reads a configuration")),
        ]),
        operands: Operands::Files,
        filter: false,
    },
    Reader {
        names: "od xxd hexdump hd base64 base32 uuencode",
        spec: Spec::open(&[
            ("-A -t -N -j -w -c -l -s -g -n -e -i -S -b", Data),
            ("-f", Reads),
            ("-o --output", Writes),
        ]),
        operands: Operands::ThenOutput,
        filter: false,
    },
    Reader {
        names: "xmllint",
        spec: Spec::open(&[
            ("-o --output", Writes),
            ("--xpath --encode --maxmem --pretty --pattern --stream", Data),
            ("--schema --relaxng --schematron --dtdvalid", Reads),
            (
                "--path --catalogs --loaddtd --dtdattr",
                Refused("reads files that are not named here"),
            ),
            (
                "--noent --xinclude --valid",
                Does::FlagRefused("reads the files that a document names"),
            ),
            ("--shell", Does::FlagRefused("reads commands")),
        ]),
        operands: Operands::Files,
        filter: false,
    },
    Reader {
        names: "nm objdump readelf size otool c++filt rustfilt ldd",
        spec: Spec::open(&[
            ("-j --start-address --stop-address", Data),
            ("--plugin", Refused(RUNS)),
        ]),
        operands: Operands::Files,
        filter: false,
    },
    Reader {
        names: "fd fdfind",
        spec: Spec::open(&[
            (
                "-e --extension -t --type -d --max-depth --min-depth -E --exclude --changed-within \
                --changed-before -S --size -c --color -j",
                Data,
            ),
            ("-g", Does::Data),
            ("--search-path --base-directory", Tree),
            ("--ignore-file", Reads),
            ("-x --exec -X --exec-batch", Refused(RUNS)),
        ]),
        operands: Operands::PatternThenFiles,
        filter: false,
    },
    Reader {
        names: "tar bsdtar gtar",
        spec: Spec::closed(&[("-f --file", Reads)], "-t -v -z -j -J --list --verbose --gzip"),
        operands: Operands::Data,
        filter: false,
    },
];
