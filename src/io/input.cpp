#include "cleave/input.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "io/decoder.h"
#include "io/fd.h"
#include "io/file_version.h"
#include "io/mapping.h"

namespace cleave {
namespace {

// Bytes asked for in one read: few enough to be in the first caches still when they are scanned and written out.
constexpr std::size_t kReadSize = std::size_t{64} << 10;

// What a pipe is made to hold, as far as one without privileges may: so reader and writer seldom wait for each other.
constexpr int kPipeSize = 1 << 20;

enum class Trust : std::uint8_t { kGood, kShortened, kGrown, kChanged, kUnreadable };

}  // namespace

struct Input::Impl {
    std::string path;
    std::string name;  // in messages
    const Cancellation* cancellation;
    Fd file;
    struct stat status;
    FileIdentity identity;               // of where it comes from, spooled or not
    std::uint64_t offset = 0;            // where in the file the input begins
    std::optional<FileVersion> version;  // of a file that others can change
    std::optional<Mapping> mapping;
    bool is_snapshot = false;
    std::uint64_t left_out = 0;        // bytes at the end of a snapshot's mapping
    std::vector<std::uint8_t> buffer;  // a stream's bytes
    std::size_t peeked = 0;            // so many of which are yet to be handed out
    std::uint64_t consumed = 0;        // that were read of the file
    bool was_read = false;             // bytes have been handed out by read()
    bool is_known = false;             // whether the stream is compressed:
    Compression compression = Compression::kNone;
    std::unique_ptr<Decoder> decoder;
    std::vector<std::uint8_t> raw_buffer;     // what the decoder takes
    std::span<const std::uint8_t> raw_bytes;  // and has not taken yet

    // Of the files in /proc, which pretend to be empty, the permissions are not the content's.
    bool has_permissions() const {
        struct statfs system;
        return S_ISREG(status.st_mode) &&
               (status.st_size > 0 || ::fstatfs(file.get(), &system) != 0 || system.f_type != PROC_SUPER_MAGIC);
    }

    // Maps the file, whose status is `now`; leaves the input a stream if that cannot be done.
    void map(const struct stat& now) {
        status = now;
        if (S_ISDIR(status.st_mode)) throw std::system_error(EISDIR, std::generic_category(), name);
        const auto size = static_cast<std::uint64_t>(status.st_size);
        if (S_ISREG(status.st_mode) && size > offset) mapping = Mapping::of(file.get(), offset, size);
        // Where that is not allowed, the pipe is as good as it was.
        if (S_ISFIFO(status.st_mode)) std::ignore = ::fcntl(file.get(), F_SETPIPE_SZ, kPipeSize);
    }

    bool has_faulted() const noexcept { return mapping && mapping->has_faulted(); }

    // How the file has changed, as far as it matters. Bytes appended to the file of a snapshot do not, unless the
    // snapshot could not be read: then the file has been shorter meanwhile.
    FileChange change() const noexcept {
        const FileChange change = version ? version->change(file.get()) : FileChange::kNone;
        const bool may_be_append =
            change == FileChange::kGrown || change == FileChange::kWritten || change == FileChange::kTouched;
        return is_snapshot && may_be_append && !has_faulted() ? FileChange::kNone : change;
    }

    Trust trust() const noexcept {
        switch (change()) {
            case FileChange::kShortened: return Trust::kShortened;
            case FileChange::kGrown: return Trust::kGrown;
            case FileChange::kWritten:
            case FileChange::kTouched: return Trust::kChanged;
            case FileChange::kUnknown: return Trust::kUnreadable;
            case FileChange::kNone: break;
        }
        return has_faulted() ? Trust::kUnreadable : Trust::kGood;
    }

    std::size_t read_raw(std::span<std::uint8_t> into) {
        const std::size_t size = read_some(file.get(), into, cancellation, name);
        consumed += size;
        return size;
    }

    std::size_t read_into(std::span<std::uint8_t> into) { return decoder ? decode(into) : read_raw(into); }

