#pragma once
// What the Glibc module hides from Swift: eventfd, epoll, thread names, socket options.
// _GNU_SOURCE would change structs that the Glibc module has already declared, so it stays undefined here.
#include <errno.h>
#include <spawn.h>
#include <linux/stat.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <asm/unistd.h>
#include <time.h>

// Added in glibc 2.34; Swift does not see it in <spawn.h>.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int) __attribute__((nothrow));

static inline int tg_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int tg_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

/// The token comes back in `epoll_event.data.u64`, whose union Swift cannot write in one step.
static inline int tg_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline uint64_t tg_epoll_token(const struct epoll_event *event) { return event->data.u64; }

/// A timer whose descriptor becomes readable when it expires, and whose clock keeps running while the machine is
/// suspended.
static inline int tg_boot_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

/// Arms the timer for a moment of CLOCK_BOOTTIME; a past moment expires immediately, 0 disarms the timer.
static inline int tg_boot_timer_arm(int timer, uint64_t nanoseconds) {
    struct itimerspec when = {
        .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/// Names the calling thread; the kernel keeps 15 bytes (PR_SET_NAME, prctl(2)).
static inline void tg_thread_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Returns free pages of the heap to the kernel (malloc_trim(3)); the Glibc module lacks <malloc.h>.
int malloc_trim(size_t pad);

/// Replaces a descriptor by a copy of another one (dup3(2)); hidden without _GNU_SOURCE.
int dup3(int descriptor, int replaced, int flags);

/// A file without a name (memfd_create(2)); hidden without _GNU_SOURCE.
int memfd_create(const char *name, unsigned int flags);

/// Moves the calling thread into the namespace behind a descriptor (setns(2)); hidden without _GNU_SOURCE.
int setns(int descriptor, int kind);

/// CLONE_NEWNET: the network part of setns(2).
static inline int tg_enter_network(int descriptor) { return setns(descriptor, 0x40000000); }

/// syscall(2); hidden with <unistd.h>, whose types belong to the Glibc module.
long syscall(long number, ...);

/// Changes the user and group of the calling thread only; setresuid(3) would change those of every thread.
static inline long tg_thread_become(uint32_t id) {
    if (syscall(__NR_setresgid, id, id, id) != 0) return -1;
    return syscall(__NR_setresuid, id, id, id);
}

/// Enables or disables ICMP errors in a socket's error queue (IP_RECVERR in ip(7), IPV6_RECVERR in ipv6(7)); returns 0
/// or the error number.
///
/// The numbers are from <netinet/in.h>, whose types belong to the Glibc module.
static inline int tg_receive_errors(int descriptor, int family, int is_on) {
    int level = family == AF_INET ? 0 : 41;
    int option = family == AF_INET ? 11 : 25;
    return setsockopt(descriptor, level, option, &is_on, sizeof is_on) == 0 ? 0 : errno;
}

/// Sets the hop limit of a socket's packets (IP_TTL in ip(7), IPV6_UNICAST_HOPS in ipv6(7)); returns 0 or the error
/// number.
static inline int tg_set_hop_limit(int descriptor, int family, int limit) {
    int level = family == AF_INET ? 0 : 41;
    int option = family == AF_INET ? 2 : 16;
    return setsockopt(descriptor, level, option, &limit, sizeof limit) == 0 ? 0 : errno;
}

/// Takes the oldest message from a socket's error queue (MSG_ERRQUEUE in recvmsg(2)). Returns the size of its control
/// messages in bytes, or -1 if the queue is empty. `packet` receives the start of the packet that the error is about;
/// `size` is the room for it and receives the number of bytes written.
static inline long tg_take_error(int descriptor, void *packet, size_t *size, void *control, size_t capacity) {
    struct iovec part = {.iov_base = packet, .iov_len = *size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = capacity};
    long count = recvmsg(descriptor, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (count < 0) return -1;
    *size = (size_t)count;
    return (long)message.msg_controllen;
}

/// Makes a socket report the remaining hop limit of the packets it receives (IP_RECVTTL in ip(7), IPV6_RECVHOPLIMIT in
/// ipv6(7)).
static inline void tg_receive_hop_limit(int descriptor, int family) {
    int is_on = 1;
    setsockopt(descriptor, family == AF_INET ? 0 : 41, family == AF_INET ? 12 : 51, &is_on, sizeof is_on);
}

/// Forbids fragmentation of an IPv4 socket's packets, here and on the way, whatever path MTU is known
/// (IP_PMTUDISC_PROBE in ip(7)); returns 0 or the error number.
static inline int tg_forbid_fragments(int descriptor) {
    int mode = 3;
    return setsockopt(descriptor, 0, 10, &mode, sizeof mode) == 0 ? 0 : errno;
}

/// Restricts a socket's packets to one interface (SO_BINDTODEVICE in socket(7)); returns 0 or the error number.
static inline int tg_bind_to_device(int descriptor, const char *name) {
    size_t length = 0;
    while (name[length] != 0) length++;
    return setsockopt(descriptor, SOL_SOCKET, 25, name, (socklen_t)length + 1) == 0 ? 0 : errno;
}

// From <sys/ioctl.h>, whose socket types would clash with the Glibc module.
extern int ioctl(int descriptor, unsigned long request, ...);

/// The flags of an interface (SIOCGIFFLAGS in netdevice(7)); -1 if no interface has that name.
static inline int tg_interface_flags(int descriptor, const char *name) {
    // `struct ifreq` without the parts that this request does not use.
    struct {
        char name[16];
        short flags;
        char rest[32];
    } request = {.name = {0}};
    for (unsigned index = 0; index < sizeof request.name - 1 && name[index] != 0; index++) {
        request.name[index] = name[index];
    }
    return ioctl(descriptor, 0x8913, &request) == 0 ? (unsigned short)request.flags : -1;
}

/// Receives a packet (recvmsg(2)); returns its size in bytes, or -1 with errno set. `name` receives the sender's
/// address, and `hop_limit` the remaining hop limit, or -1 if unknown.
static inline long tg_receive_packet(int descriptor, void *packet, size_t capacity, void *name, size_t name_size,
                                     int *hop_limit) {
    char control[64] __attribute__((aligned(8)));
    struct iovec part = {.iov_base = packet, .iov_len = capacity};
    struct msghdr message = {.msg_name = name, .msg_namelen = (socklen_t)name_size, .msg_iov = &part, .msg_iovlen = 1,
                             .msg_control = control, .msg_controllen = sizeof control};
    *hop_limit = -1;
    long count = recvmsg(descriptor, &message, MSG_DONTWAIT);
    if (count < 0) return -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        int is_hop_limit =
            (part->cmsg_level == 0 && part->cmsg_type == 2) || (part->cmsg_level == 41 && part->cmsg_type == 52);
        if (is_hop_limit && part->cmsg_len >= CMSG_LEN(sizeof(int))) *hop_limit = *(int *)CMSG_DATA(part);
    }
    return count;
}

/// The first four bytes of TCP_INFO (tcp(7)): state, congestion state, retransmits and probes; returns 0 or the error
/// number.
static inline int tg_tcp_info(int descriptor, uint8_t bytes[4]) {
    socklen_t size = 4;
    return getsockopt(descriptor, 6, 11, bytes, &size) == 0 && size == 4 ? 0 : errno;
}

/// Starts writing a range of a file to the disk without waiting for it (SYNC_FILE_RANGE_WRITE, sync_file_range(2));
/// hidden without _GNU_SOURCE.
int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned flags);

static inline int tg_begin_write_back(int descriptor, int64_t offset, int64_t count) {
    return sync_file_range(descriptor, offset, count, 2);
}

/// The user and group of the peer of a Unix socket (unix(7), SO_PEERCRED); 0 or -1.
static inline int tg_peer_credentials(int descriptor, uint32_t *user, uint32_t *group) {
    struct { int32_t process; uint32_t user; uint32_t group; } peer = {0};
    socklen_t length = sizeof peer;
    int result = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    *user = peer.user;
    *group = peer.group;
    return result == 0 && length == sizeof peer ? 0 : -1;
}

/// The supplementary groups of the peer (SO_PEERGROUPS, Linux 4.13); returns their number or -1.
static inline int tg_peer_groups(int descriptor, uint32_t *groups, int capacity) {
    socklen_t length = (socklen_t)capacity * sizeof *groups;
    return getsockopt(descriptor, SOL_SOCKET, 59, groups, &length) == 0 ? (int)(length / sizeof *groups) : -1;
}

/// A number that no other socket of this machine has had (SO_COOKIE, socket(7)); 0 if the kernel does not provide one.
static inline uint64_t tg_socket_cookie(int descriptor) {
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return getsockopt(descriptor, SOL_SOCKET, 57, &cookie, &size) == 0 ? cookie : 0;
}

/// `struct sockaddr_un`, which belongs to the Glibc module, with an abstract name (unix(7)); returns the size in use.
struct tg_abstract_address { unsigned short family; char path[108]; };
static inline socklen_t tg_abstract(struct tg_abstract_address *address, const char *name) {
    size_t length = 0;
    *address = (struct tg_abstract_address){.family = AF_UNIX};
    while (name[length] != 0 && length < sizeof address->path - 1) {
        address->path[length + 1] = name[length];
        length++;
    }
    return (socklen_t)(sizeof address->family + 1 + length);
}

/// Binds a Unix socket to an abstract name and enables sender credentials, from the first message on (SO_PASSCRED);
/// returns 0 or the error number.
static inline int tg_bind_abstract(int descriptor, const char *name) {
    struct tg_abstract_address address;
    socklen_t size = tg_abstract(&address, name);
    int is_on = 1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &is_on, sizeof is_on) != 0) return errno;
    return bind(descriptor, (struct sockaddr *)&address, size) == 0 ? 0 : errno;
}

