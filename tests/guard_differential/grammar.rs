//! Lines of bash: commands of a small grammar, whose words are honest and hostile in equal parts,
//! and labelled lines with words of that grammar put into them.

use std::path::Path;

/// `SplitMix64`: small, and the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % (limit.max(1) as u64)).unwrap_or_default()
    }

    fn one<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Paths that a line may name.
const HONEST: &[&str] = &[
    "README.md",
    "src/a.txt",
    "src/b.txt",
    "src",
    ".",
    "./src/",
    "tests/t.sh",
    "docs/new.md",
    "build/out.txt",
    "target/log",
    "src/*.txt",
    "*.md",
    "$PWD/src/a.txt",
    "\"$(pwd)\"/src/a.txt",
    "$(nproc)",
    "HEAD@{0}",
    "tests",
    "data.csv",
    "tasks/demo/progress.md",
    "sub/deep/c.txt",
    "sub",
    "src/new.txt",
    "with\\ space.txt",
    "'with space.txt'",
    "-",
    "$TMPDIR/x",
    "HEAD",
    "HEAD~1",
    "HEAD:README.md",
];
const HOSTILE: &[&str] = &[
    "../outside/kept.txt",
    "../outside",
    "..",
    "$PWD/../outside/kept.txt",
    "$(pwd)/../outside/kept.txt",
    "$(pwd)/.env",
    "build/../src/a.txt",
    "$?.env",
    "$CI",
    "src/../../outside/kept.txt",
    ".env",
    "./.env",
    ".en?",
    ".e*",
    "'.env'",
    ".\"env\"",
    ".e\\nv",
    "src/../.env",
    "config/.env.local",
    "HEAD:.env",
    ":.env",
    "link/kept.txt",
    "link",
    "link-file",
    "src/up/kept.txt",
    ".git/config",
    ".git",
    ".git/HEAD",
    ".git/hooks/pre-commit",
    "\".git\"/config",
    ".gi[t]/config",
    "tasks/demo/TASK.md",
    "tasks/demo",
    "tasks/demo/guardrails.md",
    "tasks/*/TASK.md",
    ".github/hooks/ralph.json",
    ".github/hooks",
    ".ralph/config.toml",
    ".ralph",
    "~/.bashrc",
    "~",
    "$HOME/.bashrc",
    "${HOME}/.ssh/id_rsa",
    "~/.ssh/id_rsa",
    "/etc/passwd",
    "/proc/self/environ",
    "/dev/tcp/127.0.0.1/9",
    "$DEPLOY_TOKEN",
    "${DEPLOY_TOKEN}",
    "\"$DEPLOY_TOKEN\"",
    "@.env",
    "-f.env",
    "--file=.env",
    "-o../outside/x",
    "{.env,README.md}",
    "$(echo .env)",
    "`echo .env`",
    "$'\\x2eenv'",
    "*",
    ".*",
    "~+/../outside/kept.txt",
    "~root",
    "$OLDPWD",
    "$x",
    "$IFS",
    "-rf",
    "--",
    "-i",
    "-e",
    "x=../outside/kept.txt",
    "dir-of-links/l",
    "dir-of-links",
    "dir-of-links/*",
    "--output=../outside/kept.txt",
];

