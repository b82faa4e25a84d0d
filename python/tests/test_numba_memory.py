"""cleave.numba_memory against stand-ins of Numba and of a manager, which count every call. On a card, Numba's
own tests run with it."""

from __future__ import annotations

import ctypes
import errno
import gc
import importlib
import re
import sys
import types
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HEADER = Path(__file__).parents[2] / "include/cleave/memory_manager.h"


class Pointer:
    """What Numba's classes of memory have in common."""

    def __init__(self, context: Any, pointer: Any, size: int, owner: Any = None, finalizer: Any = None) -> None:
        self.device_pointer = getattr(pointer, "value", pointer)
        self.size, self.owned = size, owner
        if finalizer is not None:
            self.finalizer = weakref.finalize(self, finalizer)

    def own(self) -> Any:
        return weakref.proxy(self)


class Mapped(Pointer):
    pass


class Pinned(Pointer):
    pass


class HostOnly:
    def __init__(self, *, context: Any) -> None:
        self.context, self.allocations, self.resets, self.deferred = context, {}, 0, 0  # type: ignore[var-annotated]

    def mempin(self, owner: Any, pointer: int, size: int, mapped: bool = False) -> str:
        return "pinned by Numba"

    def reset(self) -> None:
        self.resets += 1
        self.allocations.clear()

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        self.deferred += 1
        yield
        self.deferred -= 1


class IpcMemHandle:
    """The driver's handle, 64 bytes."""

    def __init__(self) -> None:
        self.bytes = ctypes.create_string_buffer(64)

    def getPtr(self) -> int:  # noqa: N802
        return ctypes.addressof(self.bytes)


class Device:
    id = 3

    def get_device_identity(self) -> str:
        return "a card"


class Context:
    device = Device()


def stand_in() -> dict[str, types.ModuleType]:
    names = ("numba", "numba.cuda", "numba.cuda.cudadrv", "numba.cuda.cudadrv.driver")
    modules = {name: types.ModuleType(name) for name in names}
    cuda, driver = modules["numba.cuda"], modules["numba.cuda.cudadrv.driver"]
    modules["numba"].cuda = cuda  # type: ignore[attr-defined]
    modules["numba.cuda.cudadrv"].driver = driver  # type: ignore[attr-defined]
    for name, value in {
        "HostOnlyCUDAMemoryManager": HostOnly,
        "MemoryPointer": Pointer,
        "MappedMemory": Mapped,
        "PinnedMemory": Pinned,
        "MemoryInfo": lambda free, total: (free, total),
        "IpcHandle": lambda base, handle, size, source_info, offset: (handle.bytes.raw, size, source_info, offset),
    }.items():
        setattr(cuda, name, value)
    driver.binding = types.SimpleNamespace(CUipcMemHandle=IpcMemHandle)  # type: ignore[attr-defined]
    return modules


class Manager:
    """A manager whose memory is made up. `fails` maps a call to the error that it returns."""

    def __init__(self, module: Any, capabilities: int) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails: dict[str, int] = {}
        self.next = 0x1000
        self.face = module._Manager(1, ctypes.sizeof(module._Manager), capabilities, 0, b"made-up", 77)
        self.kept = []  # the functions, which C does not keep
        for name, kind in module._Manager._fields_[6:]:
            function = kind(self.recorded(name, getattr(self, "do_" + name, lambda *_: None)))
            self.kept.append(function)
            setattr(self.face, name, function)

    def recorded(self, name: str, do: Any) -> Any:
        def call(state: int, *arguments: Any) -> int:
            assert state == 77
            self.calls.append((name, *(a for a in arguments if a is None or isinstance(a, int))))
            if name not in self.fails:
                do(*arguments)
            return self.fails.get(name, 0)

        return call

    def do_allocate(self, space: int, size: int, alignment: int, flags: int, stream: Any, memory: Any) -> None:
        memory[0].pointer, memory[0].size, memory[0].handle = self.next, size, 5
        self.next += 0x1000

    def do_release(self, memory: Any, stream: Any) -> None:
        self.calls.append(("released", memory[0].pointer))
        if memory[0].handle == 6:
            self.owner.release(self.owner.object)

    def do_pin(self, owner: Any, pointer: int, size: int, flags: int, memory: Any) -> None:
        self.owner = type(owner[0])(owner[0].object, owner[0].retain, owner[0].release)
        self.owner.retain(self.owner.object)
        memory[0].pointer, memory[0].size, memory[0].handle = pointer, size, 6

    def do_info(self, space: int, free: Any, total: Any) -> None:
        free[0], total[0] = 10, 20

    def do_export_ipc(self, memory: Any, exported: Any) -> None:
        exported[0].handle[0], exported[0].handle_size, exported[0].offset = 9, 64, 100

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, found in stand_in().items():
        monkeypatch.setitem(sys.modules, name, found)
    monkeypatch.delitem(sys.modules, "cleave.numba_memory", raising=False)
    return importlib.import_module("cleave.numba_memory")


