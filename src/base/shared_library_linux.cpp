// Between the check of a path and its use, someone may put a different file there. The path is therefore walked only
// once, through descriptors:
//
//   from "/", for each part: open it from the folder before it, without following a link; check it
//       a link: walk its target from the same folder, or from "/"; the folder that holds it has been checked
//   give the loader /proc/PID/fd/N, where N is the file that was checked
//
// In a shared folder, such as /tmp, any user can create entries, but the sticky bit lets only their owners and root
// rename or remove them. An entry may therefore have been put there by anyone, and the walk continues only with what
// nobody but the caller or root can have put there:
//
//   a folder that belongs to the caller or to root, and that others cannot write to. Another user can neither make one
//       nor move one there: a folder moves to another one only if its own ".." can be written. Its owner is not
//       "nobody", as whom the files of users show that are unknown in a user namespace.
//   no file and no link: a user may make a hard link to a file of somebody else, and move it out of a folder of the
//       user's own. Whoever made a link chose its target.
//   no mount point: a user may mount a FUSE file system there, which reports any owner and any mode.
//
// An entry that passes stays what it is, because only the caller and root can change it. Everything below it is checked
// as everywhere else, but must not belong to the owner of the program.
//
// If the loader has seen a name before, it returns the library that it loaded under that name. N therefore stays open
// until the process ends, so that no other file can get its name. A library that is loaded again is recognised by its
// device and inode, and its earlier name is used. The name contains the process ID rather than "self", so that
// debuggers and symbolisers find the file, too.
#include "base/shared_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cleave/error.h"

namespace cleave {
namespace {

// The folder of this process's descriptors.
std::string descriptors() { return "/proc/" + std::to_string(::getpid()) + "/fd/"; }

constexpr int kMostLinks = 40;  // in one path; the kernel has the same limit

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {
        if (number < 0) throw SystemError(errno, std::generic_category());
    }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int get() const { return number_; }
    void keep_open() { number_ = -1; }

private:
    int number_;
};

struct stat status_of(const Descriptor& file) {
    struct stat status;
    if (::fstat(file.get(), &status) != 0) throw SystemError(errno, std::generic_category());
    return status;
}

constexpr ::mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr ::uid_t kNobody = 65534;  // the default of /proc/sys/kernel/overflowuid

// Something on the path: a folder, a link or a file.
struct Entry {
    Descriptor file;
    std::string path;  // empty for "/"
    struct stat status;
    bool is_below_shared;  // whether one of the folders above it is shared

