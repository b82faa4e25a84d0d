// How far a run is, on a line of the terminal that goes away when it ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cleave/meter.h"
#include "cli/options.h"

namespace cleave::cli {

// What the line tells of one stage of a run.
struct Stage {
    const char* name;                     // "scanning"
    std::uint64_t bytes;                  // so far
    std::optional<std::uint64_t> size;    // bytes in all, if known
    std::optional<std::uint64_t> pieces;  // finished, if there are any to be
    double seconds;                       // since it began
};

// In at most `width` columns: what there is no room for is left out, the bar first.
std::string stage_text(const Stage& stage, std::size_t width);

// "1.5 GB", in powers of 1000.
std::string size_text(double bytes);

// Drawn by a thread of its own ten times a second, if the arguments want it; in doubt, if standard error is a terminal,
// nothing else is printed on the terminal meanwhile, and the run takes longer than half a second. The cursor stays at
// the start of the line, so that messages overwrite it.
class Bar {
public:
    // Arguments and meter must outlive the bar; `size` is that of the file to scan, if it is known. A stream is written
    // as it is scanned, other input after that.
    Bar(const Arguments& arguments, const Meter& meter, std::optional<std::uint64_t> size, bool is_stream);
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;
    ~Bar() { end(); }

    // There is no stream any more, but so many bytes to scan.
    void resize(std::uint64_t size);

    // Clears the line. No more is drawn.
    void end() noexcept;

private:
    using Clock = std::chrono::steady_clock;

    void run(const std::stop_token& stop) noexcept;
    void draw_until(const std::stop_token& stop);
    void draw();
    Stage stage();

    const Arguments& arguments_;
    const Meter& meter_;

    std::mutex mutex_;  // of what is below
    std::condition_variable_any changed_;
    std::optional<std::uint64_t> size_;
    bool is_stream_;
    bool is_writing_ = false;
    bool is_drawn_ = false;
    Clock::time_point began_ = Clock::now();  // the stage

    std::jthread thread_;
};

}  // namespace cleave::cli
