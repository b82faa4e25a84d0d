// A progress line on the terminal, which is erased when the run ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "cleave/meter.h"
#include "cli/options.h"

namespace cleave::cli {

// What the line shows about one stage of a run.
struct Stage {
    const char* name;                     // "reading", "writing", or "reading 1/2" and then "writing 2/2"
    std::uint64_t bytes;                  // so far
    std::optional<std::uint64_t> size;    // total bytes, if known
    std::optional<std::uint64_t> pieces;  // finished so far, if the run writes any
    double seconds;                       // since it began
    bool is_first_of_two = false;         // then the second one is taken to last as long as this one
};

// At most `width` columns. Parts that do not fit are left out, the bar first.
std::string stage_text(const Stage& stage, std::size_t width);

// "1.5 GB", in powers of 1000.
std::string size_text(double bytes);

// A separate thread draws the bar ten times a second. --progress decides whether to draw one. By default a bar appears
// if standard error is a terminal, standard output prints nothing on that terminal, and the run takes longer than half
// a second. The cursor stays at the start of the line, so messages overwrite the bar.
class Bar {
public:
    // Arguments and meter must outlive the bar. `size` is the size of the file to scan, if known. A stream is scanned
    // and written in one stage, a mapped input in two.
    Bar(const Arguments& arguments, const Meter& meter, std::optional<std::uint64_t> size, bool is_stream);
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;
    ~Bar() { end(); }

    // Call when the stream has been copied to a file of this size, which is scanned next.
    void resize(std::uint64_t size);

    // Clears the line. Nothing is drawn after that.
    void end() noexcept;

private:
    using Clock = std::chrono::steady_clock;

    void run(const std::stop_token& stop) noexcept;
    void draw_until(const std::stop_token& stop);
    void draw() CLEAVE_REQUIRES(mutex_);
    Stage stage() CLEAVE_REQUIRES(mutex_);

    const Arguments& arguments_;
    const Meter& meter_;

    Mutex mutex_;
    StoppableConditionVariable stopped_;
    std::optional<std::uint64_t> size_ CLEAVE_GUARDED_BY(mutex_);
    bool is_stream_ CLEAVE_GUARDED_BY(mutex_);
    bool is_writing_ CLEAVE_GUARDED_BY(mutex_) = false;
    bool has_read_ CLEAVE_GUARDED_BY(mutex_) = false;  // all of the input, before anything was written
    bool is_drawn_ CLEAVE_GUARDED_BY(mutex_) = false;
    Clock::time_point began_ CLEAVE_GUARDED_BY(mutex_) = Clock::now();  // when the stage began

    std::jthread thread_;
};

}  // namespace cleave::cli