    // The next bytes of a compressed stream.
    std::size_t decode(std::span<std::uint8_t> into) {
        try {
            for (;;) {
                if (const std::size_t size = decoder->decode(raw_bytes, into); size > 0) return size;
                raw_buffer.resize(kReadSize);
                raw_bytes = std::span(raw_buffer).first(read_raw(raw_buffer));
                if (!raw_bytes.empty()) continue;
                if (decoder->is_whole()) return 0;
                throw InputError(std::string(compression_name(compression)) + " data that ends too early");
            }
        } catch (const InputError& error) {
            const std::uint64_t at = consumed - raw_bytes.size();
            throw InputError(std::string(error.what()) + " (compressed byte " + std::to_string(at) + ")");
        }
    }

    void require_unread(const std::string& call) const {
        if (was_read) throw std::invalid_argument(call + " after read(): a stream is read once");
    }

    // Looks at how a stream begins, once.
    void find_compression() {
        if (std::exchange(is_known, true)) return;
        buffer.resize(kReadSize);
        while (peeked < kMagicSize) {
            const std::size_t size = read_raw(std::span(buffer).subspan(peeked));
            if (size == 0) break;
            peeked += size;
        }
        compression = compression_of(std::span(buffer).first(peeked));
        if (compression == Compression::kNone) return;
        decoder = make_decoder(compression);
        raw_buffer.swap(buffer);
        raw_bytes = std::span(raw_buffer).first(std::exchange(peeked, 0));
    }

