/* Prints a checksum of all that the functions of cleave_scan.h give for made-up buffers, whole and cut, in every
 * dialect. The same program, linked with the library and with the two files, must print the same. */
#include <stdio.h>
#include <string.h>

#include CLEAVE_SCAN_HEADER

static uint64_t checksum = 14695981039346656037u;
static uint64_t seed = 1;

static void note(const void* bytes, size_t size) { /* FNV-1a */
    for (size_t i = 0; i < size; ++i) checksum = (checksum ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
}

static unsigned below(unsigned limit) { /* xorshift */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % limit;
}

static void note_all(const cleave_scan_dialect* dialect, const char* bytes, size_t size, size_t cut) {
    static uint64_t starts[60000];
    cleave_scan_state state = cleave_scan_begin(dialect);
    cleave_scan_state copy = state;
    cleave_scan_counts counts;
    cleave_scan_summary one, other, both;
    cleave_scan_range range;
    int32_t failed = cleave_scan(dialect, &state, bytes, cut, &counts);
    note(&counts, sizeof counts);
    failed |= cleave_scan(dialect, &state, bytes + cut, size - cut, &counts);
    note(&counts, sizeof counts);
    failed |= cleave_scan_end(dialect, &state, &counts);
    note(&counts, sizeof counts);
    note(&state, sizeof state);
    note(starts, cleave_scan_starts(dialect, &copy, bytes, size, starts, sizeof starts / sizeof *starts) * 8);
    failed |= memcmp(&state, &copy, sizeof state) != 0;
    failed |= cleave_summarise(dialect, 0, bytes, cut, &one) |
              cleave_summarise(dialect, cut, bytes + cut, size - cut, &other);
    failed |= cleave_compose(&one, &other, &both) | cleave_summarise(dialect, 0, bytes, size, &one);
    failed |= memcmp(&one, &both, sizeof one) != 0;
    copy = cleave_scan_begin(dialect);
    failed |= cleave_resolve(&both, &copy, &range) | (memcmp(&state, &copy, sizeof state) != 0);
    note(&both, sizeof both);
    note(&range, sizeof range);
    if (failed) printf("failed: %lu bytes, cut at %lu\n", (unsigned long)size, (unsigned long)cut);
}

int main(void) {
    static char bytes[60000];
    for (unsigned round = 0; round < 3000; ++round) {
        cleave_scan_dialect dialect = CLEAVE_SCAN_CSV;
        dialect.quote = below(4) == 0 ? -1 : '"';
        dialect.escape = below(2) == 0 ? -1 : '\\';
        dialect.terminator = (uint8_t)below(3);
        dialect.quoting = (uint8_t)below(2);
        dialect.escape_scope = (uint8_t)below(2);
        const size_t size = below(20) == 0 ? below(sizeof bytes) : below(3000);
        const unsigned plain = 1 + below(40);
        for (size_t i = 0; i < size; ++i) bytes[i] = below(plain) == 0 ? "\",\n\r\\x"[below(6)] : 'x';
        note_all(&dialect, bytes, size, size == 0 ? 0 : below((unsigned)size));
    }
    printf("%016llx\n", (unsigned long long)checksum);
    return 0;
}
