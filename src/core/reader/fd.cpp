#include "core/reader/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "cleave/error.h"

namespace cleave {

Fd& Fd::operator=(Fd&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Fd::~Fd() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void Fd::close(const std::string& name) {
    // Linux frees the descriptor even if close() fails, so there is no point in retrying.
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw_errno(name);
}

void throw_errno(const std::string& name) { throw SystemError(errno, std::generic_category(), name); }

struct stat stat_of(int descriptor, const std::string& name) {
    struct stat status;
    if (::fstat(descriptor, &status) != 0) throw_errno(name);
    return status;
}

FileIdentity identity_of(const struct stat& status) {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    FileIdentity identity{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                          status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec};
    identity.ctime_ns = status.st_ctim.tv_sec * kNsPerSecond + status.st_ctim.tv_nsec;
    identity.owner = status.st_uid;
    if (S_ISREG(status.st_mode)) identity.permissions = status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    return identity;
}

void wait_for(int descriptor, int events, const Cancellation* cancellation, const std::string& name) {
    std::array<pollfd, 3> waits{
        {{descriptor, static_cast<decltype(pollfd::events)>(events), 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    if (cancellation != nullptr) {
        waits[1].fd = cancellation->descriptor();
        if (const Cancellation* outer = cancellation->outer()) waits[2].fd = outer->descriptor();
    }
    for (;;) {
        const int ready = ::poll(waits.data(), waits.size(), -1);
        if (cancellation != nullptr) cancellation->throw_if_requested();
        if (ready > 0 && (waits[1].revents | waits[2].revents) != 0) throw Cancelled();
        if (ready > 0) return;
        if (ready < 0 && errno != EINTR) throw_errno(name);
    }
}

// musl has had preadv2() since 1.2.5.
ssize_t read_now(int descriptor, std::int64_t offset, std::span<std::uint8_t> into) noexcept {
    const iovec target{into.data(), into.size()};
#ifdef __GLIBC__
    return ::preadv2(descriptor, &target, 1, offset, RWF_NOWAIT);
#else
    constexpr int kNowait = 8;  // RWF_NOWAIT of <linux/fs.h>
    return ::syscall(SYS_preadv2, descriptor, &target, 1L, offset, 0L, kNowait);
#endif
}

std::size_t read_some(int descriptor, std::span<std::uint8_t> into, const Cancellation* cancellation,
                      const std::string& name) {
    // A cancellation just before a blocking read would not interrupt it, so read() is called only once there is
    // something to read. Where the system can read without waiting, bytes that are already available are taken first.
    ssize_t size = read_now(descriptor, -1, into);
    // A signal that ends a pipeline also ends the writer, which causes a premature end of input.
    if (cancellation != nullptr) cancellation->throw_if_requested();
    if (size >= 0) return static_cast<std::size_t>(size);
    for (;;) {
        wait_for(descriptor, POLLIN, cancellation, name);
        size = ::read(descriptor, into.data(), into.size());
        if (cancellation != nullptr) cancellation->throw_if_requested();
        if (size >= 0) return static_cast<std::size_t>(size);
        if (errno != EAGAIN && errno != EINTR) throw_errno(name);
    }
}

std::string read_to_end(int descriptor, std::size_t most, const std::string& name) {
    std::string text;
    std::array<std::uint8_t, 1 << 16> buffer;
    while (text.size() <= most) {
        const std::size_t size = read_some(descriptor, buffer, nullptr, name);
        if (size == 0) break;
        text.append(reinterpret_cast<const char*>(buffer.data()), size);
    }
    return text;
}

std::size_t read_at(int descriptor, std::uint64_t offset, std::span<std::uint8_t> into, const std::string& name) {
    std::size_t done = 0;
    while (done < into.size()) {
        const auto rest = into.subspan(done);
        const ssize_t size = ::pread(descriptor, rest.data(), rest.size(), static_cast<off_t>(offset + done));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) throw_errno(name);
        if (size == 0) break;
        done += static_cast<std::size_t>(size);
    }
    return done;
}

void write_all(int descriptor, std::span<const std::uint8_t> bytes, const std::string& name,
               const Cancellation* cancellation) {
    while (!bytes.empty()) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
        if (size >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(size));
        } else if (errno == EAGAIN) {
            wait_for(descriptor, POLLOUT, cancellation, name);
        } else if (errno != EINTR) {
            throw_errno(name);
        }
    }
}

void write_all_at(int descriptor, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& name,
                  const Cancellation* cancellation) {
    while (!bytes.empty()) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const ssize_t size = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (size >= 0) {
            offset += static_cast<std::uint64_t>(size);
            bytes = bytes.subspan(static_cast<std::size_t>(size));
        } else if (errno != EINTR) {
            throw_errno(name);
        }
    }
}

std::uint64_t descriptor_limit() {
    rlimit limit;
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

SpareDescriptors::SpareDescriptors(std::size_t count) {
    while (held_.size() < count) {
        const int descriptor = ::eventfd(0, EFD_CLOEXEC);
        if (descriptor < 0) throw_errno("eventfd");
        held_.emplace_back(descriptor);
    }
}

std::string temporary_directory() {
    const char* variable = std::getenv("TMPDIR");
    return variable != nullptr && *variable != '\0' ? variable : "/var/tmp";
}

std::string temporary_name() { return "temporary file in " + temporary_directory() + " (see TMPDIR)"; }

Fd open_unlinked_temporary() {
    const std::string directory = temporary_directory();
    Fd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file.is_open()) return file;
    // File systems without O_TMPFILE report EOPNOTSUPP, or EISDIR if they predate it.
    std::string name = directory + "/.cleave-XXXXXX";
    file = Fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!file.is_open()) throw_errno(temporary_name());
    ::unlink(name.c_str());
    return file;
}

Cancellation::~Cancellation() {
    if (const int made = descriptor_.load(); made >= 0) ::close(made);
}

void Cancellation::signal(int descriptor) noexcept {
    const std::uint64_t one = 1;
    // The counter only has to be above zero, and no number of signals can overflow it.
    [[maybe_unused]] const ssize_t size = ::write(descriptor, &one, sizeof one);
}

// A request and the creation of the descriptor may coincide. Each side first stores and then loads, in a single order
// that all threads agree on, so at least one side sees what the other has stored, and signals.
void Cancellation::request() noexcept {
    requested_.store(true);
    const int saved_errno = errno;
    if (const int made = descriptor_.load(); made >= 0) signal(made);
    errno = saved_errno;
}

int Cancellation::descriptor() const {
    const int known = descriptor_.load();
    if (known >= 0) return known;
    Fd made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!made.is_open()) throw_errno("eventfd");
    int expected = -1;
    if (!descriptor_.compare_exchange_strong(expected, made.get())) return expected;  // another thread was faster
    const int descriptor = made.release();
    if (requested_.load()) signal(descriptor);
    return descriptor;
}

void Cancellation::throw_if_requested() const {
    if (requested()) throw Cancelled();
}

}  // namespace cleave
