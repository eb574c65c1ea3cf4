import NIOEmbedded
import Synchronization
import Testing
import TidegateCore

@testable import TidegateServer

/// Bodies over the control socket, and who asks for them.
@Suite(.timeLimit(.minutes(5)))
struct ControlBodyTests {
    @Test("A body passes through piece by piece, however long its file is")
    func longBody() async throws {
        var fixture = ControlFixture()
        // It has no end, so that it passes through only if no part of the way collects it.
        fixture.control = FakeControl { [UInt8](repeating: 7, count: 1 << 16) }
        try await fixture.serving { fixture in
            let enough = ControlClientError(.notWritten, "enough")
            var count = 0
            await #expect(throws: enough) {
                try await fixture.client.body(fixture.control.id.description) { bytes throws(ControlClientError) in
                    count += bytes.count
                    if count > 1 << 22 { throw enough }
                }
            }
            #expect(count > 1 << 22)
        }
    }

    @Test("A body whose file changes while it is sent is not taken for a whole one")
    func brokenBody() async throws {
        let pieces = Mutex<[[UInt8]]>([[1, 2, 3], [4]])
        var fixture = ControlFixture()
        fixture.control = FakeControl {
            try pieces.withLock { pieces in
                if pieces.isEmpty { throw ControlRefusal(.unknown, "changed") }
                return pieces.removeFirst()
            }
        }
        try await fixture.serving { fixture in
            let error = ControlClientError(
                .disconnected,
                "the body ended after 4 bytes: its file changed while it was read, or the daemon stopped")
            var received: [UInt8] = []
            await #expect(throws: error) {
                try await fixture.client.body(fixture.control.id.description) { received += $0 }
            }
            #expect(received == [1, 2, 3, 4])
        }
    }

    @Test("A body that is kept, and a file's, arrive whole; a refusal is no part of one")
    func bodies() async throws {
        let pieces = Mutex<[[UInt8]]>([[1, 2, 3], [4], []])
        for (control, expected) in [
            (FakeControl(), [0, 10, 255]), (FakeControl { pieces.withLock { $0.removeFirst() } }, [1, 2, 3, 4]),
        ] as [(FakeControl, [UInt8])] {
            var fixture = ControlFixture()
            fixture.control = control
            try await fixture.serving { fixture in
                var received: [UInt8] = []
                try await fixture.client.body(control.id.description) { received += $0 }
                #expect(received == expected)
                let other = "00000000-0000-7000-8000-000000000000"
                await #expect(throws: ControlClientError(.refused(status: 404), "there is no task \(other)")) {
                    try await fixture.client.body(other) { received += $0 }
                }
                #expect(received == expected)
            }
        }
    }

    @Test("The daemon's own user is its owner; a request of unknown origin counts as a member's")
    func callers() async throws {
        try await ControlFixture().serving { fixture in
            _ = try await fixture.client.submit(TaskSubmission(url: "http://a/"))
            try await fixture.client.body(fixture.control.id.description) { _ in }
            #expect(fixture.control.callers.withLock { $0 } == [.owner, .owner])
        }
        let context = ServerContext(source: .init(channel: NIOAsyncTestingChannel(), inFlight: 1))
        #expect(context.caller == .member)
        let verification = PeerVerification(ownUser: 1000, path: "/nonexistent")
        #expect(verification.isOwner(.init(user: 0, groups: [])) && verification.isOwner(.init(user: 1000, groups: [])))
        #expect(!verification.isOwner(.init(user: 1001, groups: [0, 1000])))
    }
}
