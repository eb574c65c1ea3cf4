internal import Synchronization
package import TidegateCore
package import TidegateNetwork

extension PathDiagnostics {
    /// What a diagnosis sends packets with; a test puts it into its namespace.
    package struct Dependencies: Sendable {
        private let probe: LazyUDPProbe
        let dns: DNSClient
        let settings: @Sendable () -> ResolverSettings
        /// The port of resolvers.
        let dnsPort: UInt16

        /// Dependencies with threads of their own; `onThreadStart` runs first on each of them.
        package init(
            time: any TimeSource, onThreadStart: @escaping @Sendable () -> Void = {},
            settings: @escaping @Sendable () -> ResolverSettings = ResolverSettings.system, dnsPort: UInt16 = 53
        ) {
            self.probe = LazyUDPProbe(onThreadStart: onThreadStart)
            self.dns = DNSClient(time: time, onThreadStart: onThreadStart)
            self.settings = settings
            self.dnsPort = dnsPort
        }

        /// Sends a UDP probe to an address; nil if there is no thread to do it.
        func udpProbe(_ address: IPAddress, within limit: Duration) async -> UDPProbe.Result? {
            guard let probe = self.probe.probe else { return nil }
            return await withCheckedContinuation { waiter in
                probe.probe(address, within: limit) { waiter.resume(returning: $0) }
            }
        }

        /// Sends one query to one resolver.
        func query(_ name: String, _ type: DNSQuestion.RecordType, _ server: IPAddress, within limit: Duration) async
            -> DNSOutcome
        {
            let question = DNSQuestion(name: name, type: type, server: server, port: self.dnsPort, limit: limit)
            return await withCheckedContinuation { waiter in
                self.dns.ask(question) { waiter.resume(returning: $0) }
            }
        }
    }
}

/// A UDP probe whose thread starts with the first packet: most diagnoses never send one.
private final class LazyUDPProbe: Sendable {
    private let onThreadStart: @Sendable () -> Void
    private let made = Mutex<UDPProbe?>(nil)

    init(onThreadStart: @escaping @Sendable () -> Void) { self.onThreadStart = onThreadStart }

    var probe: UDPProbe? {
        self.made.withLock { made in
            if made == nil { made = try? UDPProbe(onThreadStart: self.onThreadStart) }
            return made
        }
    }
}
