import Glibc
import Synchronization
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateSessionTestKit

/// Tasks that require `online`, and a portal that answers instead of their server.
@Suite(.timeLimit(.minutes(5)))
struct PortalTests {
    /// A path source that is asked whether it is still online, and then says what a test scripted.
    private final class AskedPaths: PathSource {
        let scripted = ScriptedPathSource()
        private let answers: Mutex<[Verdict]>
        private let asked = Atomic<Int>(0)

        init(_ answers: Verdict...) {
            self.answers = Mutex(answers)
            self.scripted.say(Verdict(level: .online), for: .ipv4)
        }

        var questions: Int { self.asked.load(ordering: .relaxed) }

        func current(_ target: Target) -> TargetVerdict { self.scripted.current(target) }
        func holdsAddress(_ address: IPAddress) -> Bool { true }
        func family(_ family: AddressFamily) -> Verdict { self.scripted.family(family) }

        func watch(_ target: Target, sink: @escaping @Sendable (TargetVerdict) -> Void) -> PathWatch {
            self.scripted.watch(target, sink: sink)
        }

        func confirmInternet(over family: AddressFamily, completion: @escaping @Sendable () -> Void) {
            self.asked.add(1, ordering: .relaxed)
            let answer = self.answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let answer { self.scripted.say(answer, for: family) }
            completion()
        }
    }

    private static let portal = Verdict(level: .portal, reason: .portal)

    private static func session(_ paths: AskedPaths) throws -> Session {
        let retry = RetryPolicy(base: .milliseconds(5), cap: .milliseconds(10))
        let (time, gate) = (SystemClock(), GatePolicy(require: [.online]))
        return try Session(
            .with { ($0.retry, $0.gate) = (retry, gate) }, bus: EventBus(time: time), paths: paths,
            resolver: ScriptedResolver(), time: time, generator: SeededGenerator(seed: 7), journal: nil, hooks: nil,
            observer: nil, tracer: nil, diagnosis: { _ in nil })
    }

    private static func run(_ request: TaskRequest, in session: Session) -> TransferTask {
        let task = session.makeTask(request)
        task.resume()
        return task
    }

    private static func waits(_ task: TransferTask) async -> Bool {
        await eventually {
            if case .waiting(.constraint, detail: let detail?) = task.state {
                detail.contains("not online")
            } else {
                false
            }
        }
    }

    private static let page = LiveServerAnswer.respond(text: "<html>sign in</html>")

    @Test("A download that a portal cut asks again before it continues, and waits until the portal is gone")
    func continuation() async throws {
        let scratch = try Scratch()
        let isOpen = Atomic<Bool>(false)
        let server = try LiveServer { request in
            guard request.number > 1 else {
                let head = LiveServerAnswer.head(200, ["ETag: \"tide\"", "Content-Length: 200000"])
                return LiveServerAnswer([.send(head), .pattern(from: 0, count: 100_000), .close])
            }
            return isOpen.load(ordering: .relaxed) ? .pattern(200_000, for: request) : Self.page
        }
        defer { server.stop() }
        let paths = AskedPaths(Self.portal)
        let session = try Self.session(paths)
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("a"))
        let task = Self.run(request, in: session)
        #expect(await Self.waits(task))
        #expect(server.requests.count == 1)
        isOpen.store(true, ordering: .relaxed)
        paths.scripted.say(Verdict(level: .online), for: .ipv4)
        #expect(await task.result().outcome == .success)
        #expect(server.requests.map(\.rangeStart) == [nil, 100_000])
        #expect(scratch.hasPattern("a", 200_000))
        #expect(paths.questions == 1, "the length of the first response proves the second")
        await session.invalidate(cancellingTasks: true)
    }

    enum Place: CaseIterable { case file, memory }

    @Test("A page of a portal does not become the body", arguments: Place.allCases)
    func page(place: Place) async throws {
        let scratch = try Scratch()
        let server = try LiveServer { $0.number == 1 ? Self.page : .pattern(200_000, for: $0) }
        defer { server.stop() }
        let paths = AskedPaths(Self.portal)
        let session = try Self.session(paths)
        var request = try TaskRequest(url: server.url())
        request.destination = place == .file ? .file(scratch.file("a")) : .memory(limit: 1 << 20)
        let task = Self.run(request, in: session)
        #expect(await Self.waits(task))
        #expect(scratch.bytes("a") == nil)
        paths.scripted.say(Verdict(level: .online), for: .ipv4)
        let result = await task.result()
        #expect(result.outcome == .success && result.bytes == 200_000)
        if place == .file {
            #expect(scratch.hasPattern("a", 200_000))
        } else {
            #expect(task.body() == LiveServerAnswer.bytes(count: 200_000))
        }
        await session.invalidate(cancellingTasks: true)
    }

    @Test("A page that was delivered to a descriptor fails its task, and says why")
    func delivered() async throws {
        let scratch = try Scratch()
        let server = try LiveServer { _ in Self.page }
        defer { server.stop() }
        let session = try Self.session(AskedPaths(Self.portal))
        var request = try TaskRequest(url: server.url())
        let output = try ScratchOutput(scratch.file("a"))
        request.destination = .descriptor(output.descriptor)
        let result = await Self.run(request, in: session).result()
        #expect(result.failure == .gateTimeout && result.requireUnmet == .online)
        #expect(
            result.explanation
                == "no proof: not online: internet checks over ipv4 have not succeeded, so a portal may have answered")
        await session.invalidate(cancellingTasks: true)
        withExtendedLifetime(output) {}
    }

    @Test("A body that its digest proves is not asked about; any other one is asked about once")
    func proofs() async throws {
        let server = try LiveServer { _ in .respond(text: "body") }
        defer { server.stop() }
        let paths = AskedPaths()
        let session = try Self.session(paths)
        var request = try TaskRequest(url: server.url())
        #expect(await Self.run(request, in: session).result().outcome == .success)
        #expect(paths.questions == 1)
        request.options.sha256 = ContentDigest(of: Array("body".utf8))
        #expect(await Self.run(request, in: session).result().outcome == .success)
        #expect(paths.questions == 1)
        await session.invalidate(cancellingTasks: true)
    }
}
