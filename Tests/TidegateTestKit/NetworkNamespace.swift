internal import CLinux
internal import Glibc
internal import Synchronization

/// A fresh network namespace for one test; deleted when it goes out of scope.
public final class NetworkNamespace: Sendable {
    /// The name that `ip netns` knows it by.
    public let name: String
    private static let count = Atomic<Int>(0)

    /// True where namespaces can be made: as root, with `ip`.
    public static var isAvailable: Bool { geteuid() == 0 && NamespaceCommand.run(["ip", "netns", "list"]).status == 0 }

    /// True where the kernel can make links of a kind, `bond` for one.
    public static func knows(_ kind: String) -> Bool {
        guard self.isAvailable, let namespace = try? NetworkNamespace("k") else { return false }
        return (try? namespace.ip("link add k0 type \(kind)")) != nil
    }

    /// A new namespace with its loopback up.
    public init(_ label: String = "t") throws {
        let number = NetworkNamespace.count.add(1, ordering: .relaxed).newValue
        self.name = "tg\(getpid())-\(number)\(label)"
        try NamespaceCommand.check(["ip", "netns", "add", self.name])
        try self.ip("link set lo up")
    }

    deinit { _ = NamespaceCommand.run(["ip", "netns", "delete", self.name]) }

    /// Runs `ip` inside, words separated by blanks.
    public func ip(_ words: String) throws {
        try NamespaceCommand.check(["ip", "-n", self.name] + words.split(separator: " ").map(String.init))
    }

    /// Runs several `ip` commands inside, one a line, in one process.
    public func batch(_ lines: String) throws {
        try NamespaceCommand.check(["ip", "-n", self.name, "-batch", "-"], input: lines + "\n")
    }

    /// Runs any command inside.
    public func run(_ words: [String]) throws {
        try NamespaceCommand.check(["ip", "netns", "exec", self.name] + words)
    }

    /// Sets a kernel parameter inside.
    public func sysctl(_ setting: String) throws { try self.run(["sysctl", "-q", "-w", setting]) }

    /// Starts a command inside; it ends with the returned value.
    public func start(_ words: [String]) throws -> RunningCommand {
        try RunningCommand(["ip", "netns", "exec", self.name] + words)
    }

    /// Moves the calling thread in; only for threads that belong to the test alone.
    public func enter() {
        let descriptor = open("/run/netns/\(self.name)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = tg_enter_network(descriptor)
        close(descriptor)
    }
}
