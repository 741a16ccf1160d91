#!/usr/bin/env bash
# libgit2 ignores `includeIf "hasconfig:remote.*.url:…"`, which git has known since 2.36. A user who
# tells work from private repositories that way has another identity in every program that commits
# through libgit2, and neither side says so.
# For a run: docs/repository.md, the identity comes from git.
#
# Seen on 2026-11-27 with pygit2 1.21.0 (libgit2 1.9.7) from PyPI and git 2.47.3:
#   git: dev@work.example.org
#   libgit2: dev@home.example.org
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export HOME=$dir XDG_CONFIG_HOME=$dir/xdg GIT_CONFIG_NOSYSTEM=1
unset GIT_CONFIG_GLOBAL
python3 -m venv tools
tools/bin/pip -q install pygit2==1.21.0
cat >.gitconfig <<'END'
[user]
	name = Dev
	email = dev@home.example.org
[includeIf "hasconfig:remote.*.url:https://git.example.org/**"]
	path = work.inc
END
printf '[user]\n\temail = dev@work.example.org\n' >work.inc
git init -q repo
git -C repo remote add origin https://git.example.org/team/repo.git
git --version
told=$(git -C repo config user.email)
read=$(tools/bin/python -c '
import pygit2
print(pygit2.Repository("repo").config["user.email"])')
tools/bin/python -c 'import pygit2; print("pygit2", pygit2.__version__, "libgit2", pygit2.LIBGIT2_VERSION)'
echo "git: $told"
echo "libgit2: $read"
[ "$told" = dev@work.example.org ]
[ "$read" = dev@home.example.org ]
