// cleave verify: compares the files of a run with the signed report that lists them.
//
//   read the report; check its signature before anything else; only then parse it
//   for each file that it lists, side by side: open it beneath the folder of the report, compare its size, hash it
//   print what differs, and the total
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/shell_word.h"
#include "cleave/function_ref.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/named.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/reader/location.h"
#include "core/reader/temporary_file.h"
#include "core/writer/stream_path.h"
#include "engine/beneath.h"
#include "features/redact/run/signed_report.h"

namespace cleave::cli {
namespace {

// A file that the report lists, and what is wrong with it.
struct Listed {
    std::string shown;  // for messages
    ReportedFile file;
    bool is_input = false;        // named by the user, not by the report; its hash is that of ReportedInput
    std::string_view fault = {};  // empty if the file is as reported
};

std::string read_report(const Context& context, const Location& report) {
    std::string text = read_named(context, report, kMaxSignedReport);
    if (text.size() > kMaxSignedReport)
        throw InputError(formatted("not a signed report: it is larger than {} MiB", kMaxSignedReport >> 20U));
    if (const auto manifest = parse_json(text); manifest && manifest->find("dialect") != nullptr) {
        throw InputError(
            formatted("a manifest, not a signed report; cleave join --manifest {} >/dev/null compares the "
                      "pieces with it",
                      shell_word(report.bare())));
    }
    return text;
}

void require_authentic(const std::string& report, const KeyRing& keys) {
    const std::string& key = keys.names().front();
    if (is_authentic(report, keys, key)) return;
    throw InputError(
        formatted("not authentic: it has been changed, or was not signed with the key {} (id {})", key, keys.id(key)));
}

std::vector<Listed> files_to_compare(const ReportedFiles& files, const Location& input) {
    std::vector<Listed> listed;
    listed.reserve(files.pieces.size() + 2);
    for (const ReportedFile& piece : files.pieces)
        listed.push_back({piece.name == kStandardStream ? "stdin" : piece.name, piece});
    if (files.manifest) listed.push_back({files.manifest->name, *files.manifest});
    if (input.empty()) return listed;
    const ContentDigest keyed{files.input.size, files.input.hmac_sha256};
    listed.push_back({formatted("the input, {}", input.shown()), {input.name(), keyed, std::nullopt}, true});
    return listed;
}

// Standard input can be only one of the files.
void require_one_stream(const Location& report, const std::vector<Listed>& listed) {
    const auto is_stream = [](const Listed& each) { return each.file.name == kStandardStream; };
    const auto streams = std::ranges::count_if(listed, is_stream) + (report.is_stream() ? 1 : 0);
    if (streams > 1) throw UsageError("only one of the report, its output and its input can be standard input");
}

// Why a file that the report names cannot be one that cleave has written; "" if the error says something else.
std::string_view fault_of(const std::error_code& error) {
    for (const std::errc missing :
         {std::errc::no_such_file_or_directory, std::errc::not_a_directory, std::errc::filename_too_long}) {
        if (error == missing) return "missing";
    }
    if (error == std::errc::too_many_symbolic_link_levels || error == std::errc::cross_device_link)
        return "a symbolic link leads to it";
    if (error == std::errc::invalid_argument || error == std::errc::no_such_device_or_address)
        return "not a regular file";
    return "";
}

// Fills the span with the bytes that follow those of the last call, at least one of them unless the end is reached, and
// returns how many.
using Reader = FunctionRef<std::size_t(std::span<std::uint8_t>)>;

// The digest of at most one byte more than `expected`, because a pipe or a device may have no end.
ContentDigest digest_of(Reader read, std::uint64_t expected) {
    constexpr std::uint64_t kReadSize = std::uint64_t{1} << 20;
    std::vector<std::uint8_t> buffer(std::min(expected, kReadSize - 1) + 1);
    ContentHash hash;
    for (std::uint64_t left = expected + 1; left > 0;) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
        const std::size_t size = read(std::span(buffer).first(most));
        if (size == 0) break;
        hash.add(std::span(buffer).first(size));
        left -= size;
    }
    return hash.digest();
}

// Compares what the report lists with what is there. `keys` is null without a key.
class Comparison {
public:
    Comparison(const Context& context, const KeyRing* keys)
        : context_(context), keys_(keys), folder_(folder_beside(context.arguments.inputs.front().name())) {
        // A web server may take more than a name from a URL, and what follows a question mark is of the report alone.
        if (folder_.is_web())
            throw UsageError("verify: the report of a web server does not say where its files are; download them");
        if (!folder_.is_url()) descriptor_ = open_folder(folder_.name());
    }

