// How fast functions run, from earlier knowledge and from measurements in this process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cleave/experimental/device_context.h"

namespace cleave {

// The rate of one body. Predictions follow the measurements:
//
//   sizes that differ a lot    the line through the measured points, by least squares; neither part is negative
//   similar sizes              the known line, scaled to the measurements; without one, a line through zero
//   no measurements            the known line
//
// Measurements of the first run with a much larger size than before count only while nothing else is known: they also
// pay for memory, which later runs find. A line would follow such a point more than many others, and a function that
// seems slow on the device is not measured there again.
class BodyRate {
public:
    void set_prior(const std::optional<Rate>& prior) { prior_ = prior; }
    // `run`, from 1, says which measurements are of the same run.
    void add(double bytes, double seconds, std::uint64_t run);
    // Returns std::nullopt if nothing is known.
    std::optional<Rate> rate() const;

private:
    std::optional<Rate> prior_;
    double largest_ = 0;           // size, in bytes
    std::uint64_t first_run_ = 0;  // with a size like the largest
    std::optional<Rate> first_;
    double count_ = 0;
    double sum_bytes_ = 0;
    double sum_seconds_ = 0;
    double sum_bytes_squared_ = 0;
    double sum_product_ = 0;
    double least_ = 0;
    double most_ = 0;
};

// The rates of all functions, by name. Use from one thread at a time.
class Rates {
public:
    explicit Rates(const std::map<std::string, FunctionRates>& known) : known_(known) {}

    std::optional<double> predict(const offload::Function& function, Side side, double bytes);
    void add(const offload::Function& function, Side side, double bytes, double seconds, std::uint64_t run);
    // What was known, updated with what was measured.
    std::map<std::string, FunctionRates> all() const;

private:
    struct Pair {
        BodyRate host;
        BodyRate device;
    };
    BodyRate& body(const offload::Function& function, Side side);

    std::map<std::string, FunctionRates> known_;
    std::map<std::string, Pair> used_;
};

}  // namespace cleave
