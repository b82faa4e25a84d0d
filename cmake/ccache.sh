#!/bin/sh
# A launcher of compilers: ccache, with precompiled headers of Clang so that other clones can use what is compiled with
# them.
#
# Such a header has paths of its clone in it. So its bytes differ from clone to clone, ccache would find nothing in
# another one, and a header from the cache would be of use in its own clone alone. Here the header is made anew each
# time, and beside it a sum of all files that it was made of; with CCACHE_PCH_EXTSUM ccache goes by the sum. ccache does
# not look into what -Xclang passes on: the path of the header's text is made relative here.
case " $* " in
*" -emit-pch "*) ;;
*)
    for argument; do
        shift
        case $argument in "$PWD"/*cmake_pch.hxx) argument=${argument#"$PWD"/} ;; esac
        set -- "$@" "$argument"
    done
    exec ccache "$@"
    ;;
esac
"$@" || exit
while [ $# -gt 1 ]; do
    case $1 in
    -o) header=$2 ;;
    -MF) dependencies=$2 ;;
    esac
    shift
done
# The two files that CMake has written name paths of the clone. What they include is in the list, too.
sed -e 's/^[^ ]*://' -e 's/\\$//' "$dependencies" | tr ' ' '\n' | grep -v -e '^$' -e cmake_pch | xargs cat |
    sha256sum >"$header.sum"
