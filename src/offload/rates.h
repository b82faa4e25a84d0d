// How fast functions run: what was known before, and what was measured in this process.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cleave/device_context.h"

namespace cleave {

// Of one body. A prediction follows what was measured:
//
//   sizes that differ much     the line through the measured points, by least squares; neither part is negative
//   sizes that are alike       the line that was known before, scaled to what was measured; without one, a line through
//                              zero
//   nothing                    the line that was known before
class BodyRate {
public:
    void set_prior(const std::optional<Rate>& prior) { prior_ = prior; }
    void add(double bytes, double seconds);
    // Nothing if nothing is known.
    std::optional<Rate> rate() const;

private:
    std::optional<Rate> prior_;
    double count_ = 0;
    double sum_bytes_ = 0;
    double sum_seconds_ = 0;
    double sum_bytes_squared_ = 0;
    double sum_product_ = 0;
    double least_ = 0;
    double most_ = 0;
};

// Of all functions, by name. Not for several threads at once.
class Rates {
public:
    explicit Rates(const std::map<std::string, FunctionRates>& known) : known_(known) {}

    std::optional<double> predict(const offload::Function& function, Side side, double bytes);
    void add(const offload::Function& function, Side side, double bytes, double seconds);
    // What was known, with what was measured.
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
