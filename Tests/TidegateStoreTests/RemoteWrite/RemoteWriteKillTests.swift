import Foundation
import Synchronization
import Testing
import TidegateTestKit

@testable import TidegateStore

/// The sender is killed again and again while its receiver fails and recovers.
@Suite(.enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)))
struct RemoteWriteKillTests {
    @Test("At whatever moment a sender is killed, every sample that it had stored arrives, in order and once")
    func kill() async throws {
        let directory = try TestDirectory()
        // Failing for a third of the requests, so that some processes end with a full queue and others with an empty one.
        let server = try LiveServer { $0.number / 40 % 3 == 1 ? .respond(503) : .respond(204) }
        defer { server.stop() }
        var kept: Set<Int> = []
        var start = 1
        for process in 0..<20 {
            let program = try Program([
                BuiltProduct.path(of: "RemoteWriteCrashHelper"), directory.queue, server.url("/write"),
                "\(start)",
            ])
            let count = 1 + process * 2 % 9
            #expect(await eventually { Self.kept(program).count >= count }, "\(program.errorsSoFar)")
            program.signal(SIGKILL)
            #expect(await program.finish().status == 128 + SIGKILL, "\(program.errorsSoFar)")
            let reported = Self.kept(program)
            kept.formUnion(reported)
            // One more may have been stored and not reported.
            start = (reported.max() ?? start) + 2
        }
        try await Self.finish(directory, server, kept)
        try Self.verify(server, kept)
    }

    private static func kept(_ program: Program) -> [Int] {
        program.outputSoFar.split(separator: "\n").compactMap { Int($0.dropFirst("kept ".count)) }
    }

    private static func isTaken(_ request: LiveServerRequest) -> Bool { request.number / 40 % 3 != 1 }

    // A last process that runs until the queue is empty.
    private static func finish(_ directory: TestDirectory, _ server: LiveServer, _ kept: Set<Int>) async throws {
        let fixture = try RemoteWriteFixture(server.url("/write"), directory: directory) { $0.interval = .seconds(60) }
        #expect(try await eventually { try fixture.stored().isEmpty })
        await fixture.writer.stop()
    }

    private static func verify(_ server: LiveServer, _ kept: Set<Int>) throws {
        let taken = server.requests.filter(Self.isTaken)
        let series = try taken.flatMap { try ReceivedSeries.all(inBody: $0.body) }.filter { $0.labels.count == 1 }
        #expect(kept.subtracting(series.map { Int($0.value) }).isEmpty)
        // A sample that was sent before and after a kill is equal to the one before it.
        var last: ReceivedSeries?
        for one in series where one != last {
            if let last {
                #expect(one.milliseconds >= last.milliseconds && one.value > last.value, "\(last) before \(one)")
            }
            last = one
        }
    }
}
