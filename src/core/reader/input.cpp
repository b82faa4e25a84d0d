#include "cleave/input.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <functional>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "core/reader/fd.h"
#include "core/reader/file_blob.h"
#include "core/reader/file_stream.h"
#include "core/reader/input_parts.h"
#include "core/reader/location.h"
#include "core/reader/source.h"

namespace cleave {
namespace {

// The capacity given to a pipe, so that reader and writer seldom wait for each other. By default, a larger one needs a
// privilege.
constexpr int kPipeSize = 1 << 20;

// False for files in /proc (which report size 0), whose permissions say nothing about the content.
bool has_permissions(const Source& source) {
    struct statfs system;
    return S_ISREG(source.status.st_mode) && (source.status.st_size > 0 || ::fstatfs(source.file.get(), &system) != 0 ||
                                              system.f_type != PROC_SUPER_MAGIC);
}

bool has_size(const Source& source) { return source.is_file() && source.size() > source.offset; }

// Whether a file that reports size 0 really is empty. Files in /proc are not.
bool is_empty_file(const Source& source) {
    std::uint8_t byte = 0;
    return S_ISREG(source.status.st_mode) && source.status.st_size == 0 &&
           ::pread(source.file.get(), &byte, 1, static_cast<off_t>(source.offset)) == 0;
}

// Whether the blob begins like compressed data.
bool is_compressed(const Blob& blob) {
    std::vector<std::uint8_t> buffer;
    const auto head = blob.lend(0, static_cast<std::size_t>(std::min<std::uint64_t>(blob.size(), kMagicSize)), buffer);
    return compression_of(head) != Compression::kNone;
}

}  // namespace

// Holds either a blob or a stream.
struct Input::Impl {
    std::string path;
    const Cancellation* cancellation;
    Access access;
    Encoding encoding = Encoding::kBytes;
    Source source;
    FileIdentity identity;  // of the file as opened, even after spool()
    std::string place;      // of a remote file, even after spool()
    std::unique_ptr<FileBlob> blob;
    std::unique_ptr<FileStream> stream;
    std::uint64_t left_out = 0;                    // bytes at the end of a snapshot
    std::uint64_t consumed = 0;                    // by a stream that has been spooled
    Compression compression = Compression::kNone;  // of a stream that is a blob now
    std::string inner_suffix;                      // likewise
    unsigned threads = 1;
    std::vector<std::uint8_t> peeked;  // from a blob
    // Of several files: see InputParts::join().
    std::function<bool(const FileIdentity&)> is_one;
    std::function<void()> check;
    std::function<void(const Place& begin)> mender;
    std::atomic<bool> is_claimed = false;

    bool has_lost() const noexcept { return blob && blob->has_lost(); }

