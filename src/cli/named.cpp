#include "cli/named.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/feature_parts.h"
#include "core/reader/fd.h"

namespace cleave::cli {

Fd open_file(const Location& location) {
    Fd file(location.is_stream() ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(location.name().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.is_open()) throw_errno(location.shown());
    return file;
}

Input open_named(const Context& context, const Location& at, const Cancellation* cancellation, Encoding encoding,
                 Access access) {
    if (const Store* const store = store_of(context, at)) return open_object(*store, at.name(), cancellation, encoding);
    return Input::open(at.name(), cancellation, access, encoding);
}

std::string read_named(const Context& context, const Location& location, std::size_t most) {
    if (const Store* const store = store_of(context, location)) {
        const auto file = find_object(*store, location.name(), nullptr);
        const std::uint64_t size =
            most == std::string::npos ? file->size() : std::min<std::uint64_t>(file->size(), most + 1);
        std::string text(static_cast<std::size_t>(size), '\0');
        if (!text.empty()) file->read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
        return text;
    }
    return read_to_end(open_file(location).get(), most, location.shown());
}

}  // namespace cleave::cli
