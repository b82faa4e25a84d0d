"""Errors, changed files, and Ctrl-C."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import make_csv

import cleave

TIMEOUT_S = 120  # for work that takes seconds: anything longer has hung, however busy the machine is


def run_script(script: str, path: Path) -> str:
    """What the script prints."""
    run = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


# A file is repeatedly truncated to nothing while it is used, until one of the uses notices.
TRUNCATED = """
import faulthandler, os, sys, threading, cleave
faulthandler.enable()
path, data = sys.argv[1], open(sys.argv[1], "rb").read()
def use(f, how):
    if how == 0:
        return f.records
    if how == 1:
        return f.check().records
    if how == 2:
        return [len(piece.bytes) for pieces in (f.split(n=3), f.split(n=300)) for piece in pieces]
    import pyarrow
    return pyarrow.table(f.select("id")).num_rows
outcomes = set()
for round in range(3000):
    if round >= 60 and "changed" in outcomes:
        break
    with open(path, "wb") as file:
        file.write(data)
    f = cleave.open(path, threads=3)
    cut = threading.Timer(0.001 * (round % 12), os.truncate, (path, 4096 * (round % 3)))
    cut.start()
    try:
        use(f, round % 4)
        outcomes.add("done")
    except cleave.InputChangedError:
        outcomes.add("changed")
    except Exception as error:
        assert "truncated" in str(error) or "changed" in str(error), error
        outcomes.add("arrow")
    cut.join()
