#pragma once
// libnl's sockets and messages, the rtnetlink constants, and macros that Swift cannot import.
#include <linux/ethtool_netlink.h>
#include <linux/fib_rules.h>
#include <linux/filter.h>
#include <linux/gen_stats.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/nl80211.h>
#include <linux/rtnetlink.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stddef.h>
#include <stdint.h>

// <linux/if.h> clashes with the Glibc module, whose <net/if.h> lacks these two.
enum { TG_IFF_LOWER_UP = 1 << 16, TG_IFF_DORMANT = 1 << 17 };

// Linux 5.18 and libnl 3.7 differ in which of these they declare; the numbers are kernel ABI.
enum { TG_IFLA_CARRIER_UP_COUNT = 47, TG_IFLA_CARRIER_DOWN_COUNT = 48, TG_RTEXT_FILTER_SKIP_STATS = 1 << 3 };

/// setns(2); hidden without _GNU_SOURCE.
int setns(int descriptor, int kind);

/// Moves the calling thread into the network namespace behind a descriptor (CLONE_NEWNET).
static inline int tg_join_network(int descriptor) { return setns(descriptor, 0x40000000); }

static inline struct nlmsghdr *tg_message(const void *bytes) { return (struct nlmsghdr *)bytes; }

/// The payload of a message; the caller must check its length first.
static inline const void *tg_body(const struct nlmsghdr *message) { return nlmsg_data(message); }

/// The first nexthop of an RTA_MULTIPATH attribute; NULL if the attribute is too short for one.
static inline const struct rtnexthop *tg_nexthop_at(const void *bytes, size_t offset, size_t length) {
    if (offset > length || length - offset < sizeof(struct rtnexthop)) return NULL;
    const struct rtnexthop *hop = (const struct rtnexthop *)((const char *)bytes + offset);
    if (hop->rtnh_len < sizeof(struct rtnexthop) || hop->rtnh_len > length - offset) return NULL;
    return hop;
}
