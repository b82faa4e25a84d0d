// Prints the byte ranges of a CSV file for N workers: number, start, length, first record, records.
//   example_ranges FILE N
// FILE may be compressed, a pipe, or "-". Offsets count decompressed bytes.
#include <cleave/cleave.h>

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::cerr << "usage: example_ranges FILE N\n";
        return 2;
    }
    const cleave::MappingGuard guard;  // if the file becomes shorter, cleave throws instead of dying of SIGBUS
    const cleave::Plan plan = cleave::plan(argv[1], cleave::Policy::into_pieces(std::stoull(argv[2])));
    for (const cleave::Piece& piece : plan.pieces) {
        std::cout << piece.number << '\t' << piece.start << '\t' << piece.length << '\t' << piece.first_record << '\t'
                  << piece.records << '\n';
    }
} catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
    return 1;
}
