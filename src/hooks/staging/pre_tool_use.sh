if [ -z "$program" ]; then
    printf '%s\n' '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: ralph-copilot is not found, so nobody can decide this call. Nothing ran.","message":"BLOCKED: ralph-copilot is not found, so nobody can decide this call. Nothing ran."}'
    exit 0
fi
# The program answers with one JSON object, or with nothing where nobody decides.
if answer=$(AMPLIHACK_HOOK_ENGINE=@ENGINE@ "$program" -C "$root" hook preToolUse); then
    printf '%s\n' "${answer:-"{}"}"
elif [ -n "$answer" ]; then
    printf '%s\n' "$answer"
else
    printf '%s\n' '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: ralph-copilot failed, so nobody has decided this call. Nothing ran.","message":"BLOCKED: ralph-copilot failed, so nobody has decided this call. Nothing ran."}'
fi
