// The peer that the transfer thread is measured against: libcurl's multi_socket_action on epoll with lazy
// registration, one thread, easy handles used again. Usage: curl_loop URL REQUESTS IN_FLIGHT [REQUESTS_BEFORE [CA_FILE [PIN]]]
// Prints one line of JSON: requests per second and CPU microseconds per request.
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

enum { MAX_DESCRIPTORS = 65536 };

static struct {
    unsigned char wanted, registered;
} sockets[MAX_DESCRIPTORS];

static int epoll_descriptor;
static CURLM *multi;
static int64_t deadline = -1;
static long started, finished, failed, total;
static const char *url, *ca_file, *pin;

static int64_t now_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int socket_wanted(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context) {
    (void)easy, (void)context, (void)socket_context;
    check(socket >= MAX_DESCRIPTORS, "descriptor table");
    sockets[socket].wanted = what == CURL_POLL_REMOVE ? 0 : what;
    if (sockets[socket].wanted == 0 || sockets[socket].wanted == sockets[socket].registered) return 0;
    struct epoll_event event = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0),
                                .data = {.fd = socket}};
    int operation = sockets[socket].registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    check(epoll_ctl(epoll_descriptor, operation, socket, &event), "epoll_ctl");
    sockets[socket].registered = sockets[socket].wanted;
    return 0;
}

static int timer_wanted(CURLM *handle, long milliseconds, void *context) {
    (void)handle, (void)context;
    deadline = milliseconds < 0 ? -1 : now_nanoseconds() + milliseconds * 1000000LL;
    return 0;
}

static int close_socket(void *context, curl_socket_t socket) {
    (void)context;
    memset(&sockets[socket], 0, sizeof sockets[socket]);
    return close(socket);
}

static size_t take(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

static void start(CURL *easy) {
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    if (ca_file) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    if (pin) curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, pin);
    check(curl_multi_add_handle(multi, easy), "curl_multi_add_handle");
    started++;
}

static void collect(void) {
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (message->data.result != CURLE_OK || status != 200) failed++;
        finished++;
        check(curl_multi_remove_handle(multi, easy), "curl_multi_remove_handle");
        if (started < total) start(easy);
        else curl_easy_cleanup(easy);
    }
}

static void run(void) {
    struct epoll_event events[256];
    int running = 0;
    while (finished < total) {
        int64_t left = deadline < 0 ? -1 : deadline - now_nanoseconds();
        int wait = deadline < 0 ? -1 : left <= 0 ? 0 : (int)((left + 999999) / 1000000);
        int count = epoll_wait(epoll_descriptor, events, 256, wait);
        for (int i = 0; i < count; i++) {
            int socket = events[i].data.fd;
            if (sockets[socket].wanted == 0) {
                epoll_ctl(epoll_descriptor, EPOLL_CTL_DEL, socket, NULL);
                sockets[socket].registered = 0;
                continue;
            }
            int ready = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                        (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                        (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            check(curl_multi_socket_action(multi, socket, ready, &running), "curl_multi_socket_action");
        }
        collect();
        if (deadline >= 0 && deadline <= now_nanoseconds()) {
            deadline = -1;
            check(curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running), "curl_multi_socket_action");
            collect();
        }
    }
}

static void make_requests(long count, long in_flight) {
    started = finished = 0;
    total = count;
    for (long i = 0; i < in_flight && started < total; i++) start(curl_easy_init());
    run();
}

int main(int count, char **words) {
    check(count < 4 || count > 7, "usage: curl_loop URL REQUESTS IN_FLIGHT [REQUESTS_BEFORE [CA_FILE [PIN]]]");
    url = words[1];
    if (count > 5) ca_file = words[5];
    if (count > 6) pin = words[6];
    check(curl_global_init(CURL_GLOBAL_DEFAULT), "curl_global_init");
    epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    check(epoll_descriptor < 0, "epoll_create1");
    multi = curl_multi_init();
    check(multi == NULL, "curl_multi_init");
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 256L);
    if (count > 4) make_requests(atol(words[4]), atol(words[3]));
    double cpu = cpu_microseconds();
    int64_t begin = now_nanoseconds();
    make_requests(atol(words[2]), atol(words[3]));
    double seconds = (now_nanoseconds() - begin) / 1e9;
    printf("{\"client\":\"c\",\"requests\":%ld,\"failed\":%ld,\"perSecond\":%.0f,\"cpuMicroseconds\":%.2f}\n",
           finished, failed, finished / seconds, (cpu_microseconds() - cpu) / finished);
    curl_multi_cleanup(multi);
    return failed ? 1 : 0;
}
