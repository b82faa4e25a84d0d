#include "cli/named.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/messages.h"
#include "cli/stores.h"
#include "core/reader/fd.h"

namespace cleave::cli {

Fd open_file(const std::string& path) {
    const bool is_stream = path == "-";
    Fd file(is_stream ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                      : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.is_open()) throw_errno(display_name(path));
    return file;
}

Input open_named(const Context& context, const std::string& name, const Cancellation* cancellation, Encoding encoding) {
    if (const Store* const store = store_of(context, name)) return open_object(*store, name, cancellation, encoding);
    return Input::open(name, cancellation, Access::kMapped, encoding);
}

std::string read_named(const Context& context, const std::string& name, std::size_t most) {
    if (const Store* const store = store_of(context, name)) {
        const auto file = find_object(*store, name, nullptr);
        const std::uint64_t size =
            most == std::string::npos ? file->size() : std::min<std::uint64_t>(file->size(), most + 1);
        std::string text(static_cast<std::size_t>(size), '\0');
        if (!text.empty()) file->read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
        return text;
    }
    return read_to_end(open_file(name).get(), most, display_name(name));
}

}  // namespace cleave::cli
