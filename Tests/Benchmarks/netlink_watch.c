// The peer for "link down to gate shut": a C program on raw netlink that prints, in nanoseconds of CLOCK_MONOTONIC,
// the moment at which it has read that a link lost IFF_LOWER_UP or IFF_UP.
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP 0x10000
#endif

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    int watched = (int)if_nametoindex(argv[1]);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    if (watched == 0 || fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return 1;
    puts("ready");
    fflush(stdout);
    static char buffer[65536];
    int was_up = 1;
    for (;;) {
        ssize_t length = recv(fd, buffer, sizeof buffer, 0);
        if (length <= 0) return 1;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (struct nlmsghdr *m = (struct nlmsghdr *)buffer; NLMSG_OK(m, (unsigned)length); m = NLMSG_NEXT(m, length)) {
            if (m->nlmsg_type != RTM_NEWLINK) continue;
            struct ifinfomsg *info = NLMSG_DATA(m);
            if (info->ifi_index != watched || info->ifi_family != AF_UNSPEC) continue;
            int is_up = (info->ifi_flags & IFF_LOWER_UP) && (info->ifi_flags & IFF_UP);
            if (was_up && !is_up) {
                printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
                fflush(stdout);
            }
            was_up = is_up;
        }
    }
}
