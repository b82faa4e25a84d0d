// Which URLs mean one object.
#include "place.h"

#include <gtest/gtest.h>

namespace cleave::store {
namespace {

TEST(Place, OneServerAndPath) {
    const std::string place = place_of("host:9000", "/bucket/a%20b+c");
    EXPECT_EQ(place_of("HOST:9000", "/bucket/a b+c"), place);
    EXPECT_EQ(place_of("host:9000", "/bucket/%61%20b%2Bc"), place);
    EXPECT_EQ(place_of("host:9000", "/bucket/a%20b%2bc?X-Amz-Signature=1"), place);
    EXPECT_NE(place_of("host:9001", "/bucket/a%20b+c"), place);
    EXPECT_NE(place_of("host", "/bucket/a%20b+c"), place);
    EXPECT_NE(place_of("host:9000", "/bucket/a%20b%20c"), place);
    EXPECT_NE(place_of("host:9000", "/bucket/A%20b+c"), place);
    EXPECT_NE(place_of("host:9000", "/bucket/a%2520b+c"), place);
    EXPECT_NE(place_of("host:9000", "/bucket/a%20b+c/"), place);
    EXPECT_EQ(place_of("host:80", "/a"), place_of("host", "/a"));
    EXPECT_EQ(place_of("host:443", "/a"), place_of("host", "/a"));
    EXPECT_NE(place_of("host:8443", "/a"), place_of("host", "/a"));
    EXPECT_EQ(place_of("host", "/a%3Fb"), "host/a?b");  // a part of the name, and no query
    EXPECT_EQ(place_of("host", "/100%"), "host/100%");
}

TEST(Place, BucketsInTheNameOfTheServer) {
    const std::string place = place_of("s3.eu-north-1.amazonaws.com", "/bucket/key");
    for (const char* const host :
         {"bucket.s3.eu-north-1.amazonaws.com", "bucket.s3.us-east-1.amazonaws.com", "bucket.s3.amazonaws.com",
          "bucket.s3-eu-west-1.amazonaws.com", "bucket.s3.dualstack.eu-north-1.amazonaws.com",
          "bucket.s3.eu-north-1.amazonaws.com:443"}) {
        EXPECT_EQ(place_of(host, "/key"), place) << host;
    }
    EXPECT_EQ(place_of("s3-eu-west-1.amazonaws.com", "/bucket/key"), place);
    EXPECT_EQ(place_of("s3.amazonaws.com", "/bucket/key"), place);
}

TEST(Place, OtherBucketsInTheNameOfTheServer) {
    const std::string place = place_of("s3.eu-north-1.amazonaws.com", "/bucket/key");
    for (const char* const host : {"other.s3.amazonaws.com", "bucket.s3.cn-north-1.amazonaws.com.cn",
                                   "bucket.s3.example.org", "bucket.ec2.amazonaws.com", "bucket.amazonaws.com"}) {
        EXPECT_NE(place_of(host, "/key"), place) << host;
    }
    EXPECT_EQ(place_of("s3.a.s3.us-east-1.amazonaws.com", "/key"), place_of("s3.amazonaws.com", "/s3.a/key"));
    EXPECT_EQ(place_of("bucket.storage.googleapis.com", "/key"), place_of("storage.googleapis.com", "/bucket/key"));
    EXPECT_NE(place_of("other.storage.googleapis.com", "/key"), place_of("storage.googleapis.com", "/bucket/key"));
}

}  // namespace
}  // namespace cleave::store
