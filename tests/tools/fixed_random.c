/* Random bytes that are the same in each run, for counts.py: seeds of hash tables decide how many slots are tried. */
#include <string.h>
#include <sys/types.h>

ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
    (void)flags;
    memset(bytes, 7, size);
    return (ssize_t)size;
}
