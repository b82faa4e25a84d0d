#!/usr/bin/env python3
"""Runs each recipe in packaging/ with its own tool, as far as that works without a registry.

  packagers_test.py --python PYTHON      run through ./dev recipes; PYTHON has conan and py-rattler-build

Conan really builds its package, with this machine's libraries; buildah builds its image, which is then run. The port is
really built too, with stand-ins for vcpkg's functions. The Homebrew formula, the Nix expression and the conda recipe
are only parsed by their tools, because their dependencies come from registries.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
from verdicts import Failure, Skip, Tally, check, need_tool  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PACKAGING = os.path.join(ROOT, "packaging")
INPUT = os.path.join(ROOT, "data", "orders.csv")

# Any versions that the recipe accepts will do, because this machine's own libraries are used.
PROFILE = """[settings]
os=Linux
arch=%s
compiler=gcc
compiler.version=%s
compiler.libcxx=libstdc++11
compiler.cppstd=20
build_type=Release
[platform_requires]
zlib/1.2.13
libdeflate/1.14
nettle/3.8.1
utf8proc/2.8.0
zstd/1.5.4
xz_utils/5.8.1
bzip2/1.0.8
lz4/1.9.4
nlohmann_json/3.11.2
xxhash/0.8.1
boost/1.74.0
fmt/9.1.0
[conf]
tools.cmake.cmaketoolchain:generator=Ninja
"""

CONDA = """
import sys
from rattler_build import Stage0Recipe, VariantConfig
for variant in Stage0Recipe.from_file(sys.argv[1]).render(VariantConfig.from_file(sys.argv[2])):
    print(variant.recipe.package.name, variant.recipe.about.summary)
"""

PORT = """
cmake_minimum_required(VERSION 3.25)
function(vcpkg_download_distfile name)
endfunction()
function(vcpkg_extract_source_archive name)
    set(${name} ${TREE} PARENT_SCOPE)
endfunction()
function(vcpkg_check_linkage)
    set(VCPKG_LIBRARY_LINKAGE static PARENT_SCOPE)
endfunction()
function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 given "" OUT_FEATURE_OPTIONS FEATURES)
    set(${given_OUT_FEATURE_OPTIONS} -DCLEAVE_BUILD_COMMAND=OFF PARENT_SCOPE)
