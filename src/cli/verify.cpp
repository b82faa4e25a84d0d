// cleave verify: compares the files of a run with the signed report that lists them.
//
//   read the report; check its signature before anything else; only then parse it
//   for each file that it lists, side by side: open it beneath the folder of the report, compare its size, hash it
//   print what differs, and the total
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/parallel.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/standard_output.h"
#include "cli/verbs.h"
#include "formats/signed_report.h"
#include "io/beneath.h"
#include "io/fd.h"
#include "io/stream_path.h"
#include "io/temporary_file.h"

namespace cleave::cli {
namespace {

// A file that the report lists, and what is wrong with it.
struct Listed {
    std::string shown;  // for messages
    ReportedFile file;
    bool is_input = false;        // named by the user, not by the report; its hash is that of ReportedInput
    std::string_view fault = {};  // empty if the file is as reported
};

// Opens what the user names.
Fd open_named(const std::string& path) {
    const bool is_stream = path == kStandardStream;
    Fd file(is_stream ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                      : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.is_open()) throw_errno(display_name(path));
    return file;
}

std::string read_report(const std::string& path) {
    const Fd file = open_named(path);
    std::string text = read_to_end(file.get(), kMaxSignedReport, display_name(path));
    if (text.size() > kMaxSignedReport)
        throw InputError(formatted("not a signed report: it is larger than {} MiB", kMaxSignedReport >> 20U));
    return text;
}

void require_authentic(const std::string& report, const KeyRing& keys) {
    const std::string& key = keys.names().front();
    if (is_authentic(report, keys, key)) return;
    throw InputError(
        formatted("not authentic: it has been changed, or was not signed with the key {} (id {})", key, keys.id(key)));
}

std::vector<Listed> files_to_compare(const ReportedFiles& files, const std::string& input) {
    std::vector<Listed> listed;
    listed.reserve(files.pieces.size() + 2);
    for (const ReportedFile& piece : files.pieces)
        listed.push_back({piece.name == kStandardStream ? "stdin" : piece.name, piece});
    if (files.manifest) listed.push_back({files.manifest->name, *files.manifest});
    if (input.empty()) return listed;
    const ContentDigest keyed{files.input.size, files.input.hmac_sha256};
    listed.push_back({formatted("the input, {}", display_name(input)), {input, keyed, std::nullopt}, true});
    return listed;
}

// Standard input can be only one of the files.
void require_one_stream(const std::string& report, const std::vector<Listed>& listed) {
    const auto is_stream = [](const Listed& each) { return each.file.name == kStandardStream; };
    const auto streams = std::ranges::count_if(listed, is_stream) + (report == kStandardStream ? 1 : 0);
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

// The digest of at most one byte more than `expected`, because a pipe or a device may have no end.
ContentDigest digest_of(const Fd& file, std::uint64_t expected, const std::string& name) {
    constexpr std::uint64_t kPartSize = std::uint64_t{1} << 20;
    std::vector<std::uint8_t> buffer(std::min(expected, kPartSize - 1) + 1);
    ContentHash hash;
    for (std::uint64_t left = expected + 1; left > 0;) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
        const std::size_t size = read_some(file.get(), std::span(buffer).first(most), nullptr, name);
        if (size == 0) break;
        hash.add(std::span(buffer).first(size));
        left -= size;
    }
    return hash.digest();
}

// Says how the file differs from what is reported; "" if it does not. `keys` is null without a key.
std::string_view difference(const Fd& file, const Listed& listed, const KeyRing* keys) {
    const ContentDigest& wanted = listed.file.content;
    const struct stat status = stat_of(file.get(), listed.shown);
    if (S_ISREG(status.st_mode) && !listed.is_input && std::cmp_not_equal(status.st_size, wanted.size))
        return "size";  // without reading it
    ContentDigest there = digest_of(file, wanted.size, listed.shown);
    if (listed.is_input) there.sha256 = reported_input(there, *keys, keys->names().front()).hmac_sha256;
    if (there.size != wanted.size) return "size";
    return there == wanted ? "" : "content";
}

std::string_view compare(const Fd& folder, const Listed& listed, const KeyRing* keys) {
    const std::string& name = listed.file.name;
    if (listed.is_input || name == kStandardStream) return difference(open_named(name), listed, keys);
    Fd file;
    try {
        file = open_beneath(folder, name, listed.shown);
    } catch (const std::system_error& error) {
        const std::string_view fault = fault_of(error.code());
        if (fault.empty()) throw;
        return fault;
    }
    return difference(file, listed, keys);
}

// Who wrote the report.
std::string origin_of(const KeyRing* keys) {
    if (keys == nullptr) return "not authenticated";
    const std::string& key = keys->names().front();
    return formatted("authentic, signed with the key {} (id {})", key, keys->id(key));
}

}  // namespace

bool run_verify(Context& context) {
    const std::string& path = context.arguments.inputs.front();
    context.path = path;
    const std::string report = read_report(path);
    const KeyRing* const keys = context.arguments.is_keyless ? nullptr : &*context.keys;
    if (keys != nullptr) require_authentic(report, *keys);
    std::vector<Listed> listed = files_to_compare(files_of_report(report), context.arguments.reported_input);
    require_one_stream(path, listed);
    const bool is_stream = path == kStandardStream || leads_to_stream(path);
    const Fd folder = open_folder(is_stream ? "" : std::string(folder_of(path)));
    parallel_for(listed.size(), context.arguments.execution.thread_count(),
                 [&](std::size_t i) { listed[i].fault = compare(folder, listed[i], keys); });
    StandardOutput out;
    std::size_t different = 0;
    for (const Listed& each : listed) {
        if (each.fault.empty()) continue;
        ++different;
        out.print("{}: {}\n", printable(each.shown), each.fault);
    }
    out.print("{}: {}; ", printable(display_name(path)), origin_of(keys));
    if (different > 0) {
        out.print("{} of {} {}\n", different, numbered(listed.size(), "file"), different == 1 ? "differs" : "differ");
    } else {
        out.print("{}, as reported\n", numbered(listed.size(), "file"));
    }
    out.flush();
    return different == 0;
}

}  // namespace cleave::cli
