// Asks an index about every record and every byte of a text, and compares the answers with the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cleave/scan.h"
#include "inputs.h"
#include "reference.h"

namespace cleave::test {

class IndexCheck {
public:
    IndexCheck(std::string text, const Dialect& dialect);

    // Builds an index with the kernel that this execution names, and checks it.
    void expect_index(const Execution& execution) const;
    // The index may come from anywhere.
    void expect_answers(const RecordIndex& index) const;

    const Reading& reading() const { return reading_; }

private:
    void expect_first_boundaries(const std::vector<Boundary>& boundaries, std::uint64_t block_size) const;
    void expect_findings(const Findings& findings) const;
    void expect_divergence(const std::optional<Place>& divergence) const;
    void expect_locations(const RecordIndex& index) const;
    void expect_on_grid(Locator& locator, Random& random) const;

    std::string text_;
    Dialect dialect_;
    Reading reading_;
    Reading other_;
    std::optional<std::uint64_t> difference_;
};

}  // namespace cleave::test
