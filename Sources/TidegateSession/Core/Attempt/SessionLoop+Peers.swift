internal import TidegateCore
internal import TidegateTransfer

/// What attempts tell about the paths they share.
extension SessionLoop {
    /// Remembers whether the other side was reached; any answer at all shows that the path works.
    func notePeer(_ end: AttemptEnd, _ record: TaskRecord) {
        guard let desk = record.desk, let path = end.live.path else { return }
        let isReached = end.outcome.head != nil
        guard isReached || end.missedPeer else { return }
        self.peers.record(desk.number, on: path.identity, isReached: isReached, at: self.now)
    }

    /// What became of the others on an attempt's path.
    func peers(of record: TaskRecord, _ end: AttemptEnd) -> PeerHistory.Evidence {
        guard let desk = record.desk, let path = end.live.path else { return PeerHistory.Evidence() }
        return self.peers.peers(of: desk.number, on: path.identity, at: self.now)
    }
}

extension AttemptEnd {
    /// True where no connection came about although something was sent.
    var missedPeer: Bool {
        guard !self.isConnected, self.outcome.peer != nil, let failure = self.failure else { return false }
        return [.connectFailed, .timedOut, .stalled, .deadlineExceeded].contains(failure)
    }

    /// Whether a connection stood.
    var isConnected: Bool { self.outcome.isConnected || self.live.contact != nil }

    /// What the attempt was doing when it ended; nil where it had not begun.
    var stage: Stage? {
        if self.resolveFailure != nil { return .resolve }
        if self.outcome.head != nil { return .body }
        if self.reachedWire { return .response }
        guard self.live.isLaunched else { return nil }
        return self.isConnected ? .tls : .connect
    }
}
