#include "forked.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cleave::test {

int exit_status_of(const std::function<int()>& work) {
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(work());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cleave::test
