#include "features/check/json_census.h"

#include <algorithm>

#include "base/json_string.h"
#include "cleave/fields.h"
#include "features/check/excerpt.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Keeps the keys of the outermost object.
class KeySink {
public:
    explicit KeySink(std::vector<JsonBytes>& strings) : strings_(strings) { strings_.clear(); }

    void key(std::size_t level, JsonBytes string) {
        if (level == 1) strings_.push_back(string);
    }
    void element(std::size_t, std::uint64_t) {}
    void value(std::size_t, JsonKind, JsonBytes) {}

private:
    std::vector<JsonBytes>& strings_;
};

}  // namespace

void JsonKeyCounter::add(std::string_view name, std::uint64_t count) {
    if (has_more_) return;
    if (next_ >= keys_.size() || keys_[next_].name != name) {
        const auto found = numbers_.find(name);
        next_ = found == numbers_.end() ? keys_.size() : found->second;
        if (found == numbers_.end()) {
            has_more_ = keys_.size() == JsonCensus::kMostKeys || name.size() > JsonCensus::kLongestKey;
            if (has_more_) return;
            numbers_.emplace(name, next_);
            keys_.push_back({std::string(name), 0});
        }
    }
    keys_[next_++].count += count;
    if (next_ == keys_.size()) next_ = 0;
}

void JsonKeyCounter::add_string(JsonBytes string) {
    const std::uint8_t* const begin = string.data() + 1;
    const std::uint8_t* const end = string.data() + string.size() - 1;
    if (std::find(begin, end, '\\') == end) return add({reinterpret_cast<const char*>(begin), string.size() - 2}, 1);
    std::string name(string.size(), '\0');
    name.resize(write_json_text(begin, end, reinterpret_cast<std::uint8_t*>(name.data())));
    add(name, 1);
}

void JsonKeyCounter::add_all(const JsonCensus& census) {
    for (const JsonKeyCount& key : census.keys) add(key.name, key.count);
    has_more_ = has_more_ || census.has_more_keys;
}

void JsonKeyCounter::finish(JsonCensus& census) {
    if (has_more_) keys_.clear();
    census.has_more_keys = has_more_;
    census.keys = std::move(keys_);
}

JsonCensusTaker::JsonCensusTaker(const Dialect& dialect, Boundary begin, const Lead& lead, std::uint64_t max_listed)
    : terminator_(dialect.terminator),
      max_listed_(max_listed),
      to_skip_(begin.offset == 0 ? lead.size : 0),
      start_{begin.offset + to_skip_, begin.offset == 0 ? lead.records() : begin.record} {}

// The index of the first terminator, or kNone. In a CRLF, the LF is a terminator unless the CR already is one.
std::size_t JsonCensusTaker::end_of_line(Bytes bytes) const {
    const auto found = std::ranges::find_if(bytes, [this](std::uint8_t byte) {
        return (byte == '\n' && terminator_ != Terminator::kCr) || (byte == '\r' && terminator_ != Terminator::kLf);
    });
    return found == bytes.end() ? kNone : static_cast<std::size_t>(found - bytes.begin());
}

void JsonCensusTaker::feed(Bytes bytes) {
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, bytes.size()));
    to_skip_ -= skipped;
    bytes = bytes.subspan(skipped);
    while (!bytes.empty()) {
        if (std::exchange(is_after_return_, false) && bytes.front() == '\n') {
            ++start_.offset;
            bytes = bytes.subspan(1);
            continue;
        }
        const std::size_t end = end_of_line(bytes);
        if (end == kNone) return keep(bytes);
        is_after_return_ = terminator_ == Terminator::kAny && bytes[end] == '\r';
        end_line(bytes.first(end), 1);
        bytes = bytes.subspan(end + 1);
    }
}

void JsonCensusTaker::finish() {
    if (!kept_.empty() || is_too_long_) end_line({}, 0);
    counter_.finish(census_);
}

void JsonCensusTaker::keep(Bytes part) {
    kept_.insert(kept_.end(), part.begin(), part.end());
    if (kept_.size() > kMaxRecordLimit) is_too_long_ = true;
}

// Ends the current line, of which `part` are the last bytes, and the terminator after them.
void JsonCensusTaker::end_line(Bytes part, std::size_t terminator_size) {
    if (!kept_.empty()) keep(part);
    const Bytes line = kept_.empty() ? part : Bytes(kept_);
    const std::uint64_t size = line.size();
    if (is_too_long_) {
        note(line, {line.data(), "it has more than 1 GiB, the most that is read at once"});
    } else {
        take(line);
    }
    start_ = {start_.offset + size + terminator_size, start_.record + 1};
    kept_.clear();
    is_too_long_ = false;
}

void JsonCensusTaker::take(Bytes line) {
    const std::uint8_t* const begin = line.data();
    const std::uint8_t* end = begin + line.size();
    while (end != begin && skip_json_blanks(end - 1, end) == end) --end;  // so that a fault at the end is in the text
    if (begin == end) {
        if (census_.blank.count++ == 0) census_.blank.first = start_;
        return;
    }
    KeySink sink(strings_);
    if (const auto fault = scan_json(begin, end, sink)) return note(line, *fault);
    for (const JsonBytes string : strings_) counter_.add_string(string);
}

void JsonCensusTaker::note(Bytes line, const JsonFault& fault) {
    const auto at = static_cast<std::size_t>(fault.at - line.data());
    const Place place{start_.offset + at, start_.record};
    JsonCensus::NotJson& not_json = census_.not_json;
    if (not_json.count++ == 0) {
        not_json.first = place;
        const std::size_t from = at - std::min(at, kExcerptMargin);
        not_json.excerpt =
            excerpt_of(line.subspan(from, std::min(line.size() - from, at - from + kExcerptMargin)), at - from);
    }
    if (not_json.listed.size() < max_listed_) not_json.listed.push_back({place, fault.what});
}

void append(JsonCensus& census, const JsonCensus& next, std::uint64_t max_listed) {
    const auto add = [](Tally& sum, const Tally& more) {
        sum.count += more.count;
        if (!sum.first) sum.first = more.first;
    };
    if (census.not_json.count == 0) census.not_json.excerpt = next.not_json.excerpt;
    add(census.not_json, next.not_json);
    add(census.blank, next.blank);
    for (const JsonLineFault& fault : next.not_json.listed) {
        if (census.not_json.listed.size() < max_listed) census.not_json.listed.push_back(fault);
    }
}

}  // namespace cleave