/// Sends a datagram to the Unix socket with an abstract name, without waiting for buffer space; returns 0 or the error
/// number.
static inline int tg_send_abstract(int descriptor, const char *name, const void *bytes, size_t count) {
    struct tg_abstract_address address;
    socklen_t size = tg_abstract(&address, name);
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    return sendto(descriptor, bytes, count, flags, (struct sockaddr *)&address, size) >= 0 ? 0 : errno;
}

/// Receives a datagram from a Unix socket with the user of its sender (SCM_CREDENTIALS). Returns its size in bytes; 0
/// if it is too long or carries no user; -1 if none is waiting.
static inline long tg_receive_from_user(int descriptor, void *bytes, size_t capacity, uint32_t *user) {
    // Room for exactly three numbers: the kernel then closes any descriptors that a sender passes (SCM_RIGHTS).
    char control[CMSG_SPACE(12)] __attribute__((aligned(8)));
    struct iovec part = {.iov_base = bytes, .iov_len = capacity};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    long count = recvmsg(descriptor, &message, MSG_DONTWAIT);
    if (count < 0) return -1;
    struct cmsghdr *sender = CMSG_FIRSTHDR(&message);
    int has_user = sender && sender->cmsg_level == SOL_SOCKET && sender->cmsg_type == 2 &&
                   sender->cmsg_len >= CMSG_LEN(12);
    if (!has_user || message.msg_flags & MSG_TRUNC) return 0;
    *user = ((uint32_t *)CMSG_DATA(sender))[1];
    return count;
}

