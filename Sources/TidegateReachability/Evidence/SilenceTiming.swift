internal import TidegateCore

/// How long a diagnosis waits for somebody silent.
enum SilenceTiming {
    /// Before others are asked.
    static let patience = Duration.milliseconds(300)
    /// Before the others' word is taken: the kernel has repeated a SYN (tcp(7)) and a request for a link-layer address
    /// (arp(7)) by then, so that it is no lost packet.
    static let certainty = Duration.milliseconds(1_500)
    /// For a TLS handshake with a server that accepts connections: three round trips over a satellite, or one packet
    /// that was lost and repeated.
    static let handshake = Duration.seconds(2)
    /// For a host that is not there: its last router says so after 3 s (RFC 1812, 3.3.2, and Linux).
    static let resolution = Duration.milliseconds(3_400)

    /// What is left of ``certainty`` for a silence that began at `start`.
    ///
    /// A timer of another thread may end a few milliseconds early, and a conclusion needs the whole time.
    static func untilCertain(since start: MonotonicTime, at now: MonotonicTime) -> Duration {
        max(.milliseconds(1), self.certainty + .milliseconds(20) - (now - start))
    }
}
