// cleave._native: the library's classes, for the Python modules beside it. _native.pyi has its types.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "buffer.h"
#include "cleave/compression.h"
#include "cleave/error.h"
#include "cleave/memory.h"
#include "cleave/stage_error.h"
#include "errors.h"
#include "file.h"
#include "guarded.h"
#include "settings.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace): _a

namespace cleave::python {
namespace {

constexpr Names<Compression, 2> kCompressions{{{"gzip", Compression::kGzip}, {"zstd", Compression::kZstd}}};

nb::object byte_object(const std::optional<std::uint8_t>& byte) {
    if (!byte) return nb::none();
    const auto value = static_cast<char>(*byte);
    return nb::bytes(&value, 1);
}

nb::dict dialect_dict(const SniffedDialect& sniffed) {
    const Dialect& dialect = sniffed.dialect;
    nb::dict dict;
    dict["delimiter"] = byte_object(dialect.delimiter);
    dict["quote"] = byte_object(dialect.quote);
    dict["escape"] = byte_object(dialect.escape);
    dict["escape_scope"] = name_in(kScopes, dialect.escape_scope);
    dict["quoting"] = name_in(kQuotings, dialect.quoting);
    dict["terminator"] = name_in(kTerminators, dialect.terminator);
    dict["header"] = name_in(kHeaders, dialect.header);
    dict["preamble"] = dialect.preamble;
    dict["quotes_unexplained"] = sniffed.doubt == DialectDoubt::kQuotesUnexplained;
    return dict;
}

// The byte and the record; the record counts from 1 after the header, and is 0 in the header.
nb::object place_object(const std::optional<Place>& place, std::uint64_t header_records) {
    if (!place) return nb::none();
    const std::uint64_t record = place->record < header_records ? 0 : place->record - header_records + 1;
    return nb::make_tuple(place->offset, record);
}

nb::dict examination_dict(const Examination& examination, bool has_header) {
    const Census& census = examination.census;
    const std::uint64_t header_records = examination.findings.records_before_data(has_header);
    const auto place = [&](const std::optional<Place>& at) { return place_object(at, header_records); };
    nb::list ragged;
    for (const RaggedRecord& record : census.ragged.listed) {
        ragged.append(nb::make_tuple(record.place.offset, nb::object(place(record.place)[1]), record.fields));
    }
    nb::dict dict;
    dict["size"] = examination.findings.size;
    dict["records"] = examination.findings.records - header_records;
    dict["fields"] = examination.fields;
    dict["ragged_count"] = census.ragged.count;
    dict["ragged"] = ragged;
    dict["longest"] = census.longest.size;
    dict["longest_place"] = census.longest.size > 0 ? place(census.longest.start) : nb::none();
    dict["empty_count"] = census.empty.count;
    dict["empty"] = place(census.empty.first);
    dict["lf"] = census.terminators.lf;
    dict["crlf"] = census.terminators.crlf;
    dict["cr"] = census.terminators.cr;
    dict["unterminated"] = census.terminators.none;
    dict["quoted_breaks"] = census.quoted_breaks;
    dict["data_breaks"] = census.data_breaks;
    dict["stray_quotes_count"] = census.stray_quotes.count;
    dict["stray_quotes"] = place(census.stray_quotes.first);
    dict["divergence"] = place(examination.findings.divergence);
    dict["open_quote"] = place(examination.findings.open_quote);
    const JsonCensus json = examination.json.value_or(JsonCensus());
    dict["not_json_count"] = json.not_json.count;
    dict["not_json"] = place(json.not_json.first);
    nb::list keys;
    for (const JsonKeyCount& key : json.keys) {
        keys.append(nb::make_tuple(nb::bytes(key.name.data(), key.name.size()), key.count));
    }
    dict["keys"] = json.has_more_keys ? nb::object(nb::none()) : nb::object(keys);
    return dict;
}

// What pickle keeps of pieces: the bytes of each vector, and the size of the header.
using State = std::tuple<nb::bytes, nb::bytes, nb::bytes, nb::bytes, std::uint64_t>;

State state_of(const Pieces& pieces) {
    const auto bytes = [](const std::vector<std::uint64_t>& values) {
        return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::uint64_t));
    };
    return {bytes(pieces.starts), bytes(pieces.lengths), bytes(pieces.first_records), bytes(pieces.records),
            pieces.header_size};
}

void set_state(Pieces& self, const State& state) {
    const auto values = [&state](const nb::bytes& bytes) {
        if (bytes.size() != std::get<0>(state).size() || bytes.size() % sizeof(std::uint64_t) != 0) {
            throw ArgumentError("the state of pieces is not complete");
        }
        std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
        std::memcpy(numbers.data(), bytes.data(), bytes.size());
        return numbers;
    };
    const auto& [starts, lengths, first_records, records, header_size] = state;
    new (&self) Pieces{values(starts), values(lengths), values(first_records), values(records), header_size};
}

using Numbers = nb::ndarray<nb::memview, nb::ro, const std::uint64_t, nb::ndim<1>>;