/// Commands; `@` is a path, `#` a number, and `^` a whole further command.
const COMMANDS: &[&str] = &[
    "cat @",
    "cat @ @",
    "FILE=@; cat \"$FILE\"",
    "out=@ && cat $out",
    "export CI=@ LANG=@; cat @",
    "COVERAGE_FILE=@ CARGO_TARGET_DIR=@ ls",
    "RUSTFLAGS=@ ls",
    "tar tf @",
    "tar czf @ @",
    "git hash-object @",
    "git apply --stat @",
    "git blame -L '/a/,+#' @",
    "git log -L '/a/,+#:src/a.txt' @",
    "git notes list @",
    "find @ -name '*.txt' -not -path @ -exec cat {} +",
    "find @ -newer @ -name @ -exec tail -# {} \\;",
    "[ @ @ ] && cat @",
    "date -d @ +%F",
    "ls > @",
    "sed -n #p @ > @",
    "head -n # @",
    "tail -# @",
    "wc -l @",
    "ls -la @",
    "ls @",
    "tac @",
    "nl @",
    "grep -rn a @",
    "grep a @",
    "grep -f @ @",
    "grep -r --include=@ a .",
    "rg a @",
    "find @ -name @",
    "find @ -type f",
    "find @ -exec cat {} +",
    "find @ -delete",
    "find @ -newer @",
    "find -L @ -type f",
    "sort @",
    "sort -o @ @",
    "uniq @ @",
    "cut -d, -f1 @",
    "tr a b < @",
    "sed -n 1p @",
    "sed s/a/b/ @",
    "sed -i s/a/b/ @",
    "sed -i '1d' @",
    "sed 's/a/b/w @' @",
    "sed -n '1r @' README.md",
    "sed -e '1e cat @' README.md",
    "awk '{print $1}' @",
    "awk '{print > \"@\"}' README.md",
    "awk -f @ @",
    "diff @ @",
    "cmp @ @",
    "comm @ @",
    "echo a",
    "echo @",
    "echo a > @",
    "echo a >> @",
    "printf '%s\\n' @ > @",
    "printf %s a > @",
    ": > @",
    "> @",
    "true > @",
    "cat < @",
    "cat <> @",
    "cat > @ <<EOF\na\nEOF",
    "cat >> @ <<'EOF'\nb $x\nEOF",
    "tee @ < @",
    "echo a | tee @",
    "echo a | tee -a @ > /dev/null",
    "echo @ | xargs cat",
    "ls @ | xargs cat",
    "xargs -a @ cat",
    "cp @ @",
    "cp -r @ @",
    "cp -t @ @",
    "mv @ @",
    "mv -t @ @",
    "ln -s @ @",
    "ln @ @",
    "mkdir -p @",
    "touch @",
    "chmod +x @",
    "chmod 600 @",
    "rm @",
    "rm -rf @",
    "rmdir @",
    "truncate -s 0 @",
    "dd if=@ of=@",
    "install @ @",
    "tar cf @ @",
    "tar xf @",
    "base64 @",
    "xxd @",
    "od -c @",
    "strings @",
    "file @",
    "stat @",
    "realpath @",
    "readlink -f @",
    "du -sh @",
    "tree @",
    "less @",
    "basename @",
    "dirname @",
    "md5sum @",
    "sha256sum @",
    "sha256sum -c @",
    "split @ @",
    "paste @ @",
    "join @ @",
    "fold -w # @",
    "column -t @",
    "jq . @",
    "test -f @",
    "[ -s @ ]",
    "cd @",
    "cd @ && ^",
    "cd @; ^",
    "(cd @ && ^)",
    "pushd @",
    "git status --short",
    "git diff @",
    "git diff --no-index @ @",
    "git log -n # @",
    "git log --output=@",
    "git show @",
    "git show HEAD:@",
    "git add @",
    "git add -A",
    "git add -f @",
    "git commit -qm x",
    "git commit -qam x",
    "git commit -qF @",
    "git commit -m x @",
    "git mv @ @",
    "git rm @",
    "git restore @",
    "git restore --staged @",
    "git reset @",
    "git checkout @",
    "git checkout -- @",
    "git stash",
    "git config user.name x",
    "git -c core.pager=@ log",
    "git -C @ status",
    "git grep a @",
    "git grep --no-index a @",
    "git blame @",
    "git ls-files @",
    "git cat-file -p @",
    "git apply @",
    "git archive -o @ HEAD",
    "git bundle create @ HEAD",
    "git tag x",
    "git branch x",
    "git hash-object -w @",
    "git --git-dir=@ log",
    "git diff --output @",
    "git format-patch -o @ -1",
    "git rev-parse HEAD",
    "git worktree add @",
    "env",
    "printenv",
    "set",
    "export -p",
    "declare -p",
    "env -u HOME ^",
    "env X=@ ^",
    "timeout # ^",
    "nice ^",
    "nohup ^",
    "time ^",
    "command ^",
    "exec ^",
    "builtin ^",
    "eval '^'",
    "bash -c '^'",
    "sh -c \"^\"",
    "bash @",
    "sh @",
    "./@",
    "source @",
    ". @",
    "x=@; ^",
    "x=@ ^",
    "export x=@; ^",
    "read x < @; echo $x",
    "for f in @; do ^; done",
    "for f in @ @; do cat \"$f\"; done",
    "for f in src/*; do echo a > \"$f\"; done",
    "while read -r l; do ^; done < @",
    "if ^; then ^; fi",
    "{ ^; }",
    "( ^ )",
    "! ^",
    "^ || true",
    "f() { ^; }; f",
    "case a in a) ^;; esac",
    "trap '^' EXIT",
    "alias ls='^'; ls",
    "python3 @",
    "perl -ne print @",
    "make -f @",
    "stdbuf -o0 ^",
    "sleep 0 && ^",
    "^ 2> @",
    "^ &> @",
    "^ >| @",
    "^ 2>&1 | tail -n #",
    "^ > @ 2>&1",
    "^ < @",
    "^ <<< @",
    "^ &\nwait",
];

