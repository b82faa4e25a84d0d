"""cleave's memory managers as the memory manager of Numba: an External Memory Management plugin, version 1.

    NUMBA_CUDA_MEMORY_MANAGER=cleave.numba_memory CLEAVE_MEMORY_MANAGER=cuda-pool python program.py
    numba.cuda.set_memory_manager(cleave.numba_memory.MemoryManager)

``CLEAVE_MEMORY_MANAGER`` names a manager of ``cleave_cuda.so`` (``cuda``, ``cuda-async``, the default ``cuda-pool``),
or the path of any plugin of ``cleave/memory_manager.h`` and, after a colon, its configuration. Plugins are loaded only
from folders that others cannot write to. Each context has a manager of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba import cuda
from numba.cuda.cudadrv import driver

from . import _native

_DEFAULT = "cuda-pool"
_MODULE = "cleave_cuda.so"
_PINNED, _MAPPED, _DEVICE = 1, 2, 3
_CAN_PIN, _CAN_EXPORT, _CAN_INFO, _CAN_DEFER = 1 << 4, 1 << 5, 1 << 6, 1 << 7
_PORTABLE, _WRITE_COMBINED, _PIN_MAPPED = 1 << 0, 1 << 1, 1 << 5

_State = ctypes.c_void_p


class _Memory(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_void_p), ("size", ctypes.c_size_t), ("handle", ctypes.c_void_p)]


_OwnerCall = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Owner(ctypes.Structure):
    _fields_ = [("object", ctypes.c_void_p), ("retain", _OwnerCall), ("release", _OwnerCall)]


# Owners of pinned memory by their tokens, from before pin() until the manager releases them.
_owners: dict[int, Any] = {}
_tokens = itertools.count(1)
_retain = _OwnerCall(lambda token: None)
_forget = _OwnerCall(lambda token: (_owners.pop(token), None)[1])


class _Export(ctypes.Structure):
    _fields_ = [
        ("handle", ctypes.c_uint8 * 64),
        ("handle_size", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("device", ctypes.c_uint8 * 16),
    ]


def _call(*arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int, _State, *arguments)


_AMemory = ctypes.POINTER(_Memory)
_ANumber = ctypes.POINTER(ctypes.c_uint64)


class _Manager(ctypes.Structure):
    """``cleave_memory_manager``, as far as it is used."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("interface_version", "struct_size", "capabilities", "reserved")),
        ("name", ctypes.c_char_p),
        ("state", _State),
        ("initialize", _call(ctypes.c_int32)),
        (
            "allocate",
            _call(ctypes.c_uint32, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p, _AMemory),
        ),
        ("release", _call(_AMemory, ctypes.c_void_p)),
        (
            "pin",
            _call(ctypes.POINTER(_Owner), ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, _AMemory),
        ),
        ("info", _call(ctypes.c_uint32, _ANumber, _ANumber)),
        ("export_ipc", _call(_AMemory, ctypes.POINTER(_Export))),
        ("defer_cleanup_begin", _call()),
        ("defer_cleanup_end", _call()),
        ("reset", _call()),
    ]


def _with_path(name: str) -> str:
    """The name with the path of the module that has the managers of a device, unless it has a path."""
    if name.startswith("/"):
        return name
    folders = [Path(__file__).parent, *(Path(prefix, "lib/cleave") for prefix in (sys.prefix, "/usr/local", "/usr"))]
    for folder in folders:
        if (folder / _MODULE).exists():
            return f"{folder / _MODULE}:{name}"
    raise RuntimeError(f"{name}: there is no {_MODULE} in {', '.join(map(str, folders))}; name its path: /PATH:{name}")


def _open(name: str) -> _Manager:
    return ctypes.cast(_native.memory_manager(_with_path(name)), ctypes.POINTER(_Manager)).contents


