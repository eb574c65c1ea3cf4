/// How many bytes an interface has received and sent (/proc/net/dev in proc_net(5)).
package struct InterfaceBytes: Sendable, Hashable {
    package var received: UInt64
    package var sent: UInt64

    /// Nil if this host has no such interface.
    package init?(of interface: String) { self.init(of: interface, in: SystemFiles.text("/proc/net/dev") ?? "") }

    /// Parses the file.
    init?(of interface: String, in text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].drop(while: { $0 == " " }) == interface else { continue }
            let numbers = parts[1].split(separator: " ").compactMap { UInt64($0) }
            guard numbers.count > 8 else { return nil }
            (self.received, self.sent) = (numbers[0], numbers[8])
            return
        }
        return nil
    }

    /// The bytes of the busier direction since `before`.
    package func most(since before: InterfaceBytes) -> Double {
        Double(max(self.received &- before.received, self.sent &- before.sent))
    }
}
