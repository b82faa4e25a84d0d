// The one file in a zip archive, decoded with zlib's inflate. The archive is read in order, so it may come from a pipe:
// the data first, and then the directory, which must list exactly the members that were there, with the same names,
// sizes, checksums and places. Programs that believe the directory and programs that believe the headers therefore find
// the same file. Folders are passed over, and so is what macOS adds.
//
// A library for archives would bring the code of many methods, of encryption and of writing, and would need to seek.
// This needs a few records of fixed shape (features/compressed/zip_records.h).
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "features/compressed/decoder.h"
#include "features/compressed/zip_records.h"

namespace cleave {
namespace {

constexpr unsigned kStored = 0;
constexpr unsigned kDeflated = 8;

class ZipDecoder : public Decoder {
public:
    ZipDecoder() {
        if (::inflateInit2(&inflater_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
    ZipDecoder(const ZipDecoder&) = delete;
    ZipDecoder& operator=(const ZipDecoder&) = delete;
    ~ZipDecoder() override { ::inflateEnd(&inflater_); }

    std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) override {
        for (;;) {
            switch (state_) {
                case State::kRecord:
                    if (!take_record(from)) return 0;
                    break;
                case State::kData:
                    if (const std::size_t size = take_data(from, into); size > 0 && member_.is_file()) return size;
                    if (state_ == State::kData && from.empty()) return 0;
                    break;
                case State::kDescriptor:
                    if (!take_descriptor(from)) return 0;
                    break;
                case State::kEnd:
                    if (!from.empty()) fail();
                    return 0;
            }
        }
    }

    bool is_whole() const override { return state_ == State::kEnd; }
    bool has_place() const override { return !is_refused_; }

private:
    using Kind = ZipRecord::Kind;
    enum class State : std::uint8_t { kRecord, kData, kDescriptor, kEnd };

    [[noreturn]] static void fail() { throw InputError("corrupt zip data"); }

    // For what is no damage.
    [[noreturn]] void refuse(const std::string& what) {
        is_refused_ = true;
        throw InputError(what);
    }

    static void require(bool is_right) {
        if (!is_right) fail();
    }

    // Collects bytes at the front of which a record begins. Returns false if more are needed.
    bool gather(std::span<const std::uint8_t>& from, std::size_t size) {
        if (held_.size() < size) {
            const auto more = from.first(std::min(from.size(), size - held_.size()));
            held_.insert(held_.end(), more.begin(), more.end());
            from = from.subspan(more.size());
        }
        return held_.size() >= size;
    }

    bool take_record(std::span<const std::uint8_t>& from) {
        if (!gather(from, ZipRecord::kMagic)) return false;
        auto record = ZipRecord::find(held_);
        require(record && follows(record->kind()));
        while (held_.size() < record->size()) {
            if (!gather(from, record->size())) return false;
            record = ZipRecord::find(held_);
        }
        last_ = record->kind();
        switch (*last_) {
            case Kind::kHeader: begin_member(); break;
            case Kind::kEntry: compare_entry(); break;
            case Kind::kLargeEnd:
                require(directory_of(Kind::kLargeEnd, held_) == directory());
                large_end_ = offset_;
                break;
            case Kind::kLocator: require(located_by(held_) == large_end_); break;
            case Kind::kEnd: end(); break;
        }
        offset_ += record->size();
        if (*last_ == Kind::kEntry) directory_size_ += record->size();
        held_.clear();
        return true;
    }

    // Whether a record of this kind may follow the last one.
    bool follows(Kind kind) const {
        switch (kind) {
            case Kind::kHeader: return !last_ || last_ == Kind::kHeader;
            case Kind::kEntry:
            case Kind::kLargeEnd: return last_ == Kind::kHeader || last_ == Kind::kEntry;
            case Kind::kLocator: return last_ == Kind::kLargeEnd;
            case Kind::kEnd: return last_ != Kind::kLargeEnd;
        }
        return false;
    }

    void begin_member() {
        auto member = member_of(Kind::kHeader, held_);
        constexpr unsigned kPatch = 1U << 5;
        require(member && (member->flags & kPatch) == 0);
        member->offset = offset_;
        if (member->is_encrypted()) refuse("an encrypted zip archive; this asks for the password: unzip -p FILE");
        if (member->is_file() && file_) refuse(several_files_text({file_->name, member->name}, 0));
        if (member->method != kStored && member->method != kDeflated) {
            refuse("a zip archive with compression method " + std::to_string(member->method) +
                   "; this prints it as CSV: 7z x -so FILE");
        }
        member_ = std::move(*member);
        // A stored member whose size follows it can only be an empty one.
        left_ = member_.has_descriptor() && member_.method == kDeflated ? UINT64_MAX : member_.packed_size;
        made_ = taken_ = 0;
        checksum_ = ::crc32(0, nullptr, 0);
        ::inflateReset(&inflater_);
        ++members_;
        state_ = State::kData;
    }

    std::size_t take_data(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) {
        const std::size_t before = from.size();
        const auto offered = from.first(static_cast<std::size_t>(std::min<std::uint64_t>({from.size(), left_, kMost})));
        into = into.first(std::min(into.size(), kMost));
        const std::size_t size = member_.method == kStored ? copy(offered, into) : inflate(offered, into);
        from = from.subspan(used_);
        const std::size_t taken = before - from.size();
        left_ -= left_ == UINT64_MAX ? 0 : taken;
        taken_ += taken;
        made_ += size;
        checksum_ = ::crc32(checksum_, into.data(), static_cast<uInt>(size));
        require(member_.has_descriptor() || made_ <= member_.size);
        if (is_data_over_) end_data();
        return size;
    }

    // These set used_ and is_data_over_.
    std::size_t copy(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) {
        used_ = std::min(from.size(), into.size());
        std::copy_n(from.begin(), used_, into.begin());
        is_data_over_ = left_ == used_;
        return used_;
    }

    std::size_t inflate(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) {
        inflater_.next_in = const_cast<std::uint8_t*>(from.data());  // zlib only reads it
        inflater_.avail_in = static_cast<uInt>(from.size());
        inflater_.next_out = into.data();
        inflater_.avail_out = static_cast<uInt>(into.size());
        const int result = ::inflate(&inflater_, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        require(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
        used_ = from.size() - inflater_.avail_in;
        is_data_over_ = result == Z_STREAM_END;
        const std::size_t size = into.size() - inflater_.avail_out;
        // The data must not go on after the size that the header states.
        require(is_data_over_ || size > 0 || left_ > used_);
        return size;
    }

    void end_data() {
        offset_ += taken_;
        const auto checksum = static_cast<std::uint32_t>(checksum_);
        if (member_.has_descriptor()) {
            member_.checksum = checksum;
            member_.packed_size = taken_;
            member_.size = made_;
            state_ = State::kDescriptor;
        } else {
            require(member_.checksum == checksum && member_.packed_size == taken_ && member_.size == made_);
            end_member();
        }
    }

    bool take_descriptor(std::span<const std::uint8_t>& from) {
        if (!gather(from, kMostDescriptor)) return false;
        const std::size_t size = descriptor_size(held_, member_);
        if (size == 0 && member_.method == kStored) {
            refuse(
                "a zip archive that states the size of a stored file only after it; this prints it as CSV: "
                "unzip -p FILE");
        }
        require(size > 0);
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(size));
        offset_ += size;
        end_member();
        return true;
    }

    void end_member() {
        require(!member_.is_folder() || member_.size == 0);
        if (member_.is_file()) file_ = member_;
        state_ = State::kRecord;
    }

    void compare_entry() {
        if (entries_ == 0) directory_offset_ = offset_;
        ++entries_;
        const auto entry = member_of(Kind::kEntry, held_);
        require(entry.has_value());
        if (!entry->is_file()) return;
        require(file_ && !is_listed_ && entry->name == file_->name && entry->method == file_->method &&
                entry->checksum == file_->checksum && entry->packed_size == file_->packed_size &&
                entry->size == file_->size && entry->offset == file_->offset && !entry->is_encrypted());
        is_listed_ = true;
    }

    ZipDirectory directory() const { return {entries_, directory_size_, directory_offset_}; }

    void end() {
        if (members_ == 0 || !file_) refuse("a zip archive without a file");
        const auto stated = directory_of(Kind::kEnd, held_);
        require(stated && (large_end_ ? stated->agrees_with(directory()) : *stated == directory()));
        require(is_listed_ && entries_ == members_);
        state_ = State::kEnd;
    }

    static constexpr std::size_t kMost = std::numeric_limits<uInt>::max();

    State state_ = State::kRecord;
    std::optional<Kind> last_;  // record
    std::vector<std::uint8_t> held_;
    std::uint64_t offset_ = 0;  // in the archive, of what comes next
    bool is_refused_ = false;

    ZipMember member_;
    z_stream inflater_{};
    std::uint64_t left_ = 0;   // packed bytes of the member; UINT64_MAX if unknown
    std::uint64_t taken_ = 0;  // packed bytes
    std::uint64_t made_ = 0;   // plain bytes
    uLong checksum_ = 0;
    std::size_t used_ = 0;  // of the bytes that copy() and inflate() got
    bool is_data_over_ = false;

    std::optional<ZipMember> file_;
    std::uint64_t members_ = 0;

    std::uint64_t entries_ = 0;
    std::uint64_t directory_offset_ = 0;
    std::uint64_t directory_size_ = 0;
    bool is_listed_ = false;  // the file
    std::optional<std::uint64_t> large_end_;
};

}  // namespace

std::unique_ptr<Decoder> make_zip_decoder() { return std::make_unique<ZipDecoder>(); }

}  // namespace cleave
