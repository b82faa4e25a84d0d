// Exports a stream of columns as an ArrowArrayStream. No exception leaves its functions; they return error numbers and
// messages instead.
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "cleave/error.h"
#include "cleave/experimental/column_stream.h"

namespace cleave {
namespace {

struct ExportedStream {
    ColumnStream stream;
    std::string error;  // message of the last call
};

ExportedStream& exported(ArrowArrayStream* stream) { return *static_cast<ExportedStream*>(stream->private_data); }

std::string describe(const Place& place, std::uint64_t header_records) {
    const std::string byte = " (byte " + std::to_string(place.offset) + ", ";
    if (place.record < header_records) return byte + "in the header)";
    return byte + "record " + std::to_string(place.record - header_records + 1) + ')';
}

// Performs the call. Returns 0, or an error number, in which case the message is in `error`.
template <class Call>
int attempt(ExportedStream& stream, const Call& call) {
    try {
        stream.error.clear();
        call();
        return 0;
    } catch (const InputError& error) {
        stream.error = error.what();
        if (error.place()) stream.error += describe(*error.place(), stream.stream.header_records());
        return EINVAL;
    } catch (const std::system_error& error) {
        stream.error = error.what();
        return error.code().value();
    } catch (const std::exception& error) {
        stream.error = error.what();
        return EINVAL;
    }
}

}  // namespace

void export_stream(ColumnStream stream, ArrowArrayStream* out) {
    auto data = std::make_unique<ExportedStream>(ExportedStream{std::move(stream), {}});
    *out = {};
    out->get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
        return attempt(exported(self), [&] { exported(self).stream.schema(schema); });
    };
    out->get_next = [](ArrowArrayStream* self, ArrowArray* array) {
        return attempt(exported(self), [&] {
            if (!exported(self).stream.next(array)) *array = {};
        });
    };
    out->get_last_error = [](ArrowArrayStream* self) -> const char* {
        return exported(self).error.empty() ? nullptr : exported(self).error.c_str();
    };
    out->release = [](ArrowArrayStream* self) {
        const std::unique_ptr<ExportedStream> released(static_cast<ExportedStream*>(self->private_data));
        self->release = nullptr;
        self->private_data = nullptr;
    };
    out->private_data = data.release();
}

}  // namespace cleave
