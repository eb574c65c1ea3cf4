package import TidegateCore

/// A configured target, as connections of other programs are told apart by it.
package struct ObservedTarget: Sendable, Hashable {
    /// Its name in metrics.
    package var name: String
    /// Its addresses, as our own resolver gave them.
    package var addresses: [IPAddress]
    /// Its port; nil for any.
    package var port: UInt16?

    package init(name: String, addresses: [IPAddress], port: UInt16?) {
        self.name = name
        self.addresses = addresses
        self.port = port
    }
}

/// Finds the target that a remote is.
struct TargetIndex {
    private var targets: [IPAddress: [(port: UInt16?, name: String)]] = [:]

    init(_ targets: [ObservedTarget] = []) {
        for target in targets {
            for address in target.addresses {
                self.targets[address.withoutZone, default: []].append((target.port, target.name))
            }
        }
    }

    /// The target that programs of this machine reach there; nil for none.
    ///
    /// Where the kernel does not tell the port any more, the only target of that address is taken.
    func name(of remote: Remote) -> String? {
        guard remote.direction == .outgoing, let found = self.targets[remote.address.withoutZone] else { return nil }
        guard let port = remote.port else { return found.count == 1 ? found.first?.name : nil }
        return (found.first { $0.port == port } ?? found.first { $0.port == nil })?.name
    }
}