// A view of the vector, which keeps the vector's owner alive.
template <std::vector<std::uint64_t> Pieces::*kMember>
Numbers numbers(nb::handle_t<Pieces> self) {
    const std::vector<std::uint64_t>& values = nb::cast<Pieces&>(self).*kMember;
    static constexpr std::uint64_t kNone = 0;  // an empty vector has no address
    return Numbers(values.empty() ? &kNone : values.data(), {values.size()}, self);
}

// The ranges of piece `index`, from 0: one row per range, with an offset and a size. A view, which keeps its owner
// alive.
using Ranges = nb::ndarray<nb::memview, nb::ro, const std::uint64_t, nb::ndim<2>>;

std::span<const BlobRange> ranges_of(const PiecesByValue& pieces, std::uint64_t index) {
    if (index >= pieces.starts.size()) throw nb::index_error("there is no such piece");
    return pieces.plan.ranges(index + 1);
}

Ranges ranges(nb::handle_t<PiecesByValue> self, std::uint64_t index) {
    static_assert(sizeof(BlobRange) == 2 * sizeof(std::uint64_t));
    const std::span<const BlobRange> found = ranges_of(nb::cast<PiecesByValue&>(self), index);
    static constexpr BlobRange kNone{};  // an empty list has no address
    return Ranges(found.empty() ? &kNone : found.data(), {found.size(), 2}, self);
}

// None if the piece has no values.
nb::object key(const PiecesByValue& pieces, std::uint64_t index) {
    if (index >= pieces.starts.size()) throw nb::index_error("there is no such piece");
    nb::list values;
    for (const std::string& value : pieces.plan.values(index + 1)) values.append(nb::bytes(value.data(), value.size()));
    return values.size() > 0 ? nb::object(nb::tuple(values)) : nb::none();
}

// The bytes of the given keys are copied into the ring, and nowhere else.
void make_key_ring(KeyRing* self, const std::vector<std::string>& sources,
                   const std::vector<std::pair<std::string, nb::bytes>>& given) {
    std::vector<NamedKey> keys;
    for (const auto& [name, bytes] : given) {
        keys.push_back({name, {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()}});
    }
    try {
        new (self) KeyRing(sources, keys);
    } catch (const RuleError& error) {  // which names the option of the command
        throw RuleError(error.what(), "keys", error.text(), error.place());
    }
}

nb::list write_pieces(File& self, const Policy& policy, std::optional<std::vector<std::size_t>> columns,
                      std::vector<std::pair<std::string, std::string>> rules, std::shared_ptr<const KeyRing> keys,
                      const nb::bytes& names, const std::optional<std::string>& compression, std::optional<int> level,
                      const nb::bytes& manifest, const nb::bytes& rejects, bool replace, nb::object progress) {
    Writing writing{policy, {}, std::move(columns), std::move(rules), std::move(keys)};
    OutputOptions& output = writing.output;
    output.names = text_of(names);
    output.make_directories = true;
    output.replace = replace;
    output.manifest = text_of(manifest);
    writing.rejects = text_of(rejects);
    if (compression) {
        output.compression = {value_of(kCompressions, "compress", *compression), level};
        const std::string_view suffix = compression_suffix(output.compression.format);
        if (!output.names.ends_with(suffix)) output.names += suffix;
    }
    nb::list paths;
    for (const std::string& path : self.write(writing, std::move(progress))) {
        paths.append(nb::bytes(path.data(), path.size()));
    }
    return paths;
}

void release_stream(void* stream) noexcept {
    auto* const exported = static_cast<ArrowArrayStream*>(stream);
    if (exported->release != nullptr) exported->release(exported);
    delete exported;
}

void release_schema(void* schema) noexcept {
    auto* const exported = static_cast<ArrowSchema*>(schema);
    if (exported->release != nullptr) exported->release(exported);
    delete exported;
}

// Holds a stream of columns until it is exported.
class Exportable {
public:
    explicit Exportable(ColumnStream&& stream) : stream_(std::move(stream)) {}

    // Both throw ArgumentError once the stream has been taken.
    const ColumnStream& get() const {
        if (!stream_) throw ArgumentError("the stream of columns has already been exported");
        return *stream_;
    }
    ColumnStream take() {
        std::ignore = get();
        ColumnStream taken = std::move(*stream_);
        stream_.reset();
        return taken;
    }

private:
    std::optional<ColumnStream> stream_;
};

// Consumers of a capsule move the struct out of it.
nb::capsule stream_capsule(Exportable& stream) {
    auto exported = std::make_unique<ArrowArrayStream>();
    export_stream(stream.take(), exported.get());
    return {exported.release(), "arrow_array_stream", release_stream};
}

nb::capsule schema_capsule(const Exportable& stream) {
    auto exported = std::make_unique<ArrowSchema>();
    stream.get().schema(exported.get());
    return {exported.release(), "arrow_schema", release_schema};
}

