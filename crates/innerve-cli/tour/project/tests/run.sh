#!/bin/sh
# Compares what count.sh prints with what it should print.
cd "$(dirname "$0")/.." || exit 1
failed=0
check() {
    actual=$(sh count.sh "$1" 2>/dev/null)
    if [ "$actual" = "$2" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: expected '$2', got '$actual'"
        failed=1
    fi
}
check tests/empty.txt "0 tests/empty.txt"
check tests/one.txt "1 tests/one.txt"
check tests/poem.txt "13 tests/poem.txt"
exit $failed
