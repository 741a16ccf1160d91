#!/usr/bin/env bash
# `node --test` with a name pattern that matches no test passes, and its summary counts a passed
# test: each file counts as one. Node 20 says the same in other words.
# For a run: docs/proof.md, a test that did not run proves nothing.
#
# Seen on 2026-11-27 with node 24 from npm:
#   tests 1, pass 1, fail 0, exit 0, although the only test of the file fails when it runs
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . node@24.11.1
cat >sum.test.js <<'END'
const test = require("node:test");
const assert = require("node:assert");
test("adds", () => assert.strictEqual(1 + 1, 3));
END
node=$(find node_modules -path '*bin/node' -type f | head -1)
"$node" --version
status=0
"$node" --test --test-reporter=spec --test-name-pattern='no such test' sum.test.js >out.txt || status=$?
cat out.txt
echo "exit $status"
[ "$status" = 0 ]
grep -q 'pass 1' out.txt
