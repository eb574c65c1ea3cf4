internal import CCurl
internal import Glibc
internal import TidegateLoop

/// The descriptors that the loop watches for libcurl.
///
/// Registration is lazy. libcurl drops its interest after every response and renews it with the next request, which
/// would cost two system calls each time. A socket of ours therefore stays watched until an unwanted event arrives.
struct SocketTable {
    private struct Entry {
        /// The generation of the pool that uses the socket; 0 if none does.
        var generation = 0
        var wanted = Loop.Interest()
        /// The interest registered with the kernel; nil if none.
        var registered: Loop.Interest?
        /// Whether we opened the socket, so that its end is reported.
        ///
        /// Others (resolver pipes) must be forgotten immediately.
        var isOurs = false
        /// Data arrived while the socket was idle, usually its end.
        var isDead = false
    }

    private var entries: [Entry] = []
    /// The number of our sockets that are open and not known to be dead.
    private(set) var openCount = 0
    /// The number of calls that registered, changed or removed a descriptor.
    private(set) var controlCalls = 0

    /// The meaning of an event on a descriptor.
    enum Readiness: Equatable {
        /// The pool of this generation waits for it.
        case wanted(generation: Int)
        /// Data or an end arrived on a connection that the pool of this generation does not watch: it is idle or
        /// paused, and is no longer polled.
        case unexpected(generation: Int)
        /// The descriptor no longer belongs to a pool.
        case stale
    }

    /// True if libcurl waits for events of a descriptor, according to the changes applied so far.
    func isWanted(_ descriptor: Int32) -> Bool {
        self.index(descriptor).map { !self.entries[$0].wanted.isEmpty } ?? false
    }

    /// Returns the meaning of an event; an unwanted event does not come again.
    mutating func readiness(of descriptor: Int32, on loop: Loop) -> Readiness {
        guard let index = self.index(descriptor), self.entries[index].generation != 0 else { return .stale }
        let generation = self.entries[index].generation
        if !self.entries[index].wanted.isEmpty { return .wanted(generation: generation) }
        self.markDead(index)
        self.forget(index, descriptor, on: loop)
        return .unexpected(generation: generation)
    }

    /// Applies the changes that libcurl requested.
    mutating func apply(_ actions: SocketActions, on loop: Loop) {
        guard !actions.entries.isEmpty else { return }
        for entry in actions.entries {
            switch entry.change {
            case .opened(let descriptor): self.open(descriptor, entry.generation)
            case .closed(let descriptor): self.close(descriptor)
            case .abandoned(let descriptor): self.abandon(descriptor, entry.generation)
            case .watch(let descriptor, let what): self.watch(descriptor, what, entry.generation, on: loop)
            }
        }
        actions.entries.removeAll(keepingCapacity: true)
        self.register(on: loop)
    }

    /// The sockets of a pool that libcurl does not watch: idle ones and those of paused transfers.
    func unwatched(of generation: Int) -> [Int32] {
        self.entries.indices.compactMap { index in
            let entry = self.entries[index]
            return entry.isOurs && entry.generation == generation && entry.wanted.isEmpty ? Int32(index) : nil
        }
    }

    /// Removes a socket from the count of usable ones.
    mutating func markDead(_ descriptor: Int32) {
        if let index = self.index(descriptor) { self.markDead(index) }
    }

    // Descriptors whose registration must be updated; most changes cancel each other out within a batch.
    private var touched: [Int32] = []

    private mutating func open(_ descriptor: Int32, _ generation: Int) {
        // libcurl has closed the previous owner of this number, possibly without a callback.
        self.close(descriptor)
        self.entries[self.makeIndex(descriptor)] = Entry(generation: generation, isOurs: true)
        self.openCount += 1
    }

    private mutating func abandon(_ descriptor: Int32, _ generation: Int) {
        guard let index = self.index(descriptor), self.entries[index].isOurs,
            self.entries[index].generation == generation
        else {
            return
        }
        self.close(descriptor)
    }

    private mutating func close(_ descriptor: Int32) {
        let index = self.makeIndex(descriptor)
        if self.entries[index].isOurs, !self.entries[index].isDead { self.openCount -= 1 }
        self.entries[index] = Entry()
    }

    private mutating func markDead(_ index: Int) {
        guard self.entries[index].isOurs, !self.entries[index].isDead else { return }
        self.entries[index].isDead = true
        self.openCount -= 1
    }

