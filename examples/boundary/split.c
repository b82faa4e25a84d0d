/* Cuts a file by all cores, exactly: each thread summarises a range of the file, the summaries say where the records of
 * each range begin, and each thread writes its piece. Joined, the pieces are the file.
 *
 *   split FILE PIECES PREFIX        writes PREFIX.0, PREFIX.1 ...
 *
 * Needs only what ./dev amalgamate makes:
 *
 *   c++ -std=c++20 -O2 -c cleave_scan.cpp && cc split.c cleave_scan.o -lstdc++ -lpthread */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleave_scan.h"

static const cleave_scan_dialect dialect = CLEAVE_SCAN_CSV;

typedef struct piece {
    pthread_t thread;
    const unsigned char* file;
    uint64_t begin, end; /* of the range; once the summaries are resolved, of the piece */
    cleave_scan_summary summary;
    const char* prefix;
    unsigned number;
} piece;

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void* summarise(void* argument) {
    piece* one = argument;
    if (cleave_summarise(&dialect, one->begin, one->file + one->begin, one->end - one->begin, &one->summary) != 0) {
        exit(1);
    }
    return NULL;
}

static void* write_piece(void* argument) {
    const piece* one = argument;
    char name[4096];
    snprintf(name, sizeof name, "%s.%u", one->prefix, one->number);
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) fail(name);
    for (uint64_t at = one->begin; at < one->end;) {
        const ssize_t count = write(file, one->file + at, one->end - at);
        if (count < 0) fail(name);
        at += (uint64_t)count;
    }
    if (close(file) != 0) fail(name);
    return NULL;
}

static void on_threads(piece* pieces, unsigned count, void* (*work)(void*)) {
    for (unsigned i = 0; i < count; ++i) {
        if (pthread_create(&pieces[i].thread, NULL, work, &pieces[i]) != 0) fail("pthread_create");
    }
    for (unsigned i = 0; i < count; ++i) pthread_join(pieces[i].thread, NULL);
}

int main(int argc, char** argv) {
    const unsigned count = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
    if (count == 0) {
        fputs("usage: split FILE PIECES PREFIX\n", stderr);
        return 2;
    }
    const int input = open(argv[1], O_RDONLY);
    struct stat about;
    if (input < 0 || fstat(input, &about) != 0) fail(argv[1]);
    const uint64_t size = (uint64_t)about.st_size;
    const unsigned char* file = NULL;
    if (size > 0) file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, input, 0);
    if (file == MAP_FAILED) fail(argv[1]);
    piece* pieces = calloc(count, sizeof *pieces);
    if (pieces == NULL) fail("calloc");
    for (unsigned i = 0; i < count; ++i) {
        pieces[i] = (piece){.file = file, .begin = size / count * i, .end = size / count * (i + 1), .prefix = argv[3]};
        pieces[i].number = i;
    }
    pieces[count - 1].end = size;
    on_threads(pieces, count, summarise);

    /* In order: the first record start in each range is where its piece begins. */
    cleave_scan_state state = cleave_scan_begin(&dialect);
    uint64_t records = 0;
    uint64_t begin = 0;
    for (unsigned i = 0; i < count; ++i) {
        cleave_scan_range range;
        if (cleave_resolve(&pieces[i].summary, &state, &range) != 0) return 1;
        records += range.records;
        /* A range without a record start leaves its piece empty: one record fills it. */
        pieces[i].begin = range.first == CLEAVE_SCAN_NONE ? UINT64_MAX : range.first;
    }
    for (unsigned i = count; i-- > 0; begin = pieces[i].begin) {
        pieces[i].end = i + 1 < count ? begin : size;
        if (pieces[i].begin == UINT64_MAX) pieces[i].begin = pieces[i].end;
    }
    on_threads(pieces, count, write_piece);
    printf("%llu records\n", (unsigned long long)records);
    free(pieces);
    return 0;
}
