#!/usr/bin/env python3
"""Changes the sources in one small place at a time, and checks whether a test notices.

  mutate.py [--files PATH[:LINE]...] [--sample N] [--seed N] [--report FILE] [--list]

A mutant is the program with one operator, constant, condition or call changed. A test that fails or times out kills it.
A mutant that survives either behaves as before or shows that a test is missing.

A mutant costs one compilation and, for each step, linking and running one program; the first step that fails ends it. A
header costs as many compilations as there are files that include it, so headers are tried only if --files names them.
Steps are tried in order of the time they take without a change. A program that is byte for byte the same as before is
not run: it does not contain the change, or the compiler has found the change meaningless. If that is true of all
programs, the mutant counts as the same program and not as a survivor. TESTS can therefore be generous.

Works on a copy of the tree in build/mutate. The library and the command are compiled with assertions and little
optimisation; the tests as for a release, so that they come from the compiler's cache. Mutants may signal, remove and
write anything, so tests run confined: see confined.py.

Folders are judged separately. The results are recorded in survivors.tsv, which explains the rule at the top. Exit
status: see verdicts.py.
"""
import argparse
import hashlib
import math
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from confined import run_confined
from verdicts import INCONCLUSIVE, PASSED, SKIPPED, Failure, Tally

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "build/mutate/tree"
BUILD = TREE / "build/release"
SURVIVORS = ROOT / "tests/tools/survivors.tsv"
CHANCE = 0.01   # the probability that a folder with the recorded survival rate fails

# Scripts that run the command. In TESTS they are followed by files of cases, a check, a number of cases or a shell.
SCRIPTS = {
    "cli": ["cases/run.py", "--cleave", "cleave", "--only"],
    "edges": ["system/edges_test.py", "--cleave", "cleave", "--only"],
    "terminal": ["system/terminal_test.py", "--cleave", "cleave", "--only"],
    "completions": ["system/drift/completions_test.py", "--cleave", "cleave"],
    "byvalue": ["references/byvalue/run.py", "cleave", "--jobs", "1", "--count"],
    "stages": ["references/stages/compare.py", "cleave", "--jobs", "1", "--count"],
    **{"faults." + name: ["faults/%s_test.py" % name, "--cleave", "cleave", "--only"]
       for name in ("by_value", "filter", "index", "input", "keys", "nth_call", "output", "rewritten", "signals")},
    "inputs": ["system/inputs_test.py", "cleave"],
    "straddle": ["system/straddle_test.py", "--cleave", "cleave", "--only"],
}


def cases(names):
    return "cli " + " ".join(name + ".case:" for name in names.split())


SPLIT = "split "