    // Throws SnapshotError unless the stream is at the end of a regular file.
    void require_end_of_file() const {
        if (!S_ISREG(source.status.st_mode)) throw SnapshotError("it is not a file");
        stream->find_compression();
        if (stream->compression() != Compression::kNone) throw SnapshotError("it is compressed");
        if (has_size(source)) throw SnapshotError("it cannot be mapped");
        // If there are bytes, the file has either grown since it was opened or does not report its size.
        if (stream->has_bytes() && stat_of(source.file.get(), source.name).st_size == source.status.st_size) {
            throw SnapshotError("its size is unknown");
        }
    }
};

Input::Input(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Input Input::open(const std::string& path, const Cancellation* cancellation, Access access, Encoding encoding) {
    if (path.find('\0') != std::string::npos) throw ArgumentError("the path of the input contains a NUL byte");
    const Location location(path);
    const int descriptor = location.is_stream() ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) throw_errno(location.shown());
    return of_descriptor(descriptor, path, cancellation, access, encoding);
}

Input Input::of_descriptor(int descriptor, const std::string& path, const Cancellation* cancellation, Access access,
                           Encoding encoding) {
    Fd file(descriptor);
    auto impl = std::make_shared<Impl>();
    impl->path = path;
    impl->cancellation = cancellation;
    impl->access = access;
    impl->encoding = encoding;
    Source& source = impl->source;
    source.name = Location(path).shown();
    source.file = std::move(file);
    if (const off_t offset = ::lseek(source.file.get(), 0, SEEK_CUR); offset > 0) {
        source.offset = static_cast<std::uint64_t>(offset);
    } else if (offset < 0 && errno != ESPIPE) {  // a pipe has no offset
        throw_errno(source.name);
    }
    FileVersion version(source.file.get(), source.name);  // changes are noticed from here on
    source.status = version.status();
    if (S_ISDIR(source.status.st_mode)) throw SystemError(EISDIR, std::generic_category(), source.name);
    if (has_size(source)) impl->blob = make_file_blob(source, access);
    if (is_empty_file(source)) impl->blob = make_empty_blob(source, access);
    // What is decompressed or converted is read in order, as a stream.
    const bool has_bytes = impl->blob && impl->blob->size() > 0;
    if (has_bytes && (encoding != Encoding::kBytes || is_compressed(*impl->blob))) impl->blob.reset();
    if (!impl->blob) impl->stream = std::make_unique<FileStream>(source, cancellation, encoding);
    // If this fails, the pipe keeps its capacity.
    if (S_ISFIFO(source.status.st_mode)) std::ignore = ::fcntl(source.file.get(), F_SETPIPE_SZ, kPipeSize);
    impl->identity = identity_of(source.status);
    if (!has_permissions(source)) impl->identity.permissions = FileIdentity().permissions;
    if (!S_ISREG(source.status.st_mode)) impl->identity.mtime_ns = 0;
    // If a file reports size 0 but has bytes, its size and times may be meaningless.
    if (S_ISREG(source.status.st_mode) && (source.status.st_size > 0 || impl->blob))
        source.version = std::move(version);
    return Input(std::move(impl));
}

Input InputParts::of_remote(std::shared_ptr<const RemoteFile> file, std::uint64_t inode, const std::string& path,
                            const Cancellation* cancellation, Encoding encoding) {
    auto impl = std::make_shared<Input::Impl>();
    impl->path = path;
    impl->cancellation = cancellation;
    impl->access = Access::kRead;
    impl->encoding = encoding;
    impl->source.name = path;
    impl->source.remote = std::move(file);
    impl->identity.size = impl->source.remote->size();
    impl->identity.inode = inode;
    impl->place = impl->source.remote->place();
    impl->blob = make_file_blob(impl->source, impl->access);
    const bool has_bytes = impl->blob->size() > 0;
    if (has_bytes && (encoding != Encoding::kBytes || is_compressed(*impl->blob))) {
        impl->blob.reset();
        impl->stream = std::make_unique<FileStream>(impl->source, cancellation, encoding);
    }
    return Input(std::move(impl));
}

Input Input::open_snapshot(const std::string& path, const Cancellation* cancellation, Access access) {
    Input input = open(path, cancellation, access);
    Impl& impl = *input.impl_;
    if (impl.stream) {
        impl.require_end_of_file();
        impl.stream.reset();
        impl.blob = make_empty_blob(impl.source, access);
    }
    impl.source.is_snapshot = true;
    return input;
}

Input Input::of_memory(std::span<const std::uint8_t> bytes, const std::string& path, const Cancellation* cancellation) {
    auto impl = std::make_shared<Impl>();
    impl->path = path;
    impl->cancellation = cancellation;
    impl->access = Access::kMapped;
    impl->source.name = path;
    impl->identity.size = bytes.size();
    impl->blob = make_memory_blob(impl->source, bytes);
    return Input(std::move(impl));
}

Input::Impl& Input::opened() const {
    if (!impl_) throw ArgumentError("an Input that was moved from");
    return *impl_;
}

const std::string& Input::path() const& { return opened().path; }
std::string Input::path_with_suffix() const {
    const std::string suffix = is_stream() ? impl_->stream->inner_suffix() : impl_->inner_suffix;
    const std::string_view bare = without_compression_suffix(path());
    const bool has_suffix = bare.find('.', bare.rfind('/') + 1) != std::string_view::npos;  // npos + 1 is 0
    if (suffix.empty() || has_suffix) return path();
    return std::string(bare == "-" ? "stdin" : bare) + suffix;
}
FileIdentity Input::identity() const { return opened().identity; }
const RemoteFile* Input::remote() const { return opened().source.remote.get(); }
const std::string& Input::remote_place() const& { return opened().place; }
const Cancellation* Input::cancellation() const { return opened().cancellation; }
void Input::set_cancellation(const Cancellation* cancellation) noexcept {
    if (!impl_) return;
    impl_->cancellation = cancellation;
    if (impl_->stream) impl_->stream->set_cancellation(cancellation);
}
void Input::set_threads(unsigned threads) noexcept {
    if (!impl_) return;
    impl_->threads = threads;
    if (impl_->stream) impl_->stream->set_threads(threads);
    if (impl_->blob) impl_->blob->set_threads(threads);
}
bool Input::claim() noexcept { return impl_ && !impl_->is_claimed.exchange(true); }
void Input::release_claim() noexcept {
    if (impl_) impl_->is_claimed = false;
}
bool Input::is_snapshot() const { return opened().source.is_snapshot; }
std::uint64_t Input::left_out() const { return opened().left_out; }
std::uint64_t Input::offset_in_file() const { return opened().source.offset; }

bool Input::is_stream() const { return opened().stream != nullptr; }

const Blob& Input::blob() const& {
    if (is_stream()) throw ArgumentError("blob() of an input that is a stream; see spool()");
    return *impl_->blob;
}
std::shared_ptr<const Blob> Input::shared_blob() const { return {impl_, &blob()}; }

Stream& Input::stream() & {
    if (!is_stream()) throw ArgumentError("stream() of an input that is all there; see blob()");
    return *impl_->stream;
}

bool Input::is_mapped() const { return !is_stream() && impl_->blob->is_mapped(); }

std::span<const std::uint8_t> Input::bytes() const& {
    if (!is_mapped()) throw ArgumentError("bytes() of an input that is not mapped; see blob() and spool()");
    return impl_->blob->mapped(0, impl_->blob->size());
}

Compression Input::compression() const { return is_stream() ? impl_->stream->compression() : impl_->compression; }
Encoding Input::encoding() const {
    if (is_stream()) return impl_->stream->encoding();
    return impl_->encoding == Encoding::kAuto ? Encoding::kUtf8 : impl_->encoding;  // of an empty file
}
std::uint64_t Input::consumed() const { return is_stream() ? impl_->stream->consumed() : impl_->consumed; }

void Input::leave_out(std::uint64_t size) {
    Impl& impl = opened();
    if (!impl.source.is_snapshot || size > impl.blob->size()) {
        throw ArgumentError("leave_out() of an input that is not a snapshot, or of more bytes than it has");
    }
    impl.blob->leave_out(size);
    impl.left_out += size;
}

std::span<const std::uint8_t> Input::peek(std::size_t size) & {
    if (is_stream()) return impl_->stream->peek(size);
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(size, impl_->blob->size()));
    // A copy that is read once, because what is inferred from these bytes is later applied to them, and a mapping may
    // change in between.
    std::vector<std::uint8_t>& peeked = impl_->peeked;
    if (peeked.size() < there) {
        std::vector<std::uint8_t> bytes(there);
        impl_->blob->read(0, bytes);
        peeked = std::move(bytes);
    }
    return std::span(peeked).first(there);
}

