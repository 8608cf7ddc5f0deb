#!/bin/sh
# Prints the number of words of each file.
status=0
for file in "$@"; do
    if [ ! -f "$file" ]; then
        echo "count: no such file: $file" >&2
        status=1
        continue
    fi
    words=$(wc -l < "$file" | tr -d ' ')
    echo "$words $file"
done
exit $status
