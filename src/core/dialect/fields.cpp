// A record as its reader sees it: the values of its fields.
#include "cleave/dialect.h"
#include "core/dialect/check_arguments.h"
#include "core/dialect/state_machine.h"

namespace cleave {

std::vector<std::string> field_values(std::span<const std::uint8_t> record, const Dialect& dialect) {
    const StateMachine machine(checked(dialect));
    std::vector<std::string> values(1);
    State state = State::kFieldStart;
    bool after_return = false;  // the last byte was a CR outside quotes; an LF would make it part of the terminator
    for (const std::uint8_t byte : record) {
        const Transition& transition = machine.step(state, byte);
        const State next = transition.next;
        if (is_past_record(next)) {
            if (byte == '\n' && after_return) values.back().pop_back();
            break;
        }
        after_return = byte == '\r' && !is_quoted(next) && state != State::kEscape;
        state = next;
        if (next == State::kFieldStart) {
            values.emplace_back();
        } else if (!transition.opens_quote && next != State::kQuoteInQuoted && !is_escape(next)) {
            values.back() += static_cast<char>(byte);
        }
    }
    return values;
}

}  // namespace cleave
