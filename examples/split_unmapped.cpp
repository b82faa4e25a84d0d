// Splits as example_split does, but without mapping the file and without a SIGBUS handler: for code that is loaded into
// other programs.
//   example_split_unmapped FILE N TEMPLATE
#include <cleave/cleave.h>

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::cerr << "usage: example_split_unmapped FILE N TEMPLATE\n";
        return 2;
    }
    cleave::Input input = cleave::Input::open(argv[1], nullptr, cleave::Access::kRead);
    cleave::Job job;
    job.policy.pieces = std::stoull(argv[2]);
    job.output.names = argv[3];
    cleave::JobObserver silent;
    std::cout << cleave::run_job(input, job, silent).pieces << " pieces\n";
} catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
    return 1;
}
