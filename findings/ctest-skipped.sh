#!/usr/bin/env bash
# CTest counts a skipped test among the passed ones in its last line. A suite in which nothing ran
# ends with "100% tests passed" and exit code 0; only the list below that line tells.
# For a run: docs/proof.md, a test that did not run proves nothing.
#
# Seen on 2026-11-27 with cmake 4.4.5 from PyPI:
#   100% tests passed out of 2
#   The following tests did not run:
#   	  1 - first (Skipped)
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv tools
tools/bin/pip -q install cmake==4.4.5
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(skipped LANGUAGES NONE)
enable_testing()
foreach(name first second)
  add_test(NAME ${name} COMMAND sh -c "exit 77")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
END
tools/bin/cmake --version | head -1
tools/bin/cmake -S . -B build >/dev/null
status=0
tools/bin/ctest --test-dir build >out.txt 2>&1 || status=$?
cat out.txt
echo "exit $status"
[ "$status" = 0 ]
grep -q '^100% tests passed' out.txt
[ "$(grep -c '(Skipped)' out.txt)" = 2 ]
