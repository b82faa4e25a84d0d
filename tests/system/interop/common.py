"""Shared by the tests in this folder, in addition to the harness in ../faults."""
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "faults"))
import harness  # noqa: E402

HEAVY = {"chdb", "dbt", "pyspark", "ray"}   # too large to install for each change


def module(name):
    """Imports the module of that name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if name.split(".")[0] in HEAVY:
            raise harness.Skip("%s is installed by ./dev prove" % name) from None
        raise harness.Inconclusive("there is no Python module %s: %s" % (name, error), retry=False) from None


def named(check, name):
    """Gives the check that name, which the harness prints, and returns it."""
    check.__doc__ = name
    return check
