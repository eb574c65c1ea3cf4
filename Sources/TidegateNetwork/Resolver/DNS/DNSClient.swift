internal import Synchronization
internal import TidegateLoop
package import TidegateCore

/// Asks name servers directly, by UDP and, where an answer is too long for that, over TCP.
///
/// One thread, `tg-dns-ask`, waits for all answers; it starts with the first question.
package final class DNSClient: Sendable {
    private let time: any TimeSource
    private let onThreadStart: @Sendable () -> Void
    private let thread = Mutex<LoopThread<DNSClientLoop>?>(nil)

    /// A client without a thread yet; `onThreadStart` runs on it first, for tests to enter a namespace.
    package init(time: any TimeSource, onThreadStart: @escaping @Sendable () -> Void = {}) {
        self.time = time
        self.onThreadStart = onThreadStart
    }

    /// Asks; `completion` is called once, on the client's thread, within the question's limit.
    ///
    /// At most 64 questions are on their way at a time and 4096 wait; further ones fail with `EAGAIN` at once, on the
    /// caller's thread. A question's limit runs from now on.
    package func ask(_ question: DNSQuestion, completion: @escaping @Sendable (DNSOutcome) -> Void) {
        let order = DNSClientLoop.Order(
            question: question, deadline: self.time.monotonic() + question.limit, completion: completion)
        guard let thread = self.runningThread(), thread.send(order) else { return completion(.failed(code: "EAGAIN")) }
    }

    private func runningThread() -> LoopThread<DNSClientLoop>? {
        let (time, onThreadStart) = (self.time, self.onThreadStart)
        return self.thread.withLock { thread in
            if thread == nil {
                thread = try? LoopThread(name: "tg-dns-ask") { loop in
                    onThreadStart()
                    return DNSClientLoop(loop: loop, time: time)
                }
            }
            return thread
        }
    }

    /// Gives up whatever is under way and ends the thread.
    package func stop() { self.thread.withLock { $0.take() }?.stop() }
}
