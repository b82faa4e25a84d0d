// Splits a CSV file into N files and prints their names. Writes either all of them or none.
//   example_split FILE N TEMPLATE
// FILE may be compressed, a pipe, or "-". TEMPLATE is as for `cleave split --output`, such as "out/{stem}.{i}{ext}".
#include <cleave/cleave.h>

#include <exception>
#include <iostream>
#include <string>

namespace {

class PrintNames : public cleave::JobObserver {
public:
    void finished(const cleave::Piece&, const std::string& path, const cleave::PieceResult&) override {
        std::cout << path << '\n';
    }
};

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::cerr << "usage: example_split FILE N TEMPLATE\n";
        return 2;
    }
    cleave::Input input = cleave::Input::open(argv[1]);
    cleave::Job job;
    job.policy = cleave::Policy::into_pieces(std::stoull(argv[2]));
    job.output.names = argv[3];
    PrintNames observer;
    cleave::run_job(input, job, observer);
} catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
    return 1;
}