std::span<const std::uint8_t> Input::read() & { return stream().read(); }

void Input::spool(Meter* meter) {
    Impl& impl = opened();
    if (!impl.stream) return;
    impl.stream->require_unread("spool()");
    Fd temporary = open_unlinked_temporary();
    for (auto bytes = read(); !bytes.empty(); bytes = read()) {
        write_all(temporary.get(), bytes, temporary_name(), impl.cancellation);
        if (meter != nullptr) meter->scanned = consumed();
    }
    throw_if_changed();
    impl.consumed = impl.stream->consumed();
    impl.compression = impl.stream->compression();
    impl.inner_suffix = impl.stream->inner_suffix();
    impl.encoding = impl.stream->encoding();
    // From here on, the copy is the source.
    Source& source = impl.source;
    source.version.reset();
    source.remote.reset();
    source.file = std::move(temporary);
    source.offset = 0;
    source.status = stat_of(source.file.get(), source.name);
    impl.blob = has_size(source) ? make_file_blob(source, impl.access) : make_empty_blob(source, impl.access);
    if (!impl.blob) throw SystemError(ENOMEM, std::generic_category(), source.name);
    impl.stream.reset();
}

const Source& InputParts::source(const Input& input) { return input.opened().source; }

FileStream* InputParts::stream(const Input& input) { return input.opened().stream.get(); }

