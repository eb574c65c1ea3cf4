internal import Synchronization
package import TidegateCore

/// Learns how long names are good for; everybody who asks about the same name meanwhile shares one answer.
package final class TTLLookup: Sendable {
    typealias Completion = @Sendable (Duration?) -> Void

    private struct Topic: Hashable {
        let name: String
        let addresses: [IPAddress]
    }

    private struct State {
        var waiting: [Topic: [Completion]] = [:]
        var settings: (value: ResolverSettings, until: MonotonicTime)?
    }

    // Nobody waits for it, so a slow server may take its time; but not for ever.
    private static let limit = Duration.seconds(2)
    private static let settingsAge = Duration.seconds(5)

    private let client: DNSClient
    private let time: any TimeSource
    private let settings: @Sendable () -> ResolverSettings
    private let port: UInt16
    private let state = Mutex(State())

    /// A desk that asks through `client`, at `port` of the servers that `settings` names.
    package init(
        client: DNSClient, time: any TimeSource,
        settings: @escaping @Sendable () -> ResolverSettings = ResolverSettings.system, port: UInt16 = 53
    ) {
        self.client = client
        self.time = time
        self.settings = settings
        self.port = port
    }

    /// Finds out how long `addresses` are good for `name`; nil where no server names the same ones.
    func learn(_ name: String, _ addresses: [IPAddress], _ completion: @escaping Completion) {
        let topic = Topic(name: name, addresses: addresses)
        let isFirst = self.state.withLock { state in
            defer { state.waiting[topic, default: []].append(completion) }
            return state.waiting[topic] == nil
        }
        if isFirst { self.go(on: TTLMachine(name, addresses, self.currentSettings()), for: topic) }
    }

    /// Reads the settings anew with the next question.
    func invalidate() { self.state.withLock { $0.settings = nil } }

    private func go(on machine: TTLMachine, for topic: Topic) {
        switch machine.step() {
        case .finish(let timeToLive):
            let waiting = self.state.withLock { $0.waiting.removeValue(forKey: topic) } ?? []
            for completion in waiting { completion(timeToLive) }
        case .ask(let full, let type, let server):
            let question = DNSQuestion(
                name: full, type: type, server: server, port: self.port, limit: TTLLookup.limit)
            // Keeps the desk until the answer, which comes within the limit: whoever waits has to hear.
            self.client.ask(question) { outcome in
                var machine = machine
                machine.heard(outcome)
                self.go(on: machine, for: topic)
            }
        }
    }

    // The files are small, but a thousand names a second ask.
    private func currentSettings() -> ResolverSettings {
        let now = self.time.monotonic()
        if let known = self.state.withLock({ $0.settings }), now < known.until { return known.value }
        let value = self.settings()
        self.state.withLock { $0.settings = (value, now + TTLLookup.settingsAge) }
        return value
    }
}
