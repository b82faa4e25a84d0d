#!/bin/sh
# Public headers include the standard library and each other only.
#   public_headers_test.sh INCLUDE_DIRECTORY
set -eu
bad=$(grep -nE '^[[:space:]]*#[[:space:]]*include' "$1"/cleave/*.h |
    grep -vE '#include (<[a-z_]+>|"cleave/[a-z_]+\.h")[[:space:]]*$' || true)
if [ -n "$bad" ]; then
    echo "includes that are neither of the standard library nor of cleave/:"
    echo "$bad"
    exit 1
fi
for header in "$1"/cleave/*.h; do
    grep -qx '#pragma once' "$header" || { echo "$header may be included once only"; exit 1; }
done
# The umbrella header has them all.
for header in "$1"/cleave/*.h; do
    name=$(basename "$header")
    [ "$name" = cleave.h ] || grep -qx "#include \"cleave/$name\"" "$1/cleave/cleave.h" ||
        { echo "cleave.h does not include $name"; exit 1; }
done
