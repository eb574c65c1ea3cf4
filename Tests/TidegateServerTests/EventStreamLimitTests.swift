import Glibc
import Logging
import ServiceLifecycle
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite(.serialized) struct EventStreamLimitTests {
    @Test("HEAD gets the head alone, and only GET and HEAD are allowed")
    func methods() async throws {
        try await Fixture().serving { (port: Int) in
            let head = try await RawConnection.ask(port: port, "/api/v1/events", method: "HEAD")
            #expect(head.status == 200)
            #expect(head.fields["content-type"] == "text/event-stream")
            #expect(head.body.isEmpty)
            let post = try await RawConnection.ask(port: port, "/api/v1/events", method: "POST")
            #expect(post.status == 405)
            #expect(post.fields["allow"] == "GET, HEAD")
            #expect(try await RawConnection.ask(port: port, "/api/v1/events/").status == 404)
        }
    }

    @Test("More streams than allowed get 503, a freed slot can be used, and other requests are not limited by streams")
    func slots() async throws {
        var fixture = Fixture()
        fixture.configuration.maxEventStreams = 2
        fixture.configuration.maxRequests = 1
        try await fixture.serving { (port: Int) in
            let first = try await EventReader.open(port: port)
            let second = try await EventReader.open(port: port)
            defer { second.close() }
            let refused = try await RawConnection.ask(port: port, "/api/v1/events")
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] == "5")
            #expect(try await RawConnection.ask(port: port, "/metrics").status == 200)
            first.close()
            let isFree = try await eventually {
                let reader = try await EventReader.open(port: port)
                defer { reader.close() }
                return reader.status == 200
            }
            #expect(isFree)
        }
    }

    @Test("Every one of many clients gets every event")
    func many() async throws {
        let fixture = Fixture()
        try await fixture.serving { (port: Int) in
            var readers: [EventReader] = []
            for _ in 0..<60 { readers.append(try await EventReader.open(port: port)) }
            for reader in readers { _ = try await reader.next() }
            for _ in 0..<20 { fixture.bus.publish(.netlink(.overrun)) }
            let all = fixture.history.newest(20).map { Optional(fixture.history.id(of: $0)) }
            for reader in readers {
                var ids: [String?] = []
                for _ in 0..<20 { ids.append(try await reader.next().id) }
                #expect(ids == all)
                reader.close()
            }
            let isEmpty = await eventually { fixture.bus.statistics()[.sse]?.capacity == 0 }
            #expect(isEmpty, "a client that disconnects keeps no subscription")
            #expect(fixture.history.statistics.capacity == 0)
        }
    }

    @Test("A client that does not read is disconnected after the write timeout")
    func slowReader() async throws {
        var fixture = Fixture()
        fixture.configuration.writeTimeout = .seconds(1)
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port, receiveBuffer: 4096)
            defer { reader.close() }
            let text = String(repeating: "x", count: 20_000)
            let isGone = await eventually {
                for _ in 0..<64 { fixture.bus.publish(.netlink(.lost(text))) }
                return fixture.history.statistics.capacity == 0
            }
            #expect(isGone)
            #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
        }
    }

    @Test(
        "Streams end at once when the endpoint is cancelled, and at a graceful shutdown",
        .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"))
    func stopping() async throws {
        let clock = ContinuousClock()
        var begin = clock.now
        var open: EventReader?
        try await Fixture().serving { (port: Int) in
            open = try await EventReader.open(port: port)
            begin = clock.now
        }
        #expect(clock.now - begin < .seconds(20))
        open?.close()
        try await self.stopGracefully()
    }

    private func stopGracefully() async throws {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let service = EndpointUnderTest(endpoint: Fixture().endpoint()) { continuation.yield($0.first?.port ?? 0) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: [service], logger: logger)
        let running = Task { try await group.run() }
        let port = try #require(await ports.first { _ in true })
        let reader = try await EventReader.open(port: port)
        defer { reader.close() }
        _ = try await reader.next()
        let begin = ContinuousClock.now
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(ContinuousClock.now - begin < .seconds(20))
        await #expect(throws: EventReader.FinishedTask.self) { _ = try await reader.next() }
    }

    @Test("Nothing uses an event loop after a graceful shutdown, however the servers end beside each other")
    func repeatedShutdown() async {
        await #expect(processExitsWith: .success) {
            // NIO ends a process that uses an event loop after its shutdown, instead of only printing it.
            setenv("SWIFTNIO_STRICT", "1", 1)
            for _ in 0..<100 { try await Self.shutDownTogether() }
        }
    }

    private static func shutDownTogether() async throws {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let services = (0..<3).map { _ in
            EndpointUnderTest(endpoint: Fixture().endpoint()) { continuation.yield($0.first?.port ?? 0) }
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: services, logger: logger)
        let running = Task { try await group.run() }
        let listening = await ports.prefix(services.count).reduce(into: Set()) { $0.insert($1) }
        #expect(listening.count == services.count && !listening.contains(0))
        await group.triggerGracefulShutdown()
        try await running.value
    }

    private struct EndpointUnderTest: Service {
        let endpoint: Endpoint
        let whenListening: @Sendable ([ListenAddress]) -> Void

        func run() async throws { try await self.endpoint.run(whenListening: self.whenListening) }
    }
}
