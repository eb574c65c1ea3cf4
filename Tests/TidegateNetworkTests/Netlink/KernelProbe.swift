internal import Synchronization
internal import TidegateCore
internal import TidegateNetwork
internal import TidegateTestKit

/// Runs closures on a netlink thread inside a namespace, and keeps the news.
final class KernelProbe: Sendable {
    typealias Errand = @Sendable (NetlinkClient) -> Void

    private final class Observer: NetlinkDelegate {
        typealias Command = Errand

        private let kernel: NetlinkClient
        private let heard: Heard

        init(_ kernel: NetlinkClient, _ heard: Heard) {
            self.kernel = kernel
            self.heard = heard
        }

        func started(send: @escaping @Sendable (@escaping Errand) -> Bool) {}
        func kernelChanged(_ news: NetlinkChanges) { self.heard.take(news) }
        func receive(_ command: @escaping Errand) { command(self.kernel) }
        func timerFired(_ token: UInt64) {}
        func stopping() {}
    }

    /// The news of a kernel, as they came.
    final class Heard: Sendable {
        private let all = Mutex<[NetlinkChanges]>([])

        func take(_ news: NetlinkChanges) { self.all.withLock { $0.append(news) } }

        var news: [NetlinkChanges] { self.all.withLock { $0 } }
        var events: [NetlinkEvent] { self.news.flatMap(\.events) }
        var neighbours: [KernelNeighbour] { self.news.flatMap(\.neighbours) }
    }

    let heard: Heard
    private let thread: NetlinkThread<Observer>

    init(_ namespace: NetworkNamespace, tune: (inout NetlinkOptions) -> Void = { _ in }) throws {
        var options = NetlinkOptions(onThreadStart: { namespace.enter() })
        tune(&options)
        let heard = Heard()
        self.heard = heard
        self.thread = try NetlinkThread(options: options) { Observer($0, heard) }
    }

    deinit { self.thread.stop() }

    /// Asks on the netlink thread.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (NetlinkClient) -> Answer) async -> Answer? {
        await withCheckedContinuation { waiter in
            let isSent = self.thread.send { kernel in waiter.resume(returning: question(kernel)) }
            if !isSent { waiter.resume(returning: nil) }
        }
    }

    func explanation(of question: RouteQuestion) async -> RouteExplanation? {
        await self.ask { $0.explanation(of: question) } ?? nil
    }

    /// Waits until what was heard is as wanted.
    func hears(within limit: Duration = .seconds(5), _ isWanted: (Heard) -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if isWanted(self.heard) { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return isWanted(self.heard)
    }

    /// Asks again and again until the answer is yes; gives the last one.
    func holds(within limit: Duration = .seconds(5), _ isTrue: @escaping @Sendable (NetlinkClient) -> Bool) async
        -> Bool
    {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if await self.ask(isTrue) ?? false { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }

    static let isPossible = NetworkNamespace.isAvailable
}
