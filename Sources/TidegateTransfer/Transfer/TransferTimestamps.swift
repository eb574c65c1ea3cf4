internal import CCurl
internal import TidegateCore
internal import TidegateLoop

/// When the stages of an attempt began.
struct TransferTimestamps {
    let clock: SystemClock
    private(set) var started = MonotonicTime(nanoseconds: 0)
    var socketOpened: MonotonicTime?
    var connected: MonotonicTime?
    var wireReached: MonotonicTime?
    var firstByte: MonotonicTime?
    /// When libcurl took the last bytes of the request's body.
    var bodyRead: MonotonicTime?
    /// When the last byte moved, either way.
    var lastActivity = MonotonicTime(nanoseconds: 0)

    init(clock: SystemClock) { self.clock = clock }

    mutating func begin() {
        self.started = self.clock.monotonic()
        self.lastActivity = self.started
    }

    mutating func clear() { self = TransferTimestamps(clock: self.clock) }

    /// How long each phase took, the last one until `end`.
    ///
    /// `hasOpened` says whether a connection was made for the attempt.
    func phases(until end: MonotonicTime, of easy: borrowing EasyHandle, hasOpened: Bool) -> PhaseDurations {
        var phases = PhaseDurations()
        if hasOpened { self.addConnectPhases(to: &phases, easy) }
        if let reached = self.wireReached {
            phases.processing = self.firstByte.map { $0 - reached }
            phases.sending = self.bodyRead.map { min($0, self.firstByte ?? $0) - reached }
        }
        phases.transfer = self.firstByte.map { end - $0 }
        return phases
    }

    // Only libcurl knows when the handshake began; its times count from its own start, name lookup included.
    private func addConnectPhases(to phases: inout PhaseDurations, _ easy: borrowing EasyHandle) {
        guard let opened = self.socketOpened else { return }
        let connected = easy.offset(CURLINFO_CONNECT_TIME_T)
        let secured = easy.offset(CURLINFO_APPCONNECT_TIME_T)
        if secured > connected, connected > 0 {
            phases.tls = .microseconds(secured - connected)
            phases.connect = .microseconds(max(0, connected - easy.offset(CURLINFO_NAMELOOKUP_TIME_T)))
        } else if let reached = self.wireReached {
            phases.connect = reached - opened
        } else if let connected = self.connected {
            phases.connect = connected - opened
        }
    }
}