def opened(module: Any, monkeypatch: pytest.MonkeyPatch, capabilities: int = 0xFFFF) -> tuple[Any, Manager]:
    manager = Manager(module, capabilities)
    monkeypatch.setattr(module, "_open", lambda name: manager.face)
    plugin = module._numba_memory_manager(context=Context())
    plugin.initialize()
    return plugin, manager


def test_layout_is_that_of_the_header(module: Any) -> None:
    text = HEADER.read_text()
    body = text[text.index("typedef struct cleave_memory_manager {") : text.index("} cleave_memory_manager;")]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    members = re.findall(r"\(\*(\w+)\)\(|^\s*[\w* ]+?(\w+);", body, re.M)
    names = [a or b for a, b in members]
    ours = [name for name, _ in module._Manager._fields_]
    assert names[: len(ours)] == ours and len(ours) == 15
    constants = dict(re.findall(r"#define CLEAVE_MEMORY_(\w+) \(1u << (\d+)\)", text))
    for name, macro in {"_CAN_PIN": "CAN_PIN", "_CAN_EXPORT": "CAN_EXPORT", "_CAN_INFO": "CAN_INFO",
                         "_CAN_DEFER": "CAN_DEFER", "_PORTABLE": "PORTABLE", "_WRITE_COMBINED": "WRITE_COMBINED",
                         "_PIN_MAPPED": "PIN_MAPPED"}.items():  # fmt: skip
        assert getattr(module, name) == 1 << int(constants[macro]), macro


def test_numba_asks_for_the_version_before_there_is_a_context(module: Any) -> None:
    assert module._numba_memory_manager(context=None).interface_version == 1


