#!/usr/bin/env bash
# The package fast-agent-acp 0.10.48 of PyPI has no code: its wheel holds metadata and a start
# script for `fast_agent_acp.cli`, a module that no package installs. So `fast-agent-acp` ends with
# "No module named 'fast_agent_acp'". `fast-agent acp`, of the package fast-agent-mcp that it
# depends on, is the program that works. For a run see the row for fast-agent in docs/agents.md.
#
# Seen on 2026-11-28 with Python 3.12:
#   modules in the package: none
#   fast-agent-acp --help: exit 1, ModuleNotFoundError: No module named 'fast_agent_acp'
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check \
  --no-deps 'fast-agent-acp==0.10.48'
echo "fast-agent-acp $("$dir/venv/bin/python" -c 'import importlib.metadata as m; print(m.version("fast-agent-acp"))')"
files=$("$dir/venv/bin/python" -c 'import importlib.metadata as m
print(*(f for f in m.files("fast-agent-acp") if str(f).endswith(".py")), sep="\n")')
echo "modules in the package: ${files:-none}"
status=0
said=$("$dir/venv/bin/fast-agent-acp" --help 2>&1) || status=$?
echo "fast-agent-acp --help: exit $status, ${said##*$'\n'}"
[ -z "$files" ] && [ "$status" = 1 ] && [[ $said == *"No module named 'fast_agent_acp'" ]]
