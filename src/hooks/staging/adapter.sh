# Copilot's hooks for Claude's: copilot-adapter.sh <preToolUse|postToolUse>
if [ -n "$program" ]; then
    exec "$program" -C "$root" hook --adapter "$@"
fi
echo "copilot-adapter.sh: ralph-copilot is not found" >&2
if [ "${1:-}" = postToolUse ]; then
    exit 0
fi
printf '%s\n' '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: ralph-copilot is not found, so nobody can decide this call. Nothing ran.","message":"BLOCKED: ralph-copilot is not found, so nobody can decide this call. Nothing ran."}'
