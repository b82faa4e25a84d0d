// One scan of the line does everything. For each open object and array it keeps the place in the tree of paths and what
// --select makes of its members; nothing is decoded but names with escapes.
//
// What --select leaves out has to go with one comma. A member that follows one that is written takes the comma before
// it along. Members before the first one that is written are left out up to where that one begins.
//
// Whether an object has two members of one name is decided by their hashes, 64 bits with a random seed: two names with
// one hash count as equal.
#define XXH_INLINE_ALL  // compiles the hash in; no library is linked
#include "features/redact/stage/json_reader.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/json_string.h"
#include "base/random_seed.h"

namespace cleave {
namespace {

constexpr std::uint32_t kNone = JsonSpot::kNone;
constexpr std::size_t kFewNames = 16;          // are compared with each other
constexpr std::size_t kMostDissimilar = 4096;  // hashes to remember

}  // namespace

JsonReader::JsonReader(const JsonPaths& paths, const JsonWishes& wishes, std::shared_ptr<MemoryManager> memory)
    : paths_(paths),
      wishes_(wishes),
      seed_(random_seed()),
      name_text_(std::move(memory)),
      found_(paths.paths().size()),
      met_(paths.paths().size()) {
    levels_[0].stays = paths.keeps_others();
}

bool JsonReader::read(const std::uint8_t* bytes, std::uint32_t begin, std::uint32_t end, const Place& place) {
    bytes_ = bytes;
    spots_.clear();
    gaps_.clear();
    scopes_.clear();
    hashes_.clear();
    for (std::vector<JsonSpot>& found : found_) found.clear();
    fault_ = nullptr;
    line_end_ = bytes + end;
    while (line_end_ != bytes + begin && skip_json_blanks(line_end_ - 1, line_end_) == line_end_) --line_end_;
    if (line_end_ == bytes + begin) return false;
    const std::optional<JsonFault> fault = scan_json(bytes + begin, line_end_, *this);
    const auto place_of = [&](std::uint32_t at) { return Place{place.offset + at, place.record}; };
    if (fault) throw InputError(std::string("a line is not JSON: ") + fault->what, place_of(at(fault->at)));
    if (fault_ != nullptr) throw InputError(fault_, place_of(fault_at_));
    return true;
}

const JsonSpot* JsonReader::find(std::uint32_t path, const JsonSpot& from) const {
    std::uint32_t scope = from.scope;
    const std::uint32_t depth = paths_.paths()[path].depth;
    while (scope != kNone && scopes_[scope].depth > depth) scope = scopes_[scope].around;
    const std::vector<JsonSpot>& found = found_[path];
    const JsonRange range = scope == kNone ? JsonRange{0, kNone} : scopes_[scope].range;
    const auto first = std::ranges::lower_bound(found, range.begin, {}, &JsonSpot::begin);
    return first != found.end() && first->begin < range.end ? &*first : nullptr;
}

void JsonReader::refuse(const char* what, std::uint32_t at) {
    if (fault_ != nullptr) return;
    fault_ = what;
    fault_at_ = at;
}

std::string_view JsonReader::text_of(JsonBytes string) {
    const std::uint8_t* const begin = &string.front() + 1;
    const std::size_t size = string.size() - 2;
    const auto* text = reinterpret_cast<const char*>(begin);
    if (size == 0 || std::memchr(begin, '\\', size) == nullptr) return {text, size};
    if (has_lone_surrogate(begin, begin + size)) refuse("a name has half a surrogate pair", at(begin));
    name_text_.renew(size);
    const std::uint64_t written = write_json_text(begin, begin + size, name_text_.data());
    return {reinterpret_cast<const char*>(name_text_.data()), written};
}

void JsonReader::key(std::size_t level, JsonBytes string) {
    const Level& in = levels_[level];
    name_ = string;
    const std::string_view name = text_of(string);
    const std::uint64_t hash = XXH3_64bits_withSeed(name.data(), name.size(), seed_);
    hashes_.push_back(hash);
    is_similar_ = false;
    place_ = JsonPlace::kNone;
    if (in.place == JsonPlace::kNone) return;
    place_ = paths_.member(in.place, name);
    if (!wishes_.finds_similar || (place_ != JsonPlace::kNone && paths_[place_].has_rules_within)) return;
    is_similar_ = paths_[in.place].similar && is_similar(in.place, name, hash);
}

bool JsonReader::is_similar(std::uint32_t place, std::string_view name, std::uint64_t hash) {
    const std::uint64_t of_place = hash ^ place * 0x9E37'79B9'7F4A'7C15;
    if (dissimilar_.contains(of_place)) return false;
    if (paths_[place].similar->find(name)) return true;
    if (dissimilar_.size() < kMostDissimilar) dissimilar_.insert(of_place);
    return false;
}

void JsonReader::element(std::size_t level, std::uint64_t index) {
    const Level& in = levels_[level];
    name_ = {};
    is_similar_ = false;
    place_ = in.place == JsonPlace::kNone ? JsonPlace::kNone : paths_.element(in.place, index);
}

void JsonReader::value(std::size_t level, JsonKind kind, JsonBytes bytes) {
    const std::uint32_t begin = at(bytes.data());
    Level& in = levels_[level];
    if (level == 0) begin_line(kind, begin);
    if (kind == JsonKind::kString && has_lone_surrogate(&bytes.front() + 1, &bytes.back())) {
        refuse("a string has half a surrogate pair", begin);
    }
    const JsonPlace* const place = place_ != JsonPlace::kNone ? &paths_[place_] : nullptr;
    const bool opens = kind == JsonKind::kObject || kind == JsonKind::kArray;
    const bool stays = place != nullptr ? place->is_selected.value_or(in.stays) : in.stays;
    const bool has_any = stays || (opens && place != nullptr && place->has_selected_below);
    JsonSpot spot{JsonSpot::Role::kOther,
                  kind,
                  in.is_written && has_any,
                  begin,
                  at(bytes.data() + bytes.size()),
                  place_,
                  in.around,
                  in.scope};
    if (paths_.has_selection()) begin_member(in, name_.empty() ? begin : at(name_.data()), spot.is_written);
    const bool is_element = !in.is_object && place != nullptr;
    if (is_element) {
        spot.scope = static_cast<std::uint32_t>(scopes_.size());
        scopes_.push_back({{begin, spot.end}, in.scope, in.scope == kNone ? 1 : scopes_[in.scope].depth + 1});
    }
    if (spot.is_written && !name_.empty() && (is_similar_ || wishes_.watches)) add_name(spot);
    const std::uint32_t own = add_value(spot, place);
    if (!opens) {
        if (paths_.has_selection()) end_member(in, spot.end);
        return;
    }
    levels_[level + 1] = {.place = place_,
                          .spot = own,
                          .scope = spot.scope,
                          .around = spot.role == JsonSpot::Role::kNamed ? own : in.around,
                          .element = is_element ? spot.scope : kNone,
                          .begin = begin,
                          .is_object = kind == JsonKind::kObject,
                          .is_written = spot.is_written,
                          .stays = stays,
                          .names = hashes_.size()};
}

// Before the outermost value.
void JsonReader::begin_line(JsonKind kind, std::uint32_t begin) {
    name_ = {};
    place_ = JsonPaths::kRoot;
    const bool may_be_array = paths_[place_].each != JsonPlace::kNone || !paths_[place_].elements.empty();
    if (kind == JsonKind::kObject || (kind == JsonKind::kArray && may_be_array)) return;
    refuse("a line is not an object of JSON", begin);
}

// Adds the spot, if it is needed, and sets its role. Returns its number, or kNone.
std::uint32_t JsonReader::add_value(JsonSpot& spot, const JsonPlace* place) {
    if (place != nullptr) {
        if (place->column != JsonPlace::kNone) spot.role = JsonSpot::Role::kNamed;
        for (const std::uint32_t path : place->paths) {
            ++met_[path];
            if (paths_.paths()[path].is_looked_up) found_[path].push_back(spot);
        }
    }
    if (spot.role == JsonSpot::Role::kOther) {
        const bool is_string = spot.kind == JsonKind::kString;
        const bool is_wanted =
            is_string ? wishes_.watches || wishes_.takes_strings : spot.kind == JsonKind::kNumber && wishes_.watches;
        if (!is_wanted || !spot.is_written) return kNone;
    }
    spots_.push_back(spot);
    return static_cast<std::uint32_t>(spots_.size() - 1);
}

// Adds the name of the member whose value is at `spot`.
void JsonReader::add_name(JsonSpot spot) {
    spot.begin = at(name_.data());
    spot.end = spot.begin + static_cast<std::uint32_t>(name_.size());
    spot.role = JsonSpot::Role::kSimilar;
    if (is_similar_) spots_.push_back(spot);
    spot.role = JsonSpot::Role::kName;
    if (wishes_.watches) spots_.push_back(spot);
}

void JsonReader::closed(std::size_t level, const std::uint8_t* behind) {
    const Level& done = levels_[level + 1];
    const std::uint32_t end = at(behind);
    if (done.gap != kNone) gaps_.push_back({done.gap, done.end});
    if (has_twins(std::span(hashes_).subspan(done.names))) {
        refuse("an object has two members of the same name", done.begin);
    }
    hashes_.resize(done.names);
    if (done.spot != kNone) spots_[done.spot].end = end;
    if (done.element != kNone) scopes_[done.element].range.end = end;
    end_member(levels_[level], end);
}

void JsonReader::begin_member(Level& in, std::uint32_t begin, bool is_written) {
    in.leaves_out = in.is_written && !is_written;
    if (in.leaves_out) {
        const auto comma = [&] { return at(skip_json_blanks(bytes_ + in.end, line_end_)); };
        if (in.has_written || in.gap == kNone) in.gap = in.has_written ? comma() : begin;
        return;
    }
    if (in.gap != kNone) gaps_.push_back({in.gap, begin});
    in.gap = kNone;
    in.has_written = true;
}

void JsonReader::end_member(Level& in, std::uint32_t end) {
    in.end = end;
    if (!in.leaves_out || !in.has_written) return;
    gaps_.push_back({in.gap, end});
    in.gap = kNone;
}

bool JsonReader::has_twins(std::span<std::uint64_t> hashes) {
    if (hashes.size() > kFewNames) {
        std::ranges::sort(hashes);
        return std::ranges::adjacent_find(hashes) != hashes.end();
    }
    for (std::size_t i = 1; i < hashes.size(); ++i) {
        if (std::ranges::find(hashes.first(i), hashes[i]) != hashes.begin() + static_cast<std::ptrdiff_t>(i))
            return true;
    }
    return false;
}

}  // namespace cleave
