engine=@ENGINE@
hooks=$root/.claude/tools/amplihack/hooks

# has SCRIPT SUBCOMMAND: whether there is something to run.
has() {
    [ -f "$hooks/$1" ] || native "$2"
}

# native SUBCOMMAND: whether the Rust engine runs it.
native() {
    [ "$engine" = rust ] && [ -n "$1" ] && command -v amplihack-hooks >/dev/null 2>&1
}

# run SCRIPT SUBCOMMAND ARGUMENT...: becomes the hook.
run() {
    script=$hooks/$1
    subcommand=$2
    shift 2
    if native "$subcommand"; then
        exec amplihack-hooks "$subcommand" "$@"
    fi
    # A script that names its interpreter and may be executed is; any other is Python.
    IFS= read -r first <"$script" || :
    case $first in
        '#!'*) if [ -x "$script" ]; then exec "$script" "$@"; fi ;;
    esac
    exec python3 "$script" "$@"
}
