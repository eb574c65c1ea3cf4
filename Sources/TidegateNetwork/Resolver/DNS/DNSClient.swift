internal import Synchronization
internal import TidegateLoop
package import TidegateCore

/// Sends questions to name servers directly, by UDP and, if the answer is too long for that, over TCP.
///
/// One thread, `tg-dns-client`, waits for all answers; it starts with the first question.
package final class DNSClient: Sendable {
    private let time: any TimeSource
    private let own: OwnSockets?
    private let onThreadStart: @Sendable () -> Void
    private let thread = Mutex<LoopThread<DNSClientLoop>?>(nil)

    /// A client without a thread yet; `onThreadStart` runs on it first, so that tests can enter a namespace.
    ///
    /// TCP sockets are noted in `own`.
    package init(
        time: any TimeSource, own: OwnSockets? = nil, onThreadStart: @escaping @Sendable () -> Void = {}
    ) {
        self.time = time
        self.own = own
        self.onThreadStart = onThreadStart
    }

    /// Sends a question; `completion` is called once, on the client's thread, within the question's limit.
    ///
    /// At most 64 questions are sent at a time and 4096 wait; further ones fail with `EAGAIN` at once, on the caller's
    /// thread. The limit starts with this call.
    package func ask(_ question: DNSQuestion, completion: @escaping @Sendable (DNSOutcome) -> Void) {
        let request = DNSRequest(
            question: question, deadline: self.time.monotonic() + question.limit, completion: completion)
        guard let thread = self.runningThread(), thread.send(request) else {
            return completion(.failed(code: "EAGAIN"))
        }
    }

    private func runningThread() -> LoopThread<DNSClientLoop>? {
        let (time, own, onThreadStart) = (self.time, self.own, self.onThreadStart)
        return self.thread.withLock { thread in
            if thread == nil {
                thread = try? LoopThread(name: "tg-dns-client") { loop in
                    onThreadStart()
                    return DNSClientLoop(loop: loop, time: time, own: own)
                }
            }
            return thread
        }
    }

    /// Ends the questions under way as timed out, then the thread.
    package func stop() { self.thread.withLock { $0.take() }?.stop() }
}
