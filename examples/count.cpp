// Counts the records of a CSV file, including its header.
//   example_count FILE
// FILE may be compressed, a pipe, or "-".
#include <cleave/cleave.h>

#include <exception>
#include <iostream>

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: example_count FILE\n";
        return 2;
    }
    const cleave::MappingGuard guard;  // if the file becomes shorter, cleave throws instead of dying of SIGBUS
    cleave::Input input = cleave::Input::open(argv[1], nullptr, cleave::Access::kMapped);
    const cleave::Dialect dialect = cleave::settle_dialect({}, input).dialect;
    const cleave::Findings findings = cleave::scan(input, dialect);
    if (findings.open_quote) throw cleave::OpenQuoteError(*findings.open_quote);
    std::cout << findings.records << '\n';
} catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
    return 1;
}
