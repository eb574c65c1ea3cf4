import CLinux
import Foundation
import Glibc
import Synchronization
import Testing
@testable import TidegateLoop
import TidegateCore

@Suite struct LoopThreadTests {
    @Test("Commands of one sender are carried out in order, and all of them before the thread ends")
    func order() throws {
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log) }
        for number in 0..<10_000 { thread.send(.note(number)) }
        thread.stop()
        #expect(log.numbers == Array(0..<10_000))
        #expect(thread.send(.note(1)) == false)
    }

    @Test("A thread is stalled while one turn lasts longer than ten seconds, not while it waits")
    func stalled() throws {
        let (entered, leave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let thread = try LoopThread<Caller>(name: "tg-test") { _ in Caller() }
        let late = SystemClock().monotonic() + .seconds(60)
        thread.send {
            entered.signal()
            leave.wait()
        }
        entered.wait()
        #expect(thread.turns.isStalled(at: late))
        #expect(!thread.load.isStalled, "not yet")
        // A turn counts while it lasts.
        let load = thread.load
        #expect(load.longest > .zero && load.busy >= load.longest)
        #expect(thread.load.busy > load.busy)
        leave.signal()
        #expect(eventuallyNow { !thread.turns.isStalled(at: late) })
        thread.stop()
        #expect(!thread.turns.isStalled(at: late), "an ended thread")
    }

    @Test("No command of many senders is lost, and each one's come in order, however often the thread falls asleep")
    func senders() async throws {
        let (senders, rounds) = (8, 5_000)
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log) }
        await withTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    for round in 0..<rounds {
                        thread.send(.note(sender * rounds + round))
                        // The thread finds nothing to do now and then, and is woken by the next command.
                        if round.isMultiple(of: 50) { await Task.yield() }
                    }
                }
            }
        }
        #expect(await log.waitFor(count: senders * rounds).count == senders * rounds)
        for sender in 0..<senders {
            let mine = log.numbers.filter { $0 / rounds == sender }
            #expect(mine == Array(sender * rounds..<(sender + 1) * rounds))
        }
        thread.stop()
    }

    @Test("A command sent to a sleeping thread wakes it every time")
    func wakeUps() async throws {
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log) }
        for number in 1...300 {
            thread.send(.note(number))
            #expect(await log.waitFor(count: number).last == number)
        }
        thread.stop()
    }

    @Test("Commands that the thread sends itself are carried out without anybody waking it")
    func ownCommands() async throws {
        let log = Log()
        let own = Own()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log, own: own) }
        own.thread.withLock { $0 = thread }
        thread.send(.countDown(from: 1000))
        #expect(await log.waitFor(count: 1000) == (1...1000).reversed())
        thread.stop()
        own.thread.withLock { $0 = nil }
    }

    @Test("Timers fire on the thread once they are due, and not earlier")
    func timers() async throws {
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log) }
        let start = SystemClock().monotonic()
        thread.send(.remind(after: .milliseconds(20), token: 7))
        thread.send(.remind(after: .milliseconds(10), token: 6))
        let fired = await log.waitFor(count: 2)
        #expect(fired == [6, 7])
        #expect(SystemClock().monotonic() - start >= .milliseconds(20))
        thread.stop()
    }

    @Test("A timer that is late waits until the descriptors that were ready have been handled, but not without end")
    func lateTimers() throws {
        let loop = try Loop()
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try loop.watch(ends[0], for: .read)
        var buffer = [epoll_event](repeating: epoll_event(), count: 8)
        var byte: UInt8 = 1
        func schedule(_ token: UInt64) {
            let past = loop.clock.monotonic().nanoseconds - 1_000_000_000
            _ = loop.schedule(at: MonotonicTime(nanoseconds: past), token: token)
        }
        schedule(1)
        #expect(write(ends[1], &byte, 1) == 1)
        #expect(try loop.wait(into: &buffer, mayBlock: true) == 1)
        #expect(loop.popDueTimer() == nil)
        #expect(read(ends[0], &byte, 1) == 1)
        #expect(try loop.wait(into: &buffer, mayBlock: true) == 0)
        #expect(loop.popDueTimer() == 1)
        schedule(2)
        #expect(write(ends[1], &byte, 1) == 1)
        let fired = try (1...100).first { _ in
            _ = try loop.wait(into: &buffer, mayBlock: true)
            return loop.popDueTimer() == 2
        }
        #expect(fired != nil)
    }

    @Test("The thread waits for its timers on the clock that goes on while the machine is suspended")
    func bootTime() async throws {
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log) }
        thread.send(.remind(after: .seconds(4000), token: 1))
        thread.send(.remind(after: .milliseconds(1), token: 2))
        #expect(await log.waitFor(count: 1) == [2])
        var timer: String?
        while timer == nil { timer = try Self.timerDescriptors().first { $0.contains("it_value: (39") } }
        // CLOCK_BOOTTIME of <linux/time.h>.
        #expect(try #require(timer).contains("clockid: 7\n"))
        thread.stop()
    }

    /// What the kernel tells of this process' timerfds (proc_pid_fdinfo(5)).
    private static func timerDescriptors() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            guard file == "anon_inode:[timerfd]" else { return nil }
            return try? String(contentsOfFile: "/proc/self/fdinfo/\(name)", encoding: .utf8)
        }
    }

    @Test("A watched descriptor wakes the thread, until it is no longer watched")
    func descriptors() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-test") { loop in Echo(loop: loop, log: log) }
        thread.send(.watch(ends[0]))
        var byte: UInt8 = 1
        #expect(write(ends[1], &byte, 1) == 1)
        #expect(await log.waitFor(count: 1) == [Int(ends[0])])
        thread.stop()
    }

    @Test("The thread carries its name")
    func name() throws {
        let log = Log()
        let thread = try LoopThread<Echo>(name: "tg-named") { loop in Echo(loop: loop, log: log) }
        thread.send(.name)
        thread.stop()
        #expect(log.name == "tg-named")
    }
}

