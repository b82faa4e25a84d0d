"""What messages say of URLs and of the packages that open them: nothing that gives access to the data.

A password is part of some URLs, and so is a query with a signature. fsspec and the packages behind it repeat both in
their errors, and values of storage options too. Exceptions that are chained to such an error are printed with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from . import _arguments
from ._errors import Error

_Result = TypeVar("_Result")


class _Cleaner:
    """Removes users, passwords and queries from URLs. ``ends`` are characters that end a URL."""

    def __init__(self, ends: str) -> None:
        # A password may contain "/" or "@"; digits up to a "/" are rather the number of a port.
        password = rf":(?!:|\d+(?:/|$))[^{ends}\0]*?@(?:[^/?#{ends}]*@)?"
        self.credentials = re.compile(rf"(?<=//)(?:[^/?#@:{ends}]*{password}|[^/?#{ends}]*@)")
        self._web_query = re.compile(rf"(https?://[^?#{ends}]*)[?#][^{ends}\0]*", re.IGNORECASE)
        self._query = re.compile(rf"\?[^?/{ends}]*=[^{ends}\0]*")  # without "=", it is a pattern

    def __call__(self, text: str) -> str:
        return self._query.sub("", self._web_query.sub(r"\1", self.credentials.sub("", text)))


_of_url = _Cleaner("")
_of_text = _Cleaner(r"\s'\"<>")

_LEAST_SECRET = 4  # characters: shorter values occur in every message
_NO_SECRETS = {
    *("account_name", "endpoint_url", "host", "profile", "project", "protocol", "region_name", "user", "username"),
}


def shown(path: str) -> str:
    """The path or URL as messages show it: without a user, a password and a query."""
    return _of_url(path) if _arguments.is_remote(path) else path


def asked(url: str, options: Mapping[str, Any], use: Callable[[], _Result]) -> _Result:
    """What ``use`` returns, which calls fsspec. The errors of fsspec and its packages name the URL, and the endpoint if
    one is set. They show no password, no query and no value of a storage option, and neither do tracebacks: they have
    no chained exceptions, but the frames of the original error."""
    try:
        return use()
    except BaseException as error:
        is_ours = isinstance(error, Error) or not isinstance(error, Exception)
        failure = error if is_ours else _retold(error, url, options)
        failure.__cause__, failure.__context__, failure.__suppress_context__ = None, None, False
    try:
        raise failure  # not in the handler, which would chain it to the original error
    finally:
        del failure  # which refers to this frame


def _retold(error: BaseException, url: str, options: Mapping[str, Any]) -> BaseException:
    endpoint = options.get("endpoint_url") or (options.get("client_kwargs") or {}).get("endpoint_url")
    if not endpoint and url.startswith(("s3://", "s3a://")):
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    named = f"{shown(url)} at {_of_url(str(endpoint))}" if endpoint else shown(url)
    kind = _kind_of(type(error))
    text = _of_text(str(error).replace(url, shown(url)))
    for secret in sorted({*_secrets_of_url(url), *_secrets_of_options(options)}, key=len, reverse=True):
        text = text.replace(secret, "***")
    words = [named, *([] if text and type(error) is kind else [type(error).__name__]), *([text] if text else [])]
    failure = kind(": ".join(words))
    number = getattr(error, "errno", None)
    if isinstance(failure, OSError) and isinstance(number, int):
        failure.errno = number
    return failure.with_traceback(error.__traceback__)


def _kind_of(kind: type[BaseException]) -> type[BaseException]:
    """The class of the error without those of fsspec's packages, whose arguments differ."""
    if issubclass(kind, UnicodeError):
        return ValueError
    builtin = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    return builtin if issubclass(builtin, (OSError, ImportError, MemoryError, TypeError, ValueError)) else OSError


def _secrets_of_url(url: str) -> Iterator[str]:
    for match in _of_url.credentials.finditer(url):
        password = match[0][:-1].partition(":")[2] or match[0][:-1]
        for part in (password, *re.split("[/?#@]", password)):
            yield from _forms(part)
    for value in re.findall("[?&][^=&]*=([^&#]*)", url):
        yield from _forms(value)


def _secrets_of_options(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _NO_SECRETS:
                yield from _secrets_of_options(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from _secrets_of_options(inner)
    elif isinstance(value, (str, bytes)):
        yield from _forms(value if isinstance(value, str) else value.decode(errors="replace"))


def _forms(secret: str) -> Iterator[str]:
    """The ways in which messages may write a secret."""
    for form in (secret, unquote(secret), quote(secret), quote(secret, safe=""), repr(secret)[1:-1]):
        if len(form) >= _LEAST_SECRET:
            yield form
