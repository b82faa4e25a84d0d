// Empty: the shared library built from this file consists of libcleave alone. See c_interface_test.py.