/// Reads a file's status (statx(2)); hidden without _GNU_SOURCE.
int statx(int directory, const char *path, int flags, unsigned mask, struct statx *status);

/// Whether something is mounted at a name, a bind-mounted file for example (STATX_ATTR_MOUNT_ROOT, Linux 5.8).
static inline int tg_is_mount_point(int directory, const char *name) {
    struct statx status;
    // AT_SYMLINK_NOFOLLOW.
    return statx(directory, name, 0x100, 0, &status) == 0 && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// From <sys/xattr.h>, which the Glibc module lacks.
ssize_t flistxattr(int descriptor, char *names, size_t size);
ssize_t fgetxattr(int descriptor, const char *name, void *value, size_t size);
int fsetxattr(int descriptor, const char *name, const void *value, size_t size, int flags);
int fremovexattr(int descriptor, const char *name);

/// Gives a file the extended attributes of another one, ACLs included, as far as permitted (xattr(7)).
///
/// Left out are attributes about the other one's bytes: capabilities and signatures. An ACL that the directory gave to
/// the new file goes.
static inline void tg_copy_attributes(int from, int to) {
    char names[4096], value[65536];
    fremovexattr(to, "system.posix_acl_access");
    ssize_t size = flistxattr(from, names, sizeof names);
    for (ssize_t start = 0; start < size; start += (ssize_t)strlen(names + start) + 1) {
        const char *name = names + start;
        if (strncmp(name, "security.", 9) == 0 && strcmp(name, "security.selinux") != 0) continue;
        ssize_t length = fgetxattr(from, name, value, sizeof value);
        if (length >= 0) fsetxattr(to, name, value, (size_t)length, 0);
    }
}

/// Reads the status of the file at a path: 0, or -1 with errno set. SwiftNIO's file system redeclares `struct stat`, so
/// a Swift file that does not import that module may not use its fields.
static inline int tg_file_status(const char *path, int follows_links, int *is_socket, uint32_t *group,
                                 uint64_t *device, uint64_t *inode) {
    struct statx status;
    // AT_FDCWD, and AT_SYMLINK_NOFOLLOW or 0.
    if (statx(-100, path, follows_links ? 0 : 0x100, STATX_BASIC_STATS, &status) != 0) return -1;
    // S_IFMT and S_IFSOCK.
    *is_socket = (status.stx_mode & 0170000) == 0140000;
    *group = status.stx_gid;
    *device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    *inode = status.stx_ino;
    return 0;
}