    private mutating func watch(_ descriptor: Int32, _ what: Int32, _ generation: Int, on loop: Loop) {
        let index = self.makeIndex(descriptor)
        self.entries[index].generation = generation
        self.entries[index].wanted = SocketTable.interest(what)
        // A paused transfer's socket looks idle but stays in use.
        if self.entries[index].isDead, what != CURL_POLL_REMOVE {
            self.entries[index].isDead = false
            self.openCount += 1
        }
        if what != CURL_POLL_REMOVE {
            self.touched.append(descriptor)
        } else if !self.entries[index].isOurs {
            self.forget(index, descriptor, on: loop)
            self.entries[index] = Entry()
        }
    }

    private mutating func register(on loop: Loop) {
        for descriptor in self.touched {
            let index = self.makeIndex(descriptor)
            let wanted = self.entries[index].wanted
            guard !wanted.isEmpty, self.entries[index].registered != wanted else { continue }
            self.controlCalls += 1
            self.entries[index].registered =
                self.watch(descriptor, wanted, isKnown: self.entries[index].registered != nil, on: loop)
        }
        self.touched.removeAll(keepingCapacity: true)
    }

    // A failure leaves the socket unwatched, and libcurl's own timeouts end the transfer.
    private func watch(
        _ descriptor: Int32, _ wanted: Loop.Interest, isKnown: Bool, isAgain: Bool = false, on loop: Loop
    ) -> Loop.Interest? {
        do throws(LoopError) {
            if isKnown { try loop.change(descriptor, to: wanted) } else { try loop.watch(descriptor, for: wanted) }
            return wanted
        } catch {
            guard !isAgain, error.code == (isKnown ? ENOENT : EEXIST) else { return nil }
            return self.watch(descriptor, wanted, isKnown: !isKnown, isAgain: true, on: loop)
        }
    }

    private mutating func forget(_ index: Int, _ descriptor: Int32, on loop: Loop) {
        guard self.entries[index].registered != nil else { return }
        self.entries[index].registered = nil
        self.controlCalls += 1
        // The kernel forgets closed descriptors on its own, so a failure needs no handling.
        try? loop.unwatch(descriptor)
    }

    private func index(_ descriptor: Int32) -> Int? {
        self.entries.indices.contains(Int(descriptor)) ? Int(descriptor) : nil
    }

    private mutating func makeIndex(_ descriptor: Int32) -> Int {
        let index = Int(descriptor)
        if index >= self.entries.count {
            self.entries.append(contentsOf: repeatElement(Entry(), count: max(64, index + 1 - self.entries.count)))
        }
        return index
    }

    private static func interest(_ what: Int32) -> Loop.Interest {
        switch what {
        case CURL_POLL_IN: .read
        case CURL_POLL_OUT: .write
        case CURL_POLL_INOUT: [.read, .write]
        // Not `[]`, which runs the generic initialiser of option sets.
        default: Loop.Interest(rawValue: 0)
        }
    }
}

/// Transfers whose sink is a descriptor that currently accepts no data.
struct BlockedDescriptors {
    private var waiting: [Int32: [Int]] = [:]

    /// Watches a descriptor for a transfer.
    mutating func add(_ descriptor: Int32, transfer: Int, on loop: Loop) throws(LoopError) {
        if self.waiting[descriptor] == nil { try loop.watch(descriptor, for: .write) }
        self.waiting[descriptor, default: []].append(transfer)
    }

    /// Removes a transfer, and its descriptor if no other transfer waits for it: the number may soon belong to another
    /// file.
    mutating func drop(_ transfer: Int, from descriptor: Int32, on loop: Loop) {
        guard self.waiting[descriptor]?.contains(transfer) == true else { return }
        self.waiting[descriptor]?.removeAll { $0 == transfer }
        if self.waiting[descriptor]?.isEmpty == true { _ = self.take(descriptor, on: loop) }
    }

    /// Removes and returns the transfers that waited for a descriptor; nil if it is not a blocked sink.
    mutating func take(_ descriptor: Int32, on loop: Loop) -> [Int]? {
        guard !self.waiting.isEmpty, let transfers = self.waiting.removeValue(forKey: descriptor) else { return nil }
        // A closed descriptor is already unwatched; the next write will fail.
        try? loop.unwatch(descriptor)
        return transfers
    }
}
