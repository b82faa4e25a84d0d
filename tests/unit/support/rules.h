// Rule requests, and what they must resolve to.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "features/redact/stage/key_names.h"
#include "features/redact/stage/rules.h"

namespace cleave::test {

using Columns = std::vector<std::size_t>;

inline InputColumns header(std::vector<std::string> names) {
    InputColumns columns;
    columns.count = names.size();
    columns.names = std::move(names);
    return columns;
}

inline InputColumns no_header(std::size_t count) {
    InputColumns columns;
    columns.count = count;
    return columns;
}

inline InputColumns letters() { return header({"a", "b", "c", "d", "e"}); }

inline RuleRequest redact(const std::vector<std::string>& rules) {
    RuleRequest request;
    for (const std::string& rule : rules) request.rules.push_back({rule, "--redact"});
    return request;
}

inline RuleRequest select(const std::string& list) {
    RuleRequest request;
    request.select = RuleText{list, "--select"};
    return request;
}

inline RuleSet resolve(const RuleRequest& request, const InputColumns& columns = letters()) {
    KeyUses keys({"pii", "other"});
    return resolve_rules(request, columns, keys);
}

inline void expect_error(const RuleRequest& request, const InputColumns& columns, const RuleText& source,
                         std::size_t place, const std::string& reason) {
    try {
        resolve(request, columns);
        ADD_FAILURE() << source.text << " is accepted";
    } catch (const RuleError& error) {
        EXPECT_EQ(error.origin(), source.origin) << source.text;
        EXPECT_EQ(error.text(), source.text);
        EXPECT_EQ(error.place(), place) << source.text << ": " << error.what();
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << source.text << ": " << error.what();
    }
}

inline void expect_bad_rule(const std::string& rule, std::size_t place, const std::string& reason,
                            const InputColumns& columns = letters()) {
    expect_error(redact({rule}), columns, {rule, "--redact"}, place, reason);
}

}  // namespace cleave::test
