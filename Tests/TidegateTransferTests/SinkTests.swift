internal import Glibc
internal import Synchronization
internal import Testing
internal import TidegateCore
internal import TidegateTestKit
internal import TidegateTransfer

@Suite("Sinks")
struct SinkTests {
    @Test("A small body arrives in memory, with its head, contact and phases")
    func memory() throws {
        let server = try LiveServer { _ in .respond(200, ["X-Tide: high"], text: "hello") }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        let outcome = try recorder.run(AttemptRequest(1, server.url("/a?b=c")))
        #expect(outcome.failure == nil)
        #expect(String(decoding: outcome.body, as: UTF8.self) == "hello")
        #expect(outcome.head?.status == 200)
        #expect(outcome.head?.field("x-tide") == "high")
        #expect(outcome.isLengthVerified)
        #expect(outcome.connection?.remote == IPAddress("127.0.0.1"))
        #expect(outcome.connection?.local == IPAddress("127.0.0.1"))
        #expect(outcome.connectionsOpened == 1)
        #expect(outcome.phases.connect != nil)
        #expect(outcome.phases.tls == nil)
        #expect(outcome.phases.processing != nil)
        #expect(outcome.progress.received == 5)
        #expect(outcome.progress.expected == 5)
        #expect(server.requests.map(\.path) == ["/a?b=c"])
        #expect(recorder.kinds(of: AttemptID(1)) == ["wireReached", "head", "finished"])
    }

