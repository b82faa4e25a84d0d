/* Where the records of a CSV file begin and end, exactly, in C: for engines that cut files themselves.
 *
 * Whether a line feed ends a record depends on all quotes before it, so no part of a file shows by itself where it may
 * be cut. This interface has two answers. A reader that goes from front to back keeps a state of 24 bytes:
 *
 *     cleave_scan_dialect dialect = CLEAVE_SCAN_CSV;
 *     cleave_scan_state state = cleave_scan_begin(&dialect);
 *     while (size = read(buffer), size > 0) {
 *         cleave_scan(&dialect, &state, buffer, size, &counts);     counts.last: cut here
 *     }
 *     cleave_scan_end(&dialect, &state, &counts);                   a last record without a terminator
 *
 * Readers of ranges, on threads or machines, know nothing of what precedes their range. Each summarises its own bytes
 * for every state in which a reader can enter them; summaries compose, in order and in any grouping:
 *
 *     cleave_summarise(&dialect, begin, bytes, size, &summary);     each range, in parallel
 *     cleave_resolve(&summary, &state, &range);                     in order: range.first is where its records begin
 *
 * The same functions are in the library cleave, and in cleave_scan.cpp, which needs a C++20 compiler, GCC or Clang,
 * and, with -fno-exceptions, no library of C++: link one or the other. They read no files, start no threads, allocate
 * nothing and throw nothing. Any thread may call them, on different states and summaries at the same time. Only the
 * bytes passed are read. Each function takes time proportional to the bytes that it passes over, and uses the best
 * instructions of the machine.
 *
 * Offsets and sizes are bytes of the input, from 0, below 2^59. Structs are little-endian, have no gaps, and may be
 * sent to another machine as they are; equal ones have equal bytes. Functions that return int32_t return 0, or
 * CLEAVE_SCAN_INVALID for a dialect, state or summary that is not valid; they then change nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(cppcoreguidelines-macro-usage,cppcoreguidelines-use-enum-class,readability-identifier-naming): names of C
#ifdef __cplusplus
extern "C" {
#endif

/* Visible from a shared library, whatever else it hides. */
#define CLEAVE_SCAN_API __attribute__((visibility("default")))

#define CLEAVE_SCAN_INVALID 2
#define CLEAVE_SCAN_VERSION 1               /* of the layout of states and summaries */
#define CLEAVE_SCAN_NONE UINT64_MAX         /* no such offset */
#define CLEAVE_SCAN_BEFORE (UINT64_MAX - 1) /* in a row: an offset before the range */

/* What ends a record, outside quotes. */
#define CLEAVE_SCAN_LF 0  /* LF; the CR of a CRLF stays in its record */
#define CLEAVE_SCAN_CR 1  /* CR */
#define CLEAVE_SCAN_ANY 2 /* LF, CRLF or a lone CR; a CRLF is never cut in two */

/* Where a quote opens a quoted section. A doubled quote inside quotes always means one quote. */
#define CLEAVE_SCAN_FIELD_START 0 /* only as the first byte of a field; elsewhere it is plain data (RFC 4180) */
#define CLEAVE_SCAN_ANYWHERE 1    /* anywhere, as in PostgreSQL */

/* Where an escape makes the next byte plain data. */
#define CLEAVE_SCAN_EVERYWHERE 0 /* in any state, except in FIELD_START right after a closing quote */
#define CLEAVE_SCAN_QUOTED 1     /* only inside quotes */

/* Three different bytes, none of them CR or LF. 8 bytes. */
typedef struct cleave_scan_dialect {
    int16_t quote;  /* a byte, or -1: no quotes */
    int16_t escape; /* a byte, or -1: no escapes */
    uint8_t delimiter;
    uint8_t terminator;   /* CLEAVE_SCAN_LF, _CR or _ANY */
    uint8_t quoting;      /* CLEAVE_SCAN_FIELD_START or _ANYWHERE */
    uint8_t escape_scope; /* CLEAVE_SCAN_EVERYWHERE or _QUOTED */
} cleave_scan_dialect;
#define CLEAVE_SCAN_CSV \
    { '"', -1, ',', CLEAVE_SCAN_LF, CLEAVE_SCAN_FIELD_START, CLEAVE_SCAN_EVERYWHERE }

/* The state of a reader between two bytes. */
enum {
    CLEAVE_SCAN_RECORD_START,     /* just past a terminator */
    CLEAVE_SCAN_FIELD,            /* just past a delimiter, where a quote may open; not in dialects without quotes */
    CLEAVE_SCAN_UNQUOTED,         /* inside a field, outside quotes */
    CLEAVE_SCAN_IN_QUOTES,        /* inside quotes */
    CLEAVE_SCAN_AFTER_QUOTE,      /* just past a quote that closes a section or is the first of a doubled one */
    CLEAVE_SCAN_ESCAPE,           /* just past an escape that acts outside quotes */
    CLEAVE_SCAN_ESCAPE_IN_QUOTES, /* just past an escape that acts inside quotes */
    CLEAVE_SCAN_RETURN,           /* just past a CR that ends the record now or with an LF: only under ANY */
    CLEAVE_SCAN_START,            /* before the first byte of the input */
    CLEAVE_SCAN_MARK_1,           /* past EF at its start: perhaps a byte order mark, after which a field starts */
    CLEAVE_SCAN_MARK_2,           /* past EF BB */
    CLEAVE_SCAN_STATES
};

