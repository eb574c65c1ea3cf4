import Foundation
import Synchronization
import Testing
import TidegateTestKit

@testable import TidegateStore

/// The sender is killed again and again while its receiver comes and goes.
@Suite(.timeLimit(.minutes(5)))
struct RemoteWriteKillTests {
    @Test("Whatever moment a sender dies at, everything it had kept arrives, in order and once")
    func kill() async throws {
        let place = try Place()
        // Down in every third window of requests, so that some lives end with a full buffer and others with an empty one.
        let server = try LiveServer { $0.number / 40 % 3 == 1 ? .respond(503) : .respond(204) }
        defer { server.stop() }
        var kept: Set<Int> = []
        var start = 1
        for life in 0..<20 {
            let program = try Program([
                BuiltProduct.path(of: "RemoteWriteCrashHelper"), place.path + "/buffer", server.url("/write"),
                "\(start)",
            ])
            let least = 1 + life * 2 % 9
            #expect(await eventually { Self.kept(program).count >= least }, "\(program.errorsSoFar)")
            program.signal(SIGKILL)
            _ = await program.finish()
            let told = Self.kept(program)
            kept.formUnion(told)
            // A turn may have been kept and not told any more.
            start = (told.max() ?? start) + 2
        }
        try await Self.finish(place, server, kept)
        try Self.judge(server, kept)
    }

    private static func kept(_ program: Program) -> [Int] {
        program.outputSoFar.split(separator: "\n").compactMap { Int($0.dropFirst("kept ".count)) }
    }

    private static func isTaken(_ request: LiveServerRequest) -> Bool { request.number / 40 % 3 != 1 }

    // A last life that lasts until the buffer is empty.
    private static func finish(_ place: Place, _ server: LiveServer, _ kept: Set<Int>) async throws {
        let rig = try Rig(server.url("/write"), place: place) { $0.interval = .seconds(60) }
        #expect(try await eventually(within: .seconds(60)) { try SegmentFolder(place.path + "/buffer").open().isEmpty })
        await rig.writer.stop()
    }

    private static func judge(_ server: LiveServer, _ kept: Set<Int>) throws {
        let taken = server.requests.filter(Self.isTaken)
        let series = try taken.flatMap { try Received.all(inBody: $0.body) }.filter { $0.labels.count == 1 }
        #expect(kept.subtracting(series.map { Int($0.value) }).isEmpty)
        // What was sent before and after a death is the same sample, and stands behind itself.
        var last: Received?
        for one in series where one != last {
            if let last {
                #expect(one.milliseconds >= last.milliseconds && one.value > last.value, "\(last) before \(one)")
            }
            last = one
        }
    }
}
