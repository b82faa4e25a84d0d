// The errors of the library. Everything it throws itself is a cleave::Error and, for programs that do not care whose
// error it is, also an exception of the standard library. The exceptions to this are std::bad_alloc, which the standard
// library throws wherever memory runs out, and whatever a function of the caller throws.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cleave {

// The base of all errors: catch (const cleave::Error& error).
class Error {
public:
    virtual const char* what() const noexcept = 0;

protected:
    Error() = default;
    Error(const Error&) = default;
    Error& operator=(const Error&) = default;
    ~Error() = default;
};

// An error that is also an exception of the standard library.
template <class Standard>
class ErrorOf : public Standard, public Error {
public:
    using Standard::Standard;
    const char* what() const noexcept override { return Standard::what(); }
};

// A request that cannot be met, such as an output template that gives two pieces the same name; or an argument that a
// header forbids, which includes an object in the wrong state, such as a stream that was read before. Every public
// function checks its arguments before it reads or writes anything.
class ArgumentError : public ErrorOf<std::invalid_argument> {
public:
    using ErrorOf::ErrorOf;
};

// A call where it cannot work, such as one that needs threads which a fork has left behind; or a fault of the library.
class LogicError : public ErrorOf<std::logic_error> {
public:
    using ErrorOf::ErrorOf;
};

// A system call failed. `what()` begins with the path, if a file is concerned.
class SystemError : public ErrorOf<std::system_error> {
public:
    using ErrorOf::ErrorOf;
};

// A place in the input: a byte and the record that contains it, both from 0; record 0 begins at byte 0.
struct Place {
    std::uint64_t offset = 0;
    std::uint64_t record = 0;

    bool operator==(const Place&) const = default;
};

// The input is malformed or its format is not supported. `what()` does not name the place.
class InputError : public ErrorOf<std::runtime_error> {
public:
    explicit InputError(const std::string& what, std::optional<Place> place = std::nullopt)
        : ErrorOf(what), place_(place) {}

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
class InputChangedError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
    InputChangedError() : InputChangedError("the input was modified while it was read (its mtime or size changed)") {}
};

// Input::open_snapshot() cannot promise to read the input as it is now. `what()` says why, such as "it is compressed".
class SnapshotError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// A Cancellation was requested.
class Cancelled : public ErrorOf<std::runtime_error> {
public:
    Cancelled() : ErrorOf("cancelled") {}
};

// What an exception means to the user. The command, the C interface and the module of Python all report this.
struct Failure {
    enum class Kind : std::uint8_t {
        kSystem,    // the system refused, or memory ran out
        kArgument,  // a request that can never be met
        kUnfit,     // a request that this input cannot meet
        kInput,     // the input is malformed
        kChanged,   // the input changed
        kIndex,     // the index of the input must not be used
    };
    Kind kind;
    int status;                    // the exit status of the command: 1 to 4
    const std::exception* error;   // null if it is none
    const char* what;              // why
    std::optional<Place> place{};  // where in the input, if known

    template <class Wanted>
    const Wanted* as() const noexcept {
        return dynamic_cast<const Wanted*>(error);
    }
};

// Describes the exception that is being handled. Call it in a handler; the pointers are valid until the handler ends.
Failure current_failure() noexcept;

}  // namespace cleave