endfunction()
function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 given "" SOURCE_PATH OPTIONS)
    run(cmake -S ${given_SOURCE_PATH} -B build -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_INSTALL_LIBDIR=lib
        --install-prefix ${CURRENT_PACKAGES_DIR} ${given_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
    run(cmake --build build)
    run(cmake --install build)
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 given "" CONFIG_PATH "")
    file(REAL_PATH ${CURRENT_PACKAGES_DIR}/${given_CONFIG_PATH}/cleaveConfig.cmake config)
    file(SIZE ${config} size)  # an error if there is no such file
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 given "" "" FILE_LIST)
    file(COPY ${given_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/cleave)
endfunction()
include(${PORTFILE})
"""


def run(*words, **options):
    """The standard output of a command that must succeed."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)
    if done.returncode != 0:
        raise Failure("%s: exit %d\n%s" % (" ".join(words), done.returncode, done.stdout[-3000:]))
    return done.stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def formula_is_ruby(_folder, _python):
    """Ruby reads the formula"""
    run(need_tool("ruby"), "-c", os.path.join(PACKAGING, "homebrew/Formula/cleave.rb"))


def expression_is_nix(_folder, _python):
    """Nix reads the expression"""
    run(need_tool("nix-instantiate"), "--parse", os.path.join(PACKAGING, "nix/package.nix"))


def conda_recipe_renders(folder, python):
    """rattler-build renders the conda recipe"""
    variants = write(folder + "/variants.yaml", "c_compiler: [gcc]\ncxx_compiler: [gxx]\nc_stdlib: [sysroot]\n")
    said = run(python, "-c", CONDA, os.path.join(PACKAGING, "conda/recipe.yaml"), variants)
    check(said == "cleave Cuts CSV files at record boundaries\n", "one package is rendered, not " + said)


def conan_builds_the_package(folder, python):
    """Conan builds the package with this machine's libraries, and its command counts records"""
    conan = os.path.join(os.path.dirname(python), "conan")
    environment = {**os.environ, "CONAN_HOME": folder + "/conan"}
    version = run("g++", "-dumpversion").strip().split(".", maxsplit=1)[0]
    arch = {"aarch64": "armv8"}.get(os.uname().machine, os.uname().machine)
    profile = write(folder + "/profile", PROFILE % (arch, version))
    common = ["-pr:a", profile, "--no-remote", "-o", "cleave/*:command=True"]
    run(conan, "create", os.path.join(PACKAGING, "conan"), *common, env=environment)
    run(conan, "install", "--requires=cleave/[*]", *common, "--deployer=direct_deploy", "--deployer-folder=" + folder,
        env=environment, cwd=folder)   # it also writes shell scripts there
    package = folder + "/direct_deploy/cleave"
    check(run(package + "/bin/cleave", "count", INPUT) == "7000\n", "the command counts")
    for name in ("lib/libcleave.a", "lib/libcleave_offload.a", "include/cleave/cleave.h", "licenses/LICENSE"):
        check(os.path.exists(os.path.join(package, name)), "the package has " + name)


def port_builds_the_library(folder, _python):
    """The port builds the library with stand-ins for vcpkg's functions, for each kind of linkage"""
    for linkage in ("static", "dynamic"):   # in one folder, so that the second recompiles nothing
        packages = os.path.join(folder, linkage)
        options = {"TREE": ROOT, "CURRENT_PACKAGES_DIR": packages, "VCPKG_LIBRARY_LINKAGE": linkage, "VERSION": "0",
                   "PORTFILE": os.path.join(PACKAGING, "vcpkg/ports/cleave/portfile.cmake")}
        run("cmake", *("-D%s=%s" % option for option in options.items()), "-P", write(folder + "/port.cmake", PORT),
            cwd=folder)
        check(os.path.exists(packages + "/lib/libcleave.a"), linkage + ": the library is there")
        with open(packages + "/lib/cmake/cleave/cleaveTargets.cmake", encoding="utf-8") as file:
            kind = {"static": "zstd::libzstd_static", "dynamic": "zstd::libzstd_shared"}[linkage]
            check(kind in file.read(), "%s: programs link %s" % (linkage, kind))


def image_holds_the_command(folder, _python):
    """buildah builds the image; its command splits a file in a root that holds nothing else"""
    if os.geteuid() != 0:
        raise Skip("chroot needs root")
    buildah = [need_tool("buildah"), "--root", folder + "/storage", "--runroot", folder + "/run", "--storage-driver",
               "vfs"]
    environment = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
    for platform in ("amd64", "arm64"):
        run(*buildah, "build", "--platform", "linux/" + platform, "-f", os.path.join(PACKAGING, "Containerfile"), "-t",
            "cleave:" + platform, os.path.join(ROOT, "build/dist"), env=environment)
    own = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    container = run(*buildah, "from", "--pull-never", "localhost/cleave:" + own, env=environment).strip()
    root = run(*buildah, "mount", container, env=environment).strip()
    try:
        shutil.copy(INPUT, root + "/data")
        said = run("chroot", root, "/usr/bin/cleave", "split", "-n", "2", "--quiet", "--print-names", "-o",
                   "/data/{stem}.{i}{ext}", "/data/orders.csv")
        check(said == "/data/orders.1.csv\n/data/orders.2.csv\n", "there are two pieces: " + said)
    finally:
        run(*buildah, "rm", container, env=environment)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, type=os.path.abspath)
    arguments = parser.parse_args()
    tally = Tally()
    for one in (formula_is_ruby, expression_is_nix, conda_recipe_renders, image_holds_the_command,
                conan_builds_the_package, port_builds_the_library):
        with tempfile.TemporaryDirectory() as folder:
            tally.run(one.__doc__, lambda one=one, folder=folder: one(folder, arguments.python))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
