internal import Glibc
internal import Synchronization
internal import TidegateCore
internal import TidegateLoop

/// Emulates cables between network namespaces: frames are carried between TAP devices, with delay, loss and a rate.
///
/// For kernels without netem. One thread serves all links; it stops when the emulator is released.
package final class LinkEmulator: Sendable {
    private let thread: LoopThread<LinkEmulatorLoop>
    private let random: Mutex<SeededGenerator>

    /// An emulator without links; with the same seed, each link loses the same frames of the same sequence.
    package init(seed: UInt64 = 1) throws {
        self.random = Mutex(SeededGenerator(seed: seed))
        self.thread = try LoopThread(name: "tg-links") { LinkEmulatorLoop($0) }
    }

    deinit { self.stop() }

    /// How long the thread has worked so far; if it is always busy, delays are not exact.
    package var busy: Duration { self.thread.load.busy }

    /// Creates a TAP device in two namespaces, brings both up, and carries frames between them.
    package func link(
        a: (namespace: NetworkNamespace, device: String), b: (namespace: NetworkNamespace, device: String),
        there: LinkShape = LinkShape(), back: LinkShape = LinkShape()
    ) throws -> EmulatedLink {
        let ends = try [a, b].map { end in
            let device = try NetworkNamespaceTun(end.device, .frames, in: end.namespace)
            // The kernel's queue must hold what arrives while the thread waits for a processor.
            try end.namespace.ip("link set \(end.device) txqueuelen 5000 up")
            return device
        }
        let link = EmulatedLink(
            there: LinkDirection(from: ends[0], to: ends[1], there),
            back: LinkDirection(from: ends[1], to: ends[0], back))
        for direction in [link.thereDirection, link.backDirection] {
            self.thread.send(.init(direction: direction, seed: self.random.withLock { $0.next() }))
        }
        return link
    }

    /// Stops carrying frames; the devices stay as long as their links are kept.
    package func stop() { self.thread.stop() }
}

/// A link of a ``LinkEmulator``; its shapes can be changed at any time, and hold for the frames that follow.
package final class EmulatedLink: Sendable {
    fileprivate let thereDirection: LinkDirection
    fileprivate let backDirection: LinkDirection

    fileprivate init(there: LinkDirection, back: LinkDirection) {
        self.thereDirection = there
        self.backDirection = back
    }

    /// How frames from `a` to `b` are treated.
    package var there: LinkShape {
        get { self.thereDirection.shape.withLock { $0 } }
        set { self.thereDirection.shape.withLock { $0 = newValue } }
    }

    /// How frames from `b` to `a` are treated.
    package var back: LinkShape {
        get { self.backDirection.shape.withLock { $0 } }
        set { self.backDirection.shape.withLock { $0 = newValue } }
    }

    /// The counts of frames so far, from `a` to `b` and from `b` to `a`.
    package var counts: (there: LinkCounts, back: LinkCounts) {
        (self.thereDirection.counts.withLock { $0 }, self.backDirection.counts.withLock { $0 })
    }
}

/// One direction of a link, as far as several threads use it.
private final class LinkDirection: Sendable {
    let source: NetworkNamespaceTun
    let sink: NetworkNamespaceTun
    let shape: Mutex<LinkShape>
    let counts = Mutex(LinkCounts())

    init(from source: NetworkNamespaceTun, to sink: NetworkNamespaceTun, _ shape: LinkShape) {
        self.source = source
        self.sink = sink
        self.shape = Mutex(shape)
    }
}

private final class LinkEmulatorLoop: LoopHandler {
    struct NewDirection: Sendable {
        let direction: LinkDirection
        let seed: UInt64
    }

    private final class Line {
        let direction: LinkDirection
        var machine: LinkMachine

        init(_ new: NewDirection) {
            self.direction = new.direction
            self.machine = LinkMachine(SeededGenerator(seed: new.seed))
        }
    }

    private struct Flight {
        let frame: [UInt8]
        let arrival: MonotonicTime
        let direction: LinkDirection
    }

    private let loop: Loop
    // By the descriptors that they read.
    private var lines: [Int32: Line] = [:]
    // By the tokens of their timers.
    private var flights: [UInt64: Flight] = [:]
    private var lastToken: UInt64 = 0
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(_ loop: Loop) {
        self.loop = loop
        // The programs under test must not delay the network between them. Without the permission, delays are less
        // exact.
        var priority = sched_param(sched_priority: 1)
        _ = pthread_setschedparam(pthread_self(), SCHED_RR, &priority)
    }

    func receive(_ new: NewDirection) {
        let descriptor = new.direction.source.descriptor
        self.lines[descriptor] = Line(new)
        try? self.loop.watch(descriptor, for: .read)
    }

    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        guard let line = self.lines[descriptor] else { return }
        // Bounded, so that a flood on one link cannot delay the frames of others.
        for _ in 0..<64 {
            switch line.direction.source.take(into: &self.buffer) {
            case .bytes(let frame): self.carry(frame, over: line)
            case .nothing: return
            case .gone:
                try? self.loop.unwatch(descriptor)
                self.lines[descriptor] = nil
                return
            }
        }
    }

    private func carry(_ frame: [UInt8], over line: Line) {
        // The type of an Ethernet frame follows its two addresses.
        let isARP = frame.count >= 14 && frame[12] == 0x08 && frame[13] == 0x06
        let direction = line.direction
        let shape = direction.shape.withLock { $0 }
        let fate = line.machine.pass(
            bytes: frame.count, isARP: isARP, at: self.loop.clock.monotonic(), through: shape)
        switch fate {
        case .lost: direction.counts.withLock { $0.lost += 1 }
        case .overflowed: direction.counts.withLock { $0.overflowed += 1 }
        case .arrives(let arrival):
            // Even if the arrival is now: earlier frames may be due and not delivered yet.
            self.lastToken += 1
            self.flights[self.lastToken] = Flight(frame: frame, arrival: arrival, direction: direction)
            _ = self.loop.schedule(at: arrival, token: self.lastToken)
        }
    }

    func timerFired(_ token: UInt64) {
        guard let flight = self.flights.removeValue(forKey: token), flight.direction.sink.put(flight.frame) else {
            return
        }
        let lateness = self.loop.clock.monotonic() - flight.arrival
        flight.direction.counts.withLock { counts in
            counts.carried += 1
            counts.lateness = max(counts.lateness, lateness)
        }
    }
}
