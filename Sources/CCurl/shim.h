#pragma once
// What Swift cannot call in libcurl: the variadic setters and getters, one per type.
#include <curl/curl.h>

static inline CURLcode tg_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