// The address of the cleave_memory_manager of that name. It lives until the process ends, because memory from it may
// outlive everything else.
std::uintptr_t memory_manager(const std::string& name) {
    static auto& opened = *new std::vector<std::shared_ptr<MemoryManager>>;  // NOLINT(cppcoreguidelines-owning-memory)
    opened.push_back(MemoryManager::open(name));
    return reinterpret_cast<std::uintptr_t>(&opened.back()->manager());
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // objects that live until the interpreter ends are not leaks
    nb::register_exception_translator(translate);
    Guarded::stay_usable_after_forks();
    module.attr("version") = CLEAVE_VERSION;

    add_settings(module);

    module.def("memory_manager", &memory_manager, "name"_a);
    nb::class_<KeyRing>(module, "KeyRing").def("__init__", &make_key_ring, "sources"_a, "given"_a);

    nb::class_<Pieces>(module, "Pieces")
        .def_prop_ro("starts", &numbers<&Pieces::starts>)
        .def_prop_ro("lengths", &numbers<&Pieces::lengths>)
        .def_prop_ro("first_records", &numbers<&Pieces::first_records>)
        .def_prop_ro("records", &numbers<&Pieces::records>)
        .def_ro("header_size", &Pieces::header_size)
        .def("__getstate__", &state_of)
        .def("__setstate__", &set_state);

    nb::class_<PiecesByValue, Pieces>(module, "PiecesByValue")
        .def("key", &key, "index"_a)
        .def("ranges", &ranges, "index"_a);

    nb::class_<Exportable>(module, "ColumnStream")
        .def_prop_ro("names", [](const Exportable& self) { return self.get().names(); })
        .def("export", &stream_capsule)
        .def("schema", &schema_capsule);

    nb::class_<File>(module, "File")
        .def_static(
            "of_path",
            [](const nb::bytes& path, const Settings& settings, const nb::bytes& name) {
                return File::of_path(text_of(path), settings, text_of(name));
            },
            "path"_a, "settings"_a, "name"_a = nb::bytes(""))
        .def_static("of_buffer", &File::of_buffer, "buffer"_a, "name"_a, "settings"_a)
        .def("version", &File::version)
        .def("is_gzip_by_index", &File::is_gzip_by_index)
        .def("size", &File::size)
        .def("dialect", [](const File& self) { return dialect_dict(self.sniffed()); })
        .def("is_json_lines", [](const File& self) { return is_json_lines(self.sniffed().dialect); })
        .def(
            "records",
            [](File& self, bool has_header) {
                const Findings findings = self.findings();
                return findings.records - findings.records_before_data(has_header);
            },
            "has_header"_a)
        .def("header_size", &File::header_size)
        .def("start_of", &File::start_of, "record"_a)
        .def("names", &File::names)
        .def(
            "check",
            [](File& self, std::uint64_t max_listed, bool has_header) {
                return examination_dict(self.examine(max_listed), has_header);
            },
            "max_listed"_a, "has_header"_a)
        .def("split", &File::split, "policy"_a)
        .def("split_by_value", &File::split_by_value, "policy"_a)
        .def("read", &File::read, "start"_a, "length"_a, "header_size"_a = 0)
        .def(
            "gather",
            [](File& self, const PiecesByValue& pieces, std::uint64_t index, std::uint64_t header_size) {
                return self.gather(ranges_of(pieces, index), header_size);
            },
            "pieces"_a, "index"_a, "header_size"_a = 0)
        .def(
            "select",
            [](File& self, std::optional<std::vector<std::size_t>> columns,
               std::vector<std::pair<std::string, std::string>> rules, std::shared_ptr<const KeyRing> keys,
               bool is_text, bool empty_is_null, bool missing_is_null, std::size_t page_size,
               const std::optional<std::vector<std::uint64_t>>& range) {
                Selection selection{std::move(columns), std::move(rules), std::move(keys), is_text,
                                    empty_is_null,      missing_is_null,  page_size,       {}};
                if (range) selection.range = RecordRange{{range->at(0), range->at(2)}, range->at(1)};
                return Exportable(self.select(selection));
            },
            "columns"_a.none(), "rules"_a, "keys"_a.none(), "is_text"_a, "empty_is_null"_a, "missing_is_null"_a,
            "page_size"_a, "range"_a.none())
        .def("write", &write_pieces, "policy"_a, "columns"_a.none(), "rules"_a, "keys"_a.none(), "names"_a,
             "compression"_a.none(), "level"_a.none(), "manifest"_a, "rejects"_a, "replace"_a, "progress"_a.none())
        .def(
            "without_rejects",
            [](File& self, const nb::bytes& list, bool has_any_fields, bool has_any_number) {
                return self.without_rejects(text_of(list), has_any_fields, has_any_number);
            },
            "list"_a, "has_any_fields"_a, "has_any_number"_a)
        .def(
            "reject",
            [](File& self, std::uint64_t record) {
                const auto [place, bytes] = self.reject(record);
                return nb::make_tuple(place.offset, place.record, bytes);
            },
            "record"_a)
        .def("make_index", [](File& self) {
            const std::string path = self.make_index();
            return nb::bytes(path.data(), path.size());
        });

    module.def(
        "is_compressed",
        [](nb::handle object) {
            const Buffer buffer(object);
            return compression_of(buffer.bytes()) != Compression::kNone;
        },
        "buffer"_a);
    add_policies(module);
    add_ranges(module);
}

}  // namespace cleave::python
