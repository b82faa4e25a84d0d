// Whether the thread sanitizer runs each test that starts threads: of other code it finds nothing.
#include <dlfcn.h>
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

namespace {

// Shared, so that threads of a child count.
std::atomic<unsigned>& started() {
    static auto* const kCount =
        new (::mmap(nullptr, sizeof(std::atomic<unsigned>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
            std::atomic<unsigned>(0);
    return *kCount;
}

class Watch : public testing::EmptyTestEventListener {
public:
    void OnTestStart(const testing::TestInfo&) override { before_ = started(); }

    void OnTestEnd(const testing::TestInfo& test) override {
        if (started() == before_) return;
        const std::string file = test.file();
        const std::size_t begin = file.rfind("unit/") + 5;
        const std::string path = file.substr(begin, file.rfind("_test.cpp") - begin);
        if (std::string_view(CLEAVE_THREADS).find(" " + path + " ") == std::string_view::npos) {
            ADD_FAILURE() << test.name() << " starts threads: tests/CMakeLists.txt must list " << path
                          << " where the thread sanitizer runs it";
        }
        const std::string name = std::string(test.test_suite_name()) + '.' + test.name();
        std::istringstream patterns(CLEAVE_WITHOUT_THREADS);
        for (std::string pattern; std::getline(patterns, pattern, ':');) {
            EXPECT_NE(::fnmatch(pattern.c_str(), name.c_str(), 0), 0)
                << name << " starts threads; see " << pattern << " in tests/CMakeLists.txt";
        }
    }

private:
    unsigned before_ = 0;
};

const bool kIsWatched = [] {
    started();
    testing::UnitTest::GetInstance()->listeners().Append(new Watch);
    return true;
}();

}  // namespace

// Takes the place of the C library's, also for the C++ library.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                             void* (*run)(void*), void* argument) noexcept {
    static const auto kReal = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    ++started();
    return kReal(thread, attributes, run, argument);
}
