// The peer for "10,000 targets": a C program that asks the kernel the same questions, twenty-four targets per send,
// both ways, and prints in milliseconds how long each pass over all of them took.
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PER_SEND = 24 };

struct question {
    struct nlmsghdr header;
    struct rtmsg route;
    struct rtattr attribute;
    uint32_t address;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int pass(int fd, int count) {
    static char buffer[65536];
    struct question questions[2 * PER_SEND];
    for (int start = 0; start < count; start += PER_SEND) {
        int here = count - start < PER_SEND ? count - start : PER_SEND;
        memset(questions, 0, sizeof questions);
        for (int i = 0; i < 2 * here; i++) {
            struct question *q = &questions[i];
            q->header = (struct nlmsghdr){
                .nlmsg_len = sizeof *q, .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST,
                .nlmsg_seq = (uint32_t)i + 1};
            q->route = (struct rtmsg){
                .rtm_family = AF_INET, .rtm_dst_len = 32,
                .rtm_flags = RTM_F_LOOKUP_TABLE | (i % 2 == 0 ? RTM_F_FIB_MATCH : 0)};
            q->attribute = (struct rtattr){.rta_len = sizeof q->attribute + 4, .rta_type = RTA_DST};
            q->address = htonl(0x14000001u + (uint32_t)(start + i / 2) * 256);
        }
        size_t length = (size_t)(2 * here) * sizeof *questions;
        if (send(fd, questions, length, 0) != (ssize_t)length) return -1;
        for (int answers = 0; answers < 2 * here;) {
            int rest = (int)recv(fd, buffer, sizeof buffer, 0);
            if (rest <= 0) return -1;
            for (struct nlmsghdr *m = (struct nlmsghdr *)buffer; NLMSG_OK(m, rest); m = NLMSG_NEXT(m, rest)) answers++;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (fd < 0 || connect(fd, (struct sockaddr *)&kernel, sizeof kernel) != 0) return 1;
    for (int i = 0; i < atoi(argv[2]); i++) {
        double start = now();
        if (pass(fd, atoi(argv[1])) != 0) return 1;
        printf("%.2f\n", now() - start);
    }
}
