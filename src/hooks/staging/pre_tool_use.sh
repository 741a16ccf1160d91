if [ -z "$program" ]; then
    printf '%s\n' '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: ralph-copilot was not found, so this call cannot be checked. Nothing ran.","message":"BLOCKED: ralph-copilot was not found, so this call cannot be checked. Nothing ran."}'
    exit 0
fi
# The program answers with one JSON object, or with nothing if there is no decision.
if answer=$(AMPLIHACK_HOOK_ENGINE=@ENGINE@ "$program" -C "$root" hook preToolUse); then
    printf '%s\n' "${answer:-"{}"}"
elif [ -n "$answer" ]; then
    printf '%s\n' "$answer"
else
    printf '%s\n' '{"permissionDecision":"deny","permissionDecisionReason":"BLOCKED: ralph-copilot failed, so this call was not checked. Nothing ran.","message":"BLOCKED: ralph-copilot failed, so this call was not checked. Nothing ran."}'
fi
