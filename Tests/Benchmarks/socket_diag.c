// The peer of the observer of connections: the least that a program can do to read the same messages (sock_diag(7)).
//
//   socket_diag ends BUFFER    reads messages about TCP sockets that end until SIGTERM; prints how many, and how many were dropped
//   socket_diag dump ROUNDS    lists the TCP sockets of both families with tcp_info; prints how many, and the median in ms
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_ended;
static char buffer[65536];

static void end(int number) {
    (void)number;
    is_ended = 1;
}

static int opened(unsigned groups) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("netlink");
        exit(1);
    }
    return fd;
}

static int read_ends(int bytes) {
    int fd = opened(1 << (SKNLGRP_INET_TCP_DESTROY - 1) | 1 << (SKNLGRP_INET6_TCP_DESTROY - 1)), on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) perror("SO_RCVBUFFORCE");
    setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &on, sizeof on);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    unsigned long messages = 0;
    while (!is_ended) {
        ssize_t length = recv(fd, buffer, sizeof buffer, 0);
        if (length > 0) messages++;
    }
    uint32_t memory[16];
    socklen_t length = sizeof memory;
    getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length);
    printf("%lu %u\n", messages, memory[8]);
    return 0;
}

static int list(int fd, int family) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {
        .header = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1 << (INET_DIAG_INFO - 1),
            .idiag_states = ~0u & ~(1 << TCP_LISTEN)}};
    if (send(fd, &message, sizeof message, 0) < 0) return -1;
    for (int count = 0;;) {
        int length = recv(fd, buffer, sizeof buffer, 0);
        for (struct nlmsghdr *m = (void *)buffer; NLMSG_OK(m, (unsigned)length); m = NLMSG_NEXT(m, length)) {
            if (m->nlmsg_type == NLMSG_DONE) return count;
            if (m->nlmsg_type == NLMSG_ERROR) return -1;
            count++;
        }
    }
}

static int is_less(const void *left, const void *right) {
    return (*(const double *)left > *(const double *)right) - (*(const double *)left < *(const double *)right);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    if (strcmp(argv[1], "ends") == 0) return read_ends(atoi(argv[2]));
    int fd = opened(0), rounds = atoi(argv[2]), count = 0;
    if (rounds < 1 || rounds > 100) return 2;
    double took[100];
    for (int i = 0; i < rounds; i++) {
        struct timespec start, stop;
        clock_gettime(CLOCK_MONOTONIC, &start);
        count = list(fd, AF_INET) + list(fd, AF_INET6);
        clock_gettime(CLOCK_MONOTONIC, &stop);
        took[i] = (stop.tv_sec - start.tv_sec) * 1e3 + (stop.tv_nsec - start.tv_nsec) / 1e6;
    }
    qsort(took, rounds, sizeof *took, is_less);
    printf("%d %.3f\n", count, took[rounds / 2]);
    return 0;
}
