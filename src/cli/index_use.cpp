#include "cli/index_use.h"

#include <stdexcept>
#include <system_error>

#include "base/shell_word.h"
#include "cli/formatted.h"
#include "cli/messages.h"

namespace cleave::cli {

std::shared_ptr<const IndexFile> find_index(const Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const bool is_required = arguments.index == IndexUse::kRequire;
    if (arguments.index == IndexUse::kNever) return nullptr;
    const bool is_stream = context.path == "-" || opened.input.is_stream();
    if (!is_stream && opened.input.blob().size() == 0) return nullptr;  // there is nothing to scan
    if (is_stream) {
        if (!is_required) return nullptr;
        throw UsageError(formatted("{}: --index require needs a plain regular file", display_name(context.path)));
    }
    const std::string path = index_path(context.path);
    std::string fault;
    try {
        auto index = IndexFile::open(opened.input, opened.dialect);
        if (!index && is_required) {
            throw std::runtime_error(formatted("{} has no index; make one with: cleave index {}",
                                               display_name(context.path), shell_word(context.path)));
        }
        return index;
    } catch (const IndexError& error) {
        if (is_required) throw IndexError(formatted("not used: {}", error.what()));
        fault = error.what();
    } catch (const std::system_error& error) {
        if (is_required) throw;
        fault = error.code().message();
    }
    if (!arguments.quiet) print_message(formatted("{}: not used: {}", display_name(path), fault));
    return nullptr;
}

}  // namespace cleave::cli