void InputParts::restart(Input& input, const char* call, std::shared_ptr<DecodeObserver> observer) {
    Input::Impl& impl = input.opened();
    impl.stream->require_unread(call);
    if (!impl.source.remote && ::lseek(impl.source.file.get(), 0, SEEK_SET) != 0) throw_errno(impl.source.name);
    impl.stream = std::make_unique<FileStream>(impl.source, impl.cancellation, impl.encoding, std::move(observer));
    impl.stream->set_threads(impl.threads);
}

void InputParts::become_blob(Input& input, const char* call, std::unique_ptr<FileBlob> blob) {
    Input::Impl& impl = input.opened();
    impl.stream->require_unread(call);
    blob->set_threads(impl.threads);
    impl.compression = impl.stream->compression();
    impl.blob = std::move(blob);
    impl.stream.reset();
}

void InputParts::replace_blob(Input& input, FunctionRef<std::unique_ptr<FileBlob>(std::unique_ptr<FileBlob>)> replace) {
    Input::Impl& impl = input.opened();
    impl.blob = replace(std::move(impl.blob));
    impl.peeked.clear();
}

void InputParts::set_mender(Input& input, std::function<void(const Place& begin)> mender) {
    input.opened().mender = std::move(mender);
}

bool InputParts::mend(Input& input, const Place& begin) {
    const auto mender = std::exchange(input.opened().mender, {});
    if (mender) mender(begin);
    return mender != nullptr;
}

void InputParts::join(Input& input, const FileIdentity& identity, std::function<bool(const FileIdentity&)> is_one,
                      std::function<void()> check) {
    input.opened().identity = identity;
    input.opened().is_one = std::move(is_one);
    input.opened().check = std::move(check);
}

bool InputParts::is_of_file(const Input& input, const FileIdentity& file) {
    const Input::Impl& impl = input.opened();
    return impl.is_one ? impl.is_one(file) : impl.identity.is_same_file(file);
}

FileStream& InputParts::become_stream(Input& input) {
    Input::Impl& impl = input.opened();
    if (!impl.stream) {
        impl.stream = std::make_unique<FileStream>(impl.source, impl.cancellation, impl.encoding);
        impl.stream->set_threads(impl.threads);
        impl.blob.reset();
    }
    return *impl.stream;
}

bool Input::is_unchanged() const {
    const Impl& impl = opened();
    try {
        if (impl.check) impl.check();
    } catch (const std::exception&) {
        return false;
    }
    return impl.source.is_unchanged(impl.has_lost());
}

bool Input::accept_touch() const {
    Impl& impl = opened();
    if (impl.blob && !impl.has_lost() && !impl.check) return impl.source.accept_touch();
    throw_if_changed();
    return false;
}

void Input::throw_if_changed() const {
    opened().source.throw_if_changed(impl_->has_lost());
    if (impl_->check) impl_->check();
}

void Input::rethrow() const {
    throw_if_changed();
    try {
        throw;
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::bad_address) throw;
        throw SystemError(EIO, std::generic_category(), opened().source.name);
    }
}

}  // namespace cleave
