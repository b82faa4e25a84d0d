// A file that is not on this machine, such as an object in a store. Knows nothing about stores.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "cleave/error.h"

namespace cleave {

// A store does not do what it was asked for. `what()` begins with the URL, as messages show it.
class StoreError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// All of its bytes are of one version of the file: what reads others throws. Any thread may use it.
class RemoteFile {
public:
    RemoteFile() = default;
    RemoteFile(const RemoteFile&) = delete;
    RemoteFile& operator=(const RemoteFile&) = delete;
    virtual ~RemoteFile() = default;

    virtual std::uint64_t size() const noexcept = 0;

    // What tells this version of the file from every other, such as an entity tag. Not empty unless the file is.
    virtual std::string version() const = 0;

    // What tells the file from every other, whatever it is called; empty if that is not known.
    virtual std::string place() const { return ""; }

    // Fills `into` with the bytes from `offset` on, which are within the file. Throws InputChangedError if the file has
    // changed, StoreError if it cannot be read, and Cancelled.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> into) const = 0;

    // Says that these bytes, which are within the file, will soon be read, roughly in order.
    virtual void will_read(std::uint64_t /*offset*/, std::uint64_t /*size*/) const noexcept {}

    // The file whose name is the name of this one and `suffix`, as it is now; null if there is none, or if files like
    // this one have no others beside them that could be about their bytes. Throws what read() throws.
    virtual std::unique_ptr<const RemoteFile> find_beside(const std::string& /*suffix*/) const { return nullptr; }
    // Writes that file, which appears at once and replaces an older one. Throws ArgumentError if none can be written
    // there, StoreError and Cancelled.
    virtual void write_beside(const std::string& /*suffix*/, std::span<const std::uint8_t> /*bytes*/) const {
        throw ArgumentError("nothing can be written beside this file");
    }

    // What a module of a store knows the file by; null if it is not a file of that module.
    virtual const void* object_of(const void* /*module*/) const noexcept { return nullptr; }

    // The file that this one reads, if it only reads another one differently.
    virtual const RemoteFile& origin() const noexcept { return *this; }
};

}  // namespace cleave
