/* A module for patterns that does what the text of a pattern says: "refuse" is no pattern, "silent" is none either and
 * has no message, "fail" finds nothing and fails at all else, "never" is never found. Any other text is searched for as
 * it is. */
#include <stdlib.h>
#include <string.h>

#include "features/redact/stage/forbidden/pattern_module.h"

#ifndef STUB_VERSION
#define STUB_VERSION CLEAVE_PATTERNS_VERSION
#endif
#ifndef STUB_SIZE
#define STUB_SIZE sizeof(cleave_patterns)
#endif
#ifndef STUB_SEARCH
#define STUB_SEARCH search
#endif
#ifndef STUB_OPEN
#define STUB_OPEN cleave_patterns_open
#endif

static void* compile(const char* text, size_t size, char* message, size_t message_size) {
    const int is_refused = size == 6 && memcmp(text, "refuse", 6) == 0;
    if (is_refused) strncpy(message, "it is\na stub", message_size);
    if (is_refused || (size == 6 && memcmp(text, "silent", 6) == 0)) return NULL;
    char* const pattern = malloc(size + 1);
    if (pattern == NULL) return NULL;
    memcpy(pattern, text, size);
    pattern[size] = 0;
    return pattern;
}

static int search(const void* pattern, const void* value, size_t size) {
    if (strcmp(pattern, "never") == 0) return CLEAVE_PATTERN_ABSENT;
    if (strcmp(pattern, "fail") == 0) return size == 0 ? CLEAVE_PATTERN_ABSENT : -1;
    const size_t length = strlen(pattern);
    for (size_t at = 0; at + length <= size; ++at) {
        if (memcmp((const char*)value + at, pattern, length) == 0) return CLEAVE_PATTERN_FOUND;
    }
    return CLEAVE_PATTERN_ABSENT;
}

const cleave_patterns* STUB_OPEN(void);
const cleave_patterns* STUB_OPEN(void) {
    static const cleave_patterns kPatterns = {STUB_VERSION, STUB_SIZE, compile, STUB_SEARCH, free};
    (void)search;
    return &kPatterns;
}
