// The credentials of a store: those of the settings, or those that the metadata of a container or an instance gives.
//
// What metadata gives expires. It is asked again when 5 minutes are left, or half of the time that the credentials had
// left when it was last asked, if that is less; or when the store says that they have expired. If it then gives none,
// those that have not expired are used for longer. An instance is asked by version 2 of its service only, which wants a
// token with every other request.
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

// Any thread may use it; one asks for all, and the others wait only if what is known is no longer good. The settings
// and `http` outlive it.
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
    std::mutex turn_;  // of whoever asks
    std::mutex mutex_;
    // Under mutex_:
    Issued issued_;
    Refusal refusal_ = Refusal::kNone;
    bool are_confirmed_ = false;      // asked after a possible refusal, the metadata had no others
    std::time_t due_ = 0;             // when to ask again; until then:
    std::optional<Failure> failure_;  // what became of it if it left no credentials
};

}  // namespace cleave::store
