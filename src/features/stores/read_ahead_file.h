// A remote file that is read ahead of those who read it in order.
//
// A store answers a request after tens of milliseconds, and sends less over one connection than a scan takes, so many
// parts are fetched at a time, and no byte twice as long as there is room for it:
//
//     announced   |  part  |  part  |  part  |  part  | p. |      will_read(): parts of equal size from its beginning
//                        ^ is read  ^ fetched at the same time; then up to four times as much as was read
//     otherwise   |p.|p.| part |   part    |  part  |  part  |   each as large as all that was read of the stretch
//                    ^ is read
//
// A read that begins where an earlier one ended, or less than a part behind that, goes on with a stretch. The first
// read of one fetches what it asks for, so that a search here and there fetches little; the next ones fetch up to as
// much again as was read; and once that is half a part, parts after it, too, up to four times as much. Parts neither
// overlap nor go beyond the end of a range that was announced. They stay until their place is needed, because readers
// come back for a few bytes, and threads that read one stretch are not equally fast; the one that was used last is the
// last to go. A part that fails fails whoever reads it, and is fetched anew for the next.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cleave/cancel.h"
#include "cleave/function_ref.h"
#include "core/reader/remote_file.h"

namespace cleave {

class ReadAheadFile final : public RemoteFile {
public:
    static constexpr std::uint64_t kPartSize = std::uint64_t{4} << 20;
    static constexpr unsigned kThreads = 16;         // that fetch, besides those who read
    static constexpr std::uint64_t kAhead = 4;       // how many times what was read is fetched ahead, at most
    static constexpr std::uint64_t kMostParts = 24;  // in memory, being fetched or waiting to be read

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
    void will_read(std::uint64_t offset, std::uint64_t size) const noexcept override;
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

    // What was announced.
    struct Announced {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t left = 0;     // bytes that were not read yet; 0: forgotten
        std::uint64_t used_at = 0;  // the clock
    };

    // How a read is fetched: in parts of `step` bytes from `origin` on, if it is set, as far as `ahead`, but not beyond
    // `end`.
    struct Course {
        std::optional<std::uint64_t> origin;
        std::uint64_t step;
        std::uint64_t ahead;
        std::uint64_t end;
    };

    std::uint64_t go_on(std::uint64_t offset, std::uint64_t size) const CLEAVE_REQUIRES(mutex_);
    Course course_of(std::uint64_t offset, std::uint64_t size, std::uint64_t before) const CLEAVE_REQUIRES(mutex_);
    Part* part_at(std::uint64_t offset) const CLEAVE_REQUIRES(mutex_);
    Part* add_part(std::uint64_t offset, const Course& course, bool for_reader) const CLEAVE_REQUIRES(mutex_);
    void fetch_ahead(std::uint64_t offset, const Course& course) const CLEAVE_REQUIRES(mutex_);
    bool make_room(std::uint64_t size, bool for_reader) const CLEAVE_REQUIRES(mutex_);
    void drop(const Part& part) const CLEAVE_REQUIRES(mutex_);
    bool has_threads() const CLEAVE_REQUIRES(mutex_);
    std::exception_ptr fetch(Part& part) const noexcept;
    void settle(Part& part, const std::exception_ptr& error) const CLEAVE_REQUIRES(mutex_);
    void run() const;

    Cancellation cancellation_;
    std::unique_ptr<const RemoteFile> file_;
    const std::uint64_t part_size_;
    const unsigned most_threads_;
    mutable Mutex mutex_;
    mutable ConditionVariable changed_;  // a part has arrived, or is wanted
    mutable std::map<std::uint64_t, std::unique_ptr<Part>> parts_ CLEAVE_GUARDED_BY(mutex_);  // by their beginnings
    mutable std::uint64_t held_ CLEAVE_GUARDED_BY(mutex_) = 0;               // bytes of all parts; see weight()
    mutable std::deque<Part*> wanted_ CLEAVE_GUARDED_BY(mutex_);             // by threads that fetch
    mutable std::array<Stretch, 64> stretches_ CLEAVE_GUARDED_BY(mutex_){};  // the last ones
    mutable std::size_t next_stretch_ CLEAVE_GUARDED_BY(mutex_) = 0;
    mutable std::array<Announced, 64> announced_ CLEAVE_GUARDED_BY(mutex_){};  // the last ones
    mutable std::size_t next_announced_ CLEAVE_GUARDED_BY(mutex_) = 0;
    mutable std::uint64_t clock_ CLEAVE_GUARDED_BY(mutex_) = 0;
    mutable unsigned idle_ CLEAVE_GUARDED_BY(mutex_) = 0;  // threads that wait for a part to fetch
    mutable bool is_closing_ CLEAVE_GUARDED_BY(mutex_) = false;
    mutable std::vector<std::jthread> threads_;  // last: they use the other members; under mutex_
};

}  // namespace cleave
