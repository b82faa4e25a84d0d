// What becomes of URLs, the environment and the files of the AWS tools.
#include "settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "failure.h"

namespace cleave::store {
namespace {

using Ports = std::vector<std::uint16_t>;

class SettingsTest : public testing::Test {
public:
    SettingsTest() : home_(std::filesystem::temp_directory_path() / ("settings." + std::to_string(::getpid()))) {
        std::filesystem::create_directories(home_ / ".aws");
        ::clearenv();
        set("HOME", home_);
    }
    SettingsTest(const SettingsTest&) = delete;
    SettingsTest& operator=(const SettingsTest&) = delete;
    ~SettingsTest() override { std::filesystem::remove_all(home_); }

protected:
    static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
    void write(const std::string& name, const std::string& text) const { std::ofstream(home_ / ".aws" / name) << text; }
    static Settings of(const std::string& url) { return settings_for(parse_location(url)); }

private:
    std::filesystem::path home_;
};

std::string refusal(const std::string& url) {
    try {
        parse_location(url);
        return "";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.result(), CLEAVE_STORE_INVALID);
        return failure.what();
    }
}

TEST_F(SettingsTest, Locations) {
    const Location object = parse_location("s3://bucket/a/b?c#d.csv");
    EXPECT_EQ(object.bucket + " " + object.key, "bucket a/b?c#d.csv");
    const Location file = parse_location("https://host:8443/a/b.csv?x=1");
    EXPECT_EQ(file.bucket + " " + file.key, "host:8443 a/b.csv?x=1");
    for (const char* const url : {"", "x", "ftp://h/a", "s3://", "s3:///a", "s3://b", "s3://b/", "https://",
                                  "https:///a", "https://me:secret@host/a", "https://h\n/a", "s3://b\x7F/a"}) {
        EXPECT_NE(refusal(url), "") << url;
        EXPECT_EQ(refusal(url).find("secret"), std::string::npos);
    }
}

// The port of the proxy, as libcurl chooses it; 0 without a proxy.
int proxy_port(const Settings& settings) { return settings.ports.size() == 2 ? settings.ports[1] : 0; }

TEST_F(SettingsTest, PortsOfProxies) {
    const std::vector<std::pair<std::string, int>> cases{{"proxy", 1080},
                                                         {"http://proxy", 1080},
                                                         {"HTTP://proxy/", 1080},
                                                         {"socks5://proxy", 1080},
                                                         {"socks5h://proxy/", 1080},
                                                         {"http://proxy:", 1080},
                                                         {"http://[::1]", 1080},
                                                         {"http://proxy/:77", 1080},
                                                         {"http://me:secret@proxy", 1080},
                                                         {"https://proxy", 443},
                                                         {"HTTPS://proxy", 443},
                                                         {"https://me:secret@[::1]/", 443},
                                                         {"proxy:8080", 8080},
                                                         {"https://proxy:81", 81},
                                                         {"http://me:secret@[::1]:82/", 82},
                                                         {"", 0}};
    for (const auto& [proxy, port] : cases) {
        set("http_proxy", proxy);
        EXPECT_EQ(proxy_port(of("http://host/file")), port) << proxy;
    }
}

TEST_F(SettingsTest, ProxiesThatCannotBe) {
    for (const char* const proxy : {"http://me:secret@proxy:8a", "http://me:secret@proxy:99999"}) {
        set("http_proxy", proxy);
        try {
            of("http://host/file");
            FAIL() << proxy;
        } catch (const Failure& failure) {
            EXPECT_STREQ(failure.what(), "the port of the proxy is not a number");
        }
    }
}

TEST_F(SettingsTest, WhereProxiesAreNamed) {
    EXPECT_EQ(of("http://host/file").proxy, "");
    set("HTTP_PROXY", "http://proxy");  // a web server sets it to what its client sends
    EXPECT_EQ(of("http://host/file").ports, Ports{80});
    set("HTTPS_PROXY", "http://proxy:1");
    EXPECT_EQ(of("https://host/file").ports, (Ports{443, 1}));
    set("https_proxy", "http://proxy:2");
    EXPECT_EQ(of("https://host/file").ports, (Ports{443, 2}));
    set("ALL_PROXY", "http://me:secret@proxy:3");
    EXPECT_EQ(of("http://host/file").ports, (Ports{80, 3}));
    EXPECT_EQ(of("http://host/file").proxy, "proxy:3");
}

TEST_F(SettingsTest, Hosts) {
    EXPECT_EQ(of("s3://bucket/key").host, "bucket.s3.us-east-1.amazonaws.com");
    EXPECT_EQ(of("s3://bucket/key").prefix, "");
    EXPECT_EQ(of("s3://my.bucket/key").host, "s3.us-east-1.amazonaws.com");
    EXPECT_EQ(of("s3://my.bucket/key").prefix, "/my.bucket");
    EXPECT_EQ(of("gs://bucket/key").host, "storage.googleapis.com");
    EXPECT_EQ(of("gs://bucket/key").region, "auto");
    EXPECT_EQ(of("http://host/file").ports, Ports{80});
    EXPECT_EQ(of("https://host:8443/file").ports, Ports{8443});
    EXPECT_EQ(of("https://[::1]/file").ports, Ports{443});
    EXPECT_EQ(of("https://[::1]:8443/file").ports, Ports{8443});
    set("https_proxy", "http://me:secret@proxy:3128/");
    EXPECT_EQ(of("https://host/file").ports, (Ports{443, 3128}));
    EXPECT_EQ(of("http://host/file").ports, Ports{80});
    set("https_proxy", "");
    EXPECT_THROW(of("https://host:x/file"), Failure);
    EXPECT_THROW(of("https://host:99999/file"), Failure);
    set("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/store/");
    EXPECT_EQ(of("s3://bucket/key").host, "127.0.0.1:9000");
    EXPECT_EQ(of("s3://bucket/key").prefix, "/store/bucket");
    EXPECT_EQ(of("s3://bucket/key").scheme, "http");
    set("AWS_ENDPOINT_URL_S3", "minio:9000");
    EXPECT_THROW(of("s3://bucket/key"), Failure);
}

TEST_F(SettingsTest, Files) {
    write("credentials",
          "; comment\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n[two]\naws_access_key_id=C\n"
          "aws_secret_access_key = D = E \naws_session_token=F\n");
    write("config",
          "[default]\nregion=r1\ns3 =\n  region = nested\n[profile two]\nregion = r2\nendpoint_url=https://e:1\n"
          "aws_access_key_id=not this\n");
    Settings settings = of("s3://bucket/key");
    EXPECT_EQ(settings.credentials.key_id + settings.credentials.secret, "AB");
    EXPECT_EQ(settings.region, "r1");
    set("AWS_PROFILE", "two");
    settings = of("s3://bucket/key");
    EXPECT_EQ(settings.credentials.key_id, "C");
    EXPECT_EQ(settings.credentials.secret, "D = E");
    EXPECT_EQ(settings.credentials.session_token, "F");
    EXPECT_EQ(settings.region, "r2");
    EXPECT_EQ(settings.host, "e:1");
    set("AWS_ACCESS_KEY_ID", "X");
    EXPECT_THROW(of("s3://bucket/key"), Failure);
    set("AWS_SECRET_ACCESS_KEY", "Y");
    EXPECT_EQ(of("s3://bucket/key").credentials.key_id, "X");
    set("AWS_PROFILE", "none");
    EXPECT_EQ(of("https://host/x").credentials.key_id, "");
}

constexpr const char* kUrl = "s3://bucket/key";

// The message; empty if the settings are accepted.
std::string refusal_of_settings(const std::string& url = kUrl) {
    try {
        settings_for(parse_location(url));
        return "";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.result(), CLEAVE_STORE_INVALID);
        return failure.what();
    }
}