/// How commands follow each other.
const JOINTS: &[&str] = &[" && ", "; ", " | ", " || ", "\n", " & "];

/// Programs whose labelled lines are worth mutating: the others are not in the tree's sandbox.
const PLAIN: &[&str] = &[
    "cat", "ls", "grep", "find", "sed", "awk", "sort", "cut", "tr", "wc", "head", "tail", "echo",
    "printf", "cp", "mv", "mkdir", "touch", "git", "diff", "tee", "cd", "for", "test", "[",
    "chmod", "bash", "sh", "env", "timeout", "basename", "stat", "du", "xargs", "tar", "base64",
    "od", "rg", "jq", "ln", "rm", "uniq", "comm", "paste", "file", "nl", "readlink",
];

pub(crate) struct Grammar {
    dice: Dice,
    labelled: Vec<String>,
}

impl Grammar {
    pub(crate) fn new(seed: u64) -> Self {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
        let own = std::fs::read_to_string(corpus.join("lines.txt")).expect("the corpus");
        let own = own.lines().filter_map(|line| line.strip_prefix(['+', '-', '!']));
        let own = own.map(|line| line.trim_start().replace("\\n", "\n"));
        let team = std::fs::read_to_string(corpus.join("redteam.jsonl")).expect("the corpus");
        let team = team.lines().filter_map(|line| {
            let case: serde_json::Value = serde_json::from_str(line).expect("JSON");
            case["command"].as_str().filter(|line| line.len() < 300).map(str::to_owned)
        });
        let plain = |line: &String| {
            let first = line.split_whitespace().next().unwrap_or_default();
            PLAIN.contains(&first)
        };
        Self { dice: Dice(seed), labelled: own.chain(team).filter(plain).collect() }
    }

    /// One line.
    pub(crate) fn line(&mut self) -> String {
        if self.dice.chance(35) {
            return self.mutated();
        }
        let mut line = self.command(3);
        while self.dice.chance(25) {
            line.push_str(self.dice.one(JOINTS));
            line.push_str(&self.command(2));
        }
        line
    }

    fn command(&mut self, depth: usize) -> String {
        let shape = self.dice.one(COMMANDS);
        let mut line = String::new();
        for c in shape.chars() {
            match c {
                '@' => line.push_str(&self.path()),
                '#' => line.push_str(self.dice.one(&["1", "3", "5", "0", "-1"])),
                '^' if depth > 0 => line.push_str(&self.command(depth - 1)),
                '^' => line.push_str("true"),
                c => line.push(c),
            }
        }
        line
    }

    fn path(&mut self) -> String {
        let path =
            if self.dice.chance(65) { self.dice.one(HONEST) } else { self.dice.one(HOSTILE) };
        match self.dice.below(12) {
            0 => format!("\"{path}\""),
            1 => format!("./{path}"),
            2 => format!("{path}/"),
            _ => path.to_owned(),
        }
    }

    /// A labelled line with one or two of its words replaced, doubled, or left out.
    fn mutated(&mut self) -> String {
        let at = self.dice.below(self.labelled.len());
        let line = self.labelled[at].clone();
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for _ in 0..=self.dice.below(2) {
            let at = self.dice.below(words.len());
            match self.dice.below(5) {
                0 => words.insert(at, self.path()),
                1 if words.len() > 1 => drop(words.remove(at)),
                2 => words.insert(at, self.dice.one(JOINTS).to_owned()),
                3 => words.insert(at, words[at].clone()),
                _ => words[at] = self.path(),
            }
        }
        words.join(" ")
    }
}
