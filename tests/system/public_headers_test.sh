#!/bin/sh
# Each public header may be included twice, and cleave.h includes all of them. includes_test.py checks what they
# include.
#   public_headers_test.sh INCLUDE_DIRECTORY
set -eu
for header in "$1"/cleave/*.h; do
    grep -qx '#pragma once' "$header" || { echo "$header may be included once only"; exit 1; }
done
# The umbrella header includes all headers except itself and those that are only an old name for another header.
for header in "$1"/cleave/*.h; do
    name=$(basename "$header")
    [ "$name" = cleave.h ] || grep -q '^// The old name of cleave/' "$header" || grep -qx "#include \"cleave/$name\"" "$1/cleave/cleave.h" ||
        { echo "cleave.h does not include $name"; exit 1; }
done
