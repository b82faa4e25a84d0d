#!/bin/sh
# A compiler launcher: ccache, with Clang's precompiled headers stored such that other clones can use what was compiled
# with them.
#
# A precompiled header contains paths of its clone, so its bytes differ from clone to clone. ccache would find nothing
# compiled in another clone, and a cached header would be useful only in its own clone. Here the header is rebuilt each
# time, and a checksum of all files that went into it is stored beside it; with CCACHE_PCH_EXTSUM ccache compares the
# checksum. ccache does not examine what -Xclang passes on, so the path of the header's source is made relative here.
#
# GCC's old header is removed before a new one is made: the preprocessor would use it, and so ccache would find it again.
# For it, comments count, too: GCC tells by a file's size whether it is the one that is precompiled already.
case " $* " in
*" -emit-pch "*) ;;
*)
    for argument; do
        shift
        case $argument in
        "$PWD"/*cmake_pch.hxx) argument=${argument#"$PWD"/} ;;
        *cmake_pch.hxx.gch) rm -f "$argument" && export CCACHE_COMMENTS=1 ;;
        esac
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
# The two files written by CMake contain paths of the clone. The files that they include are in the list too.
sed -e 's/^[^ ]*://' -e 's/\\$//' "$dependencies" | tr ' ' '\n' | grep -v -e '^$' -e cmake_pch | xargs cat |
    sha256sum >"$header.sum"
