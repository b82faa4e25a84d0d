/* A module for object stores with objects in memory. The key of a URL says what happens: "fails-N" is not found, with
 * the result N and a message; "breaks-N" is found, and each read fails with N; every other key names an object of 100
 * bytes, or of N with "size-N", of which byte i is i. No range of it is copied with "uncopied". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "features/stores/store_module.h"

typedef struct object {
    cleave_store_facts facts;
    int result;
    int is_uncopied;
} object;

static long long number_after(const char* url, const char* word) {
    const char* const found = strstr(url, word);
    return found == NULL ? 0 : atoll(found + strlen(word));
}

static cleave_store_result end_with(long long result, cleave_store_call* call) {
    if (result != 0) strncpy(call->message, "the stub\nsays no", call->message_size);
    return (cleave_store_result)result;
}

static cleave_store_result open_store(const char* url, void** store, cleave_store_call* call) {
    static int any;
    *store = &any;
    return end_with(number_after(url, "refused-"), call);
}

static void close_store(void* store) { (void)store; }

static size_t ports(const void* store, uint16_t* into) {
    (void)store;
    into[0] = 4433;
    return 1;
}

static cleave_store_result find(void* store, const char* url, void** found, cleave_store_call* call) {
    (void)store;
    const int result = (int)number_after(url, "fails-");
    if (result != 0) return end_with(result, call);
    object* const one = calloc(1, sizeof(object));
    const long long size = number_after(url, "size-");
    one->facts.size = size != 0 ? (uint64_t)size : 100;
    one->facts.version = strstr(url, "weak") != NULL ? "W/\"1\"" : "\"1\"";
    one->result = (int)number_after(url, "breaks-");
    one->is_uncopied = strstr(url, "uncopied") != NULL;
    *found = one;
    return CLEAVE_STORE_DONE;
}

static const cleave_store_facts* facts(const void* one) { return &((const object*)one)->facts; }

static cleave_store_result read_object(void* one, uint64_t offset, void* into, size_t size, cleave_store_call* call) {
    if (call->is_cancelled(call->context)) return CLEAVE_STORE_CANCELLED;
    const int result = ((object*)one)->result;
    if (result != 0) return end_with(result, call);
    for (size_t i = 0; i < size; ++i) ((uint8_t*)into)[i] = (uint8_t)(offset + i);
    return CLEAVE_STORE_DONE;
}

/* An upload notes its parts, up to 99 of one kind in a row as one: "8388608 x 3, copied 5242880, 17". complete_upload
 * fails with the notes as its message if the URL contains "notes", and with the result that the URL names otherwise. */
typedef struct upload {
    int result;
    int has_notes;
    size_t last_size;
    int last_is_copied;
    unsigned count;
    char notes[200];
} upload;

static void close_note(upload* one) {
    const size_t used = strlen(one->notes);
    if (one->count == 0) return;
    const char* const separator = used > 0 ? ", " : "";
    const char* const copied = one->last_is_copied ? "copied " : "";
    char times[16] = "";
    if (one->count > 1) snprintf(times, sizeof times, " x %u", one->count);
    snprintf(one->notes + used, sizeof one->notes - used, "%s%s%zu%s", separator, copied, one->last_size, times);
    one->count = 0;
}

/* Parts come in order, as long as one thread sends them. */
static void note(upload* one, size_t size, int is_copied) {
    if (size != one->last_size || is_copied != one->last_is_copied) close_note(one);
    one->last_size = size;
    one->last_is_copied = is_copied;
    ++one->count;
}

static cleave_store_result begin_upload(void* store, const char* url, void** begun, cleave_store_call* call) {
    (void)store;
    upload* const one = calloc(1, sizeof(upload));
    one->result = (int)number_after(url, "breaks-");
    one->has_notes = strstr(url, "notes") != NULL;
    *begun = one;
    return end_with(0, call);
}

static cleave_store_result upload_part(void* to, uint32_t number, const void* bytes, size_t size,
                                       cleave_store_call* call) {
    (void)number, (void)bytes;
    note(to, size, 0);
    return end_with(((upload*)to)->result, call);
}

static cleave_store_result copy_part(void* to, uint32_t number, const void* from, uint64_t offset, uint64_t size,
                                     cleave_store_call* call) {
    (void)number;
    const object* const source = from;
    if (source->facts.size < offset + size) return end_with(CLEAVE_STORE_FAILED, call);
    if (source->is_uncopied) return end_with(CLEAVE_STORE_UNSUPPORTED, call);
    note(to, size, 1);
    return end_with(((upload*)to)->result, call);
}

static cleave_store_result complete_upload(void* of, int replaces, cleave_store_call* call) {
    upload* const one = of;
    if (one->has_notes) {
        close_note(one);
        strncpy(call->message, one->notes, call->message_size);
        return CLEAVE_STORE_FAILED;
    }
    return end_with(one->result == CLEAVE_STORE_TAKEN && replaces ? 0 : one->result, call);
}

static cleave_store_result abort_upload(void* of, cleave_store_call* call) {
    return end_with(((upload*)of)->result, call);
}

static cleave_store_result of_name(void* store, const char* url, cleave_store_call* call) {
    (void)store;
    return end_with(number_after(url, "breaks-"), call);
}

/* What follows the scheme of the URL. */
static cleave_store_result place(const void* store, const char* url, char* into, cleave_store_call* call) {
    (void)store;
    strncpy(into, strstr(url, "://"), CLEAVE_STORE_PLACE - 1);
    return end_with(number_after(url, "nowhere-"), call);
}

const cleave_store_module* cleave_store_open(void);
const cleave_store_module* cleave_store_open(void) {
    static const cleave_store_module kModule = {
        CLEAVE_STORE_VERSION, sizeof(cleave_store_module), open_store, close_store, ports, find, facts, free,
        read_object, begin_upload, free, upload_part, copy_part, complete_upload, abort_upload, of_name, of_name, place};
    return &kModule;
}
