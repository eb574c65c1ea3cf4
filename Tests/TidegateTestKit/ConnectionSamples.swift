internal import Synchronization
package import TidegateCore

/// What is observed of the connections of other programs, as an observer gives it.
package enum ConnectionSamples {
    /// A database that works, an interface to others that hangs, a port that refuses, and a peer.
    package static let database = Remote(IPAddress(ipv4: 0x0A00_0307), port: 5432, .outgoing)
    /// The interface that hangs.
    package static let api = Remote(IPAddress(ipv4: 0xC633_6402), port: 443, .outgoing)
    /// The host whose port the kernel does not tell any more.
    package static let refusing = Remote(IPAddress(ipv4: 0x0A00_0909), port: nil, .outgoing)
    /// The peer, which connects to this host.
    package static let peer = Remote(IPAddress(ipv4: 0x0A00_0414), port: 8080, .incoming)

    /// A report about all of them.
    package static var report: ConnectionsReport {
        var api = RemoteReport(self.api)
        (api.target, api.established, api.stalled, api.party) = ("api", 3, [.unanswered: 3], .theirs)
        api.nextTry = .milliseconds(1300)
        (api.shortestRoundTrip, api.sentSegments, api.retransmittedSegments) = (.milliseconds(18), 110, 10)
        (api.answered, api.outcomes) = (.milliseconds(4200), [.lost: 2])
        api.failures = [.lost: [.theirs: 2]]
        api.owners = [.init(user: 1000, controlGroup: 4711)]
        var database = RemoteReport(self.database)
        (database.target, database.established) = ("db", 12)
        (database.shortestRoundTrip, database.sentSegments, database.answered) = (
            .microseconds(400), 900, .milliseconds(100)
        )
        database.limitedBy = .remoteWindow
        database.owners = [.init(user: 1000, controlGroup: 4711), .init(user: 33)]
        var peer = RemoteReport(self.peer)
        (peer.established, peer.answered, peer.outcomes) = (2, .seconds(1), [.closed: 5])
        peer.owners = [.init(user: 33)]
        var refusing = RemoteReport(self.refusing)
        // Of two it is not decided yet.
        (refusing.outcomes, refusing.failures) = ([.refused: 7], [.refused: [.gateway: 1, .theirs: 4]])
        return ConnectionsReport(
            mode: .event, remotes: [api, database, peer, refusing], dropped: 0, unexplained: 1)
    }

    /// Counts with every series.
    package static var statistics: ConnectionStatistics {
        var statistics = ConnectionStatistics()
        statistics.mode = .event
        var traffic = ConnectionStatistics.Traffic()
        traffic.connections = [.connecting: 1, .established: 15, .closing: 2]
        (traffic.stalled, traffic.stalls) = ([.unanswered: 3], [.connecting: 1, .unanswered: 4])
        traffic.ends = [.closed: 20, .reset: 1, .lost: 2]
        (traffic.sentSegments, traffic.retransmittedSegments) = (1010, 10)
        (traffic.sentBytes, traffic.receivedBytes) = (1_000_000, 2_000_000)
        statistics.traffic[.outgoing] = traffic
        (statistics.limits.network, statistics.limits.remoteWindow) = (90_500, 4000)
        statistics.connects = [.established: 40, .refused: 7, .noAnswer: 1, .abandoned: 2]
        statistics.accepts = 5
        statistics.failures = [.init(.refused, .theirs): 7, .init(.lost, .upstream): 2]
        statistics.lastAnswers = [.private: WallTime(microseconds: 1_790_000_000_500_000)]
        var trips = ConnectionStatistics.Distribution(bounds: ConnectionStatistics.roundTripBounds)
        for milliseconds in [1, 18, 4000] { trips.add(.milliseconds(milliseconds)) }
        statistics.roundTrips[.private] = trips
        var target = ConnectionStatistics.OfTarget()
        (target.connections, target.connects) = ([.established: 3], [.established: 4, .refused: 1])
        (target.ends, target.lastAnswer) = ([.lost: 2], WallTime(microseconds: 1_790_000_000_250_000))
        statistics.targets["api"] = target
        (statistics.messages, statistics.dropped) = ([.ipv4: 50, .ipv6: 3], 1)
        (statistics.unexplained, statistics.tracked) = ([.connects: 1], 18)
        (statistics.excluded, statistics.receiveBufferBytes) = ([.own: 9, .announced: 4], 425_984)
        for kind in ConnectionStatistics.Dump.allCases {
            var dumps = ConnectionStatistics.Distribution(bounds: ConnectionStatistics.dumpBounds)
            dumps.add(.microseconds(200))
            statistics.dumps[kind] = dumps
        }
        statistics.kernel = self.kernel
        return statistics
    }

    private static var kernel: TCPCounters {
        var kernel = TCPCounters()
        (kernel.activeOpens, kernel.passiveOpens, kernel.attemptFails) = (51, 5, 8)
        (kernel.establishedResets, kernel.sentResets, kernel.retransmittedSegments) = (2, 1, 14)
        (kernel.synRetransmits, kernel.timeoutAborts, kernel.listenOverflows) = (4, 2, 1)
        return kernel
    }
}