    bool is_folder() const { return S_ISDIR(status.st_mode); }
    bool is_link() const { return S_ISLNK(status.st_mode); }
    bool is_shared() const {
        return is_folder() && status.st_uid == 0 && (status.st_mode & S_ISVTX) != 0 &&
               (status.st_mode & kOthersWrite) != 0;
    }
};

[[noreturn]] void throw_writable(const std::string& path) {
    throw UntrustedLibrary("other users can write to '" + path + "'");
}

// Throws UntrustedLibrary. `path` is for the message.
void require_trusted(const struct stat& status, const std::string& path, bool is_below_shared) {
    bool is_owned =
        status.st_uid == 0 || (status.st_uid == ::geteuid() && (status.st_uid != kNobody || !is_below_shared));
    if (!is_owned && !is_below_shared) {
        struct stat program;
        is_owned = ::stat("/proc/self/exe", &program) == 0 && status.st_uid == program.st_uid;
    }
    if (!is_owned) throw UntrustedLibrary("'" + path + "' belongs to another user");
    if ((status.st_mode & kOthersWrite) != 0) throw_writable(path);
}

// Opens an entry of a folder, without following a link. Throws UntrustedLibrary.
Entry open_in(const Entry& folder, const std::string& part, bool is_last) {
    if (folder.is_shared() && is_last) throw_writable(folder.path);
    Descriptor file(::openat(folder.file.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const struct stat status = status_of(file);
    Entry entry{std::move(file), folder.path + "/" + part, status, folder.is_below_shared || folder.is_shared()};
    const bool is_fixed = entry.is_folder() && status.st_dev == folder.status.st_dev;
    if (folder.is_shared() && !is_fixed) throw_writable(folder.path);
    const bool is_passed = entry.is_link() || (entry.is_shared() && !entry.is_below_shared);
    if (!is_passed) require_trusted(status, entry.path, entry.is_below_shared);
    return entry;
}

std::string target_of(const Descriptor& link) {
    std::array<char, PATH_MAX> target{};
    const ::ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (size < 0) throw SystemError(errno, std::generic_category());
    return {target.data(), static_cast<std::size_t>(size)};
}

// Removes the first component of a path and returns it; the result is empty if nothing is left.
std::string take_part(std::string& rest) {
    const std::size_t begin = std::min(rest.find_first_not_of('/'), rest.size());
    const std::size_t end = std::min(rest.find('/', begin), rest.size());
    std::string part = rest.substr(begin, end - begin);
    rest.erase(0, end);
    return part;
}

// Walks the path and returns the file it leads to.
Descriptor open_trusted(const std::string& path) {
    std::vector<Entry> folders;
    Descriptor root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const struct stat root_status = status_of(root);
    require_trusted(root_status, "/", false);
    folders.push_back({std::move(root), "", root_status, false});
    std::string rest = path;
    int links = 0;
    for (;;) {
        const std::string part = take_part(rest);
        if (part.empty()) throw UntrustedLibrary("'" + path + "' is not a regular file");
        if (part == ".") continue;
        if (part == "..") {
            if (folders.size() > 1) folders.pop_back();
            continue;
        }
        const bool is_last = rest.find_first_not_of('/') == std::string::npos;
        Entry entry = open_in(folders.back(), part, is_last);
        if (entry.is_link()) {
            if (++links > kMostLinks) throw SystemError(ELOOP, std::generic_category());
            rest.insert(0, target_of(entry.file));
            if (rest.starts_with('/')) folders.erase(folders.begin() + 1, folders.end());
            continue;
        }
        if (entry.is_folder()) {
            folders.push_back(std::move(entry));
            continue;
        }
        if (!rest.empty()) throw SystemError(ENOTDIR, std::generic_category());
        if (!S_ISREG(entry.status.st_mode)) throw UntrustedLibrary("'" + entry.path + "' is not a regular file");
        return std::move(entry.file);
    }
}

// A search through the loaded libraries for names created by load_library().
struct Search {
    int number;          // the descriptor of the file to load
    struct stat status;  // of that file
    std::string folder;  // see descriptors()
    bool is_taken = false;
    int same = -1;  // a descriptor under whose name the same file was loaded
};

int look(dl_phdr_info* library, std::size_t /*size*/, void* data) {
    Search& search = *static_cast<Search*>(data);
    std::string_view name = library->dlpi_name != nullptr ? library->dlpi_name : "";
    if (!name.starts_with(search.folder)) return 0;
    name.remove_prefix(search.folder.size());
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number == search.number) search.is_taken = true;
    struct stat status;
    const bool is_same =
        ::fstat(number, &status) == 0 && status.st_dev == search.status.st_dev && status.st_ino == search.status.st_ino;
    if (is_same && number != search.number) search.same = number;
    return 0;
}

Search search_for(const Descriptor& file) {
    Search search{file.get(), status_of(file), descriptors()};
    ::dl_iterate_phdr(look, &search);
    return search;
}

// The loader's message without the /proc name, which means nothing to the user.
std::string loader_error() {
    const char* const words = ::dlerror();
    std::string_view text = words != nullptr ? words : "unknown error";
    if (text.starts_with(descriptors())) text.remove_prefix(std::min(text.find(": "), text.size() - 2) + 2);
    return std::string(text);
}

}  // namespace

void* load_library(const std::string& path) {
    Descriptor file = open_trusted(path);
    Search search = search_for(file);
    // The program may have closed descriptors that it did not know about, so this number may already name another
    // library.
    while (search.same < 0 && search.is_taken) {
        file = Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, file.get() + 1));
        search = search_for(file);
    }
    const int number = search.same >= 0 ? search.same : file.get();
    const std::string name = search.folder + std::to_string(number);
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) throw LibraryError(loader_error());
    if (number == file.get()) file.keep_open();
    return library;
}

}  // namespace cleave
