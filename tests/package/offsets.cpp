// Prints where four pieces of a file are, as `cleave offsets -n 4` does.
#include <cleave/input.h>
#include <cleave/plan.h>

#include <iostream>

int main(int, char** argv) {
    cleave::Input input = cleave::Input::open(argv[1]);
    const auto dialect = cleave::settle_dialect({}, input.peek(cleave::kSniffSize), argv[1]).dialect;
    const cleave::RecordIndex index(input.bytes(), dialect, {});
    input.throw_if_changed();
    cleave::Policy policy;
    policy.pieces = 4;
    cleave::plan_pieces(index, policy, [](const cleave::Piece& piece) {
        std::cout << piece.number << '\t' << piece.start << '\t' << piece.length << '\t' << piece.first_record << '\t'
                  << piece.records << '\n';
    });
}
