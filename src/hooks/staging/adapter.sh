# Adapter from Copilot hooks to Claude hooks: copilot-adapter.sh <preToolUse|postToolUse>
if [ -n "$program" ]; then
    exec "$program" -C "$root" hook --adapter "$@"
fi
echo "copilot-adapter.sh: ralph-copilot was not found" >&2
if [ "${1:-}" = postToolUse ]; then
    exit 0
fi
printf '%s\n' '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: ralph-copilot was not found, so this call cannot be checked. Nothing ran.","message":"BLOCKED: ralph-copilot was not found, so this call cannot be checked. Nothing ran."}'
