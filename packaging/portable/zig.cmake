# The compiler for the portable builds: clang as shipped with zig, with its C libraries and libc++ for any Linux.
# target.py sets the environment variables that this file reads.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{CLEAVE_PROCESSOR})
set(CMAKE_C_COMPILER $ENV{CLEAVE_TOOLS}/cc)
set(CMAKE_CXX_COMPILER $ENV{CLEAVE_TOOLS}/c++)
set(CMAKE_AR $ENV{CLEAVE_TOOLS}/ar)
set(CMAKE_RANLIB $ENV{CLEAVE_TOOLS}/ranlib)
set(CMAKE_CROSSCOMPILING_EMULATOR $ENV{CLEAVE_EMULATOR})
# Finds only libraries that were built with the same compiler.
set(CMAKE_FIND_ROOT_PATH $ENV{CLEAVE_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
