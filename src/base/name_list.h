// A compact list of names that begin the same way. Each name takes up its own bytes, without the common prefix, plus
// eight bytes.
#pragma once

#include <cassert>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

// Only one thread may use it while names are appended; after that, any thread may.
class NameList {
public:
    // All names begin with `start`.
    explicit NameList(std::string start = "") : start_(std::move(start)) {}

    void append(std::string_view name) {
        assert(name.starts_with(start_));
        rests_.append(name, start_.size());
        ends_.push_back(rests_.size());
    }

    bool empty() const { return ends_.empty(); }
    std::size_t size() const { return ends_.size(); }
    std::string operator[](std::size_t i) const { return start_ + std::string(rest(i)); }
    // The part of name `i` that follows the start. Two names are equal if these parts are equal. Valid until the next
    // append.
    std::string_view rest(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(rests_).substr(begin, ends_[i] - begin);
    }

private:
    std::string start_;
    std::string rests_;  // the part after the start of every name, concatenated
    std::vector<std::size_t> ends_;
};

}  // namespace cleave
