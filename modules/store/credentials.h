// The credentials of a store: from the settings, or from the metadata of a container or an instance.
//
// Credentials from metadata expire. They are fetched again when 5 minutes are left, or half of the time that was left
// when they were last fetched, if that is less; or when the store says that they have expired. If that fails, they are
// used until they expire. Of an instance's service, only version 2 is used, which requires a token.
// (https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html)
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>

#include "answers.h"
#include "failure.h"
#include "http.h"
#include "settings.h"

namespace cleave::store {

// Whether the store says that credentials have expired.
enum class Refusal : std::uint8_t { kNone, kPossible, kCertain };

// Any thread may use it. One thread asks for all of them; the others wait only if the credentials at hand are no longer
// valid. The settings and `http` must outlive it.
class CredentialSource {
public:
    CredentialSource(const Settings& settings, Http& http) : settings_(settings), http_(http) {}

    // Those to sign with at the time `now`; empty if requests are not signed. Throws Failure.
    Credentials current(std::time_t now, cleave_store_call& call);

    // The store says that these have expired, or may have. Returns whether current() may know others. If it does not,
    // it fails if the refusal is certain. After one that is possible it gives the same once more, and from then on the
    // result is false: the refusal has another reason.
    bool expire(const Credentials& used, Refusal refusal);

private:
    std::optional<Credentials> known_at(std::time_t now);
    std::optional<Credentials> good_at(std::time_t now);
    bool are_good(std::time_t now) const;  // under mutex_
    void take(Issued newer, std::time_t now);
    void do_without(const Failure& failure, std::time_t now);
    void set_due(std::time_t now);
    Issued fetch(cleave_store_call& call);
    std::string ask_container(cleave_store_call& call);
    std::string ask_instance(cleave_store_call& call);
    Response ask(const Exchange& exchange, cleave_store_call& call);
    Exchange exchange_of(std::string method, const std::string& path) const;

    const Settings& settings_;
    Http& http_;
    std::mutex turn_;  // held by the thread that asks
    std::mutex mutex_;
    // Under mutex_:
    Issued issued_;
    Refusal refusal_ = Refusal::kNone;
    bool are_confirmed_ = false;      // asked after a possible refusal, the metadata had no others
    std::time_t due_ = 0;             // when to ask again; until then:
    std::optional<Failure> failure_;  // what became of it if it left no credentials
};

}  // namespace cleave::store
