internal import Glibc
internal import Synchronization

/// A port that nothing else takes between finding it and listening on it.
///
/// The kernel gives ports of its ephemeral range to connections and to listeners on port 0 (ip(7),
/// `ip_local_port_range`, 32768 to 60999): one of those that was free a moment ago may be taken when it is bound again,
/// even by a client that tries it meanwhile and is connected to itself. Ports below that range are never given away.
package enum FreePort {
    // A port that is only tried is not free for that moment, not even for who found it before.
    private static let given = Mutex<Set<UInt16>>([])

    /// Finds one of an address of the loopback network; throws when none of them is free.
    package static func find(on address: String = "127.0.0.1") throws -> Int {
        for port in (20_000..<32_000 as Range<UInt16>).shuffled() {
            guard self.given.withLock({ $0.insert(port).inserted }) else { continue }
            guard let descriptor = try? LiveServerSocket.listen(address, port) else { continue }
            close(descriptor)
            return Int(port)
        }
        throw NoFreePort()
    }

    private struct NoFreePort: Error {}
}
