// The errors of the library. If a system call fails, functions throw std::system_error with the path in its message.
// They throw std::invalid_argument for a request that cannot be met (such as an output template that gives two pieces
// the same name) and for an argument that a header forbids: every public function checks its arguments before it reads
// or writes anything.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace cleave {

// A place in the input: a byte and the record that contains it, both from 0; record 0 begins at byte 0.
struct Place {
    std::uint64_t offset = 0;
    std::uint64_t record = 0;

    bool operator==(const Place&) const = default;
};

// The input is malformed or its format is not supported. `what()` does not name the place.
class InputError : public std::runtime_error {
public:
    explicit InputError(const std::string& what, std::optional<Place> place = std::nullopt)
        : std::runtime_error(what), place_(place) {}

    const std::optional<Place>& place() const noexcept { return place_; }

private:
    std::optional<Place> place_;
};

// A quoted section is still open at the end of the input; place() is the quote that opened it.
class OpenQuoteError : public InputError {
public:
    explicit OpenQuoteError(Place place) : InputError("a quote is never closed", place) {}
};

// The input changed after it was opened: do not use any results obtained from it.
class InputChangedError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    InputChangedError() : InputChangedError("the input was modified while it was read (its mtime or size changed)") {}
};

// Input::open_snapshot() cannot promise to read the input as it is now. `what()` says why, such as "it is compressed".
class SnapshotError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A Cancellation was requested.
class Cancelled : public std::runtime_error {
public:
    Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace cleave
