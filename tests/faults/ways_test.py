#!/usr/bin/env python3
"""A secret in every column that a rule names, and the ways in which it could get out: nothing that a run prints or
leaves behind contains it, no file can be read by more users than the input, and the exit status is one that the way
allows.

  ways_test.py --cleave PATH [--runs N] [--seed N] [--jobs N] [--only WAY]

The number of a case determines all of it: an input, a way, a verb, a file or a pipe, plain or compressed. A failure
shows its number N, and `--seed N --runs 1` repeats it. The script needs Python 3.9, the binary, and only this folder of
the project. Only root can create files that belong to another user. The ways are in ways.py and ways_by_others.py.
"""
import argparse
import collections
import multiprocessing
import signal
import sys
import traceback

from case import Case, Failure, Place, Skip
import ways
import ways_by_others

SHOWN = 3   # how many failures of each way are shown


def try_case(place, number, way):
    """Returns the verdict and the reason: "passed" and None, or "failed" or "skipped" and why."""
    case = Case(place, number)
    try:
        way(case)
        case.expect_clean()
        return "passed", None
    except Skip as reason:
        return "skipped", str(reason)
    except Failure as failure:
        return "failed", "%s\n       cleave %s" % (failure, b" ".join(case.words).decode("utf-8", "backslashreplace"))
    except Exception:   # an error in the case itself must not stop the others
        return "failed", traceback.format_exc()
    finally:
        case.remove()


def work(cleave, seconds, numbers, picked, results):
    """Sends {way: {verdict: count}} and {way: [failures to show]}."""
    counts, shown = collections.defaultdict(collections.Counter), collections.defaultdict(dict)
    with Place(cleave, seconds) as place:
        for number in numbers:
            way = picked[number % len(picked)]
            verdict, why = try_case(place, number, way)
            counts[way.__name__][verdict] += 1
            if verdict == "failed" and len(shown[way.__name__]) < SHOWN:
                shown[way.__name__][number] = "FAIL %s: %d: %s" % (way.__name__, number, why)
            elif verdict == "skipped":
                shown[way.__name__][why] = "skip %s: %s" % (way.__name__, why)
    results.send((dict(counts), dict(shown)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, metavar="PATH", help="the binary")
    parser.add_argument("--runs", type=int, default=1500, metavar="N", help="how many cases [1500]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the number of the first one [1]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes side by side [1]")
    parser.add_argument("--only", default="", metavar="WAY", help="one way")
    parser.add_argument("--seconds", type=float, default=1, metavar="N", help="of processor time for a run [1]")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))   # so that temporary files are removed
    known = ways.WAYS + ways_by_others.WAYS
    picked = [way for way in known if args.only in ("", way.__name__)] or parser.error("there is no way " + args.only)
    workers = []
    for first in range(args.jobs):
        numbers = range(args.seed + first, args.seed + args.runs, args.jobs)
        receiver, sender = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=work, args=(args.cleave, args.seconds, numbers, picked, sender),
                                          daemon=True)
        process.start()
        workers.append((receiver, process))
        sender.close()
    counts, shown = collections.defaultdict(collections.Counter), collections.defaultdict(dict)
    for receiver, process in workers:
        for of_all, of_one in zip((counts, shown), receiver.recv()):
            for way, more in of_one.items():
                of_all[way].update(more)
        process.join()
    for way in (way.__name__ for way in picked):
        lines = [shown[way][key] for key in sorted(shown[way], key=str)]
        print("\n".join(lines[:SHOWN] or ["ok   " + way]))
        print("     %s: %s" % (way, ", ".join("%d %s" % (counts[way][verdict], verdict) for verdict in (
            "passed", "failed", "skipped") if counts[way][verdict])))
    total = [sum(count[verdict] for count in counts.values()) for verdict in ("passed", "failed", "skipped")]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