/* A reader that has passed the bytes before `offset`. 24 bytes. */
typedef struct cleave_scan_state {
    uint32_t version;    /* CLEAVE_SCAN_VERSION */
    uint32_t state;      /* one of the above */
    uint64_t offset;     /* of the next byte */
    uint64_t open_quote; /* of the quote that opened the section that is open, or that a next quote reopens; or NONE */
} cleave_scan_state;

/* How the bytes so far end, if nothing follows them. */
#define CLEAVE_SCAN_UNTERMINATED 1 /* with a record that no terminator ends */
#define CLEAVE_SCAN_LONE_RETURN 2  /* with a CR that ends a record, unless an LF follows */
#define CLEAVE_SCAN_OPEN_QUOTE 4   /* inside quotes */
#define CLEAVE_SCAN_OPEN_ESCAPE 8  /* with an escape */

typedef struct cleave_scan_counts {
    uint64_t records;    /* records that end in these bytes */
    uint64_t last;       /* just past the last of their terminators: the last place to cut; or NONE */
    uint64_t open_quote; /* of the quote that is open after these bytes; or NONE */
    uint64_t ending;     /* the sum of CLEAVE_SCAN_UNTERMINATED ... that apply after these bytes */
} cleave_scan_counts;

/* What a range does to a reader that enters it in one state. 40 bytes. */
typedef struct cleave_scan_row {
    uint64_t records;    /* records that start in the range: whose first byte is in it */
    uint64_t first;      /* the first of these starts; or NONE */
    uint64_t last;       /* the last; or NONE */
    uint64_t open_quote; /* as in cleave_scan_state after the range; BEFORE: as before the range */
    uint64_t state;      /* after the range; CLEAVE_SCAN_STATES in a row for a state in which no reader can enter */
} cleave_scan_row;

/* The bytes [begin, end) of an input. 472 bytes. */
typedef struct cleave_scan_summary {
    uint64_t version; /* CLEAVE_SCAN_VERSION */
    cleave_scan_dialect dialect;
    uint64_t begin;
    uint64_t end;
    cleave_scan_row rows[CLEAVE_SCAN_STATES]; /* by the state before the range */
} cleave_scan_summary;

/* The records that start in a range, and where they do. */
typedef struct cleave_scan_range {
    uint64_t records;
    uint64_t first; /* or NONE */
    uint64_t last;  /* or NONE */
} cleave_scan_range;

/* What is wrong with the dialect, in words that stay valid; NULL if nothing is. */
CLEAVE_SCAN_API const char* cleave_scan_fault(const cleave_scan_dialect* dialect);

/* The state at the start of an input. */
CLEAVE_SCAN_API cleave_scan_state cleave_scan_begin(const cleave_scan_dialect* dialect);

/* Passes over the next bytes. Under ANY, a CR that is the last byte ends its record only with the next byte, and a
 * record that it has ended counts there: `last` may be the offset of bytes[0]. */
CLEAVE_SCAN_API int32_t cleave_scan(const cleave_scan_dialect* dialect, cleave_scan_state* state, const void* bytes,
                                    size_t size, cleave_scan_counts* counts);

/* Passes over the next bytes, up to the record start for which there is no room, or to their end: state->offset says
 * where, so call it again with the rest of them. Stores the offsets of at most `room` record starts, and returns how
 * many; SIZE_MAX if an argument is not valid. The first record starts at 0. A record that starts at the first byte of
 * the next buffer belongs to that. */
CLEAVE_SCAN_API size_t cleave_scan_starts(const cleave_scan_dialect* dialect, cleave_scan_state* state,
                                          const void* bytes, size_t size, uint64_t* out, size_t room);

/* The end of the input: counts the record that no terminator ends, or that a CR ends which waited for its LF. `last` is
 * the size of the input if there is one, otherwise NONE. The state stays as it is. */
CLEAVE_SCAN_API int32_t cleave_scan_end(const cleave_scan_dialect* dialect, const cleave_scan_state* state,
                                        cleave_scan_counts* counts);

/* Summarises the bytes from `begin` on. Exact, whatever precedes them. Costs one scan, as a rule: readers that enter in
 * different states are soon in the same one, or in two, one inside quotes and one outside. No bytes change nothing. */
CLEAVE_SCAN_API int32_t cleave_summarise(const cleave_scan_dialect* dialect, uint64_t begin, const void* bytes,
                                         size_t size, cleave_scan_summary* summary);

/* The summary of two adjacent ranges as one. Associative. `both` may be one of the two. Not valid if the second does
 * not begin where the first ends, or their dialects differ. */
CLEAVE_SCAN_API int32_t cleave_compose(const cleave_scan_summary* first, const cleave_scan_summary* second,
                                       cleave_scan_summary* both);

/* Takes a reader, whose state must be that at the beginning of the range, in the dialect of the summary, which a state
 * does not name, across the range. At the end of the input,
 * the records of all ranges are as many as those of cleave_scan() and cleave_scan_end(). */
CLEAVE_SCAN_API int32_t cleave_resolve(const cleave_scan_summary* summary, cleave_scan_state* state,
                                       cleave_scan_range* range);

#ifdef __cplusplus
}
#endif
// NOLINTEND(cppcoreguidelines-macro-usage,cppcoreguidelines-use-enum-class,readability-identifier-naming)