const std::string kKeys = "[default]\naws_access_key_id=A\naws_secret_access_key=B\n";

// The order is that of botocore's create_credential_resolver().
TEST_F(SettingsTest, OtherWaysToCredentials) {
    // With which keys in the same profile the setting counts: in none of the files, in that of credentials, in config.
    using Counts = std::array<bool, 3>;
    const std::map<std::string, Counts> settings{
        {"role_arn", {true, true, true}},       {"web_identity_token_file", {true, true, true}},
        {"sso_account_id", {true, true, true}}, {"sso_role_name", {true, true, true}},
        {"login_session", {true, false, true}}, {"credential_process", {true, false, true}},
        {"sso_session", {true, false, false}},  {"sso_start_url", {true, false, false}}};
    for (const auto& [name, expected] : settings) {
        const std::string message =
            "the profile's " + name +
            " is not resolved; set the variables that \"aws configure export-credentials --format env\" prints";
        Counts counts{};
        for (std::size_t file = 0; file < 3; ++file) {
            write("credentials", file == 1 ? kKeys : "");
            write("config", (file == 2 ? kKeys : "[default]\n") + name + " = secret\n");
            counts.at(file) = refusal_of_settings() == message;
        }
        EXPECT_EQ(counts, expected) << name;
    }
    set("AWS_ACCESS_KEY_ID", "X");
    set("AWS_SECRET_ACCESS_KEY", "Y");
    write("config", "[default]\nrole_arn=x\n");
    EXPECT_EQ(of(kUrl).credentials.key_id, "X");
}

