internal import Foundation

/// A directory on which system calls of programs fail when a test says so, by a preloaded library.
package final class FaultyDisk: Sendable {
    /// A system call that fails.
    package enum Fault: String, Sendable, CaseIterable {
        /// fsync(2) and fdatasync(2) do not return.
        case hungSync = "hung-sync"
        /// renameat(2) fails with ENOSPC.
        case fullRename = "full-rename"
        /// fsync(2) fails with ENOSPC.
        case fullSync = "full-sync"
        /// fsync(2) of a directory fails with ENOSPC.
        case fullDirectorySync = "full-directory-sync"
    }

    /// True if the library can be built.
    package static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/cc") }

    private static let source = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static int is(const char *fault) {
            char path[512];
            const char *folder = getenv("TIDEGATE_FAULTS");
            if (!folder) return 0;
            snprintf(path, sizeof path, "%s/%s", folder, fault);
            if (access(path, F_OK) != 0) return 0;
            snprintf(path, sizeof path, "%s/%s.met", folder, fault);
            if (access(path, F_OK) != 0) close(open(path, O_CREAT | O_WRONLY, 0600));
            return 1;
        }
        static int sync_or_fail(long call, int fd) {
            while (is("hung-sync")) usleep(20000);
            return syscall(call, fd);
        }
        int fsync(int fd) {
            struct stat status;
            if (is("full-sync")) { errno = ENOSPC; return -1; }
            if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && is("full-directory-sync")) {
                errno = ENOSPC;
                return -1;
            }
            return sync_or_fail(SYS_fsync, fd);
        }
        int fdatasync(int fd) { return sync_or_fail(SYS_fdatasync, fd); }
        int renameat(int old, const char *from, int new, const char *to) {
            if (is("full-rename")) { errno = ENOSPC; return -1; }
            return syscall(SYS_renameat2, old, from, new, to, 0);
        }
        """

    /// The directory's path.
    package let path: String

    /// Creates the directory, and the library with cc(1).
    package init() async throws {
        self.path = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-faulty-\(UUID())").path
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        try FaultyDisk.source.write(toFile: self.file("faults.c"), atomically: true, encoding: .utf8)
        try await Program.expect([
            "/usr/bin/cc", "-shared", "-fPIC", "-O1", "-o", self.file("faults.so"), self.file("faults.c"),
        ])
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    /// A path in the directory.
    package func file(_ name: String) -> String { "\(self.path)/\(name)" }

    /// Makes the call fail until ``repair(_:)``.
    package func fail(_ fault: Fault) throws { try Data().write(to: URL(fileURLWithPath: self.file(fault.rawValue))) }

    /// Makes the call work again.
    package func repair(_ fault: Fault) throws { try FileManager.default.removeItem(atPath: self.file(fault.rawValue)) }

    /// True once a program made the failing call.
    package func wasReached(_ fault: Fault) -> Bool {
        FileManager.default.fileExists(atPath: self.file("\(fault.rawValue).met"))
    }

    /// Starts a program with the library.
    package func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Program {
        let own = ["LD_PRELOAD": self.file("faults.so"), "TIDEGATE_FAULTS": self.path]
        return try Program(arguments, environment: environment.merging(own) { $1 })
    }
}
