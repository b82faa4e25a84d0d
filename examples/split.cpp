// Splits a CSV file into N files, all or none, and prints their names.
//   example_split FILE N TEMPLATE
// FILE may be compressed, a pipe, or "-". TEMPLATE is that of `cleave split --output`: "out/{stem}.{i}{ext}".
#include <cleave/cleave.h>

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::cerr << "usage: example_split FILE N TEMPLATE\n";
        return 2;
    }
    const cleave::MappingGuard guard;  // a file that becomes shorter is an error, not a SIGBUS
    cleave::Input input = cleave::Input::open(argv[1]);
    input.spool();  // a stream is read once; its copy is read for the plan and for the pieces
    cleave::Policy policy;
    policy.pieces = std::stoull(argv[2]);
    const cleave::Plan plan = cleave::plan(input, policy);
    const cleave::PieceNamer namer(argv[3], argv[1], 1, plan.pieces.size());
    cleave::SplitOptions options;
    options.finished = [](const cleave::Piece&, const std::string& path, const cleave::PieceResult&) {
        std::cout << path << '\n';
    };
    cleave::split_mapped(input, plan.pieces, plan.header, plan.header_size, namer, options);
} catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
    return 1;
}
