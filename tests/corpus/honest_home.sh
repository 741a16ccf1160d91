# Fills $HOME as a developer's: identity, settings, user-installed tools, and the folder layouts of
# version managers. Their versions lead to the programs of the system.
set -euo pipefail
cd "$HOME"

put() { # put PATH: a program, from standard input
  mkdir -p "$(dirname "$1")"
  { echo '#!/bin/sh' && cat; } >"$1"
  chmod +x "$1"
}
text() { # text PATH: a file, from standard input
  mkdir -p "$(dirname "$1")"
  cat >"$1"
}
link() { # link PROGRAM PATH: a program of the system, if it is there
  mkdir -p "$(dirname "$2")"
  local found
  found=$(PATH=/usr/bin:/bin command -v "$1") || return 0
  ln -s "$found" "$2"
}

text .gitconfig <<'EOF'
[user]
	name = Grace Hopper
	email = grace@example.org
[init]
	defaultBranch = main
[alias]
	last = log -1 --format=%s
[core]
	excludesFile = ~/.config/git/ignore
[filter "lfs"]
	clean = git-lfs clean -- %f
	smudge = git-lfs smudge -- %f
	process = git-lfs filter-process
	required = true
[include]
	path = ~/.config/git/more
EOF
text .config/git/ignore <<<'*.swp'
text .config/git/more <<<$'[pull]\n\tff = only'
text .bashrc <<<'export EDITOR=vi'
text .profile <<<'export FROM_PROFILE=yes'
text .curlrc <<<'silent'
text .inputrc <<<'set bell-style none'
text .psqlrc <<<'\set QUIET on'
text .sqliterc <<<'.headers on'
text .gemrc <<<'gem: --no-document'
text .editorconfig <<<'root = true'
text .config/pip/pip.conf <<<$'[global]\ndisable-pip-version-check = true'
text .config/rustfmt/rustfmt.toml <<<'max_width = 90'
text .config/fd/ignore <<<'*.bak'
text .config/yamllint/config <<<'extends: default'
text .config/ripgrep/config <<<'--sort=path'
text .npmrc <<<$'fund=false\naudit=false\nupdate-notifier=false'
text .m2/settings.xml <<<'<settings><offline>true</offline></settings>'
text .gradle/gradle.properties <<<'org.gradle.caching=true'
text .config/ccache/ccache.conf <<<'max_size = 100M'

# User-installed tools.
put .local/bin/hello-local <<<'echo "local $*"'
put bin/hello-bin <<<'echo "bin $*"'
put go/bin/stringer <<<'echo "stringer $*"'
put .cargo/bin/cargo-hello <<<'shift; echo "cargo hello $*"'
text .cargo/env <<<'export PATH="$HOME/.cargo/bin:$PATH"'
put .local/share/pipx/venvs/fmt/bin/fmt-tool <<<'echo "fmt-tool in $(dirname "$(readlink -f "$0")" | sed "s|$HOME|~|")"'
ln -s ../share/pipx/venvs/fmt/bin/fmt-tool .local/bin/fmt-tool
put .npm-global/lib/node_modules/greet/cli.js <<<'echo "greet $*"'
mkdir -p .npm-global/bin && ln -s ../lib/node_modules/greet/cli.js .npm-global/bin/greet
put tools/protoc-25/bin/protoc <<<'echo "libprotoc 25.0; $(cat "$(dirname "$0")/../include/descriptor.proto")"'
text tools/protoc-25/include/descriptor.proto <<<'syntax = "proto3";'
site=$(PATH=/usr/bin:/bin python3 -c 'import sys; print(".local/lib/python%d.%d/site-packages" % sys.version_info[:2])')
text "$site/usermod.py" <<<'NAME = "a module of this user"'
put .bun/bin/bun <<<'echo 1.1.0'
put .deno/bin/deno <<<'echo deno 1.44.0'
put .volta/bin/volta-shim <<<'exec "$HOME/.volta/tools/image/node/20/bin/node" "$@"'
link node .volta/tools/image/node/20/bin/node
put perl5/bin/ack <<<'echo "ack $*"'
text perl5/lib/perl5/Own.pm <<<'package Own; sub name { "own" } 1;'

