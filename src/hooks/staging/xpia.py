"""The canonical XPIA hook: ralph-copilot asks xpia-defend, and denies if it cannot."""

import json
import os
import shutil
import sys

PROGRAM = @PROGRAM@


def main():
    known = os.path.isfile(PROGRAM) and os.access(PROGRAM, os.X_OK)
    program = PROGRAM if known else shutil.which("ralph-copilot")
    try:
        if program is None:
            raise OSError("ralph-copilot was not found")
        os.execv(program, [program, "hook", "xpia", *sys.argv[1:]])
    except (OSError, ValueError) as error:
        reason = f"BLOCKED: XPIA: {error}. Nothing ran."
        denial = {
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
            "message": reason,
        }
        print(json.dumps(denial))


if __name__ == "__main__":
    main()
