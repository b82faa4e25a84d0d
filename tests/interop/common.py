"""What the tests of this folder share, beside the harness of ../faults."""
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "faults"))
import harness  # noqa: E402


def module(name):
    """The module of that name, or Skip."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise harness.Skip("there is no Python module %s: %s" % (name, error)) from None


def named(check, name):
    """The check under that name, as the harness prints it."""
    check.__doc__ = name
    return check
