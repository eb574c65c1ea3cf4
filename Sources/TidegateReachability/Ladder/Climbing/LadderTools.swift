internal import Synchronization
package import TidegateCore
package import TidegateNetwork

/// What a climb asks the network with; a test puts it into its namespace.
package struct LadderTools: Sendable {
    private let pokers: LazyPoker
    let dns: DNSClient
    let settings: @Sendable () -> ResolverSettings
    /// The port that resolvers are asked at.
    let dnsPort: UInt16

    /// Tools with threads of their own; `onThreadStart` runs on each of them first.
    package init(
        time: any TimeSource, onThreadStart: @escaping @Sendable () -> Void = {},
        settings: @escaping @Sendable () -> ResolverSettings = ResolverSettings.system, dnsPort: UInt16 = 53
    ) {
        self.pokers = LazyPoker(onThreadStart: onThreadStart)
        self.dns = DNSClient(time: time, onThreadStart: onThreadStart)
        self.settings = settings
        self.dnsPort = dnsPort
    }

    /// Pokes an address; nil where there is no thread to do it.
    func poke(_ address: IPAddress, within limit: Duration) async -> UDPProbe.Result? {
        guard let poker = self.pokers.poker else { return nil }
        return await withCheckedContinuation { waiter in
            poker.probe(address, within: limit) { waiter.resume(returning: $0) }
        }
    }

    /// Asks one resolver one question.
    func ask(_ name: String, _ type: DNSQuestion.RecordType, _ server: IPAddress, within limit: Duration) async
        -> DNSOutcome
    {
        let question = DNSQuestion(name: name, type: type, server: server, port: self.dnsPort, limit: limit)
        return await withCheckedContinuation { waiter in
            self.dns.ask(question) { waiter.resume(returning: $0) }
        }
    }
}

/// A poker whose thread starts with the first poke: most climbers never get to one.
private final class LazyPoker: Sendable {
    private let onThreadStart: @Sendable () -> Void
    private let made = Mutex<UDPProbe?>(nil)

    init(onThreadStart: @escaping @Sendable () -> Void) { self.onThreadStart = onThreadStart }

    var poker: UDPProbe? {
        self.made.withLock { made in
            if made == nil { made = try? UDPProbe(onThreadStart: self.onThreadStart) }
            return made
        }
    }
}
