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

# has SCRIPT SUBCOMMAND: whether there is something to run.
has() {
    [ -f "$hooks/$1" ] || native "$2"
}

# native SUBCOMMAND: whether the Rust engine runs it.
native() {
    [ -n "$rust" ] && [ -n "$1" ]
}

# run SCRIPT SUBCOMMAND ARGUMENT...: becomes the hook.
run() {
    script=$hooks/$1
    subcommand=$2
    shift 2
    if native "$subcommand"; then
        exec "$rust" "$subcommand" "$@"
    fi
    # A script that names its interpreter and may be executed is; any other is Python.
    IFS= read -r first <"$script" || :
    case $first in
        '#!'*) if [ -x "$script" ]; then exec "$script" "$@"; fi ;;
    esac
    exec python3 "$script" "$@"
}
