#include "features/inputs/run/columns.h"

#include <algorithm>
#include <string>

#include "base/text_bytes.h"
#include "base/too_long.h"

namespace cleave {
namespace {

Order order_by_name(const std::vector<std::string>& wanted, const InputColumns& there, const JoinOptions& options) {
    const auto shown = [&](const std::string& name, std::size_t number) {
        return options.shows_names && is_for_messages(name) ? "column '" + name + "'"
                                                            : "column " + std::to_string(number + 1);
    };
    Order order{there.count, std::vector<std::size_t>(wanted.size(), Order::kMissing)};
    for (std::size_t i = 0; i < there.names.size(); ++i) {
        const std::string& name = there.names[i];
        const auto found = std::ranges::find(wanted, name);
        if (found == wanted.end()) {
            if (options.drops_unknown) continue;
            throw InputError(shown(name, i) + " is not in the first input; --drop-unknown leaves it out");
        }
        std::size_t& number = order.fields[static_cast<std::size_t>(found - wanted.begin())];
        if (number != Order::kMissing || std::ranges::count(wanted, name) > 1)
            throw InputError(shown(name, i) + " is there twice, so its name does not say which is meant");
        number = i;
    }
    if (std::ranges::count(order.fields, Order::kMissing) == std::ssize(order.fields))
        throw InputError("none of its columns is in the first input; do its delimiter and line ends differ?");
    return order;
}

}  // namespace

std::optional<Order> order_of(const InputColumns& columns, const InputColumns& wanted, const JoinOptions& options) {
    const auto [name, expected] = std::ranges::mismatch(columns.names, wanted.names);
    const bool are_named_alike = name == columns.names.end() && expected == wanted.names.end();
    if (options.by_name && !are_named_alike) return order_by_name(wanted.names, columns, options);
    const auto is_common = [&](const std::string& one) { return std::ranges::count(wanted.names, one) > 0; };
    const char* const hint =
        std::ranges::any_of(columns.names, is_common) ? "; --columns-by-name puts columns in its order" : "";
    if (columns.count != wanted.count) {
        throw InputError("its " + std::string(columns.names.empty() ? "first record" : "header") + " has " +
                         std::to_string(columns.count) + (columns.count == 1 ? " field" : " fields") + ", not " +
                         std::to_string(wanted.count) + " as in the first input" + hint);
    }
    if (are_named_alike) return std::nullopt;
    const bool are_shown = options.shows_names && is_for_messages(*name) && is_for_messages(*expected);
    throw InputError("column " + std::to_string(name - columns.names.begin() + 1) +
                     (are_shown ? " is '" + *name + "', not '" + *expected + "' as" : " has another name than") +
                     " in the first input" + hint);
}

Rearranger::Rearranger(const Dialect& dialect, const Kernel& kernel, const Order& order, Place place)
    : dialect_(dialect), order_(order), place_(place), reader_(dialect, kernel, Reading::kUnambiguous, order.count) {}

std::span<const std::uint8_t> Rearranger::add(std::span<const std::uint8_t> bytes, bool at_end) {
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    out_.clear();
    if (!at_end && waiting_.size() < least_) return out_;
    if (waiting_.size() > kMaxRecordLimit + bytes.size()) throw_too_long(kMaxRecordLimit, place_);
    const RecordBlock block = reader_.read(waiting_, place_, at_end);
    for (std::size_t r = 0; r < block.record_count(); ++r) write(block, r);
    place_.offset += block.bytes.size();
    place_.record += block.record_count();
    least_ = block.bytes.empty() ? 2 * waiting_.size() : 0;  // so that a long record is not read again and again
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(block.bytes.size()));
    return out_;
}

void Rearranger::write(const RecordBlock& block, std::size_t r) {
    const std::uint32_t begin = block.rows[r].begin;
    const auto ends = block.ends.subspan(block.rows[r].first, block.rows[r + 1].first - block.rows[r].first);
    const std::size_t content = content_end(block.bytes, begin, ends.back(), dialect_);
    const auto append = [&](std::size_t from, std::size_t to) {
        const auto bytes = block.bytes.subspan(from, to - from);
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    };
    const std::size_t before = out_.size();
    for (std::size_t i = 0; content > begin && i < order_.fields.size(); ++i) {
        const std::size_t field = order_.fields[i];
        if (i > 0) out_.push_back(dialect_.delimiter);
        if (field == Order::kMissing) continue;
        append(field == 0 ? begin : ends[field - 1] + 1, field + 1 == ends.size() ? content : ends[field]);
    }
    if (content > begin && out_.size() == before) {  // without quotes, the record would be empty
        if (!dialect_.quote)
            throw InputError("the only column of a record is empty, which cannot be written without quotes",
                             Place{place_.offset + begin, place_.record + r});
        out_.insert(out_.end(), 2, *dialect_.quote);
    }
    append(content, block.rows[r + 1].begin);
}

}  // namespace cleave