    // Objects are read ahead, each by many requests and with up to 96 MiB.
    unsigned thread_count() const {
        constexpr unsigned kObjectsAtOnce = 4;
        const unsigned threads = context_.arguments.execution.thread_count();
        return folder_.is_url() ? std::min(threads, kObjectsAtOnce) : threads;
    }

    // Says how the file differs from what is reported; "" if it does not.
    std::string_view of(const Listed& listed) const {
        const std::string& name = listed.file.name;
        const bool is_named = listed.is_input || name == kStandardStream;
        const Location location(is_named ? name : folder_.name() + name);
        if (const Store* const store = store_of(context_, location)) return of_object(*store, location.name(), listed);
        if (is_named) return of_file(open_file(location), listed);
        try {
            return of_file(open_beneath(descriptor_, name, listed.shown), listed);
        } catch (const std::system_error& error) {
            const std::string_view fault = fault_of(error.code());
            if (fault.empty()) throw;
            return fault;
        }
    }

private:
    std::string_view of_file(const Fd& file, const Listed& listed) const {
        const struct stat status = stat_of(file.get(), listed.shown);
        if (S_ISREG(status.st_mode) && !listed.is_input && std::cmp_not_equal(status.st_size, listed.file.content.size))
            return "size";  // without reading it
        return of_bytes(
            [&](std::span<std::uint8_t> into) { return read_some(file.get(), into, nullptr, listed.shown); }, listed);
    }

    std::string_view of_object(const Store& store, const std::string& url, const Listed& listed) const {
        if (!has_object(store, url)) return "missing";
        const Input object = open_object(store, url, nullptr, Encoding::kBytes);
        const RemoteFile& file = *object.remote();
        if (!listed.is_input && file.size() != listed.file.content.size) return "size";
        std::uint64_t at = 0;
        const auto read = [&](std::span<std::uint8_t> into) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), file.size() - at));
            if (size > 0) file.read(at, into.first(size));
            at += size;
            return size;
        };
        try {
            return of_bytes(read, listed);
        } catch (const InputChangedError& error) {  // not the report
            throw std::runtime_error(formatted("{}: {}", listed.shown, error.what()));
        }
    }

    std::string_view of_bytes(Reader read, const Listed& listed) const {
        const ContentDigest& wanted = listed.file.content;
        ContentDigest there = digest_of(read, wanted.size);
        if (listed.is_input) there.sha256 = reported_input(there, *keys_, keys_->names().front()).hmac_sha256;
        if (there.size != wanted.size) return "size";
        return there == wanted ? "" : "content";
    }

    const Context& context_;
    const KeyRing* keys_;
    Location folder_;  // of the report
    Fd descriptor_;    // the same, if it is not in a store
};

// Who wrote the report.
std::string origin_of(const KeyRing* keys) {
    if (keys == nullptr) return "not authenticated";
    const std::string& key = keys->names().front();
    return formatted("authentic, signed with the key {} (id {})", key, keys->id(key));
}

}  // namespace

bool run_verify(Context& context) {
    context.location = context.arguments.inputs.front();
    const std::string report = read_report(context, context.location);
    const KeyRing* const keys = context.arguments.is_keyless ? nullptr : context.keys.get();
    if (keys != nullptr) require_authentic(report, *keys);
    std::vector<Listed> listed = files_to_compare(files_of_report(report), context.arguments.reported_input);
    require_one_stream(context.location, listed);
    const Comparison comparison(context, keys);
    parallel_for(listed.size(), comparison.thread_count(),
                 [&](std::size_t i) { listed[i].fault = comparison.of(listed[i]); });
    StandardOutput out;
    std::size_t different = 0;
    for (const Listed& each : listed) {
        if (each.fault.empty()) continue;
        ++different;
        out.print("{}: {}\n", printable(each.shown), each.fault);
    }
    out.print("{}: {}; ", printable(context.location.shown()), origin_of(keys));
    if (different > 0) {
        out.print("{} of {} {}\n", different, numbered(listed.size(), "file"), different == 1 ? "differs" : "differ");
    } else {
        out.print("{}, as reported\n", numbered(listed.size(), "file"));
    }
    out.flush();
    return different == 0;
}

}  // namespace cleave::cli