def test_a_context_that_numba_did_not_make_has_the_device_of_the_driver(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin, manager = opened(module, monkeypatch)
    plugin.context = types.SimpleNamespace(device=7)
    plugin.initialize()
    assert manager.named("initialize") == [(3,), (7,)]


def test_device_memory(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, manager = opened(module, monkeypatch)
    assert manager.named("initialize") == [(3,)]
    memory = plugin.memalloc(640)
    assert (memory.device_pointer, memory.size) == (0x1000, 640)
    assert manager.named("allocate") == [(3, 640, 0, 0, None)]
    assert not manager.named("released")
    del memory
    gc.collect()
    assert manager.named("released") == [(0x1000,)]


@pytest.mark.parametrize(
    ("mapped", "portable", "wc", "space", "flags"),
    [(False, False, False, 1, 0), (True, False, False, 2, 0), (False, True, True, 1, 3), (True, True, False, 2, 1)],
)
def test_host_memory(
    module: Any, monkeypatch: pytest.MonkeyPatch, mapped: bool, portable: bool, wc: bool, space: int, flags: int
) -> None:
    plugin, manager = opened(module, monkeypatch)
    memory = plugin.memhostalloc(64, mapped, portable, wc)
    assert manager.named("allocate") == [(space, 64, 0, flags, None)]
    assert len(plugin.allocations) == mapped  # Numba has a proxy of mapped memory
    if mapped:
        memory.finalizer()
    del memory
    gc.collect()
    assert manager.named("released") == [(0x1000,)] and not plugin.allocations


def test_pinning_keeps_the_owner(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, manager = opened(module, monkeypatch)
    owner = Pointer(None, 0, 0)
    gone = weakref.ref(owner)
    memory = plugin.mempin(owner, 0x5000, 32, mapped=False)
    assert manager.named("pin") == [(0x5000, 32, 0)]
    memory.owned = None
    del owner
    gc.collect()
    assert gone() is not None  # the manager has not let go
    memory.finalizer()
    gc.collect()
    assert gone() is None and not module._owners
    plugin.mempin(Pointer(None, 0, 0), 0x6000, 32, mapped=True).finalizer()
    assert manager.named("pin")[1] == (0x6000, 32, module._PIN_MAPPED)
    manager.fails["pin"] = errno.EINVAL
    with pytest.raises(OSError, match="made-up: pin"):
        plugin.mempin(Pointer(None, 0, 0), 0x7000, 32)
    assert not module._owners


def test_what_a_manager_cannot_do(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, manager = opened(module, monkeypatch, capabilities=0)
    assert plugin.mempin(None, 0x5000, 32) == "pinned by Numba"
    with pytest.raises(NotImplementedError, match="made-up"):
        plugin.get_memory_info()
    with pytest.raises(NotImplementedError, match="made-up"):
        plugin.get_ipc_handle(plugin.memalloc(1))
    with plugin.defer_cleanup():
        assert plugin.deferred == 1
    assert not manager.named("defer_cleanup_begin")


def test_handle_for_other_processes(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, _ = opened(module, monkeypatch)
    memory = plugin.memalloc(640)
    part = Pointer(None, memory.device_pointer + 40, 10)
    handle, size, identity, offset = plugin.get_ipc_handle(part)
    assert (handle, size, identity, offset) == (bytes([9, *[0] * 63]), 10, "a card", 140)
    with pytest.raises(ValueError, match="not memory"):
        plugin.get_ipc_handle(Pointer(None, 1, 1))


def test_info_and_deferral(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, manager = opened(module, monkeypatch)
    assert plugin.get_memory_info() == (10, 20)
    with pytest.raises(KeyError), plugin.defer_cleanup(), plugin.defer_cleanup():
        raise KeyError
    assert [call[0] for call in manager.calls if "defer" in call[0]] == [
        *(["defer_cleanup_begin"] * 2), *(["defer_cleanup_end"] * 2)]  # fmt: skip


def test_reset_releases_nothing_twice(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, manager = opened(module, monkeypatch)
    memory, mapped = plugin.memalloc(1), plugin.memhostalloc(1, mapped=True)
    plugin.reset()
    assert plugin.resets == 1 and manager.named("reset") == [()]
    del memory, mapped
    gc.collect()
    assert not manager.named("released")


def test_the_library_opens_managers(module: Any) -> None:
    manager = ctypes.cast(module._native.memory_manager("system"), ctypes.POINTER(module._Manager)).contents
    memory = module._Memory()
    assert manager.name == b"system"
    assert manager.allocate(manager.state, 0, 100, 0, 0, None, ctypes.byref(memory)) == 0
    ctypes.memset(memory.pointer, 1, 100)
    assert manager.release(manager.state, ctypes.byref(memory), None) == 0
    with pytest.raises(Exception, match="/no/such.so"):
        module._open("/no/such.so")


def test_errors(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, manager = opened(module, monkeypatch)
    manager.fails["allocate"] = errno.ENOMEM
    with pytest.raises(MemoryError, match="made-up: allocate"):
        plugin.memalloc(1)
    manager.fails["allocate"] = errno.EIO
    with pytest.raises(OSError, match="made-up: allocate"):
        plugin.memalloc(1)
    with pytest.raises(RuntimeError, match="there is no cleave_cuda.so"):
        module._with_path("cuda-pool")
    assert module._with_path("/x/y.so:cuda-pool:5") == "/x/y.so:cuda-pool:5"
