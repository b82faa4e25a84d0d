// Run markers, and the handling of what killed runs leave behind. A child that exits without cleanup stands for a
// killed run.
#include "core/writer/run_marker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "cleave/output.h"
#include "temporary_directory.h"

namespace cleave::run_marker_test {

namespace fs = std::filesystem;
using test::TemporaryDirectory;
using Files = std::map<std::string, std::string>;

constexpr std::uint64_t kId = 0xABC;
constexpr char kName[] = ".cleave-0000000000000abc";

class RunMarkerTest : public testing::Test {
protected:
    // Does `work` as a run that owns the marker and is then killed.
    void kill_run(const std::function<void(RunMarker&)>& work, std::uint64_t id = kId) {
        const pid_t child = ::fork();
        if (child == 0) {
            const auto marker = RunMarker::take(directory_, id);
            if (marker) work(*marker);
            ::_exit(marker ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }

    ino_t inode_of(const std::string& name) const {
        struct stat status;
        return ::lstat(root_.path(name).c_str(), &status) == 0 ? status.st_ino : 0;
    }

    // Gives a new piece the name of an old file, and gives the old file a hidden name.
    void replace(RunMarker& marker, const std::string& name) const {
        const std::string hidden = std::string(folder_of(name)) + marker.next_hidden_name();
        static_cast<void>(root_.write(hidden, "new"));
        marker.note(hidden, name, inode_of(hidden));
        ASSERT_EQ(
            ::renameat2(AT_FDCWD, root_.path(hidden).c_str(), AT_FDCWD, root_.path(name).c_str(), RENAME_EXCHANGE), 0);
    }

    TemporaryDirectory root_;
    Directory directory_{root_.path("")};
};

TEST_F(RunMarkerTest, IsThereAsLongAsTheRun) {
    {
        const auto marker = RunMarker::take(directory_, kId);
        ASSERT_NE(marker, nullptr);
        EXPECT_FALSE(marker->was_left());
        EXPECT_TRUE(root_.files().contains(kName));
    }
    EXPECT_EQ(root_.files(), Files{});
}

TEST_F(RunMarkerTest, IsForOneRunAtATime) {
    const auto marker = RunMarker::take(directory_, kId);
    EXPECT_EQ(RunMarker::take(directory_, kId), nullptr);
    EXPECT_NE(RunMarker::take(directory_, kId + 1), nullptr);
}

TEST_F(RunMarkerTest, TellsOfAKilledRun) {
    kill_run([](RunMarker&) {});
    auto marker = RunMarker::take(directory_, kId);
    ASSERT_NE(marker, nullptr);
    EXPECT_TRUE(marker->was_left());
    marker.reset();
    marker = RunMarker::take(directory_, kId);
    EXPECT_FALSE(marker->was_left());
}

TEST_F(RunMarkerTest, IsFoundAgainIfItIsLeft) {
    {
        const auto marker = RunMarker::take(directory_, kId);
        marker->leave();
    }
    EXPECT_TRUE(RunMarker::take(directory_, kId)->was_left());
}

TEST_F(RunMarkerTest, ClearsHiddenFiles) {
    fs::create_directory(root_.path("d"));
    static_cast<void>(root_.write("piece", "complete"));
    kill_run([&](RunMarker& marker) {
        for (const std::string folder : {"", "d/"}) {
            const std::string hidden = folder + marker.next_hidden_name();
            marker.note(hidden, folder + "piece");
            static_cast<void>(root_.write(hidden, "half"));
        }
    });
    EXPECT_EQ(root_.files().size(), 5U);
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files(), (Files{{"d/", ""}, {"piece", "complete"}}));
}

TEST_F(RunMarkerTest, PutsBackWhatWasReplaced) {
    fs::create_directory(root_.path("d"));
    for (const char* name : {"a", "d/b", "c"}) static_cast<void>(root_.write(name, std::string("old ") + name));
    kill_run([&](RunMarker& marker) {
        replace(marker, "a");
        replace(marker, "d/b");
        // Killed before the names are exchanged.
        const std::string hidden = marker.next_hidden_name();
        static_cast<void>(root_.write(hidden, "new"));
        marker.note(hidden, "c", inode_of(hidden));
    });
    EXPECT_EQ(root_.files().at("d/b"), "new");
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files(), (Files{{"a", "old a"}, {"c", "old c"}, {"d/", ""}, {"d/b", "old d/b"}}));
}

TEST_F(RunMarkerTest, PutsBackWhatWasReplacedWhereNoFileHasTheName) {
    static_cast<void>(root_.write("a", "old"));
    kill_run([&](RunMarker& marker) { replace(marker, "a"); });
    fs::remove(root_.path("a"));
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files(), (Files{{"a", "old"}}));
}

TEST_F(RunMarkerTest, PutsNothingBackAfterSuccess) {
    static_cast<void>(root_.write("a", "old"));
    kill_run([&](RunMarker& marker) {
        replace(marker, "a");
        marker.note_success();
    });
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files(), (Files{{"a", "new"}}));
}

TEST_F(RunMarkerTest, PutsBackAfterSuccessThatWasTakenBack) {
    static_cast<void>(root_.write("a", "old"));
    kill_run([&](RunMarker& marker) {
        replace(marker, "a");
        marker.note_success();
        marker.note_failure();
    });
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files(), (Files{{"a", "old"}}));
}

TEST_F(RunMarkerTest, KeepsWhatTookTheNameSince) {
    static_cast<void>(root_.write("a", "old"));
    kill_run([&](RunMarker& marker) { replace(marker, "a"); });
    static_cast<void>(root_.write("other", "newer"));
    fs::rename(root_.path("other"), root_.path("a"));
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    Files files = root_.files();
    EXPECT_EQ(files.size(), 2U);
    EXPECT_EQ(files.at("a"), "newer");
    EXPECT_TRUE(files.begin()->first.starts_with(std::string(kName) + "-"));
    EXPECT_EQ(files.begin()->second, "old");
}

