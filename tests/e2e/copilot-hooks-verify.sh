#!/bin/sh
# The acceptance of the Copilot hooks, from outside: stages them in an empty project and
# calls the adapter as the CLI would.
#
# Usage: copilot-hooks-verify.sh [PROGRAM]     (ralph-copilot in PATH by default)
set -u

program=${1:-ralph-copilot}
project=$(mktemp -d) || exit 1
trap 'rm -rf "$project"' EXIT
cd "$project" || exit 1
adapter=hooks/adapters/copilot-adapter.sh
failed=0

# check NAME COMMAND...: the command must succeed.
check() {
    name=$1
    shift
    if "$@"; then
        printf 'ok      %s\n' "$name"
    else
        printf 'FAILED  %s\n' "$name"
        failed=$((failed + 1))
    fi
}

# call TOOL ARGUMENTS: what the adapter says before a call.
call() {
    printf '{"timestamp":1704614600000,"cwd":"/tmp","toolName":"%s","toolArgs":"%s"}' "$1" "$2" |
        "./$adapter" preToolUse
}

denies() {
    said=$(call "$@") || return 1
    case $said in
        '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: '*) return 0 ;;
    esac
    return 1
}

allows() {
    said=$(call "$@") && [ -z "$said" ]
}

logs() {
    printf '%s' '{"timestamp":1704614700000,"cwd":"/tmp","toolName":"bash","toolArgs":"{}","toolResult":{"resultType":"success"}}' |
        "./$adapter" postToolUse || return 1
    tail -n 1 logs/session-events.jsonl | grep -q '"agent":"copilot"'
}

refuses_type() {
    said=$("./$adapter" "$1" 2>&1 </dev/null)
    [ $? -eq 1 ] || return 1
    case $said in
        *"Unknown hook type: $1"*Usage*) return 0 ;;
    esac
    return 1
}

would_create() {
    "$program" hooks export --dry-run | grep -q 'Would create .github/hooks/hooks.json' &&
        [ ! -e .github ]
}

mounts() {
    grep -q "\"$1\"" .github/hooks/hooks.json
}

check 'a dry run names hooks.json and writes nothing' would_create
check 'the hooks are staged' "$program" hooks install --without-xpia
check 'the adapter can be run' test -x "$adapter"
check 'hooks.json mounts preToolUse' mounts preToolUse
check 'hooks.json mounts postToolUse' mounts postToolUse
check 'rm -rf is denied' denies bash '{\"command\":\"rm -rf /important\"}'
check 'git push --force is denied' denies bash '{\"command\":\"git push --force origin main\"}'
check '.env is denied' denies read '{\"path\":\".env\"}'
check 'ls -la is allowed' allows bash '{\"command\":\"ls -la\"}'
check 'a call is logged as copilot'"'"'s' logs
check 'an unknown type is a usage error' refuses_type invalidHookType
check 'a type in another case is one, too' refuses_type PreToolUse

if [ "$failed" -ne 0 ]; then
    printf '%s checks failed\n' "$failed"
    exit 1
fi
echo 'All tests passed'
