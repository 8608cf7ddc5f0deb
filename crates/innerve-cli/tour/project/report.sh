#!/bin/sh
# Prints the file with the most words.
sh count.sh "$@" | sort -rn | head -n 1
