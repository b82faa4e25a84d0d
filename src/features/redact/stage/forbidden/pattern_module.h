/* What a module for patterns exports, version 1, such as cleave_re2.so of modules/re2: regular expressions that values
 * are searched for.
 *
 * It is C, so a module need not be built with the same compiler or C library as cleave. The functions do not throw. Any
 * thread may call them, and several threads may search for one pattern at the same time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(cppcoreguidelines-macro-usage,modernize-*,readability-identifier-naming): it is C
#define CLEAVE_PATTERNS_VERSION 1u

/* What search() returns. Everything else is a failure: whether the value contains the pattern is not known. */
#define CLEAVE_PATTERN_ABSENT 0
#define CLEAVE_PATTERN_FOUND 1

typedef struct cleave_patterns {
    uint32_t interface_version; /* CLEAVE_PATTERNS_VERSION */
    uint32_t struct_size;       /* sizeof(cleave_patterns) */

    /* Returns a pattern, or a null pointer if the text, `size` bytes of UTF-8, is no regular expression. Then `message`
     * gets the reason: one line of at most `message_size` bytes, of which the last is zero. */
    void* (*compile)(const char* text, size_t size, char* message, size_t message_size);

    /* Whether the value, `size` bytes of any kind, contains the pattern. `value` may be a null pointer if `size` is 0.
     * Keeps no copy of the value. */
    int (*search)(const void* pattern, const void* value, size_t size);

    /* Frees a pattern. */
    void (*release)(void* pattern);
} cleave_patterns;

/* The function that the module exports. Its result is valid for as long as the module is loaded. */
#define CLEAVE_PATTERNS_SYMBOL "cleave_patterns_open"
typedef const cleave_patterns* (*cleave_patterns_open_function)(void);
// NOLINTEND(cppcoreguidelines-macro-usage,modernize-*,readability-identifier-naming)

#ifdef __cplusplus
}
#endif