# The tests that concern a folder; a file may have its own in addition. A step is a script with its argument, or the
# program of a unit test with a GoogleTest filter. Tests that cannot pass in confinement are left out: they need more
# memory, or permissions that an overlay does not keep.
TESTS = {
    "src/base": ["json_test", "suggest_test", "helpers_test", "checksum_test", "value_names_test", "column_list_test",
        cases("usage hints jsonl check")],
    "src/core/dialect": ["dialect_test", "fields_test", "foreign_test", "index_test RecordIndex.*:*ReadsDenseNoise*",
        "stream_test Scan.*", "index_test", cases("dialect headers check")],
    "src/core/kernels": ["fields_test", "kernel_test *AllSizes*:*SummariesCompose*:*LanesAsOneByOne*", "kernel_test",
        "kernel_edge_test", "proof_test", "index_test"],
    "src/core/offsets": ["plan_test *OfAlmostNothing*:*AtTheByte*", "aligned_cuts_test *OfAlmostNothing*:*AtTheByte*",
        "plan_test", "aligned_cuts_test", "range_test", "by_test", "pieces_by_value_test", "together_test",
        "sample_test", "contract_test", "byvalue 60", cases("by together sample ranges")],
    "src/core/reader": ["sequential_reader_test", "write_test", "blob_test", "read_ahead_test", "snapshot_test",
        "changed_input_test", "stream_test", "job_test", "plan_file_test",
        cases("compress streams safety system filter resume own_files reflink by")],
    "src/core/scan": ["index_test RecordIndex.*:*ReadsDenseNoise*", "index_test -ThreadsTest.*", "stream_test Scan.*",
        "plan_test", "index_test ThreadsTest.*", "examine_test", "index_file_test", "batches_test", "summariser_test",
        "range_test", "columns_test -*TwoGigabytes", cases("index check ranges")],
    "src/core/writer": ["run_marker_test", "write_test", "names_test", "value_names_test", "checksum_test",
        "contract_test", "job_test",
        cases(SPLIT + "resume safety templates by reflink compress filter manifest "
              "own_files streams system")],
    "src/rows/fields": ["fields_test", "columns_test -*TwoGigabytes", "stage_test", "column_stream_test", "stages 60"],
    "src/rows/memory": ["memory_test -PluginTrust.*", "pool_manager_test", "keys_test", cases("memory")],
    "src/rows/records": ["batches_test", "stage_test", "column_stream_test", "by_test", "changed_input_test",
        "stages 60", "sample_test"],
    "src/rows/values": ["scatter_test", "value_names_test", "by_test", "pieces_by_value_test", "together_test",
        "byvalue 60", "stages 60", "straddle", cases("by together jsonl")],
    "src/features/arrow": ["columns_test -*TwoGigabytes", "column_stream_test", "fork_test", "changed_input_test"],
    "src/features/check": ["examine_test", cases("check")],
    "src/features/compressed": ["codec_test", "decoder_test", "parallel_decoder_test", "zip_decoder_test",
        "text_decoder_test", "chunk_test", "gzip_reader_test", "parallel_gzip_test", "gzip_index_test",
        cases("compress streams index")],
    "src/features/gpu": ["offload_test -Module.ThatOthers*", "device_lane_test", cases("device machine")],
    "src/features/index": ["index_file_test", "contract_test", cases("index"), "gzip_index_test"],
    "src/features/json_lines": ["by_test", cases("jsonl")],
    "src/features/inputs": ["inputs", cases("inputs")],
    "src/features/ranges": ["range_test", cases("range ranges")],
    "src/features/redact/lane": ["job_test", "changed_input_test", "faults.rewritten", "device_lane_test",
        "contract_test", "stages 100", "byvalue 60",
        cases(SPLIT + "rules redact select keys stage_faults verify streams by together device count")],
    "src/features/redact/stage": ["rules_test", "rules_file_test", "column_list_test", "operations_test",
        "keyed_operations_test", "keys_test", "stage_test", "forbidden_test", "similar_names_test", "device_lane_test",
        "stages 150", cases("rules redact select keys stage_faults verify")],
    "src/features/stores": ["request_queue_test", "read_ahead_file_test", "store_test", "store_output_test"],
    "src/engine": ["job_test", "column_stream_test", "device_lane_test", "range_test", "index_file_test", "fork_test",
        "contract_test", "changed_input_test", "beneath_test", "stages 100", "byvalue 60",
        cases(SPLIT + "reflink manifest resume own_files by join jsonl talk stage_faults "
              "verify index range ranges rules redact streams keys device machine offsets")],
    "src/cli": ["cli", "edges"],

    "src/core/writer/child.cpp": ["faults.filter A command that fails is named"],
    "src/core/writer/command_guard_linux.cpp": ["faults.filter A command that fails", "faults.filter After success",
        "faults.filter KILL of the process", "faults.filter The commands have no descriptor",
        "faults.filter A parent that ignores SIGCHLD"],
    "src/core/writer/run_marker.cpp": ["faults.signals KILL with --force over old pieces"],
    "src/core/reader/temporary_file.cpp": ["faults.output A name cannot be given"],
    "src/features/redact/stage/keys.cpp": ["faults.keys"],
    "src/core/writer/trust.cpp": ["faults.output A piece, or the folder of one"],
    "src/core/writer/filter_target.cpp": ["faults.filter A command that fails"],
    "src/core/writer/piece_store.cpp": ["faults.output a reader sees the old piece or the new",
        "faults.output A name cannot be given",
        "faults.signals KILL with --force over old pieces"],
    "src/core/writer/file_target.cpp": ["faults.output the pieces get their names",
        "faults.output A name is taken by another"],
    "src/features/index/index_writer.cpp": ["faults.index"],
    "src/engine/piece_bytes.cpp": ["faults.input"],
    "src/engine/records_by_value.cpp": ["by_test"],
    "src/engine/piece_list.cpp": [cases("join")],
    "src/cli/main.cpp": ["faults.nth_call With --json"],
    "src/cli/bar.cpp": ["bar_test", "terminal"],
    "src/cli/completion.cpp": ["completions bash", "completions zsh", "completions fish"],
    "src/cli/sandbox_linux.cpp": ["sandbox_test", cases("safety")],
    "src/cli/signals.cpp": ["signals_test"],
    **{"src/cli/%s.cpp" % name: [cases(names)] for name, names in {
        "cat": "cat range", "check": "check", "check_json": "check", "check_report": "check",
        "check_rules": "check rules", "count": "count", "device": "device", "diagnostics": "malformed usage",
        "dialect_options": "dialect", "given": "usage hints", "help": "help", "index": "index", "index_use": "index",
        "join": "join", "key": "key", "info": "info", "messages": "talk usage",
        "offsets": "offsets", "option_table": "help usage", "options": SPLIT + "usage index", "other_tools": "hints",
        "output_options": "usage templates compress", "plan": "ranges", "planned": "ranges",
        "range_options": "range ranges", "chosen_records": "offsets range", "sample": "sample", "scan": "ranges",
        "session": "streams", "split": SPLIT + "talk", "stage_options": "rules redact keys",
        "rewritten_output": "redact select", "values": "values value_names"}.items()},
}

