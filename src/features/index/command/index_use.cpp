#include "cli/feature_parts.h"

#include <stdexcept>
#include <system_error>

#include "base/shell_word.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "core/reader/input_parts.h"
#include "core/reader/location.h"
#include "core/reader/remote_file.h"

namespace cleave::cli {

namespace {

// Whether pieces get their names before it is known how many there will be. They must have the same names with an
// index.
bool is_cut_on_arrival(const Arguments& arguments) {
    return arguments.verb == Verb::kSplit && !needs_whole_input(arguments.policy);
}

// Whether an index would save the verb any reading.
bool may_help(const Arguments& arguments, const Input& input) {
    const bool reads_ranges = arguments.verb == Verb::kScan || !arguments.plan.empty();
    // To look for the index of an object takes a request. This much of the object is there as soon.
    constexpr std::uint64_t kLeastObject = std::uint64_t{16} << 20;
    if (input.remote() != nullptr && input.identity().size < kLeastObject && !reads_ranges) return false;
    // Ranges of a gzip file need an index, others are read without looking for records.
    return input.is_stream() ? !is_cut_on_arrival(arguments) : !reads_ranges;
}

}  // namespace

std::shared_ptr<const IndexFile> find_index(const Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const bool is_required = arguments.index == IndexUse::kRequire;
    if (arguments.index == IndexUse::kNever) return nullptr;
    Input& input = opened.input;
    const Location& location = context.location;
    if (location.is_stream() || location.is_web() || (input.is_stream() && !InputParts::is_gzip_file(input))) {
        if (!is_required) return nullptr;
        throw UsageError(formatted("{}: --index require needs a plain or gzip file, or such an object in a bucket",
                                   location.shown()));
    }
    if (!input.is_stream() && input.blob().size() == 0) return nullptr;  // there is nothing to scan
    if (!is_required && !may_help(arguments, input)) return nullptr;
    const std::string path = index_path(location.bare());
    std::string fault;
    try {
        auto index = IndexFile::open(input, &opened.dialect, IndexMatch::kSameFile, Access::kMapped);
        if (!index && is_required) {
            throw std::runtime_error(formatted("{} has no index; make one with: cleave index {}", location.shown(),
                                               shell_word(location.bare())));
        }
        if (index && input.is_stream() && !is_cut_on_arrival(arguments)) {
            read_by_index(input, index);
            opened.bar.resize(input.blob().size());
        }
        return index;
    } catch (const IndexError& error) {
        if (is_required) throw IndexError(formatted("not used: {}", error.what()));
        fault = error.what();
    } catch (const std::system_error& error) {
        if (is_required) throw;
        fault = error.code().message();
    } catch (const StoreError&) {  // without the right to list a bucket, a missing object is a forbidden one
        if (is_required) throw;
        return nullptr;
    }
    if (!arguments.quiet) print_message(formatted("{}: not used: {}", path, fault));
    return nullptr;
}

}  // namespace cleave::cli
