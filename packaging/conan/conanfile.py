"""The Conan 2 recipe for the library; `-o command=True` adds the command.

  conan create packaging/conan --build=missing

It packs the tree that contains it. To publish it on a public server, fetch the published source archive in source()
instead of using export_sources(), and put the version where that server keeps it. The home page does not exist.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class Cleave(ConanFile):
    name = "cleave"
    description = "Cuts CSV files at record boundaries"
    license = "MIT"
    homepage = "https://cleave.invalid/"
    topics = ("csv", "simd")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"command": [True, False]}
    default_options = {"command": False, "fmt/*:header_only": True}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../include/cleave/version.h"))
        self.version = re.search(r'CLEAVE_VERSION "(.*)"', header).group(1)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "man/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("bzip2/[>=1.0.8 <2]")
        self.requires("libdeflate/[>=1.14 <2]")
        self.requires("lz4/[>=1.9.4 <2]")
        self.requires("nettle/[>=3.8 <4]")
        self.requires("utf8proc/[>=2.8 <3]")
        self.requires("xz_utils/[>=5.8.1 <6]")  # earlier ones have a fault in the threaded decoder
        self.requires("zlib/[>=1.2.13 <2]")
        self.requires("zstd/[>=1.5.4 <2]")
        # Header-only, and not needed by programs that use the library.
        self.requires("xxhash/[>=0.8.1 <1]", visible=False)
        if self.options.command:
            self.requires("boost/[>=1.74 <2]", visible=False)
            self.requires("fmt/[>=9 <13]", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("cleave is for Linux on x86-64 and arm64")

    def generate(self):
        dependencies = CMakeDeps(self)
        for name in ("bzip2", "libdeflate", "lz4", "nettle", "utf8proc", "xz_utils"):  # cmake/Find*.cmake finds these without Conan
            dependencies.set_property(name, "cmake_find_mode", "none")
        dependencies.generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        toolchain.cache_variables["CLEAVE_BUILD_COMMAND"] = bool(self.options.command)
        toolchain.cache_variables["CLEAVE_STATIC_DEPENDENCIES"] = not self.has_shared("zstd")
        toolchain.generate()

    def has_shared(self, name):
        """Whether that library is shared. If it comes from the system, Conan cannot tell."""
        return any(dependency.ref.name == name and dependency.options.get_safe("shared")
                   for dependency in self.dependencies.host.values())

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for folder in ("lib/cmake", "lib/pkgconfig", "share/doc"):  # Conan generates its own versions
            rmdir(self, os.path.join(self.package_folder, folder))

    def package_info(self):
        library = self.cpp_info.components["cleave"]
        library.set_property("cmake_target_name", "cleave::cleave")
        library.set_property("pkg_config_name", "cleave")
        library.libs = ["cleave"]
        library.system_libs = ["pthread", "dl"]
        library.requires = ["bzip2::bzip2", "libdeflate::libdeflate", "lz4::lz4", "nettle::libnettle",
                            "utf8proc::utf8proc", "xz_utils::xz_utils", "zlib::zlib", "zstd::zstdlib"]
        planner = self.cpp_info.components["offload"]
        planner.set_property("cmake_target_name", "cleave::offload")
        planner.set_property("pkg_config_name", "cleave-offload")
        planner.libs = ["cleave_offload"]
        planner.requires = ["cleave"]