private final class Log: Sendable {
    private let state = Mutex<(numbers: [Int], name: String)>(([], ""))

    var numbers: [Int] { self.state.withLock { $0.numbers } }
    var name: String { self.state.withLock { $0.name } }
    func note(_ number: Int) { self.state.withLock { $0.numbers.append(number) } }
    func name(_ name: String) { self.state.withLock { $0.name = name } }

    /// Waits at most five seconds for `count` notes.
    func waitFor(count: Int) async -> [Int] {
        let deadline = ContinuousClock.now + .seconds(5)
        while self.numbers.count < count, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(1))
        }
        return self.numbers
    }
}

/// Lets a body send to its own thread.
private final class Own: Sendable {
    let thread = Mutex<LoopThread<Echo>?>(nil)
}

private final class Echo: LoopHandler {
    enum Command: Sendable {
        case countDown(from: Int)
        case note(Int)
        case remind(after: Duration, token: UInt64)
        case watch(Int32)
        case name
    }

    private let loop: Loop
    private let log: Log
    private let own: Own?

    init(loop: Loop, log: Log, own: Own? = nil) {
        self.loop = loop
        self.log = log
        self.own = own
    }

    func receive(_ command: Command) {
        switch command {
        case .countDown(let number):
            self.log.note(number)
            if number > 1 { self.own?.thread.withLock { _ = $0?.send(.countDown(from: number - 1)) } }
        case .note(let number): self.log.note(number)
        case .remind(let delay, let token): _ = self.loop.schedule(after: delay, token: token)
        case .watch(let descriptor):
            do { try self.loop.watch(descriptor, for: .read) } catch { Issue.record(error) }
        case .name:
            var buffer = [UInt8](repeating: 0, count: 16)
            let file = open("/proc/thread-self/comm", O_RDONLY)
            let count = read(file, &buffer, buffer.count)
            close(file)
            self.log.name(String(decoding: buffer.prefix(max(0, count - 1)), as: UTF8.self))
        }
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        self.log.note(Int(descriptor))
        do { try self.loop.unwatch(descriptor) } catch { Issue.record(error) }
    }

    func timerFired(_ token: UInt64) { self.log.note(Int(token)) }
}

private final class Caller: LoopHandler {
    func receive(_ command: @Sendable () -> Void) { command() }
}

private func eventuallyNow(_ condition: () -> Bool) -> Bool {
    for _ in 0..<5000 {
        if condition() { return true }
        usleep(2000)
    }
    return false
}