print(sorted(outcomes))
"""


def test_a_truncated_file_is_an_error_and_no_signal(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(2000) * 100)
    assert "changed" in run_script(TRUNCATED, path)


def test_a_changed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(100))
    f = cleave.open(path)
    pieces = f.split(n=2)
    path.write_bytes(make_csv(100, seed=2) + b"1,2,3,4\n")
    for use in (lambda: f.records, lambda: f.split(n=2), lambda: pieces[0].bytes, f.check):
        with pytest.raises(cleave.InputChangedError) as raised:
            use()
        assert raised.value.exit_code == 4


SIGBUS = """
import mmap, os, signal, sys, cleave
def on_bus(number, frame): pass
previous = signal.getsignal(signal.SIGBUS)
f = cleave.open(sys.argv[1])
f.records, f.split(n=3), f.check()
assert signal.getsignal(signal.SIGBUS) == previous
with open(sys.argv[1], "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
os.truncate(sys.argv[1], 0)
print("alive", flush=True)
mapped[0]
"""


def test_signals_of_others_stay_theirs(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(100))
    run = subprocess.run([sys.executable, "-c", SIGBUS, path], capture_output=True, text=True, check=False)
    assert run.stdout == "alive\n", run.stderr
    assert run.returncode == -signal.SIGBUS


INTERRUPTED = """
import os, sys, threading, time, signal, cleave
reader, writer = os.pipe()
def link(name):
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except FileNotFoundError:  # closed meanwhile
        return ""
def is_opened():  # by the call, beside both ends
    return [link(name) for name in os.listdir("/proc/self/fd")].count(link(reader)) == 3
def send():
    while not is_opened():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    cleave.open(f"/proc/self/fd/{reader}")  # nobody writes
except KeyboardInterrupt:
    print("interrupted")
f = cleave.open(sys.argv[1])
print(f.records)
"""


def test_ctrl_c_ends_a_long_call(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(100))
    assert run_script(INTERRUPTED, path).split() == ["interrupted", "100"]


# One signal per round, at a random moment. It may come between two calls, where Python itself handles it.
INTERRUPTED_SCAN = """
import os, random, sys, threading, time, signal, traceback, cleave
f = cleave.open(sys.argv[1], threads=1)
def send(delay):
    time.sleep(delay)
    os.kill(os.getpid(), signal.SIGINT)
chance, inside = random.Random(1), 0
for _ in range(1000):
    if inside == 10:
        break
    thread = threading.Thread(target=send, args=(chance.random() * 0.02,))
    try:
        thread.start()
        while True:
            f.check()
    except KeyboardInterrupt as interrupted:
        inside += "cleave" in traceback.extract_tb(interrupted.__traceback__)[-1].filename
    thread.join()
print(inside, f.records, f.split(n=2)[0].start)
"""


def test_after_ctrl_c_the_file_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(2000) * 50)
    expected = cleave.open(path)
    printed = run_script(INTERRUPTED_SCAN, path)
    assert printed.split() == ["10", str(expected.records), str(expected.split(n=2)[0].start)]


# The interpreter does not take its lock away from any thread here: a thread that counts gets it only from a call that
# releases it.
OTHER_THREADS = """
import sys, threading, time, cleave
sys.setswitchinterval(1000)
f = cleave.open(sys.argv[1], threads=1)
count, done = 0, False
def tick():
    global count
    while not done:
        count += 1
        time.sleep(0)
thread = threading.Thread(target=tick)
thread.start()
most, end = 0, time.monotonic() + 60
while most < 100 and time.monotonic() < end:
    before = count
    f.check()
    most = max(most, count - before)
done = True
thread.join()
print(most)
"""


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    """The interpreter lock is released: a thread counts while another one scans."""
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(2000) * 400)
    most = int(run_script(OTHER_THREADS, path))
    assert most >= 100, f"another thread counted to {most} during a call"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"n": 0},
        {"n": -1},
        {"n": 2, "size": 5},
        {"size": 0},
        {"records": 0},
        {"n": 2, "balance": "words"},
        {"records": 5, "balance": "records"},
        {"n": "2"},
        {"n": 1 << 64},
        {"n": 2, "together": "no such column"},
    ],
    ids=str,
)
def test_wrong_limits(arguments: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        cleave.open(make_csv(10)).split(**arguments)


@pytest.mark.parametrize(
    "options",
    [
        {"dialect": "no-such"},
        {"delimiter": ""},
        {"delimiter": "ab"},
        {"delimiter": "\u20ac"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"quote": "''"},
        {"escape": "ab"},
        {"escape_scope": "nowhere"},
        {"quoting": "never"},
        {"terminator": "crlf"},
        {"threads": 0},
        {"threads": -1},
    ],
    ids=str,
)
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        cleave.open(b"a,b\n1,2\n", **options)


def test_wrong_columns() -> None:
    f = cleave.open(b"a,b,b\n1,2,3\n")
    for columns in (["no"], ["b"], [3], [-1], ["a", "a"], ["a", 0]):
        with pytest.raises(cleave.UsageError):
            f.select(*columns)
    plain = cleave.open(b"1,2\n3,4\n", header=False)
    assert plain.select("column_2").names == plain.select(1).names == ["column_2"]
    assert [piece.key for piece in plain.split(by="column_2")] == [("2",), ("4",)]
    for use in (plain.select, plain.batches, lambda name: plain.split(by=name)):
        with pytest.raises(cleave.UsageError, match="there is no column 'a'; the columns are 'column_1', 'column_2'$"):
            use(["a"])
    with pytest.raises(cleave.UsageError):
        f.select("a", page_size=0)


def test_wrong_rules() -> None:
    f = cleave.open(b"a,b\n1,2\n")
    with pytest.raises(cleave.RuleError) as raised:
        f.select("a", redact={"a": "no-such"})
    assert raised.value.origin == "redact['a']"
    assert raised.value.text[raised.value.place :].startswith("no-such")
    assert raised.value.exit_code == 2
    with pytest.raises(cleave.RuleError):
        f.select("a", redact={"a": "hmac(k)"})
    with pytest.raises(cleave.RuleError):
        f.select("a", redact={"a": "hmac(k)"}, keys={"k": b"short"})
    with pytest.raises(cleave.UsageError):
        f.select("a", redact={"no": "null"})
    with pytest.raises(cleave.RuleError, match="suppress reads the input twice"):
        f.select("a", redact={"a": "suppress(k=2)"})


def test_a_key_never_shows(tmp_path: Path) -> None:
    secret = b"0123456789abcdef-secret"
    with pytest.raises(cleave.RuleError) as raised:
        cleave.open(b"a\n1\n").select("a", redact={"a": "hmac(k)"}, keys={"k": secret})
    assert "secret" not in str(raised.value) + raised.value.text


def test_descriptors_do_not_leak(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(10))

    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(20):
        f = cleave.open(path)
        assert f.records == 10
        f.select("id", redact={"id": "hmac(k)"}, keys={"k": bytes(range(32))})
        with pytest.raises(cleave.RuleError):
            f.select("id", redact={"id": "hmac(k)"}, keys={"k": b"short"})
    del f
    assert count() <= before


def test_a_file_has_one_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(10))
    before = len(os.listdir("/proc/self/fd"))
    files = [cleave.open(path) for _ in range(20)]
    assert {f.records for f in files} == {10}
    assert len(os.listdir("/proc/self/fd")) == before + 20


def test_a_key_takes_no_pipe_and_closes_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    monkeypatch.setattr(os, "close", closed.append)
    monkeypatch.setattr(os, "pipe", None)  # a pipe may hold fewer bytes than a key has
    f = cleave.open(b"a\n1\n")
    largest = bytes(range(256)) * 256
    f.select("a", redact={"a": "hmac(k)"}, keys={"k": largest, "other": largest[:32]})
    with pytest.raises(cleave.RuleError, match="^keys: .*more than 65536 bytes"):
        f.select("a", redact={"a": "hmac(k)"}, keys={"k": largest + b"x"})
    with pytest.raises(cleave.RuleError, match="5 bytes") as raised:
        f.select("a", redact={"a": "hmac(k)"}, keys={"k": b"short"})
    assert "short" not in raised.value.text
    assert closed == []


def test_more_files_than_can_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(10))
    files = [cleave.open(path) for _ in range(100)]
    assert [f.records for f in files] == [10] * 100
    assert all(len(f.split(n=2)[1].bytes) > 0 for f in files)


def test_what_the_system_refuses(tmp_path: Path) -> None:
    missing = tmp_path / "no such"
    with pytest.raises(FileNotFoundError) as raised:
        cleave.open(missing)
    assert raised.value.errno == errno.ENOENT
    assert raised.value.filename == str(missing)
    with pytest.raises(IsADirectoryError):
        cleave.open(tmp_path)
    with pytest.raises(ValueError):
        cleave.open("a\0b")
    with pytest.raises(TypeError):
        cleave.open(5)  # type: ignore[arg-type]


def test_an_open_quote_has_its_place() -> None:
    f = cleave.open(b'a,b\n1,2\n3,"4\n')
    for use in (lambda: f.records, lambda: f.split(n=2)):
        with pytest.raises(cleave.OpenQuoteError) as raised:
            use()
        assert (raised.value.byte, raised.value.record) == (10, 2)
        assert raised.value.exit_code == 3
        assert isinstance(raised.value, cleave.InputError)
        assert isinstance(raised.value, ValueError)
    assert f.check().open_quote == (10, 2)
    assert not f.check().sound
    assert cleave.open(b'a,b\n1,2\n3,"4\n', allow_open_quote=True).records == 2


def test_what_is_no_csv() -> None:
    with pytest.raises(cleave.InputError, match="UTF-16"):
        cleave.open("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(cleave.InputError, match="7z"):
        cleave.open(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    with pytest.raises(cleave.InputError, match="corrupt xz data"):
        cleave.open(b"\xfd7zXZ\0" + bytes(100))


def test_check() -> None:
    found = cleave.open(b'a,b\r\n1,"x\ny"\r\n\r\n3\r\n4,5"5\n').check()
    assert (found.records, found.fields, found.size) == (4, 2, 25)
    assert (found.crlf, found.lf, found.cr, found.unterminated) == (4, 1, 0, 0)
    assert found.quoted_breaks == 1
    assert found.ragged_count == 1
    assert found.ragged == [(17, 3, 1)]
    assert found.empty == (14, 2)
    assert found.stray_quotes == (22, 4)
    assert not found.sound


def test_check_of_json_lines() -> None:
    found = cleave.open(b'{"a":1,"b":{"c":2}}\n{"a":}\n\n{"a":"\\ud800"}\n{"a":\n', dialect="jsonl").check()
    assert (found.records, found.not_json_count, found.not_json) == (5, 2, (25, 2))
    assert found.keys == {"a": 2, "b": 1}
    assert not found.sound
    assert cleave.open(b'{"\\ud800":1}\n', dialect="jsonl").check().keys == {"\ud800": 1}
    many = b"".join(b'{"%d":1}\n' % i for i in range(1001))
    assert cleave.open(many, dialect="jsonl").check().keys is None
    found = cleave.open(b"a,b\n1,2\n").check()
    assert (found.not_json_count, found.not_json, found.keys, found.sound) == (0, None, {}, True)


def test_dialects() -> None:
    f = cleave.open(b"a;b\n'1;2';3\n", delimiter=";", quote="'")
    assert (f.dialect.delimiter, f.dialect.quote, f.dialect.escape) == (b";", b"'", None)
    assert cleave.open(b"a;b\n1;2\n").dialect.delimiter == b";"
    assert cleave.open(b"a\tb\n", dialect="tsv").dialect.delimiter == b"\t"
    assert cleave.open(b"a,b\n", quote="").dialect.quote is None
    f = cleave.open(b'{"a": "b,"}\n{"a": 1}\n', dialect="jsonl")
    assert (f.records, f.header, f.dialect.header) == (2, None, "none")
    f = cleave.open(b'a,b\n5" tv,2\n6" tv,3\n', quoting="anywhere", delimiter=",")
    assert f.dialect.quoting == "anywhere"
    assert f.records == 1
    assert cleave.open(b'a,b\n5" tv,2\n6" tv,3\n', delimiter=",").records == 2
    assert cleave.open(b"a\rb\r", terminator="cr").records == 1
    assert cleave.open(b"a\n1\\\n2\n", escape="\\").records == 1


def test_the_command_is_there(tmp_path: Path) -> None:
    command = Path(sys.executable).parent / "cleave"
    out = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
    assert cleave.__version__ in out
    path = tmp_path / "in.csv"
    path.write_bytes(make_csv(1000))
    out = subprocess.run([command, "offsets", "-n", "5", path], check=True, capture_output=True, text=True).stdout
    rows = [tuple(map(int, line.split())) for line in out.splitlines()]
    pieces = cleave.open(path).split(n=5)
    columns = (range(1, 6), pieces.starts, pieces.lengths, pieces.first_records, pieces.records)
    assert rows == list(zip(*columns))


def test_nothing_else_is_imported() -> None:
    code = "import sys, cleave; assert not {'numpy', 'pyarrow', 'dataclasses', 'tempfile'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_messages_have_the_words_of_python(tmp_path: Path) -> None:
    f = cleave.open(b"id,mail\n1,a@b\n")
    path = tmp_path / "in.csv"
    path.write_bytes(b"id,mail\n" + b"1,a@b\n" * 100)
    cleave.open(path).index()
    with pytest.warns(cleave.CleaveWarning, match="different dialect; File.index makes it again$"):
        cleave.open(path, delimiter=";").records
    keys = {"k": bytes(32)}
    wrong: list[tuple[str, Callable[[], object]]] = [
        ('there is no key with the name "k"; give it in keys$', lambda: f.select("id", redact={"id": "hmac(k)"})),
        ("write the changed file first, with File.write$", lambda: f.select("id", redact={"id": "suppress(k=5)"})),
        ("; select the other columns; there are keep", lambda: f.select("id", redact={"id": "drop"})),
        ("; secrets.token_bytes", lambda: f.select("id", redact={"id": "hmac(k)"}, keys=keys)),
        ("unknown field '{x}' in the argument name; there are", lambda: f.write(tmp_path, n=1, name="{x}")),
        ("not CSV; encoding='utf-16le' reads such a file$", lambda: cleave.open("a,b\n".encode("utf-16")).records),
        ("not CSV; bytes.decode.'UTF-32LE'. makes", lambda: cleave.open("a,b\n".encode("utf-32")).records),
    ]
    for message, use in wrong:
        with pytest.raises(cleave.Error, match=message):
            use()
