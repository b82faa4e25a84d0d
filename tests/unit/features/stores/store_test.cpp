// Objects of a store whose module is a stub: what becomes of its results, and how an object is read as an input.
#include "features/stores/store.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/error.h"
#include "cleave/scan.h"
#include "core/reader/remote_file.h"

namespace cleave::store_test {

const std::vector<std::string> kPaths{PLUGINS "/stub_store.so"};

// What is thrown for this URL, by its type and message.
template <class Thrown, class Work>
std::string refusal(const Work& work) {
    try {
        work();
    } catch (const Thrown& error) {
        return error.what();
    }
    return "nothing";
}

TEST(Store, TellsUrlsFromPaths) {
    for (const char* const url : {"s3://bucket/key", "gs://b/k", "https://host/file.csv", "http://host/"}) {
        EXPECT_TRUE(Location(url).is_url()) << url;
    }
    for (const char* const path : {"", "-", "s3:/bucket", "./s3://x", "file:///x", "ftp://host/x", "S3://bucket/key"}) {
        EXPECT_FALSE(Location(path).is_url()) << path;
    }
    EXPECT_EQ(Location("s3://bucket/a/b?c").root(), "s3://bucket");
    EXPECT_EQ(Location("https://host?x").root(), "https://host");
    EXPECT_EQ(Location("s3://bucket").root(), "s3://bucket");
    EXPECT_EQ(Location("folder/file").root(), "");
    EXPECT_TRUE(Location("gs://b/k").is_bucket() && Location("https://host/k").is_web());
    EXPECT_EQ(Location("-").shown(), "stdin");
    EXPECT_EQ(shown_url("https://host/file?X-Amz-Signature=1"), "https://host/file");
    EXPECT_EQ(shown_url("s3://bucket/key"), "s3://bucket/key");
}

TEST(Store, NeedsTheModule) {
    const std::string message = refusal<ArgumentError>([] { const Store store({"/no/such.so"}, "s3://bucket/key"); });
    EXPECT_TRUE(message.starts_with("URLs need the module cleave_store.so, which is not installed, see ")) << message;
}

TEST(Store, ReportsWhatTheModuleSays) {
    const Store store(kPaths, "s3://bucket/key");
    EXPECT_EQ(store.ports(), std::vector<std::uint16_t>{4433});
    const auto find = [&](const std::string& key) {
        return [&store, key] { store.find("s3://bucket/" + key + "?q=secret"); };
    };
    const std::string said = "the stub\\x0asays no";
    EXPECT_EQ(refusal<StoreError>(find("fails-1")), "s3://bucket/fails-1: " + said);
    EXPECT_EQ(refusal<StoreError>(find("fails-2")), "s3://bucket/fails-2: " + said);
    EXPECT_EQ(refusal<InputChangedError>(find("fails-3")), said);
    EXPECT_EQ(refusal<InputError>(find("fails-4")), said);
    EXPECT_EQ(refusal<ArgumentError>(find("fails-5")), said);
    EXPECT_EQ(refusal<StoreError>(find("fails-6")), "s3://bucket/fails-6: " + said);
    EXPECT_EQ(refusal<Cancelled>(find("fails-7")), "cancelled");
    EXPECT_EQ(refusal<StoreError>(find("fails-99")), "s3://bucket/fails-99: " + said);
    EXPECT_EQ(refusal<ArgumentError>([] { const Store refused(kPaths, "s3://bucket/refused-5"); }), said);
}

TEST(Store, ReadsAnObject) {
    const Store store(kPaths, "s3://bucket/key");
    const auto object = store.find("s3://bucket/key");
    EXPECT_EQ(object->size(), 100U);
    std::array<std::uint8_t, 5> bytes{};
    object->read(90, bytes);
    EXPECT_EQ(bytes, (std::array<std::uint8_t, 5>{90, 91, 92, 93, 94}));
    const auto broken = store.find("s3://bucket/breaks-3");
    EXPECT_THROW(broken->read(0, bytes), InputChangedError);
}

TEST(Store, AnObjectIsAnInput) {
    const Store store(kPaths, "s3://bucket/key");
    Input input = store.open("s3://bucket/key", nullptr, Encoding::kBytes);
    EXPECT_FALSE(input.is_stream());
    EXPECT_FALSE(input.is_mapped());
    EXPECT_EQ(input.path(), "s3://bucket/key");
    EXPECT_EQ(input.identity().size, 100U);
    EXPECT_EQ(input.remote()->version(), "\"1\"");
    EXPECT_NE(input.remote_place(), "");
    EXPECT_EQ(input.remote_place(), store.place("gs://bucket/key"));
    EXPECT_NE(input.remote_place(), store.place("s3://bucket/other"));
    EXPECT_THROW(store.place("s3://bucket/nowhere-5"), ArgumentError);
    EXPECT_EQ(index_records(input, Dialect{}).findings().records, 2U);  // byte 10 is LF
    EXPECT_TRUE(input.is_unchanged());
    EXPECT_THROW(store.open("s3://bucket/breaks-6", nullptr, Encoding::kBytes), StoreError);
}

TEST(Store, SaysWhetherThereIsAnObject) {
    const Store store(kPaths, "s3://bucket/key");
    EXPECT_TRUE(store.has("s3://bucket/key", nullptr));
    EXPECT_EQ(store.find_present("s3://bucket/key", nullptr)->size(), 100U);
    EXPECT_EQ(store.find_present("s3://bucket/fails-1", nullptr), nullptr);
    EXPECT_FALSE(store.has("s3://bucket/fails-1", nullptr));
    EXPECT_THROW(store.has("s3://bucket/fails-2", nullptr), StoreError);
    EXPECT_NO_THROW(store.remove("s3://bucket/key", nullptr));
    EXPECT_THROW(store.remove("s3://bucket/breaks-2", nullptr), StoreError);
    EXPECT_NO_THROW(store.abort_uploads("s3://bucket/key", nullptr));
    EXPECT_THROW(store.abort_uploads("s3://bucket/breaks-6", nullptr), StoreError);
}

TEST(Store, WritesAnObject) {
    const Store store(kPaths, "s3://bucket/key");
    const auto source = store.find("s3://bucket/source");
    const std::array<std::uint8_t, 3> bytes{1, 2, 3};
    StoreUpload upload(store, "s3://bucket/key", nullptr);
    EXPECT_NO_THROW(upload.put(1, bytes));
    EXPECT_TRUE(upload.copy(2, *source, 10, 90));
    EXPECT_TRUE(upload.complete(false));
    EXPECT_TRUE(upload.abort());
    const auto upload_of = [&](const std::string& key) { return StoreUpload(store, "s3://bucket/" + key, nullptr); };
    EXPECT_THROW(upload_of("breaks-6").put(1, bytes), StoreError);
    EXPECT_THROW(upload_of("breaks-3").copy(1, *source, 0, 1), InputChangedError);
    EXPECT_FALSE(upload_of("breaks-4").copy(1, *source, 0, 1));
    EXPECT_FALSE(upload_of("breaks-8").complete(false));
    EXPECT_TRUE(upload_of("breaks-8").complete(true));
    EXPECT_THROW(upload_of("breaks-6").complete(true), StoreError);
    EXPECT_THROW(upload_of("breaks-2").abort(), StoreError);
    EXPECT_FALSE(upload_of("breaks-1").abort());
}

TEST(Store, PutsAnObjectInParts) {
    const Store store(kPaths, "s3://bucket/key");
    const auto parts_of = [&](std::size_t size) {
        return refusal<StoreError>([&] { store.put("s3://bucket/notes", std::vector<std::uint8_t>(size), nullptr); });
    };
    EXPECT_EQ(parts_of(0), "s3://bucket/notes: 0");
    EXPECT_EQ(parts_of(17), "s3://bucket/notes: 17");
    EXPECT_EQ(parts_of(std::size_t{8} << 20), "s3://bucket/notes: 8388608");
    EXPECT_EQ(parts_of((std::size_t{16} << 20) + 1), "s3://bucket/notes: 8388608 x 2, 1");
    EXPECT_THROW(store.put("s3://bucket/breaks-6", {}, nullptr), StoreError);
    EXPECT_NO_THROW(store.put("s3://bucket/key", {}, nullptr));
}

TEST(Store, FindsWhatIsBesideAnObject) {
    const Store store(kPaths, "s3://bucket/key");
    const Input input = store.open("s3://bucket/key", nullptr, Encoding::kBytes);
    EXPECT_NE(input.remote()->find_beside(".other"), nullptr);
    EXPECT_EQ(input.remote()->find_beside("/fails-1"), nullptr);
    EXPECT_THROW(input.remote()->find_beside("/fails-2"), StoreError);
    EXPECT_NO_THROW(input.remote()->write_beside(".other", {}));
    EXPECT_THROW(input.remote()->write_beside("/breaks-6", {}), StoreError);
    const auto weak = store.find("s3://bucket/weak");  // its versions are not told apart
    EXPECT_EQ(weak->find_beside(".other"), nullptr);
    EXPECT_THROW(weak->write_beside(".other", {}), ArgumentError);
    const auto file = store.find("https://host/file");
    EXPECT_EQ(file->find_beside(".other"), nullptr);
}

// A file of another kind: no store can copy it.
class OtherFile final : public RemoteFile {
public:
    std::uint64_t size() const noexcept override { return 100; }
    std::string version() const override { return "1"; }
    void read(std::uint64_t, std::span<std::uint8_t>) const override {}
};

TEST(Store, CopiesOnlyItsModulesObjects) {
    const Store store(kPaths, "s3://bucket/key");
    StoreUpload upload(store, "s3://bucket/key", nullptr);
    EXPECT_FALSE(upload.copy(1, OtherFile(), 0, 10));
    const Input input = store.open("s3://bucket/source", nullptr, Encoding::kBytes);
    EXPECT_TRUE(upload.copy(1, *input.blob().backing().remote, 0, 10));
}

TEST(Store, ACancelledRead) {
    Cancellation cancellation;
    const Store store(kPaths, "s3://bucket/key");
    const auto object = store.find("s3://bucket/key", &cancellation);
    cancellation.request();
    std::array<std::uint8_t, 5> bytes{};
    EXPECT_THROW(object->read(0, bytes), Cancelled);
}

}  // namespace cleave::store_test