    @Test("A file sink is byte-exact, and committing moves it to its place")
    func file() throws {
        let total: Int64 = 1_000_003
        let server = try LiveServer { .pattern(total, for: $0) }
        defer { server.stop() }
        let folder = try Folder()
        let paths = DownloadPaths(destination: folder.path("tide.bin"))
        let file = try DownloadFile.open(paths)
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url(), .file(file)))
        #expect(outcome.failure == nil)
        #expect(outcome.body.isEmpty)
        #expect(outcome.progress.received == total)
        #expect(try file.size() == total)
        #expect(folder.bytes("tide.bin") == nil)
        try file.commit()
        #expect(folder.bytes("tide.bin") == LiveServerAnswer.bytes(count: total))
        #expect(folder.names == ["tide.bin"])
    }

    @Test("A full pipe pauses its transfer only, and what comes out is byte-exact")
    func pipe() throws {
        let total: Int64 = 1_500_007
        let server = try LiveServer { $0.path == "/other" ? .respond(text: "other") : .pattern(total, for: $0) }
        defer { server.stop() }
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        let recorder = try AttemptRecorder()
        recorder.start(try AttemptRequest(1, server.url("/body"), .descriptor(ends[1])))
        try eventually("a full pipe", holds: { try recorder.received(by: AttemptID(1)) >= 32 * 1024 })
        #expect(try recorder.run(AttemptRequest(2, server.url("/other"))).body == Array("other".utf8))
        var received: [UInt8] = []
        while Int64(received.count) < total {
            var part = [UInt8](repeating: 0, count: 50_000)
            let count = read(ends[0], &part, part.count)
            #expect(count > 0)
            received += part.prefix(count)
        }
        #expect(try recorder.outcome(of: AttemptID(1)).failure == nil)
        #expect(received == LiveServerAnswer.bytes(count: total))
        close(ends[0])
        close(ends[1])
    }

    @Test("A new pipe with the number of one that was left while full is written to its end")
    func reusedDescriptor() throws {
        let total: Int64 = 1_000_003
        let server = try LiveServer { .pattern(total, for: $0) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        let number = ends[1]
        recorder.start(try AttemptRequest(1, server.url(), .descriptor(number)))
        try eventually("a full pipe", holds: { try recorder.received(by: AttemptID(1)) >= 32 * 1024 })
        // The engine waits for the pipe at the end of a batch.
        for _ in 0..<3 { _ = try recorder.ask { $0.wakeUps } }
        recorder.perform { $0.discard(AttemptID(1)) }
        _ = try recorder.ask { $0.wakeUps }
        // The same number is another pipe now; no other test may take it in between.
        var fresh: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&fresh) == 0)
        #expect(dup2(fresh[1], number) == number)
        recorder.start(try AttemptRequest(2, server.url(), .descriptor(number)))
        _ = fcntl(fresh[0], F_SETFL, O_NONBLOCK)
        var count = 0
        var part = [UInt8](repeating: 0, count: 50_000)
        try eventually("all bytes") {
            count += max(0, read(fresh[0], &part, part.count))
            return count == Int(total)
        }
        for descriptor in ends + fresh { close(descriptor) }
    }

    @Test("While we do not read, the server is not taken for silent", arguments: [true, false])
    func ourPause(isRate: Bool) throws {
        let server = try LiveServer { .pattern(1_000_000, for: $0) }
        defer { server.stop() }
        let recorder = try AttemptRecorder()
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        var request = try AttemptRequest(1, server.url(), isRate ? .discard : .descriptor(ends[1]))
        if isRate { request.bytesPerSecondLimit = 100 }
        recorder.start(request)
        try eventually("the first bytes", holds: { try recorder.received(by: AttemptID(1)) > 0 })
        let begin = try recorder.ask { $0.now }
        try eventually(
            "a sign of life",
            holds: { try recorder.ask { $0.progress(of: AttemptID(1))?.lastActivity ?? begin } > begin + .seconds(1) })
        recorder.perform { $0.discard(AttemptID(1)) }
        _ = try recorder.ask { $0.now }
        for descriptor in ends { close(descriptor) }
    }

    @Test("A reader that went away is a file error and does not end the process")
    func brokenPipe() throws {
        let server = try LiveServer { .pattern(1_000_000, for: $0) }
        defer { server.stop() }
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        close(ends[0])
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url(), .descriptor(ends[1])))
        #expect(outcome.failure == .fileError)
        close(ends[1])
    }

    @Test("Discarding counts every byte and keeps none")
    func discard() throws {
        let server = try LiveServer { .pattern(300_000, for: $0) }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url(), .discard))
        #expect(outcome.failure == nil)
        #expect(outcome.progress.received == 300_000)
        #expect(outcome.body.isEmpty)
    }

    @Test("A body larger than allowed ends the attempt", arguments: [true, false])
    func tooLarge(hasLength: Bool) throws {
        let server = try LiveServer { _ in
            hasLength ? .respond(text: "0123456789") : .chunked(["01234", "56789"])
        }
        defer { server.stop() }
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url(), .memory(limit: 9)))
        #expect(outcome.failure == .tooLarge)
        #expect(outcome.text.contains("9"))
        #expect(outcome.body.isEmpty)
    }

    @Test("The body of an answer that is not good reaches no file and no descriptor", arguments: [404, 500, 302])
    func refusal(status: Int) throws {
        let server = try LiveServer { _ in .respond(status, ["Location: /x"], text: "sorry") }
        defer { server.stop() }
        let folder = try Folder()
        let file = try DownloadFile.open(DownloadPaths(destination: folder.path("f")))
        let outcome = try AttemptRecorder().run(AttemptRequest(1, server.url(), .file(file)))
        #expect(outcome.failure == .httpStatus)
        #expect(outcome.head?.status == status)
        #expect(outcome.diagnosticBody == Array("sorry".utf8))
        #expect(try file.size() == 0)
        #expect(outcome.text == "the server answered \(status)")
    }

    @Test("A full disk is distinguished from other file errors")
    func fullDisk() throws {
        #expect(FileError(operation: "pwrite", path: "f", code: ENOSPC).failure == .diskFull)
        #expect(FileError(operation: "pwrite", path: "f", code: EDQUOT).failure == .diskFull)
        #expect(FileError(operation: "pwrite", path: "f", code: EIO).failure == .fileError)
        #expect(FileError(operation: "pwrite", path: "a/f", code: EIO).description.hasPrefix("a/f: pwrite: "))
    }
}
