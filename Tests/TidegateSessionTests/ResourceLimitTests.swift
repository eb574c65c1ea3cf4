import Glibc
import Testing
import TidegateCore
import TidegateLoop
import TidegateSessionTestKit

@testable import TidegateSession

/// A full disk and an empty budget, for those in a hurry and for those that wait.
@Suite(.timeLimit(.minutes(5)))
struct ResourceLimitTests {
    /// A file system of one mebibyte.
    private final class SmallDisk {
        let path: String

        init?() throws {
            var template = Array("/tmp/tidegate-disk-XXXXXX".utf8CString)
            let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.map { mkdtemp($0) } ?? nil }
            try #require(made != nil)
            self.path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard mount("tidegate", self.path, "tmpfs", 0, "size=1m") == 0 else {
                rmdir(self.path)
                return nil
            }
        }

        deinit {
            umount2(self.path, Int32(MNT_DETACH))
            rmdir(self.path)
        }

        func fill(_ name: String, _ count: Int) {
            let descriptor = open("\(self.path)/\(name)", O_WRONLY | O_CREAT, 0o644)
            _ = write(descriptor, [UInt8](repeating: 1, count: count), count)
            close(descriptor)
        }

        func remove(_ name: String) { unlink("\(self.path)/\(name)") }

        func size(_ name: String) -> Int64? {
            var status = stat()
            return stat("\(self.path)/\(name)", &status) == 0 ? Int64(status.st_size) : nil
        }
    }

    private static let mayMount = geteuid() == 0

    @Test("A full disk fails a download that does not wait, and leaves nothing", .enabled(if: mayMount, "needs root"))
    func fails() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        disk.fill("other", 600_000)
        let server = try LiveServer { .pattern(800_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file("\(disk.path)/a")
        let result = await fixture.run(request).result()
        #expect(result.failure == .diskFull)
        #expect(result.attribution?.party == .mine)
        let text = try #require(result.explanation)
        #expect(text.hasPrefix("\(disk.path)/a needs 781.2 KiB and its file system has "), "\(text)")
        #expect(result.clause == text && result.bytes == 0)
        #expect(disk.size("a") == nil)
        #expect(disk.size(".a.tidegate") == nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A body without a length is found not to fit when the disk is full", .enabled(if: mayMount, "needs root"))
    func failsLate() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let server = try LiveServer { _ in .chunked([String(repeating: "x", count: 1_200_000)]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        request.destination = .file("\(disk.path)/a")
        let result = await fixture.run(request).result()
        #expect(result.failure == .diskFull)
        #expect(result.explanation?.contains("No space left") == true, "\(result)")
        #expect(disk.size(".a.tidegate") == nil)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A download that waits takes nothing until there is room for all of it", .enabled(if: mayMount, "needs root"))
    func waitsForRoom() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        disk.fill("other", 600_000)
        let server = try LiveServer { .pattern(800_000, for: $0) }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { ($0.waitsOut, $0.diskRecheck) = (true, .milliseconds(100)) })
        var request = try TaskRequest(url: server.url())
        request.destination = .file("\(disk.path)/a")
        let task = fixture.run(request)
        let isHeld = await fixture.wait {
            if case .waiting(.disk, let detail?) = task.state { detail.contains("needs 781.2 KiB") } else { false }
        }
        #expect(isHeld)
        #expect(await fixture.wait { fixture.eventNames(of: task).count { $0 == "held(disk)" } >= 2 })
        disk.remove("other")
        let result = await task.result()
        #expect(result.outcome == .success && result.refetchedBytes == 0)
        #expect(disk.size("a") == 800_000)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test(
        "A download whose disk fills meanwhile holds until there is room, and goes on where it was",
        .enabled(if: mayMount, "needs root"))
    func waits() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let latch = Latch()
        let server = try LiveServer { request in
            let whole = LiveServerAnswer.pattern(800_000, for: request)
            guard request.number == 1 else { return whole }
            return LiveServerAnswer([
                whole.steps[0], .pattern(from: 0, count: 100_000), .waitFor(latch),
                .pattern(from: 100_000, count: 700_000),
            ])
        }
        defer { server.stop() }
        let fixture = try SessionFixture(.with { ($0.waitsOut, $0.diskRecheck) = (true, .milliseconds(100)) })
        var request = try TaskRequest(url: server.url())
        request.destination = .file("\(disk.path)/a")
        let task = fixture.run(request)
        #expect(await fixture.wait { disk.size(".a.tidegate") == 100_000 })
        disk.fill("other", 600_000)
        latch.open()
        let isHeld = await fixture.wait {
            fixture.recorder.taskChanges(of: task.id).contains { change in
                if case .held(.disk, let detail?) = change { detail.contains("No space left") } else { false }
            }
        }
        #expect(isHeld)
        disk.remove("other")
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(disk.size("a") == 800_000)
        #expect(result.held[.disk] != nil)
        #expect(result.attempts == 1)
        #expect(server.requests.dropFirst().allSatisfy { $0.rangeStart ?? 0 > 0 })
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("An empty budget ends a task that does not wait, and holds one that does until it can pay")
    func budget() async throws {
        let server = try LiveServer { request in request.number < 4 ? .respond(503) : .respond(text: "ok") }
        defer { server.stop() }
        let retry = RetryPolicy(attempts: 10, base: .milliseconds(1), cap: .milliseconds(2))
        let budget = RetryBudgetPolicy(tokens: 15, retryCost: 14, refillPerSecond: 100)
        let hasty = try SessionFixture(
            .with { ($0.retry, $0.budget) = (retry, RetryBudgetPolicy(tokens: 15, refillPerSecond: 0)) })
        let failed = hasty.run(try TaskRequest(url: server.url()))
        #expect(await failed.result().failure == .retriesExhausted)
        #expect(hasty.eventNames(of: failed).contains("retriesExhausted(budget)"))
        let fixture = try SessionFixture(
            .with {
                $0.retry = retry
                $0.budget = budget
                $0.waitsOut = true
            })
        let task = fixture.run(try TaskRequest(url: server.url("/again")))
        let result = await task.result()
        #expect(result.outcome == .success)
        #expect(result.attempts == 2)
        let poor = try SessionFixture(
            .with {
                $0.retry = retry
                $0.budget = RetryBudgetPolicy(tokens: 20, retryCost: 14, refillPerSecond: 50)
                $0.waitsOut = true
            })
        let never = try LiveServer { _ in .respond(503) }
        defer { never.stop() }
        let waiting = poor.run(try TaskRequest(url: never.url()))
        #expect(await poor.wait { poor.eventNames(of: waiting).contains("held(budget)") })
        #expect(await poor.wait { poor.eventNames(of: waiting).contains("released(budget)") })
        waiting.cancel()
        #expect(await waiting.result().outcome == .cancelled)
        for fixture in [hasty, fixture, poor] { await fixture.session.invalidate(cancellingTasks: true) }
    }

    @Test("A task that is too late ends, suspended or not")
    func expiry() async throws {
        let server = try LiveServer { _ in LiveServerAnswer([.hang]) }
        defer { server.stop() }
        let fixture = try SessionFixture()
        var request = try TaskRequest(url: server.url())
        let now = SystemClock().wall()
        request.options.expires = WallTime(microseconds: now.microseconds + 100_000)
        let suspended = fixture.session.makeTask(request)
        let running = fixture.run(request)
        for task in [suspended, running] {
            let result = await task.result()
            #expect(result.failure == .deadlineExceeded)
            #expect(result.explanation?.hasSuffix("expired before it was done") == true)
        }
        request.options.expires = WallTime(microseconds: 0)
        #expect(await fixture.run(request).result().failure == .deadlineExceeded)
        await fixture.session.invalidate(cancellingTasks: true)
    }

    @Test("What a task may be active in all bounds its retries, waits and suspensions not counted")
    func maxElapsed() async throws {
        let server = try LiveServer { _ in .respond(503, ["Retry-After: 5"]) }
        defer { server.stop() }
        let fixture = try SessionFixture(
            .with { $0.retry = RetryPolicy(base: .milliseconds(1), maxElapsed: .seconds(4)) })
        let task = fixture.run(try TaskRequest(url: server.url()))
        let result = await task.result()
        #expect(result.failure == .retriesExhausted)
        #expect(fixture.eventNames(of: task).contains("retriesExhausted(deadline)"))
        #expect(server.requests.count == 1)
        await fixture.session.invalidate(cancellingTasks: true)
    }
}