# Patterns and their replacements. Operators have blanks around them, as clang-format writes them; template brackets do
# not.
REPLACEMENTS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r"(?<!\0) \+ (?!\0)", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" % ", " / "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" & ", " | "), (r" \| ", " & "), (r" \^ ", " | "),
    (r" << ", " >> "), (r" >> ", " << "),
    (r" \+= (?!\0)", " -= "), (r" -= ", " += "), (r" &= ", " |= "), (r" \|= ", " &= "), (r" \^= ", " |= "),
    (r" \*= ", " += "), (r"\+\+", "--"), (r"--", "++"),
    (r" [+-] 1\b(?!')", ""),
    (r"(?<![=!<>])!(?=[\w(])", ""), (r"~(?=[a-z(])", ""),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<![\w.'])0(?![\w.'])", "1"), (r"(?<![\w.'])1(?![\w.'])", "0"),
    (r"\bstd::min\b", "std::max"), (r"\bstd::max\b", "std::min"),
    (r"\blower_bound\b", "upper_bound"), (r"\bupper_bound\b", "lower_bound"),
    (r"\bif \((?=.*\) (?:return|break|continue|throw)\b)", "if (false) if ("),
    (r"\b(?:break|continue|return);", ";"),
    (r"(?<=^ )( *)[\w:.\[\]*]+(?:->[\w.]+)*\([^;{}]*\);$", r"\1;"),   # a call that is a statement
]
NOT_CODE = re.compile(r"^\s*(#|//|static_assert|assert\(|namespace |using |template )|\bassert\(|^\s*virtual .*= 0;")


class Mutant(NamedTuple):
    file: str
    line: int    # from 1
    place: str   # the line, preceded by as many lines as make the block unique in the file
    before: str
    after: str

    @property
    def row(self):
        """The mutant's key in survivors.tsv, without a line number, so that it remains valid."""
        return self.file, self.place, self.after.strip()

    def __str__(self):
        return "%s:%d\n  - %s\n  + %s" % (self.file, self.line, self.before.strip(), self.after.strip())


