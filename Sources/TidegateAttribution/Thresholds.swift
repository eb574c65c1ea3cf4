package import TidegateCore

/// Every age, count and timeout that decides which party is responsible.
package enum Thresholds {
    // MARK: How long evidence counts

    /// How long a result counts as evidence, and how long a silent attempt may be revised.
    ///
    /// Results are those of attempts to other hosts, answers of a gateway, successful requests and diagnoses of the
    /// host.
    package static let evidenceAge = Duration.seconds(30)
    /// The longest time that the kernel treats a confirmed neighbour as reachable (RFC 4861, 6.3.2).
    package static let reachableTime = Duration.seconds(45)
    /// How long the answer of another program's remote counts: an older one says nothing about a silence of one second.
    package static let answerAge = Duration.milliseconds(1_500)
    /// After so long without a walk towards a public address a silence is another one.
    package static let newSilence = Duration.seconds(900)

    /// From one walk towards a public address to the next, so long after the first of a silence.
    package static func pauseOfWalks(after age: Duration) -> Duration {
        age < .seconds(120) ? .zero : age < .seconds(3_600) ? .seconds(60) : .seconds(360)
    }

    /// How long a diagnosis of the host explains the failures of other targets.
    package static let diagnosisReuse = Duration.seconds(2)
    /// From this many on, packets that rp_filter dropped during one diagnosis are answers to it.
    package static let misroutedPackets: UInt64 = 20
    /// So many packets that this host dropped during a walk are the target's answers to it, not strays of others.
    package static let droppedPackets: UInt64 = 10
    /// How much later than its limit a check ends at least if this process was stopped meanwhile.
    package static let frozen = Duration.seconds(5)
    /// How long a finding about a target explains further failures of the same kind.
    package static let findingAge = Duration.seconds(15)
    /// How long verdicts and names take to settle after a change of path.
    package static let settleTime = Duration.seconds(2)

    // MARK: Evidence from several remotes

    /// Remotes silenced by one failure go silent within this time, because each had sent something.
    package static let simultaneity = Duration.seconds(10)
    /// An opened connection is seen this much later at most, when connections are listed.
    package static let openingTolerance = Duration.seconds(6)
    /// A silence begins with the last answer; another remote may have received its last answer this much later.
    package static let simultaneityTolerance = Duration.seconds(1)
    /// This many remotes that reset connections within ``resetWindow`` share a cause.
    package static let manyResets = 3
    /// Resets within this time count as simultaneous.
    package static let resetWindow = Duration.seconds(1)

    // MARK: How long a diagnosis waits

    /// How long a diagnosis waits for an answer before it queries other hosts.
    package static let patience = Duration.milliseconds(300)
    /// How long silence must last before other witnesses decide.
    ///
    /// By then the kernel has repeated a SYN (tcp(7)) and a request for a link-layer address (arp(7)), so a single lost
    /// packet is ruled out.
    package static let certainty = Duration.milliseconds(1_500)
    /// How long a resolver has for its answer; its question is sent eight times in this time.
    package static let nameQuery = Duration.milliseconds(2_500)
    /// The same limit once another resolver has answered, or once hop walks show that the way out is dead.
    ///
    /// It is longer than ``certainty``; the question is sent six times in this time.
    package static let nameQueryBesideOthers = Duration.milliseconds(1_700)
    /// How long a server that accepts connections has for a TLS handshake: three round trips over a satellite, or one
    /// lost and repeated packet.
    package static let handshake = Duration.seconds(2)
    /// How long the last router takes to report an absent host: 3 s (RFC 1812, 3.3.2, and Linux), late timers, and the
    /// way to it.
    package static let resolution = Duration.milliseconds(3_700)
    /// How long a diagnosis of the host may take.
    package static let hostDiagnosis = Duration.seconds(5)
    /// How long a diagnosis of a target may take, depending on the timeout of its check.
    ///
    /// It includes ``nameQuery`` for resolvers.
    package static let targetDiagnosis = Duration.seconds(3)...Duration.seconds(5)

    /// The rest of ``certainty`` for a silence that began at `start`.
    ///
    /// It adds a margin, because a timer of another thread may end a few milliseconds early.
    package static func untilCertain(since start: MonotonicTime, at now: MonotonicTime) -> Duration {
        max(.milliseconds(1), self.certainty + .milliseconds(20) - (now - start))
    }

    // MARK: Slowness

    /// A target that takes less to the first byte is not slow.
    package static let slowTarget = Duration.milliseconds(300)
    /// With timers as late as that a measurement is worthless.
    package static let lateTimer = Duration.milliseconds(20)
    /// The share of lost echoes that a path may have.
    package static let loss = 0.01
    /// So many damaged frames in a few seconds are no accident, if they are one in 10,000 packets.
    package static func areMany(errors: UInt64, of packets: UInt64) -> Bool {
        errors >= 2 && errors >= packets / 10_000
    }
    /// So many packets that a queue dropped are no accident; TCP, which fills every queue, makes it drop fewer.
    package static func areMany(drops: UInt64, of packets: UInt64) -> Bool { drops >= 10 && drops >= packets / 100 }
    /// True if packets waited in three of five readings of a queue, or as many of more readings: a single one is normal.
    package static func isWaiting(_ backlogs: [UInt32]) -> Bool {
        backlogs.count >= 5 && backlogs.count { $0 > 0 } * 5 >= backlogs.count * 3
    }
    /// An access point that is received more weakly is too far away, in dBm.
    package static let weakSignal = -75
    /// Fewer frames say nothing about a radio link.
    package static let fewestFrames: UInt64 = 50
    /// A frame that is given up now and then is an accident.
    package static let fewestFailedFrames: UInt64 = 3
    /// The share of frames that a good radio link does not send again.
    package static let repeatedFrames = 0.3
    /// The share of frames that a good radio link does not give up.
    package static let failedFrames = 0.01
    /// A cable may be the cause of trouble on a link that is not faster, in Mbit/s.
    package static let slowLink = 100
    /// The share of its periods in which a quota may stop this process, and the fewest that say something.
    package static let throttled = (share: 0.1, of: UInt64(5))
    /// The kernel sends a SYN again after a second (RFC 6298).
    package static let repeatedPacket = Duration.milliseconds(900)
    /// How much longer than an echo a resolver may take for a name that it knows.
    package static let lateResolver = Duration.milliseconds(200)
    /// How much longer than the path a server may take: a page that is computed needs some time.
    package static let lateServer = Duration.seconds(1)
    /// A router on a cable answers in a fraction of that.
    package static let lateRouter = Duration.milliseconds(10)
    /// More than a line takes that is not full, unless it leads over a satellite.
    package static let longLine = Duration.milliseconds(150)
    /// A shorter wait in queues is normal.
    package static let queue = Duration.milliseconds(30)
    /// True if a round trip, or a check, takes so much longer than usual that something waits in a queue.
    package static func isLate(_ time: Duration, normal: Duration?) -> Bool {
        normal.map { time - $0 >= max(self.queue, $0 / 2) } ?? false
    }
    /// So many of the last samples make one measure thoroughly.
    package static let badSamples = (count: 3, of: 5)
    /// True if programs send so many TCP segments again that packets are lost somewhere.
    package static func areLossy(sent: UInt64, repeated: UInt64) -> Bool { repeated >= 3 && repeated * 50 >= sent }
    /// By so many standard deviations one host must lose less than another: chance does that in one of 400 measurements.
    package static let certainDeviations = 2.8
    /// The same if a connection lost a packet as well.
    package static let likelyDeviations = 2.0
    /// From one thorough measurement to the next: it sends 46 echoes to each host, or up to four times as many.
    package static let measurements = Duration.seconds(300)
    /// The same after a measurement that was worthless, because this host was busy or its path changed.
    package static let repeatedMeasurement = Duration.seconds(60)
    /// A sample or an unfinished measurement is out of date after this time.
    package static let sampleAge = Duration.seconds(30)
    /// A slow subject is sound after so long without a bad sample.
    package static let cleanTime = Duration.seconds(180)
    /// A delay that lasts so long is usual.
    package static let newUsual = Duration.seconds(86_400)
    /// Traffic that may fill a slow line, in bits per second.
    package static let ownTraffic = 1_000_000.0

    /// So much time is needed before the limits of a connection count.
    package static let flowTime = Duration.milliseconds(1_500)
    /// So much time is needed before the rhythm of a connection counts.
    package static let rhythmTime = Duration.seconds(5)
    /// Fewer segments show no rate: the first window has ten.
    package static let flowSegments: UInt64 = 20
    /// So many segments show a loss, and so few losses are an accident.
    package static let lossSegments: (sent: UInt64, lost: UInt64, seconds: Int) = (200, 4, 3)
    /// A receiver only estimates loss, and needs more segments.
    package static let receivedSegments: UInt64 = 500
    /// Fewer bytes wait for every program now and then.
    package static let unread: UInt32 = 16_384
    /// The share of a connection's time in which its peer held it back.
    package static let heldBack = 0.5
    /// A rate limit without a queue drops at least so much.
    package static let limitLoss = 0.05
    /// So many pauses are a rhythm, if each piece has so many segments.
    package static let (pauses, pieceSegments) = (3, UInt64(4))
    /// So little loss shows that a way is clean, and so much that a queue which TCP fills is not the reason.
    package static let flowLoss = (clean: 0.002, queue: 0.02)
    /// A shorter pause is one of the network.
    package static let pause = Duration.milliseconds(100)

    // MARK: Limits of findings

    /// A slower first byte is a finding: users start to wonder at about this time.
    package static let slowFirstByte = Duration.seconds(3)
    /// A slower resolver is a finding: users notice it with every new name.
    package static let slowName = Duration.seconds(1)
    /// A certificate with fewer days left is a finding: Let's Encrypt renews 30 days before, so renewal has failed.
    package static let certificateDays = 14
}
