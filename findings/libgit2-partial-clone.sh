#!/usr/bin/env bash
# libgit2 opens a partial clone without a word, but does not fetch the objects that it lacks: the
# same commit that `git show` prints is "object not found" for it, as if the repository were
# damaged. Nothing in the error says "partial clone".
# For a run: docs/repository.md.
#
# Seen on 2026-11-27 with pygit2 1.21.0 (libgit2 1.9.7) from PyPI and git 2.47.3:
#   pygit2: KeyError for the blob of the first commit
#   git: the same blob has 6 bytes
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv tools
tools/bin/pip -q install pygit2==1.21.0
git init -q -b main origin
git -C origin config uploadpack.allowFilter true
git -C origin config uploadpack.allowAnySHA1InWant true
for text in first second; do
  echo "$text" >origin/file.txt
  git -C origin add file.txt
  git -C origin -c user.name=Dev -c user.email=dev@example.org commit -qm "$text"
done
git clone -q --filter=blob:none "file://$dir/origin" clone
blob=$(git -C origin rev-parse HEAD~1:file.txt)
cat >read.py <<'END'
import sys
import pygit2

print("pygit2", pygit2.__version__, "libgit2", pygit2.LIBGIT2_VERSION)
clone = pygit2.Repository("clone")
try:
    clone[sys.argv[1]]
except KeyError as error:
    print("pygit2:", type(error).__name__, "for the blob of the first commit")
else:
    sys.exit("libgit2 fetched the object")
END
git --version
tools/bin/python read.py "$blob"
echo "git: the same blob has $(git -C clone cat-file -s "$blob") bytes"
