// cleave index: writes the index of a file, or compares it with the file. An index that matches but was made for a
// different inode or ctime is rewritten for this file, so that it can be used.
#include "cleave/index_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "cleave/error.h"
#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "core/reader/input_parts.h"
#include "core/reader/location.h"
#include "core/writer/stream_path.h"

namespace cleave::cli {
namespace {

bool is_regular(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Throws UsageError unless the input is a plain file or a gzip file.
void require_file(const Context& context, OpenInput& opened) {
    const auto refuse = [&](const char* why) {
        throw UsageError(formatted("{}: {}; only a plain or gzip regular file can have an index",  //
                                   context.location.shown(), why));
    };
    if (context.location.is_stream() || leads_to_stream(context.location.name()))
        refuse("it is standard input or another descriptor");
    if (context.location.is_web()) refuse("it is a file of a web server");
    Input& input = opened.input;
    if (!input.is_stream()) return;
    input.peek(1);  // detects the compression
    if (InputParts::is_gzip_file(input)) return;
    if (input.compression() != Compression::kNone) {
        refuse(formatted("it is compressed with {}", compression_name(input.compression())).c_str());
    }
    const bool cannot_be_mapped = is_regular(context.location.name()) && input.identity().size > 0;
    if (cannot_be_mapped) throw SystemError(ENOMEM, std::generic_category(), context.location.name());
    refuse("it is a pipe, a device, or a file without a size");
}

// As below, in what only the index of a gzip file has.
std::string difference(const GzipIndex& wanted, const IndexFile& file) {
    const IndexView& there = file.view();
    for (std::size_t i = 0; i < wanted.checksums.size(); ++i) {
        if (there.checksum(i) != wanted.checksums[i]) return formatted("checksum {} is of other bytes", i + 1);
    }
    if (there.checkpoint_count() != wanted.checkpoints.size()) return "it has another number of checkpoints";
    for (std::size_t i = 0; i < wanted.checkpoints.size(); ++i) {
        if (!are_same(file.checkpoint(i), wanted.checkpoints[i]))
            return formatted("checkpoint {} is another one", i + 1);
    }
    return "";
}

// The first difference between an index and the file, in words.
std::string difference(const IndexContents& wanted, const IndexFile& file) {
    const IndexView& there = file.view();
    const IndexHead& head = there.head();
    if (head.records != wanted.head.records) {
        return formatted("it has {} records, but the file has {}", head.records, wanted.head.records);
    }
    if (head.header_records != wanted.head.header_records || head.header_size != wanted.head.header_size)
        return "it has another header";
    if (head.divergence != wanted.head.divergence) return "the quote modes differ at another place";
    if (head.size != wanted.head.size) return "the decoded text has another size";
    if (head.step != wanted.head.step) return "its entries are not 1 MiB apart";
    for (std::size_t i = 0; i < wanted.entries.size(); ++i) {
        if (there.entry(i) == wanted.entries[i]) continue;
        return formatted("entry {} is byte {}, record {}, but in the file it is byte {}, record {}", i + 1,
                         there.entry(i).offset, there.entry(i).record, wanted.entries[i].offset,
                         wanted.entries[i].record);
    }
    return wanted.gzip ? difference(*wanted.gzip, file) : "";
}

void verify(Context& context, OpenInput& opened, FunctionRef<void(const Findings&)> found) {
    const std::string path = index_path(context.location.bare());
    std::string fault;
    IndexContents wanted;
    bool is_of_this_file = false;
    try {
        const auto index = IndexFile::open(opened.input, &opened.dialect, IndexMatch::kSameTime, Access::kMapped);
        if (!index) throw SystemError(ENOENT, std::generic_category(), path);
        wanted = make_index(opened.input, opened.dialect, context.arguments.execution, found);
        fault = difference(wanted, *index);
        is_of_this_file = index->view().head() == wanted.head;
        index->throw_if_lost();
    } catch (const IndexError& error) {
        fault = error.what();
    }
    if (!fault.empty()) throw IndexError(formatted("not good: {}", fault));
    if (is_of_this_file) return;
    write_index(opened.input, wanted);
    if (!context.arguments.quiet) print_message(formatted("{}: good; renewed for this file", path));
}

}  // namespace

void index_input(Context& context, const Location& location, const Cancellation& cancellation) {
    with_input(context, location, &cancellation, [&](OpenInput& opened) {
        require_file(context, opened);
        const auto found = [&](const Findings& findings) { Diagnostics(context).take(findings); };
        if (context.arguments.verifies) {
            verify(context, opened, found);
        } else {
            write_index(opened.input, opened.dialect, context.arguments.execution, found);
        }
    });
}

}  // namespace cleave::cli
