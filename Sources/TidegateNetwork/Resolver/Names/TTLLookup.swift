internal import Synchronization
package import TidegateCore

/// Finds the time to live of names; concurrent requests for the same answer share one search.
package final class TTLLookup: Sendable {
    typealias Completion = @Sendable (Duration?) -> Void

    private struct Key: Hashable {
        let name: String
        let addresses: [IPAddress]
    }

    private struct State {
        var waiting: [Key: [Completion]] = [:]
        var settings: (value: ResolverSettings, until: MonotonicTime)?
    }

    // Generous, because no caller waits for it.
    private static let limit = Duration.seconds(2)
    private static let settingsAge = Duration.seconds(5)

    private let client: DNSClient
    private let time: any TimeSource
    private let settings: @Sendable () -> ResolverSettings
    private let port: UInt16
    private let state = Mutex(State())

    /// Creates a lookup through `client`, on `port` of the servers in `settings`.
    package init(
        client: DNSClient, time: any TimeSource,
        settings: @escaping @Sendable () -> ResolverSettings = ResolverSettings.system, port: UInt16 = 53
    ) {
        self.client = client
        self.time = time
        self.settings = settings
        self.port = port
    }

    /// Finds how long `addresses` are valid for `name`; nil if no server returns the same ones.
    func find(_ name: String, _ addresses: [IPAddress], _ completion: @escaping Completion) {
        let key = Key(name: name, addresses: addresses)
        let isFirst = self.state.withLock { state in
            defer { state.waiting[key, default: []].append(completion) }
            return state.waiting[key] == nil
        }
        if isFirst { self.run(TTLMachine(name, addresses, self.currentSettings()), for: key) }
    }

    /// Makes the next search read the settings again.
    func invalidate() { self.state.withLock { $0.settings = nil } }

    private func run(_ machine: TTLMachine, for key: Key) {
        switch machine.step() {
        case .finish(let timeToLive):
            let waiting = self.state.withLock { $0.waiting.removeValue(forKey: key) } ?? []
            for completion in waiting { completion(timeToLive) }
        case .ask(let full, let type, let server):
            let question = DNSQuestion(
                name: full, type: type, server: server, port: self.port, limit: TTLLookup.limit,
                usesTCP: self.currentSettings().usesTCP)
            // Retains this lookup until the answer, which arrives within the limit, so that every completion is called.
            self.client.ask(question) { outcome in
                var machine = machine
                machine.receive(outcome)
                self.run(machine, for: key)
            }
        }
    }

    // Cached, because a thousand names per second may need them.
    private func currentSettings() -> ResolverSettings {
        let now = self.time.monotonic()
        if let known = self.state.withLock({ $0.settings }), now < known.until { return known.value }
        let value = self.settings()
        self.state.withLock { $0.settings = (value, now + TTLLookup.settingsAge) }
        return value
    }
}
