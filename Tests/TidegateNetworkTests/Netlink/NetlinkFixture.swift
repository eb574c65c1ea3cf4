internal import Synchronization
internal import TidegateCore
internal import TidegateLoop
@testable internal import TidegateNetwork
internal import TidegateTestKit

/// Runs closures on a netlink thread inside a namespace, and records the changes.
final class NetlinkFixture: Sendable {
    typealias Work = @Sendable (NetlinkClient) -> Void

    private final class Handler: LoopHandler {
        typealias Command = Work

        private let client: NetlinkClient
        private let recorder: Recorder

        init(_ client: NetlinkClient, _ recorder: Recorder) {
            self.client = client
            self.recorder = recorder
            recorder.record(client.start())
        }

        func receive(_ command: @escaping Work) { command(self.client) }
        func ready(_ descriptor: Int32, for events: Loop.Interest) {
            self.recorder.record(self.client.ready(descriptor))
        }
        func timerFired(_ token: UInt64) { self.recorder.record(self.client.timerFired(token).changes) }
        func stopping() { self.client.disconnect() }
    }

    /// The changes in the order in which they were reported.
    final class Recorder: Sendable {
        private let all = Mutex<[NetlinkChanges]>([])

        func record(_ changes: NetlinkChanges) { self.all.withLock { $0.append(changes) } }

        var changes: [NetlinkChanges] { self.all.withLock { $0 } }
        var events: [NetlinkEvent] { self.changes.flatMap(\.events) }
        var neighbours: [KernelNeighbour] { self.changes.flatMap(\.neighbours) }
    }

    let recorder: Recorder
    private let thread: LoopThread<Handler>

    init(_ namespace: NetworkNamespace, configure: (inout NetlinkOptions) -> Void = { _ in }) throws {
        var options = NetlinkOptions(onThreadStart: { namespace.enter() })
        configure(&options)
        let recorder = Recorder()
        self.recorder = recorder
        self.thread = try LoopThread(name: "tg-netlink") { [options] loop in
            Handler(NetlinkClient(loop: loop, options: options), recorder)
        }
    }

    deinit { self.thread.stop() }

    /// Runs a closure on the netlink thread; nil if the thread is stopping.
    func run<Answer: Sendable>(_ body: @escaping @Sendable (NetlinkClient) -> Answer) async -> Answer? {
        await withCheckedContinuation { waiter in
            let isSent = self.thread.send { client in waiter.resume(returning: body(client)) }
            if !isSent { waiter.resume(returning: nil) }
        }
    }

    func explanation(of question: RouteQuestion) async -> RouteExplanation? {
        await self.run { $0.explanation(of: question) } ?? nil
    }

    /// Waits until the recorded changes fulfil the condition.
    func records(within limit: Duration = .seconds(60), _ isFulfilled: (Recorder) -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if isFulfilled(self.recorder) { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return isFulfilled(self.recorder)
    }

    /// Waits until the condition is true on the netlink thread.
    func becomes(within limit: Duration = .seconds(60), _ isTrue: @escaping @Sendable (NetlinkClient) -> Bool) async
        -> Bool
    {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if await self.run(isTrue) ?? false { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }

    static let isAvailable = NetworkNamespace.isAvailable
}