def code_part(line):
    """The line without its comment and with its literals blanked."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'', lambda match: "\0" * len(match.group()), line)
    return line.split("//")[0].rstrip()


def place_of(stripped, index):
    for first in range(index, -1, -1):
        block = stripped[first:index + 1]
        if sum(stripped[i:i + len(block)] == block for i in range(len(stripped))) == 1:
            break
    return "\\n".join(block)


def mutants_of(file):
    lines = (ROOT / file).read_text().split("\n")
    stripped = [line.strip() for line in lines]
    for index, line in enumerate(lines):
        if NOT_CODE.search(line):
            continue
        seen = {line}
        code = code_part(line)
        for pattern, replacement in REPLACEMENTS:
            for match in re.finditer(pattern, code):
                mutated = line[:match.start()] + match.expand(replacement) + line[match.end():]
                if mutated not in seen:
                    seen.add(mutated)
                    yield Mutant(file, index + 1, place_of(stripped, index), line, mutated)


def folder_of(file):
    """The room of the house that the file is in."""
    return next(str(folder) for folder in Path(file).parents if str(folder) in TESTS)


def chosen_mutants(paths, sample, seed):
    """The mutants by folder. A sample is divided evenly among the folders."""
    found = {}
    for path in paths:
        path, _, line = path.partition(":")
        files = [path] if (ROOT / path).is_file() else sorted(
            str(file.relative_to(ROOT)) for file in (ROOT / path).rglob("*.cpp"))
        for file in files:
            found.setdefault(folder_of(file), []).extend(
                mutant for mutant in mutants_of(file) if not line or mutant.line == int(line))
    if sample:
        share = math.ceil(sample / len(found))
        for folder, mutants in found.items():
            picked = random.Random("%d %s" % (seed, folder)).sample(range(len(mutants)), min(share, len(mutants)))
            found[folder] = [mutants[i] for i in sorted(picked)]
    return found


# The record of survivors.

def read_survivors():
    """Rates by folder, and (verdict, reason) by Mutant.row."""
    rates, known = {}, {}
    for line in SURVIVORS.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        match line.split("\t"):
            case [folder, tried, survived]:
                rates[folder] = (int(survived) + 1) / (int(tried) + 2)   # Laplace's rule: the sample was small
            case [file, place, after, verdict, reason]:
                known[file, place, after] = verdict, reason
            case _:
                sys.exit("%s: not a row: %s" % (SURVIVORS.name, line))
    return rates, known


def allowance(tried, rate):
    """The smallest number of survivors that is exceeded with a probability below CHANCE if mutants survive at this
    rate."""
    at_most = 0.0
    for number in range(tried + 1):
        at_most += math.comb(tried, number) * rate ** number * (1 - rate) ** (tried - number)
        if 1 - at_most < CHANCE:
            return number
    return tried


# Building and running.

class Step:
    """A test: how it is built and run, and its time and digest without a change."""

    def __init__(self, text):
        self.text = text
        name, _, argument = text.partition(" ")
        if name in SCRIPTS:
            self.target = "cleave"
            script, *words = SCRIPTS[name]
            self.command = [sys.executable, "-B", TREE / "tests" / script,
                            *(BUILD / word if word == "cleave" else word for word in words),
                            *(argument.split() if name == "cli" and argument else [argument])]
            self.program = BUILD / "cleave"
        else:
            self.target, own = target_of(name)
            self.program = program_of(self.target)
            tests = own + argument if not argument or argument.startswith("-") else argument
            self.command = [self.program, "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + tests]
        self.seconds = self.digest = None

    def measure(self):
        """Builds and runs the test without a change."""
        if self.seconds is None:
            good, output = build(self.target)
            if not good:
                raise Failure("without a change, %s is not built: %s" % (self.target, output[-2000:]))
            self.digest = digest(self.program)
            start = time.monotonic()
            killer = self.killer(120)
            self.seconds = time.monotonic() - start
            if killer:
                raise Failure("without a change: " + killer)

    def killer(self, seconds):
        """The test that fails; None if none does. `seconds` is the expected time; the run gets ample time."""
        code, output = run_confined(self.command, ROOT / "build/mutate", 10 + 3 * seconds, 4 + 3 * seconds)
        if code is None:
            return "timeout of " + self.text
        if code in (PASSED, INCONCLUSIVE, SKIPPED):
            return None
        failed = re.search(r"\[  FAILED  \] ([^\s,]+)|^FAIL (.*)", output, re.MULTILINE)
        return "%s: %s" % (self.text, failed.group(1) or failed.group(2) if failed else "ends with %d" % code)


OWN_PROGRAMS = {"bar_test", "device_lane_test", "offload_test", "sandbox_test", "signals_test"}
STEPS = {}     # by text
PROGRAMS = {}  # unit test program: where it is built


def target_of(name):
    """The program that has the tests of that file, and GoogleTest's filter for them."""
    path, = (ROOT / "tests/unit").rglob(name + ".cpp") if name not in OWN_PROGRAMS else [None]
    if path is None:
        return name, "*"
    suites = dict.fromkeys(re.findall(r"^TEST(?:_F|_P)?\((\w+),", path.read_text(), re.MULTILINE))
    return "unit_test", ":".join("%s.*:*/%s.*" % (suite, suite) for suite in suites)


