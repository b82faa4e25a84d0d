// A remote file that is read ahead of those who read it in order.
//
// A store answers a request after tens of milliseconds, and sends less over one connection than a scan takes, so many
// parts are fetched at a time. A read that begins where an earlier one ended, or less than a part behind that, goes on
// with a stretch. Once half a part was read of a stretch, somebody reads it in order: the part that a read is in
// is fetched as a whole, and so are those after it, up to four times as much as was read:
//
//     |  part  |  part  |  part  |  part  |  part  |
//                 ^ is read  ^ fetched at the same time, as many as there are threads
//
// Every other read is passed on as it is, so that a search here and there fetches little, unless its part is there. The
// first part is always fetched as a whole, because several readers look at it to learn what the file is. Parts that
// were read stay until their place is needed, because readers come back for a few bytes, and threads that read one
// stretch are not equally fast; the one that was used last is the last to go. A part that fails fails whoever reads it,
// and is fetched anew for the next.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cleave/cancel.h"
#include "cleave/function_ref.h"
#include "io/remote_file.h"

namespace cleave {

class ReadAheadFile final : public RemoteFile {
public:
    static constexpr std::uint64_t kPartSize = std::uint64_t{4} << 20;
    static constexpr unsigned kThreads = 16;
    static constexpr std::uint64_t kAhead = 4;     // how many times what was read is fetched ahead, at most
    static constexpr std::size_t kMostParts = 24;  // in memory, being fetched or waiting to be read

    // Finds the file. Waits for it, then and later, end when the cancellation is requested.
    using Opener = FunctionRef<std::unique_ptr<const RemoteFile>(const Cancellation&)>;

    // `cancellation`, if not null, must outlive the object. Throws what `open` throws.
    ReadAheadFile(Opener open, const Cancellation* cancellation, std::uint64_t part_size = kPartSize,
                  unsigned threads = kThreads);
    // Does not wait for parts that nobody needs any more.
    ~ReadAheadFile() override;

    std::uint64_t size() const noexcept override { return file_->size(); }
    std::string version() const override { return file_->version(); }
    std::string place() const override { return file_->place(); }
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override;
    std::unique_ptr<const RemoteFile> find_beside(const std::string& suffix) const override {
        return file_->find_beside(suffix);
    }
    void write_beside(const std::string& suffix, std::span<const std::uint8_t> bytes) const override {
        file_->write_beside(suffix, bytes);
    }
    const RemoteFile& origin() const noexcept override { return file_->origin(); }

private:
    struct Part;

    // What is read in order.
    struct Stretch {
        std::uint64_t end = 0;   // of the last read
        std::uint64_t read = 0;  // bytes
    };

    Stretch& stretch_of(std::uint64_t offset) const CLEAVE_REQUIRES(mutex_);
    Part& want(std::uint64_t number) const CLEAVE_REQUIRES(mutex_);
    void read_part(std::uint64_t offset, std::span<std::uint8_t> into, std::uint64_t ahead) const;
    void fetch() const;
    bool make_room(bool for_reader) const CLEAVE_REQUIRES(mutex_);

    Cancellation cancellation_;
    std::unique_ptr<const RemoteFile> file_;
    const std::uint64_t part_size_;
    const unsigned most_threads_;
    mutable Mutex mutex_;
    mutable ConditionVariable changed_;  // a part has arrived, or is wanted
    mutable std::map<std::uint64_t, std::unique_ptr<Part>> parts_ CLEAVE_GUARDED_BY(mutex_);
    mutable std::deque<Part*> wanted_ CLEAVE_GUARDED_BY(mutex_);
    mutable std::array<Stretch, 64> stretches_ CLEAVE_GUARDED_BY(mutex_){};  // the last ones
    mutable std::size_t next_stretch_ CLEAVE_GUARDED_BY(mutex_) = 0;
    mutable std::uint64_t clock_ CLEAVE_GUARDED_BY(mutex_) = 0;
    mutable unsigned idle_ CLEAVE_GUARDED_BY(mutex_) = 0;  // threads that wait for a part to fetch
    mutable bool is_closing_ CLEAVE_GUARDED_BY(mutex_) = false;
    mutable std::vector<std::jthread> threads_;  // last: they use the other members; under mutex_
};

}  // namespace cleave
