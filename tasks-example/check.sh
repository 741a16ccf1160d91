#!/bin/sh
# Checks one thing about this project: sh check.sh syntax|name|world|usage|readme
cd "$(dirname "$0")" || exit 1

fail() {
    echo "check $what: $1" >&2
    exit 1
}

what=${1:-}
case $what in
syntax)
    sh -n greet.sh || fail "greet.sh cannot be parsed"
    ;;
name)
    got=$(sh greet.sh Ada)
    [ "$got" = "Hello, Ada!" ] || fail "wanted 'Hello, Ada!', got '$got'"
    ;;
world)
    got=$(sh greet.sh)
    [ "$got" = "Hello, world!" ] || fail "wanted 'Hello, world!', got '$got'"
    ;;
usage)
    got=$(sh greet.sh --loud 2>&1 >/dev/null)
    code=$?
    [ "$code" -eq 2 ] || fail "wanted exit code 2, got $code"
    case $got in
    usage:*) ;;
    *) fail "wanted a usage line on stderr, got '$got'" ;;
    esac
    ;;
readme)
    grep -q 'sh greet.sh Ada' README.md || fail "README.md does not show how to greet Ada"
    ;;
*)
    fail "no such check"
    ;;
esac
echo "check $what: ok"
