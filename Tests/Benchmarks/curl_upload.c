// The peer of multipart uploads: libcurl's mime, with small fields and a file, sent once.
// Usage: curl_upload URL FILE FIELDS
// Prints one line of JSON: CPU microseconds, from making the form to the response, and the bytes sent.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"

static size_t take(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

int main(int count, char **words) {
    check(count != 4, "usage: curl_upload URL FILE FIELDS");
    check(curl_global_init(CURL_GLOBAL_DEFAULT), "curl_global_init");
    CURL *easy = curl_easy_init();
    check(easy == NULL, "curl_easy_init");
    double cpu = cpu_microseconds();
    curl_mime *form = curl_mime_init(easy);
    for (long i = 0, fields = atol(words[3]); i < fields; i++) {
        char name[64], value[64];
        snprintf(name, sizeof name, "field %ld", i);
        snprintf(value, sizeof value, "the value of field %ld", i);
        curl_mimepart *part = curl_mime_addpart(form);
        curl_mime_name(part, name);
        curl_mime_data(part, value, CURL_ZERO_TERMINATED);
    }
    curl_mimepart *part = curl_mime_addpart(form);
    curl_mime_name(part, "file");
    check(curl_mime_filedata(part, words[2]), "curl_mime_filedata");
    curl_easy_setopt(easy, CURLOPT_URL, words[1]);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 65536L);
    curl_easy_setopt(easy, CURLOPT_MIMEPOST, form);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    check(curl_easy_perform(easy), "curl_easy_perform");
    long status = 0;
    curl_off_t sent = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    printf("{\"cpuMicroseconds\":%.0f,\"sent\":%lld}\n", cpu_microseconds() - cpu, (long long)sent);
    curl_mime_free(form);
    curl_easy_cleanup(easy);
    return status == 200 ? 0 : 1;
}
