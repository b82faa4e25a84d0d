#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the tree, and checks whether the gate catches it, and with which tests.

  planted_faults.py [--only SUBSTRING] [--list]

The copy is a clone of HEAD in build/planted. For each fault, one place in one file is changed, a build is brought up to
date, and the tests that should notice are run and judged as .ci/gate.py judges them. A fault is caught if the test
named here fails. The output ends with the closing line of verdicts.py.
"""
import argparse
import os
import subprocess
import sys
from typing import NamedTuple

from verdicts import Tally, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, ".ci"))
import results  # noqa: E402

TREE = os.path.join(ROOT, "build", "planted")


class Fault(NamedTuple):
    name: str
    file: str
    before: str     # must occur in the file exactly once
    after: str
    preset: str
    tests: str      # a ctest pattern: the tests to run
    catches: str    # the beginning of the gate's line about the test that must fail


FAULTS = [
    Fault("data race: pieces are listed without the store's lock", "src/core/writer/piece_store.cpp",
          "    PublishedFile published = file.publish();\n    lock.lock();\n",
          "    PublishedFile published = file.publish();\n",
          "tsan", "^unit\\.", "unit."),
    Fault("leak: a zstd encoder is not freed", "src/features/compressed/encoder.cpp",
          "{ ::ZSTD_freeCCtx(context); }", "{ static_cast<void>(context); }",
          "asan", "^unit\\.", "unit."),
    Fault("off by one in a kernel: the last byte of a step", "src/core/kernels/step.h",
          "inline Lane follows(Lane mask, Lane previous) { return (mask << 1) + (previous >> 63); }",
          "inline Lane follows(Lane mask, Lane previous) { return (mask << 1) + (previous >> 62); }",
          "release", "^unit\\.", "unit."),
    Fault("lost piece: every 200th gets no name", "src/core/writer/piece_store.cpp",
          "    MutexLock lock(mutex_);\n    if (is_kept) {",
          "    if (piece.number % 200 == 0) return;\n    MutexLock lock(mutex_);\n    if (is_kept) {",
          "release", "^(faults.signals|faults.output)$", "faults.signals: "),
    Fault("value in a message: the forbidden address itself", "src/features/redact/stage/worker.cpp",
          'throw InputError(what->phrase + " in column " +',
          'throw InputError(what->phrase + std::string(record.bytes + field.begin, record.bytes + field.end) +'
          ' " in column " +',
          "release", "^(cli|faults.secrets)$", "cli: "),
    Fault("dropped check: a line that is not JSON has the empty key", "src/features/json_lines/json_key.cpp",
          "    if (found.fault)\n", "    if (found.fault) return {nullptr, 0};\n    if (found.fault)\n",
          "release", "^json_lines$", "json_lines: "),
    Fault("wrong exit status: 3 for an input that has changed", "src/core/offsets/failure.cpp",
          "constexpr int kChanged = 4;", "constexpr int kChanged = 3;",
          "release", "^(cli|faults.input)$", "faults.input: "),
    Fault("broken include: the scan knows jobs", "src/core/scan/walker.cpp",
          '#include "core/scan/walker.h"\n', '#include "core/scan/walker.h"\n\n#include "engine/manifest.h"\n',
          "release", "^includes$", "includes: "),
    Fault("wrong option page: an option by another name", "man/cleave-split.1",
          "\\fB\\-\\-together\\fR \\fICOLUMN\\fR", "\\fB\\-\\-altogether\\fR \\fICOLUMN\\fR",
          "release", "^drift\\.pages$", "drift.pages: "),
    Fault("reordered rename: the manifest is there before the pieces are durable", "src/core/writer/piece_store.cpp",
          "        if (options_.sync && !sync()) throw_errno(directory_->path());\n    }\n    const auto text_of",
          "    }\n    const auto text_of",
          "release", "^faults.output$", "faults.output: "),
    Fault("lost sync: a piece has its name before its bytes are durable", "src/core/writer/piece_store.cpp",
          "    if (options_.sync && !is_kept) file.sync();", "    if (options_.sync && !is_kept) static_cast<void>(file);",
          "release", "^faults.power$", "faults.power: "),
    Fault("lost sync: a file is replaced before its note is durable", "src/core/writer/run_marker.cpp",
          "    sync(directory_->path_of(name));\n}\n", "}\n",
          "release", "^faults.power$", "faults.power: "),
    Fault("lost finds: a thread counts no more than a hundred", "src/features/redact/stage/worker.cpp",
          "    ++counts.forbidden[number];", "    if (counts.forbidden[number] < 100) ++counts.forbidden[number];",
          "release", "^stages.forbidden$", "stages.forbidden: "),
    Fault("two types of one name: a source file's own Stream beside the public one",
          "src/features/redact/stage/operations/form.cpp",
          "}  // namespace\n\n", "class Stream {};\n}  // namespace\n\nusing Drawn = Stream;\n\n",
          "release", "^unit\\.0$", "exit status"),   # it does not compile
]


def run(preset, tests):
    """Brings a build up to date, runs these tests and returns their Result."""
    lines = []
    result, _ = results.run_command(["./dev", "test", preset, "-R", tests], lines.append, TREE)
    if not result.times:
        print("".join(lines)[-2000:])   # it did not get as far as the tests
    return result


def plant(fault, notes):
    path = os.path.join(TREE, fault.file)
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    need(whole.count(fault.before) == 1, "%s has the text %d times" % (fault.file, whole.count(fault.before)))
    sound = run(fault.preset, fault.tests)
    need(sound.passed > 0 and not sound.failed, "without the fault: %s" % (sound.failed or "no test"))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(whole.replace(fault.before, fault.after))
        found = run(fault.preset, fault.tests)
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(whole)
    notes[:] = found.failed[:3]
    need(any(name.startswith(fault.catches) for name in found.failed), "not caught by %s" % fault.catches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a fault's name")
    parser.add_argument("--list", action="store_true", help="print the names, plant none")
    arguments = parser.parse_args()
    faults = [fault for fault in FAULTS if arguments.only in fault.name]
    if arguments.list:
        print(*(fault.name for fault in faults), sep="\n")
        return 0
    if not os.path.exists(TREE):
        subprocess.run(["git", "clone", "-q", ROOT, TREE], check=True)
    subprocess.run(["git", "-C", TREE, "fetch", "-q", "origin", "HEAD"], check=True)
    subprocess.run(["git", "-C", TREE, "reset", "-q", "--hard", "FETCH_HEAD"], check=True)
    tally, notes = Tally(), []
    for fault in sorted(faults, key=lambda fault: fault.preset):
        tally.run(fault.name, lambda fault=fault: plant(fault, notes), lambda: notes)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
