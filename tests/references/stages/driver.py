"""Runs random cases of a test program in several processes, and prints the differences."""
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import in_memory  # noqa: E402


def add_options(parser, count):
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kernel", help="instead of all kernels that run on this machine")
    parser.add_argument("--keep", default=tempfile.gettempdir(), help="where inputs of differences stay")
    parser.add_argument("--most", type=int, default=20, help="how many differences are printed")


def find_kernels(cleave):
    version = subprocess.run([cleave, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"available: (.*)", version).group(1).split()


def work(first, step, options, run_case, kernels, results):
    with tempfile.TemporaryDirectory(prefix="cleave-stages-", dir=in_memory.folder()) as root:
        for number in range(first, options.count, step):
            try:
                text = run_case(options.seed + number, options, kernels, os.path.join(root, str(number)))
            except Exception as error:  # pylint: disable=broad-except
                text = "seed %d: the program itself failed: %r\n" % (options.seed + number, error)
            if text is not None:
                results.put(text)
    results.put(None)


def run_all(options, run_case):
    """Calls run_case(seed, options, kernels, directory), which returns a text that describes a difference, an empty one
    if there is none, and None if nothing was compared. Returns the exit status."""
    options.cleave = os.path.abspath(options.cleave)
    kernels = find_kernels(options.cleave)
    began = time.monotonic()
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(first, options.jobs, options, run_case, kernels,
                                                           results))
               for first in range(options.jobs)]
    for worker in workers:
        worker.start()
    compared, differences, running = 0, 0, options.jobs
    while running > 0:
        text = results.get()
        if text is None:
            running -= 1
            continue
        compared += 1
        differences += bool(text)
        if text and differences <= options.most:
            print(text, flush=True)
    for worker in workers:
        worker.join()
    seconds = time.monotonic() - began
    print("cases from seed %d, %.1f ms each" % (options.seed, 1000 * seconds / max(options.count, 1)))
    print("%d passed, %d failed" % (compared - differences, differences))
    return 1 if differences or not compared else 0
