/* Prints the byte ranges of a CSV file for N workers: number, start, length, first record, records. In C.
 *   example_plan FILE N
 * FILE may be compressed, a pipe, or "-". Offsets count decompressed bytes. */
#include <cleave/cleave_c.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* path, const cleave_error* error) {
    fprintf(stderr, "%s: %s", path, error->message);
    if (error->has_place) fprintf(stderr, " (byte %" PRIu64 ")", error->byte);
    fputc('\n', stderr);
    return 1;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        fputs("usage: example_plan FILE N\n", stderr);
        return 2;
    }
    cleave_limits limits = CLEAVE_LIMITS_INIT;
    limits.pieces = strtoull(argv[2], NULL, 10);
    cleave_file* file = NULL;
    cleave_plan* plan = NULL;
    cleave_error error;
    if (cleave_open(argv[1], NULL, &file, &error) != CLEAVE_OK) return fail(argv[1], &error);
    const int32_t status = cleave_plan_make(file, &limits, &plan, &error);
    cleave_close(file);
    if (status != CLEAVE_OK) return fail(argv[1], &error);
    for (uint64_t i = 0; i < cleave_plan_size(plan); ++i) {
        printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", i + 1, cleave_plan_starts(plan)[i],
               cleave_plan_lengths(plan)[i], cleave_plan_first_records(plan)[i], cleave_plan_records(plan)[i]);
    }
    cleave_plan_free(plan);
    return 0;
}
