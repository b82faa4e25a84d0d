// What the references say an examination of a text must report.
#pragma once

#include <optional>
#include <string>

#include "census_reference.h"
#include "cleave/examine.h"
#include "reference.h"

namespace cleave::test {

class ExaminationCheck {
public:
    // The dialect must be valid. `max_listed` is the value that examine() was given.
    ExaminationCheck(std::string text, const Dialect& dialect, std::uint64_t max_listed = kListedRagged)
        : text_(std::move(text)),
          dialect_(dialect),
          expected_(count_by_rules(text_, dialect, max_listed)),
          reading_(read_by_rules(text_, dialect)) {}

    void expect(const Examination& examination) const;

private:
    void expect_census(const Census& census) const;
    void expect_excerpt(const char* name, const std::optional<Excerpt>& excerpt,
                        const std::optional<Place>& place) const;

    std::string text_;
    Dialect dialect_;
    CensusReference expected_;
    Reading reading_;
};

}  // namespace cleave::test
