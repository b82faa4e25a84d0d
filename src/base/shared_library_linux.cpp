// Between the check of a path and its use, someone may put a different file there. The path is therefore walked only
// once, through descriptors:
//
//   from "/", for each part: open it from the folder before it, without following a link; check it
//       a link: walk its target from the same folder, or from "/"; the folder that holds it has been checked
//   give the loader /proc/PID/fd/N, where N is the file that was checked
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

// Throws UntrustedLibrary. `path` is for the message.
void require_trusted(const struct stat& status, const std::string& path) {
    struct stat program;
    const bool is_known = ::stat("/proc/self/exe", &program) == 0;
    const bool is_owned = status.st_uid == 0 || status.st_uid == ::geteuid() ||  //
                          (is_known && status.st_uid == program.st_uid);
    if (!is_owned) throw UntrustedLibrary("'" + path + "' belongs to another user");
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) throw UntrustedLibrary("other users can write to '" + path + "'");
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
    struct Folder {
        Descriptor file;
        std::string path;  // with a trailing slash
    };
    std::vector<Folder> folders;
    folders.push_back({Descriptor(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), "/"});
    require_trusted(status_of(folders[0].file), "/");
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
        const Folder& folder = folders.back();
        const std::string here = folder.path + part;
        Descriptor file(::openat(folder.file.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        const struct stat status = status_of(file);
        if (S_ISLNK(status.st_mode)) {
            if (++links > kMostLinks) throw SystemError(ELOOP, std::generic_category());
            rest.insert(0, target_of(file));
            if (rest.starts_with('/')) folders.erase(folders.begin() + 1, folders.end());
            continue;
        }
        require_trusted(status, here);
        if (S_ISDIR(status.st_mode)) {
            folders.push_back({std::move(file), here + "/"});
            continue;
        }
        if (!rest.empty()) throw SystemError(ENOTDIR, std::generic_category());
        if (!S_ISREG(status.st_mode)) throw UntrustedLibrary("'" + here + "' is not a regular file");
        return file;
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
