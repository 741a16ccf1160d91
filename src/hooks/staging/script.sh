engine=@ENGINE@
hooks=$root/.claude/tools/amplihack/hooks
rust=
if [ "$engine" = rust ]; then
    rust=$(command -v amplihack-hooks) || rust=
    for folder in .amplihack/bin .cargo/bin; do
        found=${HOME:-}/$folder/amplihack-hooks
        if [ -z "$rust" ] && [ -f "$found" ] && [ -x "$found" ]; then
            rust=$found
        fi
    done
fi

# has SCRIPT SUBCOMMAND: succeeds if the hook exists.
has() {
    [ -f "$hooks/$1" ] || native "$2"
}

# native SUBCOMMAND: succeeds if the Rust engine has the hook.
native() {
    [ -n "$rust" ] && [ -n "$1" ]
}

# run SCRIPT SUBCOMMAND ARGUMENT...: execs the hook.
run() {
    script=$hooks/$1
    subcommand=$2
    shift 2
    if native "$subcommand"; then
        exec "$rust" "$subcommand" "$@"
    fi
    # Executable scripts with a #! line run as they are, all others with Python.
    IFS= read -r first <"$script" || :
    case $first in
        '#!'*) if [ -x "$script" ]; then exec "$script" "$@"; fi ;;
    esac
    exec python3 "$script" "$@"
}
