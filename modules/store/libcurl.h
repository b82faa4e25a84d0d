// The functions of libcurl, which is looked up when it is first needed. The module is therefore one file for all
// systems, whose libcurls differ in names and in the versions of their symbols; without libcurl, it says what to
// install.
#pragma once

#include <curl/curl.h>

namespace cleave::store {

struct Libcurl {
    decltype(&::curl_global_init) global_init;
    decltype(&::curl_global_cleanup) global_cleanup;
    decltype(&::curl_easy_init) easy_init;
    decltype(&::curl_easy_cleanup) easy_cleanup;
    decltype(&::curl_easy_reset) easy_reset;
    decltype(&::curl_easy_setopt) easy_setopt;
    decltype(&::curl_easy_perform) easy_perform;
    decltype(&::curl_easy_strerror) easy_strerror;
    decltype(&::curl_slist_append) slist_append;
    decltype(&::curl_slist_free_all) slist_free_all;
    decltype(&::curl_getdate) getdate;
};

// Stays loaded until the process ends. Throws Failure if there is no libcurl. Any thread may call it.
const Libcurl& libcurl();

}  // namespace cleave::store