// Files left by the test above must not get in the way of the next run.
TEST_F(RunMarkerTest, HiddenNamesAreOthersInEachRun) {
    const std::string name = RunMarker::take(directory_, kId)->next_hidden_name();
    EXPECT_NE(RunMarker::take(directory_, kId)->next_hidden_name(), name);
}

TEST_F(RunMarkerTest, IsNotBelievedIfItNamesOtherFiles) {
    fs::create_directory(root_.path("d"));
    const TemporaryDirectory elsewhere;
    const std::string victim = elsewhere.write("victim", "keep");
    static_cast<void>(root_.write("mine", "keep"));
    kill_run([&](RunMarker& marker) {
        const std::string hidden = std::string(kName) + "-7";
        marker.note("mine", "a");
        marker.note(victim, victim);
        marker.note("d/../mine", "d/../a");
        marker.note(".cleave-0000000000000abd-1", "a");
        static_cast<void>(root_.write(".cleave-0000000000000abd-1", "keep"));
        static_cast<void>(root_.write("d/" + hidden, "keep"));
        marker.note("d/../d/" + hidden, "d/../d/a");
        marker.note("d/" + hidden, "a");
    });
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files().size(), 4U);
    EXPECT_EQ(elsewhere.files().size(), 1U);
}

TEST_F(RunMarkerTest, SurvivesANoteThatIsCutShort) {
    kill_run([&](RunMarker& marker) {
        const std::string hidden = marker.next_hidden_name();
        marker.note(hidden, "a");
        static_cast<void>(root_.write(hidden, "half"));
        marker.note("0", "b");
    });
    fs::resize_file(root_.path(kName), fs::file_size(root_.path(kName)) - 3);
    EXPECT_NE(RunMarker::take(directory_, kId), nullptr);
    EXPECT_EQ(root_.files(), Files{});
}

TEST_F(RunMarkerTest, OfAnotherUserIsNotBelieved) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
    kill_run([&](RunMarker& marker) {
        const std::string hidden = marker.next_hidden_name();
        marker.note(hidden, "a");
        static_cast<void>(root_.write(hidden, "keep"));
    });
    ASSERT_EQ(::chown(root_.path(kName).c_str(), 65534, 65534), 0);
    clear_leftovers(directory_);
    EXPECT_EQ(root_.files().size(), 2U);
    EXPECT_THROW(RunMarker::take(directory_, kId), OutputError);
    EXPECT_EQ(root_.files().size(), 2U);
}

TEST_F(RunMarkerTest, AnEmptyOneOfAnotherUserIsNotTaken) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
    ASSERT_EQ(::chown(root_.write(kName, "").c_str(), 65534, 65534), 0);
    EXPECT_THROW(RunMarker::take(directory_, kId), OutputError);
    EXPECT_EQ(root_.files(), (Files{{kName, ""}}));
}

TEST_F(RunMarkerTest, AnotherFileIsNotWrittenToThroughASecondName) {
    const TemporaryDirectory elsewhere;
    const std::string victim = elsewhere.write("victim", "a text of more bytes than a marker");
    fs::create_hard_link(victim, root_.path(kName));
    EXPECT_THROW(RunMarker::take(directory_, kId), OutputError);
    clear_leftovers(directory_);
    EXPECT_EQ(elsewhere.files().at("victim"), "a text of more bytes than a marker");
    EXPECT_TRUE(root_.files().contains(kName));
}

TEST_F(RunMarkerTest, AFifoIsNotTaken) {
    ASSERT_EQ(::mkfifo(root_.path(kName).c_str(), 0666), 0);
    EXPECT_THROW(RunMarker::take(directory_, kId), OutputError);
    EXPECT_TRUE(fs::is_fifo(root_.path(kName)));
}

TEST_F(RunMarkerTest, NobodyElseCanReadOrWriteIt) {
    const mode_t mask = ::umask(0);
    const auto marker = RunMarker::take(directory_, kId);
    ::umask(mask);
    struct stat status;
    ASSERT_EQ(::fstat(marker->descriptor(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(RunMarkerTest, ASymbolicLinkIsNotFollowed) {
    const TemporaryDirectory elsewhere;
    fs::create_symlink(elsewhere.path("victim"), root_.path(kName));
    EXPECT_THROW(RunMarker::take(directory_, kId), OutputError);
    clear_leftovers(directory_);
    EXPECT_EQ(elsewhere.files(), Files{});
    EXPECT_TRUE(fs::is_symlink(root_.path(kName)));
}

TEST_F(RunMarkerTest, OthersAreClearedUnlessTheyLive) {
    const auto live = RunMarker::take(directory_, 1);
    live->note(live->next_hidden_name(), "a");
    static_cast<void>(root_.write(".cleave-0000000000000001-0", "live"));
    kill_run(
        [&](RunMarker& marker) {
            const std::string hidden = marker.next_hidden_name();
            marker.note(hidden, "b");
            static_cast<void>(root_.write(hidden, "dead"));
        },
        2);
    static_cast<void>(root_.write(".cleave-0000000000000003", ""));  // about to be locked
    static_cast<void>(root_.write(".cleave-notes", "keep"));
    clear_leftovers(directory_);
    const Files files = root_.files();
    EXPECT_EQ(files.size(), 4U);
    EXPECT_EQ(files.at(".cleave-0000000000000001-0"), "live");
    EXPECT_TRUE(files.contains(".cleave-0000000000000001") && files.contains(".cleave-0000000000000003") &&
                files.contains(".cleave-notes"));
}

}  // namespace cleave::run_marker_test
