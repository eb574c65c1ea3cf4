internal import Synchronization

/// A thread's calls of libcurl as its watchdog sees them, and the sockets that they may use.
final class CurlCallRecord: Sendable {
    let sockets = OpenSockets()
    /// Counts beginnings and ends of calls: odd inside of one.
    private let count = Atomic<UInt64>(0)
    /// The socket that the call is about; -1 for none.
    private let descriptor = Atomic<Int32>(-1)
    private let generation = Atomic<Int>(0)
    private let endedCall = Atomic<UInt64>(0)
    private let isIdle = Atomic<Bool>(true)

    /// The call under way; nil for none.
    var call: UInt64? {
        let count = self.count.load(ordering: .acquiring)
        return count % 2 == 1 ? count : nil
    }

    // MARK: The calling thread

    /// A call begins; true if the watchdog is idle and has to be woken.
    func begin(on descriptor: Int32?, generation: Int) -> Bool {
        self.descriptor.store(descriptor ?? -1, ordering: .relaxed)
        self.generation.store(generation, ordering: .relaxed)
        self.count.wrappingAdd(1, ordering: .sequentiallyConsistent)
        return self.isIdle.load(ordering: .relaxed)
            && self.isIdle.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// The call is over; true if the watchdog has ended it.
    func end() -> Bool {
        let call = self.count.wrappingAdd(1, ordering: .releasing).oldValue
        return self.endedCall.load(ordering: .acquiring) == call
    }

    /// Whether the watchdog has ended the call under way.
    var isCallEnded: Bool {
        self.endedCall.load(ordering: .relaxed) == self.count.load(ordering: .relaxed)
    }

    // MARK: The watchdog

    /// Ends the call under way: by the socket that it is about or, as the last resort, by all of its pool.
    func endCall(isLastResort: Bool) {
        guard let call = self.call else { return }
        self.endedCall.store(call, ordering: .releasing)
        let descriptor = self.descriptor.load(ordering: .relaxed)
        self.sockets.shutDown(
            isLastResort || descriptor < 0 ? nil : descriptor, generation: self.generation.load(ordering: .relaxed))
    }

    /// The watchdog sleeps from now on; false if a call began meanwhile that has not seen that.
    func sleep() -> Bool {
        self.isIdle.store(true, ordering: .sequentiallyConsistent)
        guard self.call != nil else { return true }
        // Whoever takes the flag back sees to the call.
        return !self.isIdle.exchange(false, ordering: .sequentiallyConsistent)
    }
}
