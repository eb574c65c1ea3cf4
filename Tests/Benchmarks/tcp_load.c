// Opens and closes TCP connections at a steady rate, or holds many: what the observer of connections is measured with.
//
//   tcp_load serve PORT COUNT close|hold    listens on so many ports; closes what it accepts, or keeps it
//   tcp_load open ADDRESS PORT COUNT RATE SECONDS    opens, waits for the peer's end, closes; prints how many
//   tcp_load hold ADDRESS PORT COUNT CONNECTIONS     opens so many and keeps them until its input ends
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void say(const char *word) {
    puts(word);
    fflush(stdout);
}

static void serve(int port, int count, int holds) {
    int poll = epoll_create1(0), on = 1;
    for (int i = 0; i < count; i++) {
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port + i)};
        if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
        if (listen(listener, 4096) != 0) fail("listen");
        struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll_ctl");
    }
    say("ready");
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            int connection;
            while ((connection = accept4(events[i].data.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
                if (!holds) close(connection);
        }
    }
}

static int connected(struct sockaddr_in *address) {
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0) fail("socket");
    if (connect(connection, (struct sockaddr *)address, sizeof *address) != 0) fail("connect");
    return connection;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("setrlimit");
    if (argc == 5 && strcmp(argv[1], "serve") == 0)
        serve(atoi(argv[2]), atoi(argv[3]), strcmp(argv[4], "hold") == 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (argc < 6 || inet_pton(AF_INET, argv[2], &address.sin_addr) != 1) return 2;
    int port = atoi(argv[3]), count = atoi(argv[4]), amount = atoi(argv[5]);
    if (strcmp(argv[1], "hold") == 0) {
        for (int i = 0; i < amount; i++) {
            address.sin_port = htons(port + i % count);
            connected(&address);
        }
        say("ready");
        while (getchar() != EOF) {}
        return 0;
    }
    if (argc != 7) return 2;
    double start = now(), end = start + atof(argv[6]);
    long done = 0;
    for (; now() < end; done++) {
        // As many as are due: a pause for each would be longer than the connection.
        while (done >= (now() - start) * amount) usleep(500);
        address.sin_port = htons(port + done % count);
        int connection = connected(&address);
        char byte;
        if (read(connection, &byte, 1) != 0) fail("read");
        close(connection);
    }
    printf("%ld %.6f\n", done, now() - start);
    return 0;
}
