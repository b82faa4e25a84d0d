// Exports the memory managers of the module as a plugin of cleave/memory_manager.h.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <tuple>

#include "cleave/memory_manager.h"
#include "cuda/managers.h"

// `config` is the name of a manager, as in managers.h; empty means "cuda".
extern "C" __attribute__((visibility("default"))) int cleave_memory_manager_open(const char* config,
                                                                                 const cleave_memory_manager** manager,
                                                                                 char* message,
                                                                                 std::size_t message_size) {
    try {
        *manager = &cleave::cuda::make_manager(config[0] != '\0' ? config : "cuda");
        return 0;
    } catch (const std::exception& error) {
        std::ignore = std::snprintf(message, message_size, "%s", error.what());
        return EINVAL;
    }
}
