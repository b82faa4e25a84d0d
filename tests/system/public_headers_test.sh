#!/bin/sh
# Checks the public headers as a whole. includes_test.py looks at what each of them includes.
#   public_headers_test.sh SOURCE_DIRECTORY CXX
#
# - Each header may be included twice.
# - cleave.h includes all stable headers, apart from itself and those that are only the old name of another. It includes
#   nothing from experimental/, and takes at most 50,000 lines to compile, not counting empty ones.
# - The shared library exports what all of them declare.
set -eu
include=$1/include/cleave
fail() { echo "$1"; exit 1; }
for header in "$include"/*.h "$include"/experimental/*.h; do
    name=${header#"$include/"}
    grep -qx '#pragma once' "$header" || fail "$name may be included once only"
    case $name in
    experimental/*)
        grep -qx "#include \"cleave/$name\"" "$1/cmake/exported.h" || fail "cmake/exported.h does not include $name" ;;
    *)
        ! grep -q '"cleave/experimental/' "$header" || fail "$name includes an experimental header"
        [ "$name" = cleave.h ] || grep -q '^// The old name of cleave/' "$header" ||
            grep -qx "#include \"cleave/$name\"" "$include/cleave.h" || fail "cleave.h does not include $name" ;;
    esac
done
lines=$(echo '#include <cleave/cleave.h>' | "$2" -std=c++20 -I "$1/include" -E -x c++ - | grep -c .)
[ "$lines" -ge 1000 ] || fail "cleave.h cannot be preprocessed"
[ "$lines" -le 50000 ] || fail "cleave.h takes $lines lines"