def program_of(name):
    if not PROGRAMS:
        listed = subprocess.run(["ninja", "-t", "targets", "all"], cwd=BUILD, check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        for path in re.findall(r"^(\S+_test): CXX_EXECUTABLE", listed, re.MULTILINE):
            PROGRAMS[Path(path).name] = BUILD / path
    return PROGRAMS[name]


def steps_for(file):
    """The steps for the file and its folder, the quickest first."""
    texts = dict.fromkeys(TESTS.get(file, []) + TESTS[folder_of(file)])
    steps = [STEPS.setdefault(text, Step(text)) for text in texts]
    for step in steps:
        step.measure()
    return sorted(steps, key=lambda step: step.seconds)


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


def build(target):
    """Builds a target. Returns whether that worked, and the output."""
    done = subprocess.run(["ninja", "-j", str(os.cpu_count()), target], cwd=BUILD, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode == 0, done.stdout


CHECKED = b"".join(b"target_compile_options(%s PRIVATE -O1 -UNDEBUG -D_GLIBCXX_ASSERTIONS -w)\n" % target
                   for target in (b"libcleave", b"command", b"cleave"))


def prepare():
    """Brings the copy up to date, touching only files that differ, and configures it."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, TREE / name
        content = source.read_bytes() + (CHECKED if name == "CMakeLists.txt" else b"")
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(source, target)
    subprocess.run(["cmake", "--preset", "release", "-DBUILD_TESTING=ON", "-DCLEAVE_UNITY=OFF"], cwd=TREE, check=True,
                   stdout=subprocess.DEVNULL)


# Mutants.

def try_mutant(mutant, steps):
    """'killed', 'survived', 'same program' or 'did not compile', and what killed it."""
    path = TREE / mutant.file
    original = path.read_text()
    lines = original.split("\n")
    lines[mutant.line - 1] = mutant.after
    path.write_text("\n".join(lines))
    outcome = "same program", ""
    try:
        for step in steps:
            if not build(step.target)[0]:
                return "did not compile", ""
            if digest(step.program) == step.digest:
                continue
            killer = step.killer(step.seconds)
            if killer:
                return "killed", killer
            outcome = "survived", ""
        return outcome
    finally:
        path.write_text(original)


def processor_time():
    """The processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Campaign:
    """Tries mutants folder by folder, and gathers the survivors that nobody has examined yet."""

    def __init__(self, report):
        self.report = report
        self.rates, self.known = read_survivors()
        self.unread = []

    def try_folder(self, folder, mutants):
        counts = dict.fromkeys(["killed", "survived", "read before", "same program", "did not compile"], 0)
        unread = []
        for number, mutant in enumerate(mutants, 1):
            steps = steps_for(mutant.file)
            start = processor_time()
            outcome, killer = try_mutant(mutant, steps)
            seconds = processor_time() - start
            if outcome == "survived" and mutant.row in self.known:
                outcome, killer = "read before", self.known[mutant.row][0]
            counts[outcome] += 1
            if outcome == "survived":
                unread.append(mutant)
            print("[%d/%d] %s\n    %s%s, %.1f s of processor time" % (number, len(mutants), mutant, outcome,
                                                   " by " + killer if killer else "", seconds), flush=True)
            if self.report:
                print(outcome, killer, "%.1f" % seconds, mutant.line, *mutant.row, sep="\t", file=self.report,
                      flush=True)
        self.unread += unread
        tried = counts["killed"] + counts["survived"] + counts["read before"]
        allowed = allowance(tried, self.rates.get(folder, 0))
        print("%s: %s; %d may survive unread" % (folder, ", ".join("%d %s" % (n, what) for what, n in counts.items()),
                                                 allowed))
        if len(unread) > allowed:
            raise Failure("%d of %d mutants survive that nobody has read, and %d may" % (len(unread), tried, allowed))
        if tried and not counts["killed"]:
            raise Failure("no mutant was killed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", metavar="PATH[:LINE]",
                        help="files, or folders of src [the folders that have a rate in survivors.tsv]")
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants at random, as many of each folder [all]")
    parser.add_argument("--seed", type=int, default=1, help="of the sample [1]")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write every mutant and what became of it there")
    parser.add_argument("--list", action="store_true", help="print the mutants, try none")
    arguments = parser.parse_args()

    found = chosen_mutants(arguments.files or read_survivors()[0], arguments.sample, arguments.seed)
    if arguments.list:
        for mutants in found.values():
            print(*mutants, sep="\n")
        print("%d mutants" % sum(map(len, found.values())))
        return 0

    prepare()
    tally = Tally()
    campaign = Campaign(arguments.report.open("w") if arguments.report else None)
    for folder, mutants in found.items():
        tally.run("mutants of " + folder, lambda: campaign.try_folder(folder, mutants))
    print("Survivors that nobody has read:", *campaign.unread or ["none"], sep="\n")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