TEST_F(SettingsTest, RolesAreOfAmazon) {
    write("config", kKeys + "role_arn=x\n");
    EXPECT_NE(refusal_of_settings(), "");
    EXPECT_EQ(of("gs://bucket/key").credentials.key_id, "A");
    EXPECT_EQ(refusal_of_settings("https://host/file"), "");
}

TEST_F(SettingsTest, WebIdentity) {
    write("credentials", kKeys);
    EXPECT_EQ(refusal_of_settings(), "");
    set("AWS_WEB_IDENTITY_TOKEN_FILE", "/secret");
    EXPECT_NE(refusal_of_settings().find("AWS_WEB_IDENTITY_TOKEN_FILE is not"), std::string::npos);
    EXPECT_EQ(refusal_of_settings("gs://bucket/key"), "");
}

TEST_F(SettingsTest, NoSuchProfile) {
    set("AWS_PROFILE", "default");
    EXPECT_EQ(refusal_of_settings(), "");
    set("AWS_PROFILE", "secret");
    EXPECT_EQ(refusal_of_settings(), "the profile that AWS_PROFILE names does not exist");
    write("config", "[profile secret]\nregion=r\n");
    EXPECT_EQ(refusal_of_settings(), "");
}

TEST_F(SettingsTest, MetadataIsAskedFor) {
    EXPECT_FALSE(of(kUrl).metadata);
    for (const char* const value : {"true", "0", "no"}) {
        set("AWS_EC2_METADATA_DISABLED", value);
        EXPECT_FALSE(of(kUrl).metadata) << value;
    }
}

TEST_F(SettingsTest, MetadataOfInstance) {
    set("AWS_EC2_METADATA_DISABLED", "False");
    EXPECT_FALSE(of("gs://bucket/key").metadata || of("https://host/file").metadata);
    Metadata instance{true, "http", "169.254.169.254", 80, "", "", ""};
    EXPECT_EQ(of(kUrl).metadata, instance);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://[fd00:ec2::254]:81/x/");
    instance.host = "[fd00:ec2::254]:81";
    instance.port = 81;
    instance.path = "/x";
    EXPECT_EQ(of(kUrl).metadata, instance);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "169.254.169.254");
    EXPECT_NE(refusal_of_settings(), "");
}

TEST_F(SettingsTest, MetadataOfContainer) {
    set("AWS_EC2_METADATA_DISABLED", "false");
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "t");
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "https://host:8443/a?b=c#d");
    EXPECT_EQ(of(kUrl).metadata, (Metadata{false, "https", "host:8443", 8443, "/a?b=c", "t", ""}));
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/f");
    set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x");
    EXPECT_EQ(of(kUrl).metadata, (Metadata{false, "http", "169.254.170.2", 80, "/v2/x", "", "/f"}));
    for (const char* const path : {"@evil/x", ".evil/x", ":81/x", "/a b", "/a\nb"}) {
        set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", path);
        EXPECT_NE(refusal_of_settings(), "") << path;
    }
    EXPECT_EQ(refusal_of_settings("gs://bucket/key"), "");
    set("AWS_ACCESS_KEY_ID", "A");
    set("AWS_SECRET_ACCESS_KEY", "B");
    EXPECT_FALSE(of(kUrl).metadata);
}

TEST_F(SettingsTest, HostsWithoutEncryption) {
    for (const char* const host : {"localhost", "127.0.0.1", "127.1.2.3:99", "[::1]", "[::1]:99", "169.254.170.2",
                                   "169.254.170.23:80", "[fd00:ec2::23]", "[FD00:EC2:0::23]"}) {
        set("AWS_CONTAINER_CREDENTIALS_FULL_URI", std::string("http://") + host + "/c");
        EXPECT_EQ(of(kUrl).metadata->host, host);
    }
    for (const char* const host :
         {"host", "localhost.host", "127.0.0.1.host", "127.0.0.1@host", "host/127.0.0.1", "127.0.0.1?@host",
          "127.0.0.1#@host", "127.1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "169.254.170.3", "[::2]",
          "[::ffff:127.0.0.1]", "[fd00:ec2::254]", "::1", "[::1", "[::1]host", ""}) {
        set("AWS_CONTAINER_CREDENTIALS_FULL_URI", std::string("http://") + host + "/c");
        EXPECT_NE(refusal_of_settings(), "") << host;
    }
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "file:///c");
    EXPECT_NE(refusal_of_settings(), "");
}

}  // namespace
}  // namespace cleave::store