/// An observer that counts the samples once more whenever it is asked, so that every counter grows.
package final class GrowingObservation: ConnectionObservation {
    private let asked = Mutex<UInt64>(0)

    /// One that has counted nothing yet.
    package init() {}

    /// The samples, multiplied by the number of reads so far.
    package var statistics: ConnectionStatistics {
        let times = self.asked.withLock { asked in
            asked += 1
            return asked
        }
        return ConnectionSamples.statistics.times(times)
    }

    /// The samples.
    package func report() async -> ConnectionsReport { ConnectionSamples.report }
}

extension ConnectionStatistics {
    /// The counters multiplied; what is no counter stays.
    fileprivate func times(_ factor: UInt64) -> ConnectionStatistics {
        var grown = self
        grown.traffic = self.traffic.mapValues { traffic in
            var grown = traffic
            grown.stalls = traffic.stalls.mapValues { $0 * factor }
            grown.ends = traffic.ends.mapValues { $0 * factor }
            (grown.sentSegments, grown.sentBytes) = (traffic.sentSegments * factor, traffic.sentBytes * factor)
            grown.retransmittedSegments *= factor
            grown.receivedBytes *= factor
            return grown
        }
        grown.connects = self.connects.mapValues { $0 * factor }
        grown.accepts *= factor
        grown.failures = self.failures.mapValues { $0 * factor }
        grown.targets = self.targets.mapValues { target in
            var grown = target
            grown.connects = target.connects.mapValues { $0 * factor }
            grown.ends = target.ends.mapValues { $0 * factor }
            return grown
        }
        grown.messages = self.messages.mapValues { $0 * factor }
        grown.dropped *= factor
        grown.unexplained = self.unexplained.mapValues { $0 * factor }
        grown.excluded = self.excluded.mapValues { $0 * factor }
        for _ in 1..<factor {
            for kind in self.dumps.keys { grown.dumps[kind]?.add(.microseconds(200)) }
            for scope in self.roundTrips.keys { grown.roundTrips[scope]?.add(.milliseconds(18)) }
        }
        grown.kernel = self.kernel?.times(factor)
        return grown
    }
}

extension TCPCounters {
    fileprivate func times(_ factor: UInt64) -> TCPCounters {
        var grown = self
        let counters: [WritableKeyPath<TCPCounters, UInt64>] = [
            \.activeOpens, \.passiveOpens, \.attemptFails, \.establishedResets, \.sentResets, \.retransmittedSegments,
            \.synRetransmits, \.timeoutAborts, \.listenOverflows,
        ]
        for counter in counters { grown[keyPath: counter] *= factor }
        return grown
    }
}

/// An observer that says what a test wants.
package struct ScriptedObservation: ConnectionObservation {
    private let said: ConnectionsReport
    /// What has been counted.
    package let statistics: ConnectionStatistics

    /// One that says this.
    package init(
        _ report: ConnectionsReport = ConnectionSamples.report,
        _ statistics: ConnectionStatistics = ConnectionSamples.statistics
    ) {
        (self.said, self.statistics) = (report, statistics)
    }

    /// What the test wants.
    package func report() async -> ConnectionsReport { self.said }
}
