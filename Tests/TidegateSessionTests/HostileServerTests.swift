import Testing
import TidegateCore
import TidegateSessionTestKit

@testable import TidegateSession

/// Every trick of a hostile server ends with the expected result, and leaves nothing to the next request.
@Suite(.timeLimit(.minutes(10)))
struct HostileServerTests {
    @Test("A body is every byte of it or a failure that says whose it is", arguments: HostileServer.tricks, [0, 1, 2])
    func trick(_ trick: HostileServer.Trick, _ seed: UInt64) async throws {
        let server = try HostileServer.serve(trick, seed: seed)
        defer { server.stop() }
        let scratch = try Scratch()
        // What is whole in the end may have been asked for again.
        let retry = RetryPolicy(attempts: trick.end == .whole ? 3 : 1, base: .milliseconds(1))
        let fixture = try SessionFixture(.with { ($0.retry, $0.maxBodyBytes) = (retry, HostileServer.limit) })
        var request = try TaskRequest(url: server.url())
        request.destination = .file(scratch.file("body"))
        request.options.acceptsCompression = true
        let result = await fixture.run(request).result()
        switch trick.end {
        case .whole:
            #expect(result.outcome == .success, "\(result)")
            #expect(scratch.bytes("body") == HostileServer.body)
        case .failure(let name):
            #expect(result.failure?.rawValue == name, "\(result)")
            #expect(result.attribution?.party == .theirs, "\(result)")
            #expect(scratch.bytes("body") == nil)
        case .limit(let name):
            #expect(result.failure?.rawValue == name, "\(result)")
            #expect(result.attribution?.party == .mine, "\(result)")
            #expect(scratch.bytes("body") == nil)
        }
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
