package import TidegateCore

/// Sends questions to name servers directly, by UDP and, if the answer is too long for that, over TCP.
///
/// One thread, `tg-dns-client`, waits for all answers; it starts with the first question.
package final class DNSClient: Sendable {
    private let time: any TimeSource
    private let own: OwnSockets?
    private let thread: ExchangeThread<DNSExchange>

    /// A client without a thread yet; `onThreadStart` runs on it first, so that tests can enter a namespace.
    ///
    /// TCP sockets are noted in `own`.
    package init(
        time: any TimeSource, own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.time = time
        self.own = own
        self.thread = ExchangeThread(name: "tg-dns-client", onStart: onThreadStart)
    }

    /// Sends a question; `completion` is called once, on the client's thread, within the question's limit.
    ///
    /// At most 64 questions are sent at a time and 4096 wait; further ones fail with `EAGAIN`. The limit starts with this
    /// call. For a name that does not fit into a packet, and so cannot exist, `completion` is called on the caller's
    /// thread.
    package func ask(_ question: DNSQuestion, completion: @escaping @Sendable (DNSOutcome) -> Void) {
        let query = DNSQuery(question.name, question.type, id: .random(in: .min ... .max))
        guard let query else { return completion(.nameNotFound) }
        self.thread.run(DNSExchange(question, query, self.time, noting: self.own), completion: completion)
    }

    /// Ends the questions under way as timed out, then the thread.
    func stop() { self.thread.stop() }
}
