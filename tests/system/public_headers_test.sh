#!/bin/sh
# Each public header may be included twice, and cleave.h includes them all. includes_test.py looks at what they include.
#   public_headers_test.sh INCLUDE_DIRECTORY
set -eu
for header in "$1"/cleave/*.h; do
    grep -qx '#pragma once' "$header" || { echo "$header may be included once only"; exit 1; }
done
# The umbrella header includes all of them, except itself and those that are only the old name of another header.
for header in "$1"/cleave/*.h; do
    name=$(basename "$header")
    [ "$name" = cleave.h ] || grep -q '^// The old name of cleave/' "$header" || grep -qx "#include \"cleave/$name\"" "$1/cleave/cleave.h" ||
        { echo "cleave.h does not include $name"; exit 1; }
done
