import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite(.serialized) struct EventStreamTests {
    @Test("A new client gets a snapshot, then every event as it happens")
    func begin() async throws {
        let fixture = Fixture()
        fixture.view.change { $0.tasks = [.example()] }
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port)
            defer { reader.close() }
            #expect(reader.status == 200)
            #expect(reader.head.contains("content-type: text/event-stream"))
            #expect(reader.head.contains("cache-control: no-store"))
            #expect(reader.head.contains("x-accel-buffering: no"))
            #expect(!reader.head.contains("content-length"))
            #expect(try await reader.nextOfAny().retry == "2000")
            let snapshot = try await reader.next()
            #expect(snapshot.name == "snapshot")
            #expect(snapshot.id == "test-0")
            #expect(snapshot.value("level") == "routed")
            #expect(snapshot.value("tasks", as: [Any].self)?.count == 1)
            for payload in EveryEvent.payloads { fixture.bus.publish(payload) }
            let kept = fixture.history.newest(4096)
            #expect(kept.count > 20)
            for event in kept {
                var frame = try await reader.next()
                while frame.name == "task.progress" { frame = try await reader.next() }
                #expect(frame.id == "test-\(event.sequence)")
                #expect(frame.name == event.name)
                #expect(frame.data == event.json().description)
            }
        }
    }

    @Test("A client that reconnects gets the events it missed, then new ones, and none twice")
    func resume() async throws {
        let fixture = Fixture()
        for _ in 0..<300 { fixture.bus.publish(.netlink(.overrun)) }
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port, after: "test-4")
            defer { reader.close() }
            for number in 5...300 {
                let frame = try await reader.next()
                #expect(frame.id == "test-\(number)")
                #expect(frame.name == "netlink.overrun")
            }
            fixture.bus.publish(.netlink(.dumpInterrupted))
            #expect(try await reader.next().name == "netlink.dumpInterrupted")
        }
    }

    @Test("A client that reconnects again and again gets every event once")
    func breakingOff() async throws {
        var fixture = Fixture()
        fixture.configuration.eventsKept = 4096
        let (bus, count) = (fixture.bus, 1500)
        try await fixture.serving { (port: Int) in
            let publisher = Task {
                for _ in 0..<count {
                    bus.publish(.netlink(.overrun))
                    if Int.random(in: 0..<20) == 0 { await Task.yield() }
                }
            }
            var (received, last): ([String], String) = ([], "test-0")
            while received.count < count {
                let reader = try await EventReader.open(port: port, after: last)
                for _ in 0..<min(Int.random(in: 1...200), count - received.count) {
                    let frame = try await reader.next()
                    #expect(frame.name == "netlink.overrun")
                    last = frame.id ?? ""
                    received.append(last)
                }
                reader.close()
            }
            await publisher.value
            #expect(received == fixture.history.newest(4096).map(fixture.history.id))
        }
    }

    @Test(
        "An unknown ID gets a reset with the whole state",
        arguments: ["other-3", "test-1", "test-99", "nonsense", "test--1"])
    func reset(_ id: String) async throws {
        let fixture = Fixture()
        for _ in 0..<4100 { fixture.bus.publish(.netlink(.overrun)) }
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port, after: id)
            defer { reader.close() }
            let reset = try await reader.next()
            #expect(reset.name == (id == "test-99" ? "netlink.overrun" : "reset"))
            // Of 4100 events the newest 4096 are kept, so this one can be resumed.
            guard id != "test-99" else { return #expect(reset.id == "test-100") }
            #expect(reset.value("event") == "reset")
            #expect(reset.value("level") == "routed")
            #expect(reset.id == "test-4100")
            fixture.bus.publish(.netlink(.overrun))
            #expect(try await reader.next().id == fixture.history.newest(1).first.map(fixture.history.id))
        }
    }

    @Test("A client that is too slow gets the number of dropped events, and the metric counts them")
    func dropped() async throws {
        var fixture = Fixture()
        fixture.configuration.eventsKept = 4
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port)
            defer { reader.close() }
            var frame = try await reader.next()
            while frame.name != "reset" {
                for _ in 0..<500 { fixture.bus.publish(.netlink(.overrun)) }
                frame = try await reader.next()
            }
            let dropped = try #require(frame.value("dropped", as: Int.self))
            #expect(dropped > 0)
            #expect(frame.id == nil)
            let metrics = try await RawConnection.ask(port: port, "/metrics").body
            let line = metrics.split(separator: "\n").first {
                $0.hasPrefix("tidegate_bus_events_dropped_total{subscriber=\"sse\"}")
            }
            let counted = try #require(line?.split(separator: " ").last.flatMap { Int($0) })
            #expect(counted >= dropped)
        }
    }

    @Test("Progress has no ID, is the newest of each task, and comes at most five times a second")
    func progress() async throws {
        let fixture = Fixture()
        let task = TaskInfo.example()
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port)
            defer { reader.close() }
            _ = try await reader.next()
            for bytes in 1...100 {
                let progress = TransferProgress(receivedWire: Int64(bytes), expected: 100, attempt: 1)
                fixture.bus.publish(
                    .task(TaskEvent(id: task.id, taskKind: .download, kind: .progress(progress, delta: .init()))))
            }
            var (frames, bytes) = (0, 0)
            while bytes < 100 {
                let frame = try await reader.next()
                #expect(frame.name == "task.progress")
                #expect(frame.id == nil)
                #expect(frame.value("task") == task.id.description)
                bytes = frame.value("bytes") ?? 0
                frames += 1
            }
            #expect(frames < 20)
        }
    }

    @Test("An idle stream sends heartbeats")
    func heartbeat() async throws {
        var fixture = Fixture()
        fixture.configuration.heartbeat = .milliseconds(50)
        try await fixture.serving { (port: Int) in
            let reader = try await EventReader.open(port: port)
            defer { reader.close() }
            _ = try await reader.next()
            for _ in 0..<3 { #expect(try await reader.nextOfAny().comment == "heartbeat") }
        }
    }
}
