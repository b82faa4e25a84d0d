// The version of the library. CMakeLists.txt reads it from here, so each number is alone on its line.
#pragma once

// NOLINTBEGIN(cppcoreguidelines-macro-usage,modernize-macro-to-enum): users compare them in #if
#define CLEAVE_VERSION_MAJOR 0
#define CLEAVE_VERSION_MINOR 2
#define CLEAVE_VERSION_PATCH 0
#define CLEAVE_VERSION "0.2.0"
// NOLINTEND(cppcoreguidelines-macro-usage,modernize-macro-to-enum)
