internal import CLinux
internal import Foundation
internal import Glibc
internal import Synchronization

/// A new network namespace for one test; deleted when it goes out of scope.
package final class NetworkNamespace: Sendable {
    /// The name for `ip netns`.
    package let name: String
    private static let count = Atomic<Int>(0)

    /// True if namespaces can be created: as root, with `ip`.
    package static var isAvailable: Bool {
        geteuid() == 0 && NamespaceCommand.run(["ip", "netns", "list"]).status == 0
    }

    /// True if the kernel supports a kind of link, such as `bond`.
    package static func supports(_ kind: String) -> Bool {
        guard self.isAvailable, let namespace = try? NetworkNamespace("k") else { return false }
        return (try? namespace.ip("link add k0 type \(kind)")) != nil
    }

    /// A new namespace with its loopback up.
    package init(_ label: String = "t") throws {
        let number = NetworkNamespace.count.add(1, ordering: .relaxed).newValue
        self.name = "tg\(getpid())-\(number)\(label)"
        try NamespaceCommand.check(["ip", "netns", "add", self.name])
        try self.ip("link set lo up")
    }

    deinit {
        _ = NamespaceCommand.run(["ip", "netns", "delete", self.name])
        try? FileManager.default.removeItem(at: self.files)
    }

    private var files: URL { URL(fileURLWithPath: "/etc/netns/\(self.name)") }

    /// Writes a file that commands inside see below /etc (ip-netns(8)), such as `resolv.conf`.
    package func put(_ text: String, _ path: String) throws {
        let file = self.files.appending(path: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    /// Runs `ip` inside, with arguments separated by blanks.
    package func ip(_ arguments: String) throws {
        try NamespaceCommand.check(["ip", "-n", self.name] + arguments.split(separator: " ").map(String.init))
    }

    /// Runs several `ip` commands inside, one per line, in one process.
    package func batch(_ lines: String) throws {
        try NamespaceCommand.check(["ip", "-n", self.name, "-batch", "-"], input: lines + "\n")
    }

    /// The command that runs a command inside; without one, the prefix of such commands.
    package func inside(_ command: [String] = []) -> [String] { ["ip", "netns", "exec", self.name] + command }

    /// Runs any command inside.
    package func run(_ command: [String]) throws { try NamespaceCommand.check(self.inside(command)) }

    /// Waits until devices can send: a busy kernel drops all packets for some time after a device was set up.
    package func waitForLinks(_ devices: String...) throws {
        let isUp = "until ip -o link show dev $d | grep -q 'state UP'; do sleep 0.02; done"
        try self.run(["sh", "-c", "for d in \(devices.joined(separator: " ")); do \(isUp); done"])
    }

    /// Sets a kernel parameter inside.
    package func sysctl(_ setting: String) throws { try self.run(["sysctl", "-q", "-w", setting]) }

    /// Starts a command inside; it is killed when the returned value is released.
    package func start(_ command: [String]) throws -> RunningCommand { try RunningCommand(self.inside(command)) }

    /// Moves the calling thread inside; only for threads that the test owns.
    package func enter() {
        let descriptor = open("/run/netns/\(self.name)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = tg_enter_network(descriptor)
        close(descriptor)
    }
}
