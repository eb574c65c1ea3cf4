/// What an interface has counted since it exists (/proc/net/dev in proc_net(5)).
package struct InterfaceCounters: Sendable, Hashable {
    /// In bytes.
    package var received: UInt64
    /// In bytes.
    package var sent: UInt64
    /// Damaged frames, and those that could not be sent; packets that were dropped on purpose are not among them.
    package var errors: UInt64
    /// In both directions.
    package var packets: UInt64
    package var receivedPackets: UInt64

    /// Nil if the calling thread's network namespace has no such interface.
    package init?(of interface: String) {
        self.init(of: interface, in: SystemFiles.text("/proc/thread-self/net/dev") ?? "")
    }

    /// Parses the file.
    init?(of interface: String, in text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].drop(while: { $0 == " " }) == interface else { continue }
            let numbers = parts[1].split(separator: " ").compactMap { UInt64($0) }
            guard numbers.count > 14 else { return nil }
            (self.received, self.sent) = (numbers[0], numbers[8])
            (self.receivedPackets, self.packets) = (numbers[1], numbers[1] &+ numbers[9])
            // Received errs and frame, sent errs and carrier: in some drivers the first contains the second.
            self.errors = max(numbers[2], numbers[5]) + max(numbers[10], numbers[14])
            return
        }
        return nil
    }

    /// The bytes of the busier direction since `before`.
    package func most(since before: InterfaceCounters) -> Double {
        Double(max(self.received &- before.received, self.sent &- before.sent))
    }
}