# nvm: a shell function, and one folder for each version.
text .nvm/nvm.sh <<'EOF'
nvm() {
  case "$1" in
    use) export PATH="$NVM_DIR/versions/node/v20.11.0/bin:$PATH" && echo "Now using node v20.11.0" ;;
    current) case "$(command -v node)" in "$NVM_DIR"/*) echo v20.11.0 ;; *) echo system ;; esac ;;
    ls) ls "$NVM_DIR/versions/node" ;;
  esac
}
EOF
link node .nvm/versions/node/v20.11.0/bin/node
link npm .nvm/versions/node/v20.11.0/bin/npm
text .nvm/alias/default <<<v20.11.0

# pyenv: shims ask it which version a folder wants.
put .pyenv/bin/pyenv <<'EOF'
version=$(cat .python-version 2>/dev/null || cat "$PYENV_ROOT/version")
case "$1" in
  exec) shift && program=$1 && shift && exec "$PYENV_ROOT/versions/$version/bin/$program" "$@" ;;
  version-name) echo "$version" ;;
  rehash) mkdir -p "$PYENV_ROOT/shims" && touch "$PYENV_ROOT/shims/.pyenv-shim" && rm "$PYENV_ROOT/shims/.pyenv-shim" ;;
esac
EOF
text .pyenv/version <<<3.11.4
put .pyenv/shims/python3.11x <<<'exec "$PYENV_ROOT/bin/pyenv" exec python3.11x "$@"'
link python3 .pyenv/versions/3.11.4/bin/python3.11x

# rbenv, the same way.
put .rbenv/libexec/rbenv <<<'shift; program=$1; shift; exec "$HOME/.rbenv/versions/3.2.2/bin/$program" "$@"'
put .rbenv/shims/ruby32 <<<'exec "$HOME/.rbenv/libexec/rbenv" exec ruby32 "$@"'
link ruby .rbenv/versions/3.2.2/bin/ruby32

# asdf: .tool-versions in HOME.
text .tool-versions <<<'nodejs 20.11.0'
text .asdf/asdf.sh <<<'PATH="$HOME/.asdf/bin:$HOME/.asdf/shims:$PATH"'
put .asdf/bin/asdf <<'EOF'
read -r tool version <"$HOME/.tool-versions"
case "$1" in
  current) echo "$tool $version $HOME/.tool-versions" | sed "s|$HOME|~|" ;;
  exec) shift 2 && exec "$HOME/.asdf/installs/$tool/$version/bin/node" "$@" ;;
esac
EOF
put .asdf/shims/node-asdf <<<'exec "$HOME/.asdf/bin/asdf" exec node-asdf "$@"'
link node .asdf/installs/nodejs/20.11.0/bin/node

# mise: every shim is a link to mise, which looks at its own name.
put .local/bin/mise <<'EOF'
case "$(basename "$0")" in
  mise) echo "mise $*" ;;
  *) exec "$HOME/.local/share/mise/installs/python/3.11/bin/$(basename "$0")" "$@" ;;
esac
EOF
mkdir -p .local/share/mise/shims && ln -s ../../../bin/mise .local/share/mise/shims/python-mise
link python3 .local/share/mise/installs/python/3.11/bin/python-mise
text .config/mise/config.toml <<<$'[tools]\npython = "3.11"'

# sdkman: `current` is a link.
if java=$(PATH=/usr/bin:/bin command -v java); then
  mkdir -p .sdkman/candidates/java/17-tem/bin && ln -s "$java" .sdkman/candidates/java/17-tem/bin/java
  ln -s 17-tem .sdkman/candidates/java/current
fi
text .sdkman/bin/sdkman-init.sh <<<'sdk() { ls "$HOME/.sdkman/candidates"; }'
text .sdkman/etc/config <<<'sdkman_auto_answer=true'

# rustup: a proxy in ~/.cargo/bin that runs the toolchain's program.
text .rustup/settings.toml <<<'default_toolchain = "stable-x"'
put .cargo/bin/rustc-proxy <<'EOF'
toolchain=$(sed -n 's/^default_toolchain = "\(.*\)"/\1/p' "$HOME/.rustup/settings.toml")
exec "$HOME/.rustup/toolchains/$toolchain/bin/rustc-proxy" "$@"
EOF
put .rustup/toolchains/stable-x/bin/rustc-proxy <<<'exec rustc "$@"'

# uv: pythons in its data folder, a cache, and a lock that it writes.
link python3 .local/share/uv/python/cpython-3.11-linux/bin/python3
put .local/bin/uv <<'EOF'
set -e
mkdir -p "$HOME/.cache/uv" && echo used >"$HOME/.cache/uv/.lock"
case "$1 $2" in
  "run python") shift 2 && exec "$HOME/.local/share/uv/python/cpython-3.11-linux/bin/python3" "$@" ;;
  "run "*) shift && exec "$@" ;;
  "python list") ls "$HOME/.local/share/uv/python" ;;
esac
EOF

# conda: found by PATH.
put miniconda3/bin/conda <<<'cat "$HOME/miniconda3/envs/ml/name"'
text miniconda3/envs/ml/name <<<ml

# What is nobody's business.
text .ssh/id_ed25519 <<<'a key'
text Documents/letter.txt <<<'Dear Ada'
text .bash_history <<<'ls'
mkdir -p .cache/pip .gradle/caches .local/state .local/share/applications