    // Throws SnapshotError unless the input, which is not mapped, is the end of a regular file.
    void require_end_of_file() {
        if (!S_ISREG(status.st_mode)) throw SnapshotError("it is not a file");
        find_compression();
        if (compression != Compression::kNone) throw SnapshotError("it is compressed");
        if (static_cast<std::uint64_t>(status.st_size) > offset) throw SnapshotError("it cannot be mapped");
        // A file may have grown since it was opened. One that pretends to be empty has no other size now.
        if (peeked > 0 && stat_of(file.get(), name).st_size == status.st_size) {
            throw SnapshotError("its size is not known");
        }
    }
};

Input::Input(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Input Input::open(const std::string& path, const Cancellation* cancellation) {
    if (path.find('\0') != std::string::npos) throw std::invalid_argument("a NUL byte in the path of the input");
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->name = path == "-" ? "stdin" : path;
    impl->cancellation = cancellation;
    if (path == "-") {
        impl->file = Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    } else {
        impl->file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    }
    if (!impl->file.is_open()) throw_errno(impl->name);
    if (const off_t offset = ::lseek(impl->file.get(), 0, SEEK_CUR); offset > 0) {
        impl->offset = static_cast<std::uint64_t>(offset);
    } else if (offset < 0 && errno != ESPIPE) {  // a pipe is always at its place
        throw_errno(impl->name);
    }
    FileVersion version(impl->file.get(), impl->name);  // whatever happens after that counts
    impl->map(version.status());
    // What has to be decoded is read in order.
    if (impl->mapping && compression_of(impl->mapping->bytes()) != Compression::kNone) impl->mapping.reset();
    impl->identity = identity_of(impl->status);
    if (impl->has_permissions()) impl->identity.permissions = impl->status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    if (!S_ISREG(impl->status.st_mode)) impl->identity.mtime_ns = 0;
    // What pretends to be empty makes no promise about its size and times.
    if (S_ISREG(impl->status.st_mode) && impl->status.st_size > 0) impl->version = std::move(version);
    return Input(std::move(impl));
}

Input Input::open_snapshot(const std::string& path, const Cancellation* cancellation) {
    Input input = open(path, cancellation);
    Impl& impl = *input.impl_;
    if (!impl.mapping) {
        impl.require_end_of_file();
        impl.mapping = Mapping::of_nothing();
    }
    impl.is_snapshot = true;
    return input;
}

Input::Impl& Input::opened() const {
    if (!impl_) throw std::invalid_argument("an Input that was moved from");
    return *impl_;
}

const std::string& Input::path() const { return opened().path; }
FileIdentity Input::identity() const { return opened().identity; }
const Cancellation* Input::cancellation() const { return opened().cancellation; }
void Input::set_cancellation(const Cancellation* cancellation) noexcept {
    if (impl_) impl_->cancellation = cancellation;
}
bool Input::is_snapshot() const { return opened().is_snapshot; }
std::uint64_t Input::left_out() const { return opened().left_out; }
bool Input::is_mapped() const { return opened().mapping.has_value(); }
int Input::descriptor() const { return opened().file.get(); }
std::uint64_t Input::descriptor_offset() const { return opened().offset; }

Compression Input::compression() const { return opened().compression; }
std::uint64_t Input::consumed() const { return opened().consumed; }

std::span<const std::uint8_t> Input::bytes() const {
    const Impl& impl = opened();
    if (!impl.mapping) throw std::invalid_argument("bytes() of an input that is not mapped; see spool()");
    const auto all = impl.mapping->bytes();
    return all.first(all.size() - impl.left_out);
}

void Input::leave_out(std::uint64_t size) {
    Impl& impl = opened();
    if (!impl.is_snapshot || size > bytes().size()) {
        throw std::invalid_argument("leave_out() of an input that is no snapshot, or of more bytes than it has");
    }
    impl.left_out += size;
}

std::span<const std::uint8_t> Input::peek(std::size_t size) {
    if (is_mapped()) return bytes().first(std::min(size, bytes().size()));
    Impl& impl = opened();
    impl.require_unread("peek()");
    impl.find_compression();
    while (impl.peeked < size) {
        // With room for a whole read: of a pipe in packet mode, what does not fit would be lost. The buffer never
        // shrinks here, as an earlier and larger peek() may have filled it.
        impl.buffer.resize(std::max(impl.buffer.size(), impl.peeked + kReadSize));
        const std::size_t got = impl.read_into(std::span(impl.buffer).subspan(impl.peeked));
        if (got == 0) break;
        impl.peeked += got;
    }
    return std::span(impl.buffer).first(std::min(size, impl.peeked));
}

std::span<const std::uint8_t> Input::read() {
    Impl& impl = opened();
    if (impl.mapping) throw std::invalid_argument("read() of an input that is mapped; see bytes()");
    impl.find_compression();
    std::size_t size = std::exchange(impl.peeked, 0);
    if (size == 0) {
        impl.buffer.resize(kReadSize);
        size = impl.read_into(impl.buffer);
    }
    impl.was_read = true;
    return std::span(impl.buffer).first(size);
}

void Input::spool(Meter* meter) {
    Impl& impl = opened();
    if (impl.mapping) return;
    impl.require_unread("spool()");
    Fd temporary = open_unlinked_temporary();
    for (auto bytes = read(); !bytes.empty(); bytes = read()) {
        write_all(temporary.get(), bytes, temporary_name(), impl.cancellation);
        if (meter != nullptr) meter->scanned = consumed();
    }
    throw_if_changed();
    impl.version.reset();  // from here on the copy counts
    impl.file = std::move(temporary);
    impl.offset = 0;
    impl.buffer = {};
    impl.map(stat_of(impl.file.get(), impl.name));
    if (!impl.mapping) {
        if (impl.status.st_size > 0) throw std::system_error(ENOMEM, std::generic_category(), impl.name);
        impl.mapping = Mapping::of_nothing();
    }
}

bool Input::is_unchanged() const { return opened().trust() == Trust::kGood; }

bool Input::accept_touch() const {
    Impl& impl = opened();
    if (!impl.mapping || !impl.version || impl.has_faulted()) return false;
    // The new version first: whatever happens from here on is held against it.
    FileVersion version(impl.file.get(), impl.name);
    if (impl.version->change(impl.file.get()) != FileChange::kTouched) return false;
    impl.version = std::move(version);
    return true;
}

void Input::throw_if_changed() const {
    switch (opened().trust()) {
        case Trust::kGood: return;
        case Trust::kShortened: throw InputChangedError("input truncated while reading");
        case Trust::kGrown: throw InputChangedError("input grew while reading");
        case Trust::kChanged: throw InputChangedError();
        case Trust::kUnreadable: throw std::system_error(EIO, std::generic_category(), opened().name);
    }
}

void Input::rethrow() const {
    throw_if_changed();
    try {
        throw;
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::bad_address) throw;
        throw std::system_error(EIO, std::generic_category(), opened().name);
    }
}

}  // namespace cleave
