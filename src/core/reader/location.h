// Where a name leads that a user or a manifest gives. It is parsed once, by its spelling alone; what follows asks the
// kind. Whether a file is a pipe or a device is asked of the system: see core/writer/stream_path.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

// A URL without its query, which may contain a signature.
inline std::string shown_url(const std::string& url) { return url.substr(0, url.find('?')); }

class Location {
public:
    Location() = default;  // of no name
    explicit Location(std::string name) : name_(std::move(name)), kind_(kind_of(name_)) {}

    const std::string& name() const noexcept { return name_; }  // as given
    bool empty() const noexcept { return name_.empty(); }

    bool is_stream() const noexcept { return kind_ == Kind::kStream; }  // "-": standard input or output
    bool is_bucket() const noexcept { return kind_ == Kind::kBucket; }  // an object, which can be written: "s3://b/key"
    bool is_web() const noexcept { return kind_ == Kind::kWeb; }        // a file of a web server
    bool is_url() const noexcept { return kind_ >= Kind::kBucket; }
    static bool is_url(std::string_view name) noexcept { return kind_of(name) >= Kind::kBucket; }  // allocates nothing

    std::string bare() const { return is_url() ? shown_url(name_) : name_; }  // as the user may type it again
    std::string shown() const { return is_stream() ? "stdin" : bare(); }      // in messages
    // What the URLs of one bucket or server have in common: "s3://bucket". Empty for anything else.
    std::string_view root() const noexcept {
        const std::string_view name(name_);
        return is_url() ? name.substr(0, name.find_first_of("/?#", name.find("://") + 3)) : std::string_view();
    }

private:
    enum class Kind : std::uint8_t { kFile, kStream, kBucket, kWeb };  // URLs last

    static Kind kind_of(std::string_view name) noexcept {
        if (name == "-") return Kind::kStream;
        const std::size_t end = name.find("://");
        if (end == std::string_view::npos) return Kind::kFile;
        const std::string_view scheme = name.substr(0, end);
        if (scheme == "s3" || scheme == "gs") return Kind::kBucket;
        return scheme == "https" || scheme == "http" ? Kind::kWeb : Kind::kFile;
    }

    std::string name_;
    Kind kind_ = Kind::kFile;
};

// Very many locations, in little more memory than their names take.
class LocationList {
public:
    LocationList() = default;
    // The names in a text, with `end` between them. Empty ones are left out.
    LocationList(std::string text, char end) : names_(std::move(text)) {
        std::ranges::replace(names_, end, '\0');
        const auto are_ends = [](char one, char next) { return one == '\0' && next == '\0'; };
        const auto rest = std::ranges::unique(names_, are_ends);
        names_.erase(rest.begin(), rest.end());
        if (names_.starts_with('\0')) names_.erase(0, 1);
        if (!names_.empty() && !names_.ends_with('\0')) names_.push_back('\0');
        for (std::size_t at = 0; at < names_.size(); at = names_.find('\0', at) + 1) note(at);
    }

    void add(std::string_view name) {
        note(names_.size());
        names_.append(name).push_back('\0');
    }
    void remove_first() noexcept { ++first_; }

    std::size_t size() const noexcept { return end_ - first_; }
    bool empty() const noexcept { return size() == 0; }
    Location operator[](std::size_t number) const {
        number += first_;
        const char* name = names_.data() + begins_[number / kStep];
        for (number %= kStep; number > 0; --number) name += std::strlen(name) + 1;
        return Location(name);
    }
    Location front() const { return (*this)[0]; }
    auto all() const {
        return std::views::iota(std::size_t{0}, size()) |
               std::views::transform([this](std::size_t number) { return (*this)[number]; });
    }

private:
    static constexpr std::size_t kStep = 16;

    void note(std::size_t begin) {
        if (end_++ % kStep == 0) begins_.push_back(begin);
    }

    std::string names_;                // each with a NUL behind it
    std::vector<std::size_t> begins_;  // of every kStep-th
    std::size_t first_ = 0;
    std::size_t end_ = 0;
};

}  // namespace cleave
