#include "errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <system_error>

#include "cleave/index_file.h"
#include "cleave/job.h"
#include "cleave/plan.h"
#include "cleave/stage_error.h"

namespace nb = nanobind;

namespace cleave::python {
namespace {

nb::object error_class(const char* name) { return nb::module_::import_("cleave._errors").attr(name); }

// A str from text that may not be UTF-8.
nb::object text(const std::string& bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

// The message of the library, which may speak to users of the command, in words for users of Python.
nb::object message(const std::string& words) {
    return nb::module_::import_("cleave._errors").attr("in_python")(text(words));
}

template <class... Arguments>
void raise(const char* name, const Arguments&... arguments) {
    const nb::object type = error_class(name);
    const nb::object error = type(arguments...);
    PyErr_SetObject(type.ptr(), error.ptr());
}

// `header_records`: how many records the header has, if known. Records count from 1 after it, and 0 is in it.
void raise_input(const InputError& error, bool is_open_quote, std::optional<std::uint64_t> header_records) {
    nb::object byte = nb::none();
    nb::object record = nb::none();
    if (const std::optional<Place>& place = error.place()) {
        byte = nb::int_(place->offset);
        if (header_records) {
            record = nb::int_(place->record < *header_records ? 0 : place->record - *header_records + 1);
        }
    }
    raise(is_open_quote ? "OpenQuoteError" : "InputError", message(error.what()), byte, record);
}

// The message of a system_error is "NAME: REASON"; Python keeps the two apart.
void raise_system(const std::system_error& error) {
    const int code = error.code().value();
    const std::string reason = error.code().message();
    std::string name = error.what();
    const std::string end = ": " + reason;
    if (name.ends_with(end)) name.resize(name.size() - end.size());
    const nb::object made = nb::handle(PyExc_OSError)(code, reason, text(name));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace

void warn(const std::string& words) { nb::module_::import_("cleave._errors").attr("warn")(message(words)); }

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
    try {
        std::rethrow_exception(thrown);
    } catch (const PlacedError& error) {
        raise_input(error.error, error.is_open_quote, error.header_records);
    } catch (const RuleError& error) {
        raise("RuleError", message(error.what()), text(error.origin()), text(error.text()), error.place());
    } catch (const ValueLimitError& error) {
        raise("UsageError", text(std::string(error.what()) + " in by; max_values allows more"));
    } catch (...) {
        using Kind = Failure::Kind;
        const Failure failure = current_failure();
        switch (failure.kind) {
            case Kind::kInput:
                return raise_input(*failure.as<InputError>(), failure.as<OpenQuoteError>() != nullptr, std::nullopt);
            case Kind::kChanged: return raise("InputChangedError", message(failure.what));
            case Kind::kIndex:
                return raise("InputChangedError", message(std::string("the index of the input: ") + failure.what));
            case Kind::kArgument:
            case Kind::kUnfit: return raise("UsageError", message(failure.what));
            case Kind::kSystem: break;
        }
        if (const auto* error = failure.as<std::system_error>()) return raise_system(*error);
        if (failure.as<Error>() == nullptr) throw;  // nanobind translates it
        raise("Error", message(failure.what));
    }
}

}  // namespace cleave::python
