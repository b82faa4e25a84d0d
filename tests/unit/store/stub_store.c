/* A module for object stores with objects in memory. The key of a URL says what happens: "fails-N" is not found, with
 * the result N and a message; "breaks-N" is found, and each read fails with N; every other key names an object of 100
 * bytes, of which byte i is i. */
#include <stdlib.h>
#include <string.h>

#include "store/store_module.h"

typedef struct object {
    cleave_store_facts facts;
    int result;
} object;

static int number_after(const char* url, const char* word) {
    const char* const found = strstr(url, word);
    return found == NULL ? 0 : atoi(found + strlen(word));
}

static cleave_store_result end_with(int result, cleave_store_call* call) {
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
    const int result = number_after(url, "fails-");
    if (result != 0) return end_with(result, call);
    object* const one = calloc(1, sizeof(object));
    one->facts.size = 100;
    one->facts.version = "1";
    one->result = number_after(url, "breaks-");
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

const cleave_store_module* cleave_store_open(void);
const cleave_store_module* cleave_store_open(void) {
    static const cleave_store_module kModule = {
        CLEAVE_STORE_VERSION, sizeof(cleave_store_module), open_store, close_store, ports, find, facts, free,
        read_object};
    return &kModule;
}