class MemoryManager(cuda.HostOnlyCUDAMemoryManager):  # which adds managed memory
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._manager: _Manager | None = None
        self._live: dict[int, _Memory] = {}  # by address; what reset() frees is not released again
        self._lock = threading.RLock()  # a finalizer may run within any method

    @property
    def interface_version(self) -> int:
        return 1

    def initialize(self) -> None:
        if self._manager is None:
            self._manager = _open(os.environ.get("CLEAVE_MEMORY_MANAGER", _DEFAULT))
        device = self.context.device  # of a context that Numba did not make: the driver's device, a number
        self._do("initialize", int(getattr(device, "id", device)))

    def _do(self, call: str, *arguments: Any) -> None:
        assert self._manager is not None, "initialize() was not called"
        status = getattr(self._manager, call)(self._manager.state, *arguments)
        if status == errno.ENOMEM:
            raise MemoryError(f"{self._name}: {call}: out of memory")
        if status != 0:
            raise OSError(status, f"{self._name}: {call}: {os.strerror(status)}")

    @property
    def _name(self) -> str:
        assert self._manager is not None
        return str(self._manager.name.decode())

    def _can(self, capability: int) -> bool:
        return self._manager is not None and self._manager.capabilities & capability != 0

    def _take(self, space: int, size: int, flags: int) -> _Memory:
        memory = _Memory()
        self._do("allocate", space, size, 0, flags, None, ctypes.byref(memory))
        return self._keep(memory)

    def _keep(self, memory: _Memory) -> _Memory:
        with self._lock:
            self._live[memory.pointer] = memory
        return memory

    def _release(self, address: int) -> None:
        with self._lock:
            memory = self._live.pop(address, None)
            self.allocations.pop(address, None)
        if memory is not None:
            self._do("release", ctypes.byref(memory), None)

    def _shown(self, memory: _Memory, size: int, owner: Any, is_mapped: bool) -> Any:
        """Host memory as Numba shows it."""
        address = memory.pointer
        finalizer = functools.partial(self._release, address)
        context = weakref.proxy(self.context)
        if not is_mapped:
            return cuda.PinnedMemory(context, address, size, owner=owner, finalizer=finalizer)
        mapped = cuda.MappedMemory(context, address, size, owner=owner, finalizer=finalizer)
        self.allocations[address] = mapped  # until its last user is gone
        return mapped.own()

    def memalloc(self, size: int) -> Any:
        memory = self._take(_DEVICE, size, 0)
        finalizer = functools.partial(self._release, memory.pointer)
        return cuda.MemoryPointer(
            weakref.proxy(self.context), ctypes.c_void_p(memory.pointer), size, finalizer=finalizer
        )

    def memhostalloc(self, size: int, mapped: bool = False, portable: bool = False, wc: bool = False) -> Any:
        flags = (_PORTABLE if portable else 0) | (_WRITE_COMBINED if wc else 0)
        return self._shown(self._take(_MAPPED if mapped else _PINNED, size, flags), size, None, mapped)

    def mempin(self, owner: Any, pointer: int, size: int, mapped: bool = False) -> Any:
        if not self._can(_CAN_PIN):
            return super().mempin(owner, pointer, size, mapped)
        token = next(_tokens)
        _owners[token] = owner
        memory, flags = _Memory(), _PIN_MAPPED if mapped else 0
        try:
            self._do("pin", ctypes.byref(_Owner(token, _retain, _forget)), pointer, size, flags, ctypes.byref(memory))
        except BaseException:
            _forget(token)
            raise
        return self._shown(self._keep(memory), size, owner, mapped)

    def get_ipc_handle(self, memory: Any) -> Any:
        if not self._can(_CAN_EXPORT):
            raise NotImplementedError(f"{self._name}: its memory cannot be shared with other processes")
        address = int(memory.device_pointer)
        with self._lock:
            found = [one for one in self._live.values() if one.pointer <= address < one.pointer + max(one.size, 1)]
        if not found:
            raise ValueError("not memory of this manager")
        exported = _Export()
        self._do("export_ipc", ctypes.byref(found[0]), ctypes.byref(exported))
        handle = driver.binding.CUipcMemHandle()
        exported_handle = bytes(exported.handle)[: exported.handle_size]
        ctypes.memmove(handle.getPtr(), exported_handle, len(exported_handle))  # its members differ by version
        offset = exported.offset + address - found[0].pointer
        return cuda.IpcHandle(memory, handle, memory.size, self.context.device.get_device_identity(), offset=offset)

    def get_memory_info(self) -> Any:
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        if not self._can(_CAN_INFO):
            raise NotImplementedError(f"{self._name}: it does not tell how much memory there is")
        self._do("info", _DEVICE, ctypes.byref(free), ctypes.byref(total))
        return cuda.MemoryInfo(free=free.value, total=total.value)

    def reset(self) -> None:
        with self._lock:
            self._live.clear()
        super().reset()
        if self._manager is not None:
            self._do("reset")

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        with super().defer_cleanup():
            if not self._can(_CAN_DEFER):
                yield
                return
            self._do("defer_cleanup_begin")
            try:
                yield
            finally:
                self._do("defer_cleanup_end")


_numba_memory_manager = MemoryManager  # what NUMBA_CUDA_MEMORY_MANAGER looks for
