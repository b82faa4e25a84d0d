// Where modules are: shared libraries with parts of this program that need more than the program itself does.
#pragma once

#include <string>
#include <vector>

namespace cleave {

// Where to look for the module with this file name, in order: in ../lib/cleave beside the file that contains this code;
// in libexec/cleave of the folder into which pip installed that file, as bin/cleave or into a folder of
// lib/pythonX.Y/site-packages; then in the configured folder. There need not be a file. pip --target would not install
// what a wheel has in lib/cleave.
std::vector<std::string> module_paths(const std::string& name);

// The first of these paths that exists. Empty if none does.
std::string first_existing(const std::vector<std::string>& paths);

}  // namespace cleave
